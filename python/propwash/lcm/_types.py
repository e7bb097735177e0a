"""Encodes and decodes LCM messages by their definition, with the checks that a reader needs."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Values = dict[str, Any]
"""Numbers and lists of numbers, by the names of the fields."""

DEFINITIONS = Path(__file__).with_name("propwash.lcm")
"""The file of the message types, for lcm-gen."""
_CODES = {
    "int8_t": "b",
    "int16_t": "h",
    "int32_t": "i",
    "int64_t": "q",
    "byte": "B",
    "float": "f",
    "double": "d",
}
_FIELD = re.compile(r"(?P<kind>\w+)\s+(?P<name>\w+)\s*(?:\[\s*(?P<size>\w+)\s*\])?\s*;")
_FINGERPRINT = struct.Struct(">Q")
_MASK = 2**64 - 1


class Malformed(ValueError):
    """A message that is not valid; `args[0]` is the reason, without values."""


@dataclass(frozen=True)
class _Field:
    name: str
    kind: str
    size: str
    """Elements: "" for a number, digits, or the name of the field that has their number."""

    def count(self, values: Mapping[str, Any]) -> int:
        if not self.size:
            return 1
        return int(self.size) if self.size.isdigit() else int(values[self.size])


class MessageType:
    """A type of messages: numbers, and lists with a constant or a variable number of them."""

    def __init__(self, name: str, body: str) -> None:
        self.name = name
        self._fields = [
            _Field(found["name"], found["kind"], found["size"] or "")
            for found in _FIELD.finditer(body)
        ]
        self.fingerprint = _fingerprint(self._fields)

    def encode(self, values: Mapping[str, Any]) -> bytes:
        """The bytes of a message. Raises struct.error for values that do not suit the type."""
        parts = [_FINGERPRINT.pack(self.fingerprint)]
        for field in self._fields:
            value = values[field.name]
            numbers = value if field.size else (value,)
            parts.append(struct.pack(f">{field.count(values)}{_CODES[field.kind]}", *numbers))
        return b"".join(parts)

    def decode(self, data: bytes) -> Values:
        """The values of a message. Raises Malformed for another type, length, NaN or infinity."""
        if len(data) < _FINGERPRINT.size:
            raise Malformed("wrong length")
        if _FINGERPRINT.unpack_from(data)[0] != self.fingerprint:
            raise Malformed("another type")
        values: Values = {}
        at = _FINGERPRINT.size
        for field in self._fields:
            code, count = _CODES[field.kind], field.count(values)
            end = at + count * struct.calcsize(f">{code}")
            if count < 0 or end > len(data):
                raise Malformed("wrong length")
            numbers = struct.unpack_from(f">{count}{code}", data, at)
            if code in "fd" and not all(map(math.isfinite, numbers)):
                raise Malformed("not finite")
            values[field.name] = list(numbers) if field.size else numbers[0]
            at = end
        if at != len(data):
            raise Malformed("wrong length")
        return values


@cache
def message_types() -> dict[str, MessageType]:
    """The types of `propwash.lcm` by their names."""
    text = re.sub(r"//.*", "", DEFINITIONS.read_text("utf-8"))
    structs = re.findall(r"struct\s+(\w+)\s*{([^}]*)}", text)
    return {name: MessageType(name, body) for name, body in structs}


def _fingerprint(fields: list[_Field]) -> int:
    """LCM's hash of the names, types and sizes of the fields, not of the names of the type."""
    value = 0x12345678
    for field in fields:
        value = _mixed_text(_mixed_text(value, field.name), field.kind)
        value = _mixed(value, 1 if field.size else 0)  # the number of dimensions
        if field.size:
            value = _mixed(value, 0 if field.size.isdigit() else 1)
            value = _mixed_text(value, field.size)
    return (value << 1 | value >> 63) & _MASK


def _mixed(value: int, number: int) -> int:
    signed = value - (_MASK + 1) if value >> 63 else value
    return (((value << 8) ^ (signed >> 55)) + number) & _MASK


def _mixed_text(value: int, text: str) -> int:
    value = _mixed(value, len(text))
    for byte in text.encode():
        value = _mixed(value, byte)
    return value
