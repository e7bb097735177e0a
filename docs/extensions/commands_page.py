"""Writes the reference of `python -m propwash` from its argument parsers."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from pages import heading, write
from propwash.cli.main import make_parser
from sphinx.application import Sphinx


def help_of(parser: argparse.ArgumentParser) -> str:
    """The help text of a parser as a block of code."""
    lines = parser.format_help().splitlines()
    return "\n".join([".. code-block:: text", "", *(f"   {line}".rstrip() for line in lines), ""])


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands of a parser."""
    commands = [x for x in parser._actions if isinstance(x, argparse._SubParsersAction)]
    return dict(commands[0].choices) if commands else {}


def write_page(app: Sphinx, config: object) -> None:
    """Ask each parser for its help."""
    os.environ["COLUMNS"] = "100"
    parser = make_parser()
    sections = [heading("Commands", "="), help_of(parser)]
    for name, command in subcommands(parser).items():
        sections += [heading(name, "-"), help_of(command)]
        for inner, nested in subcommands(command).items():
            sections += [heading(f"{name} {inner}", "^"), help_of(nested)]
    write(Path(app.srcdir) / "docs" / "api" / "commands.rst", "\n".join(sections))


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page before Sphinx looks for pages."""
    app.connect("config-inited", write_page)
    return {"parallel_read_safe": True}
