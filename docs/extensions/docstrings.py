"""Turns the docstrings of this package into reStructuredText.

They are plain text: `code`, items "name: text", sections such as "Raises:", and indented examples
after a colon or a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields|Example|Note)s?:$")
ITEM = re.compile(r"(\*{0,2}[A-Za-z_][\w.]*(?:, \*{0,2}\w+)*): (.*)")


def as_rst(text: str) -> str:
    """A docstring, without its common indentation, as reStructuredText."""
    blocks = [list(block) for filled, block in groupby(text.splitlines(), bool) if filled]
    lines: list[str] = []
    literal = False
    for i, block in enumerate(blocks):
        indented = all(line.startswith(" ") for line in block)
        literal = indented and (literal or (i > 0 and blocks[i - 1][-1].endswith(":")))
        if literal:
            lines += ["::", "", *(f"   {line}" for line in block), ""]
        elif block[0].startswith(">>>"):
            lines += [*block, ""]
        elif SECTION.match(block[0]) and len(block) > 1:
            indent = len(block[1]) - len(block[1].lstrip())
            lines += [f"**{block[0].rstrip(':')}**", ""]
            lines += [*items([line[indent:] for line in block[1:]]), ""]
        else:
            lines += [*items(block), ""]
    return "\n".join(lines)


def items(block: list[str]) -> Iterator[str]:
    """The lines of a paragraph, as a list where each of them begins or continues an item."""
    if all(ITEM.match(line) or line.startswith(" ") for line in block):
        for line in block:
            name = ITEM.match(line)
            yield f"- ``{name[1]}``: {inline(name[2])}" if name else f"  {inline(line.strip())}"
    elif block[0].startswith("- "):
        yield from (inline(line) for line in block)
    else:
        yield from (inline(line.strip()) for line in block)


def inline(line: str) -> str:
    """A line in which only `code` is markup."""
    parts = re.split(r"(`+)(.+?)\1", line)
    text = escape(parts[0])
    for code, after in zip(parts[2::3], parts[3::3], strict=True):
        end = "" if re.match(r"$|[\s.,;:!?)\]'\"/-]", after) else r"\ "
        text += f"``{code}``{end}{escape(after)}"
    return text


def escape(text: str) -> str:
    """Text in which nothing is markup."""
    return re.sub(r"[\\*`|]|_(?!\w)", r"\\\g<0>", text)


def first_sentence(text: str) -> str:
    """The first sentence of a description, as one line."""
    words = " ".join(text.partition("\n\n")[0].split())
    return inline(re.split(r"(?<=[.!?]) (?=[A-Z`(])", words)[0])
