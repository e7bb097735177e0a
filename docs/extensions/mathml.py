"""Renders equations as MathML, so that a page shows them without a script and without a network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)
converter = LatexToMathML(fancy_error=False)


def to_mathml(node: nodes.Element, *, block: bool) -> str:
    r"""The `<math>` element of an equation; with `\tag{…}`, its number is in the right margin."""
    tex = node.astext().strip()
    if block and r"\tag" in tex:
        tex = rf"\begin{{equation}}{tex}\end{{equation}}"
    try:
        mathml = converter.convert_with_local_state(tex, displaystyle=block)
    except LatexError as error:
        logger.warning("equation %r: %s", tex, error, location=node)
        return ""
    # Without a font that has a table of mathematical metrics, browsers draw an accent of a capital
    # letter on top of the letter. As an ordinary overscript it is above the letter with any font.
    return mathml.replace(' accent="true"', "")


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write an equation in a line of text."""
    translator.body.append(to_mathml(node, block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write an equation that has a paragraph for itself."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(to_mathml(node, block=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer, to be chosen with `html_math_renderer = "mathml"`."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
