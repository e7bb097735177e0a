"""Structured mutations of files and values, each determined by a random generator."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

NUMBER = re.compile(rb"(?<![\w.])[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
"""A number in a text file."""

TOKENS = [
    *("0", "-0.0", "-1", "1", "2", "0.5", "3", "1e-3", "1e3", "1e5", "1e6", "1e8", "1e10"),
    *("nan", "inf", "-inf", "1e308", "-1e308", "1e400", "-1e400", "1e-320", "1e-400", "1e-30"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "2147483648"),
    *("99999999999999999999", "4294967296", "1" + 400 * "0", "1" + 5000 * "0"),
    *("true", "false", '"text"', "'1'", "[]", "[1, 2]", "[[1]]", "{}", "{a = 1}", "", "null", "-"),
    *("0x7fffffffffffffffffff", "0o17", "007", "1_000", "1__0", "+-1", "1e", "e5", "٣", "²", "½"),
    *("2024-02-31", "2024-02-28T25:00:00", "12:61", "*", "&a", "!!python/object:os.system", "\\"),
]
"""Replacements of a number: wrong ranges, wrong types, wrong syntax."""

WORDS = [b"\x00", b"\xff\xfe", b"\xc3", b"\xe2\x80\xa8", b"\r", b"\x1a", b"\x0b", b'"', b"'", b"#"]
"""Bytes that are not text, or that end a line or a quotation."""

EDGES = [0, 1, 2, 3, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1]
"""Extreme counts and lengths for headers."""

Mutation = Callable[[bytes, random.Random], bytes]


def replace_number(data: bytes, rng: random.Random) -> bytes:
    """Replaces a number with another token."""
    found = list(NUMBER.finditer(data))
    if not found:
        return insert_bytes(data, rng)
    chosen = rng.choice(found)
    return data[: chosen.start()] + rng.choice(TOKENS).encode() + data[chosen.end() :]


def scale_number(data: bytes, rng: random.Random) -> bytes:
    """Replaces a number with a larger or smaller one of the same type."""
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    chosen = rng.choice(found)
    value = float(chosen[0].replace(b"_", b"")) * 10.0 ** rng.uniform(-12.0, 12.0)
    return data[: chosen.start()] + repr(value).encode() + data[chosen.end() :]


def truncate(data: bytes, rng: random.Random) -> bytes:
    """Truncates the data, often within a line or a record."""
    return data[: rng.randrange(len(data) + 1)]


def flip_bits(data: bytes, rng: random.Random) -> bytes:
    """Flips some bits."""
    changed = bytearray(data)
    for _ in range(min(len(data), rng.choice((1, 1, 2, 8)))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def swap_bytes(data: bytes, rng: random.Random) -> bytes:
    """Reverses 2, 4 or 8 consecutive bytes."""
    width = rng.choice((2, 4, 8))
    at = rng.randrange(max(1, len(data) - width))
    return data[:at] + data[at : at + width][::-1] + data[at + width :]


def insert_bytes(data: bytes, rng: random.Random) -> bytes:
    """Inserts some bytes that are invalid in text."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(WORDS) * rng.choice((1, 1, 1, 50)) + data[at:]


def write_integer(data: bytes, rng: random.Random) -> bytes:
    """Replaces an integer of a header with an extreme value."""
    width = rng.choice("BHIQ")
    size = struct.calcsize(width)
    if len(data) < size:
        return data
    # headers precede files and records
    at = min(int(rng.expovariate(1 / 64.0)), len(data) - size)
    if rng.random() < 0.5:
        at = rng.randrange(len(data) - size + 1)
    value = rng.choice(EDGES) & (256**size - 1)
    return data[:at] + struct.pack("<" + width, value) + data[at + size :]


def write_float(data: bytes, rng: random.Random) -> bytes:
    """Replaces some bytes with a float that is invalid in a file."""
    kind = rng.choice("fd")
    size = struct.calcsize(kind)
    if len(data) < size:
        return data
    value = rng.choice((float("nan"), float("inf"), -1.0, 0.0, 1e-40, 3e38, 1e30))
    at = size * rng.randrange(len(data) // size)
    return data[:at] + struct.pack("<" + kind, value) + data[at + size :]


def repeat_chunk(data: bytes, rng: random.Random) -> bytes:
    """Repeats a section."""
    start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:end] * rng.choice((1, 1, 3)) + data[end:]


def delete_chunk(data: bytes, rng: random.Random) -> bytes:
    """Removes a section."""
    start = rng.randrange(len(data) + 1)
    return data[:start] + data[start + rng.choice((1, 2, 4, 16, 64, 1024)) :]


def edit_lines(data: bytes, rng: random.Random) -> bytes:
    """Removes, repeats or moves a line, or a table of a TOML file."""
    separator = rng.choice((b"\n", b"\n", b"\n\n", b"\n["))
    lines = data.split(separator)
    at = rng.randrange(len(lines))
    line = lines.pop(at)
    if rng.random() < 0.6:
        lines[at:at] = [line] * rng.choice((0, 2, 3))
    else:
        lines.insert(rng.randrange(len(lines) + 1), line)
    return separator.join(lines)


def encode(data: bytes, rng: random.Random) -> bytes:
    """Changes the encoding or the line ends of a text."""
    text = data.decode("utf-8", errors="replace")
    variants: Sequence[Callable[[], bytes]] = (
        lambda: text.encode("utf-16"),
        lambda: text.encode("utf-16-le"),
        lambda: text.encode("utf-8-sig"),
        lambda: text.encode("latin-1", errors="replace"),
        lambda: text.replace("\n", "\r\n").encode(),
        lambda: text.replace("\n", "\r").encode(),
        lambda: text.rstrip("\n").encode(),
    )
    return rng.choice(variants)()


def nest(data: bytes, rng: random.Random) -> bytes:
    """Replaces a number with a deeply nested list, table or key."""
    depth = rng.choice((10, 200, 3000))
    opening, closing = rng.choice(((b"[", b"]"), (b"{a = ", b"}"), (b'{"a": ', b"}"), (b"(", b")")))
    found = list(NUMBER.finditer(data))
    if not found or rng.random() < 0.2:
        return b".".join([b"a"] * depth) + b" = 1\n" + data
    chosen = rng.choice(found)
    return data[: chosen.start()] + opening * depth + closing * depth + data[chosen.end() :]


TEXT: tuple[Mutation, ...] = (
    *(replace_number, replace_number, replace_number, replace_number, scale_number, scale_number),
    *(truncate, flip_bits, insert_bytes, repeat_chunk, delete_chunk, edit_lines, edit_lines),
    *(encode, nest),
)
BINARY: tuple[Mutation, ...] = (
    *(truncate, flip_bits, flip_bits, swap_bytes, write_integer, write_integer, write_integer),
    *(write_float, write_float, repeat_chunk, delete_chunk),
)


def mutated(data: bytes, rng: random.Random, mutations: Sequence[Mutation]) -> bytes:
    """Applies one mutation, sometimes several."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(mutations)(data, rng)
    return data


_UNUSUAL: list[Any] = [
    *(None, True, 0, -1, 2, 2**31, 2**63, 10**400, -(10**400), 1e308, 5e-324, float("nan")),
    *(float("inf"), "", "text", "é" * 60, b"", b"\xff", (), [], {}, [[]], [1.0, 2.0], object),
]


def mutated_value(value: Any, rng: random.Random) -> Any:
    """Changes a part of a tree of tuples, lists, dicts and arrays."""
    if isinstance(value, bytes) and value and rng.random() < 0.7:
        return mutated(value, rng, BINARY)
    if isinstance(value, tuple | list) and value and rng.random() < 0.85:
        items = list(value)
        at = rng.randrange(len(items))
        match rng.randrange(6):
            case 0:
                items.pop(at)
            case 1:
                items.insert(at, items[at])
            case _:
                items[at] = mutated_value(items[at], rng)
        return type(value)(items)
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        if rng.random() < 0.2:
            return {name: part for name, part in value.items() if name != key}
        return {**value, key: mutated_value(value[key], rng)}
    if hasattr(value, "tolist") and rng.random() < 0.7:
        return type(value)(0) if not value.shape else _mutated_array(value, rng)
    return rng.choice(_UNUSUAL)


def _mutated_array(value: Any, rng: random.Random) -> Any:
    changed = value.copy()
    match rng.randrange(4):
        case 0:
            return changed[:-1]
        case 1:
            return changed[..., None]
        case 2:
            return changed.astype(object)
    if changed.size:
        changed.flat[rng.randrange(changed.size)] = rng.choice((float("nan"), 1e300, -1.0, 0.0))
    return changed
