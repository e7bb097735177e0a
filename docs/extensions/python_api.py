"""Writes the Python reference from the docstrings: one page for each package of propwash.

A module is public where it has `__all__`. Each name is described once: under `propwash` where it is
exported there, otherwise under the shortest module that exports it. A name or an attribute without
a docstring is a warning.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import propwash
from docstrings import as_rst, first_sentence, inline
from pages import heading, summary_table, write_pages
from propwash.vehicle.fields import ParameterSet
from sphinx.application import Sphinx
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging
from stability import NOTE, stable_modules

logger = logging.getLogger(__name__)

FIELDS: dict[str, str] = {}  # descriptions of attributes, from their Field or type


@dataclass
class Name:
    """A public name, and the docstring of what it names."""

    path: str  # the name under which it is described
    value: Any
    doc: str

    @property
    def is_data(self) -> bool:
        """Whether it is a constant or an alias of a type: autodoc does not find its docstring."""
        return not (inspect.isclass(self.value) or inspect.isroutine(self.value))


def public_modules() -> list[ModuleType]:
    """The package and its public modules, the shortest names first."""
    names = [
        module.name
        for module in pkgutil.walk_packages(propwash.__path__, "propwash.")
        if not any(part.startswith("_") for part in module.name.split("."))
        and not module.name.startswith("propwash.cli")  # see commands_page
    ]
    modules = [importlib.import_module(name) for name in sorted(names, key=lambda x: x.count("."))]
    return [propwash, *(module for module in modules if hasattr(module, "__all__"))]


def comments_of(module: str) -> dict[tuple[str, str], list[str]]:
    """The docstrings below attributes in a module: (class or "", name) to lines."""
    try:
        analyzer = ModuleAnalyzer.for_module(module)
        analyzer.analyze()
    except PycodeError:  # an extension
        return {}
    return analyzer.attr_docs


def data_doc(module: ModuleType, name: str) -> str:
    """The docstring of a constant, from the module that defines it."""
    package = module.__name__.split(".")[1:2]
    prefix = ".".join(["propwash", *package])
    for loaded in [module.__name__, *sorted(x for x in sys.modules if x.startswith(prefix))]:
        if ("", name) in (comments := comments_of(loaded)):
            return " ".join(comments["", name])
    return ""


def is_ours(kind: type) -> bool:
    """Whether a class is of this package."""
    return kind.__module__.partition(".")[0] == "propwash"


def members_of(kind: type, documented: set[int]) -> list[str]:
    """The public attributes of a class and of its bases without a separate description."""
    names: dict[str, None] = {}
    for base in kind.__mro__:
        if is_ours(base) and (base is kind or id(base) not in documented):
            own = [*inspect.get_annotations(base), *vars(base)]
            names |= dict.fromkeys(name for name in own if not name.startswith("_"))
    return list(names)


def member_doc(kind: type, name: str, path: str) -> str:
    """The docstring of an attribute of a class."""
    value = inspect.getattr_static(kind, name, None)
    if inspect.isroutine(value) or isinstance(value, property | classmethod | staticmethod):
        return inspect.getdoc(getattr(kind, name)) or ""
    for base in kind.__mro__:
        if is_ours(base):
            comment = comments_of(base.__module__).get((base.__qualname__, name))
            if comment:
                return " ".join(comment)
    if issubclass(kind, ParameterSet) and (text := kind.field(name).description):
        return FIELDS.setdefault(f"{path}.{name}", text)
    if any(hasattr(base, name) for base in kind.__mro__ if not is_ours(base)):
        return "See the base class."
    if re.search(rf"\b{name}(, \w+)*: ", kind.__doc__ or ""):
        return "See the class."
    try:
        hint = get_type_hints(kind).get(name)
    except NameError:  # a type that is imported for type checkers only
        return ""
    if inspect.isclass(hint) and is_ours(hint):
        return FIELDS.setdefault(f"{path}.{name}", first_sentence(inspect.getdoc(hint) or ""))
    return ""


def collect() -> dict[str, list[Name]]:
    """The names that each public module exports."""
    paths: dict[int, str] = {}
    exported: dict[str, list[Name]] = {}
    for module in public_modules():
        names = exported[module.__name__] = []
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.ismodule(value) or name == "__version__":
                continue
            path = f"{module.__name__}.{name}"
            if inspect.isclass(value) or inspect.isroutine(value):
                path = paths.setdefault(id(value), path)
                names.append(Name(path, value, inspect.getdoc(value) or ""))
            else:
                names.append(Name(path, value, data_doc(module, name)))
    return exported


def undocumented(name: Name, documented: set[int]) -> list[str]:
    """The paths of a name and of its attributes where they have no docstring."""
    paths = [] if name.doc else [name.path]
    if inspect.isclass(name.value):
        for member in members_of(name.value, documented):
            if not member_doc(name.value, member, name.path):
                paths.append(f"{name.path}.{member}")
    return paths


def directive(name: Name, documented: set[int]) -> str:
    """What describes a name; a warning for each path without a docstring."""
    for path in undocumented(name, documented):
        logger.warning("%s has no docstring", path)
    if name.is_data:
        module, _, last = name.path.rpartition(".")
        return f".. py:data:: {last}\n   :module: {module}\n\n   {inline(name.doc)}\n"
    if inspect.isroutine(name.value):
        return f".. autofunction:: {name.path}\n"
    options = []
    if any(id(base) in documented for base in name.value.__bases__):
        options.append("   :show-inheritance:")
    if members := members_of(name.value, documented):
        options += [f"   :members: {', '.join(members)}", "   :undoc-members:"]
    kind = "autoexception" if issubclass(name.value, BaseException) else "autoclass"
    return "\n".join([f".. {kind}:: {name.path}", *options, ""])


def section(module: str, names: list[Name], here: list[Name], documented: set[int]) -> str:
    """A module: what it is, a table of all its names, and the descriptions that belong here."""
    rows = [(f":py:obj:`~{name.path}`", first_sentence(name.doc)) for name in names]
    doc = as_rst(inspect.getdoc(importlib.import_module(module)) or "")
    note = "" if module in stable_modules() else NOTE
    parts = [f".. py:module:: {module}", "", note, doc, "", summary_table(rows)]
    return "\n".join([*parts, *(directive(name, documented) for name in here)])


def write_reference(app: Sphinx, config: object) -> None:
    """Import the package and write the pages, before Sphinx looks for pages."""
    exported = collect()
    documented = {id(name.value) for names in exported.values() for name in names}
    home: dict[str, str] = {}  # the module on whose page a name is described
    for module in [*list(exported)[1:], "propwash"]:
        for name in exported[module]:
            home.setdefault(name.path, module)
    pages: dict[str, list[str]] = {}
    for module in sorted(exported):
        names = exported[module]
        here = [name for name in names if home[name.path] == module]
        page = pages.setdefault(".".join(module.split(".")[:2]), [])
        title = heading(module, "-" if page else "=")
        page += [title, section(module, names, here, documented)]
    write_pages(
        Path(app.srcdir) / "docs" / "api" / "python",
        "Python API",
        {name: "\n".join(parts) for name, parts in pages.items()},
        {
            name: first_sentence(inspect.getdoc(importlib.import_module(name)) or "")
            for name in pages
        },
    )


def complete(app: Sphinx, kind: str, path: str, value: Any, options: Any, lines: list[str]) -> None:
    """Make a docstring reStructuredText; that of a parameter comes from its Field."""
    if inspect.isclass(value) and issubclass(value, ParameterSet) and "Attributes:" in lines:
        del lines[lines.index("Attributes:") :]  # each is described below the class
    lines[:] = as_rst("\n".join(lines).strip() or FIELDS.get(path, "")).splitlines()


def setup(app: Sphinx) -> dict[str, bool]:
    """Add autodoc and the pages that it fills."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("config-inited", write_reference)
    app.connect("autodoc-process-docstring", complete)
    return {"parallel_read_safe": True}
