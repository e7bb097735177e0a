"""The documentation site: equations, reference, extensions, and no requests to other hosts."""

from __future__ import annotations

import importlib
import inspect
import json
import logging
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXTENSIONS = ROOT / "docs" / "extensions"

pytestmark = pytest.mark.skipif(not (ROOT / "docs" / "conf.py").exists(), reason="docs are missing")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it, without running the notebooks."""
    for module in ("sphinx", "myst_nb", "sphinx_external_toc", "furo", "breathe", "math_core"):
        pytest.importorskip(module)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "-q"]
    command += ["-c", str(ROOT / "docs"), "-D", "nb_execution_mode=off", "-b", "html"]
    result = subprocess.run(
        [*command, "-d", str(folder / "read"), str(ROOT), str(folder / "html")],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return folder / "html"


NAVIGATION = ("index", "search", "next", "prev", "author")  # links that a browser does not fetch


class Page(HTMLParser):
    """Collects the addresses that a page loads, and its equations."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.equations: list[str] = []  # the text of each equation
        self._inside = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses that a browser fetches to show the page."""
        values = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "embed"):
            self.loads.append(values.get("src") or "")
        elif tag == "link" and values.get("rel") not in NAVIGATION:
            self.loads.append(values.get("href") or "")
        elif tag == "math":
            self.equations.append("")
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        """End an equation."""
        self._inside = self._inside and tag != "math"

    def handle_data(self, data: str) -> None:
        """Collect the text of an equation."""
        if self._inside:
            self.equations[-1] += data


def sources() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each page."""
    for path in [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]:
        yield path.relative_to(ROOT).with_suffix(".html").as_posix(), path.read_text("utf-8")
    for path in sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        yield path.relative_to(ROOT).with_suffix(".html").as_posix(), text


def equations(markdown: str) -> list[str]:
    """The equations of a page in TeX, found by another Markdown parser."""
    markdown_it = pytest.importorskip("markdown_it")
    dollarmath = pytest.importorskip("mdit_py_plugins.dollarmath")
    parser = markdown_it.MarkdownIt("commonmark").enable("table")
    parser.use(dollarmath.dollarmath_plugin)
    found = []
    for block in parser.parse(markdown):
        tokens = block.children if block.type == "inline" else [block]
        found += [t.content for t in tokens or [] if t.type in ("math_block", "math_inline")]
    return found


@pytest.mark.slow
def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 80
    for path in pages:
        outside = [url for url in Page(path).loads if re.match(r"(https?:)?//", url)]
        assert not outside, f"{path.relative_to(site)}: {outside}"
    for path in (site / "_static").rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", path.read_text("utf-8")), path.name


@pytest.mark.slow
def test_every_equation_is_mathml(site: Path) -> None:
    total = 0
    for name, markdown in sources():
        written, shown = equations(markdown), Page(site / name).equations
        assert len(shown) == len(written), name
        assert all(text.strip() for text in shown), name
        tags = re.findall(r"\\tag\{([^}]+)\}", "\n".join(written))
        assert tags == [t for text in shown for t in re.findall(r"\(([A-Z]?\d+)\)$", text)], name
        total += len(shown)
    assert total > 500


MEASURE = """<script>
for (const math of document.querySelectorAll("math")) {
  const box = math.getBoundingClientRect();
  const drawn = math instanceof MathMLElement && box.width > 0 && box.height > 0;
  math.setAttribute("data-drawn", drawn);
}
</script></body>"""


@pytest.mark.slow
def test_a_browser_without_a_network_renders_the_equations(site: Path, tmp_path: Path) -> None:
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        pytest.skip("Chromium is missing (Debian: chromium)")
    page = site / "docs" / "model" / "rotor.html"
    measured = page.with_name("rotor_measured.html")
    measured.write_text(page.read_text("utf-8").replace("</body>", MEASURE), encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:1"]
    command += [f"--user-data-dir={tmp_path}", measured.as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    measured.unlink()
    assert result.returncode == 0, result.stderr
    drawn = re.findall(r'<math[^>]* data-drawn="(\w+)"', result.stdout)
    assert len(drawn) == len(equations((ROOT / "docs/model/rotor.md").read_text("utf-8")))
    assert set(drawn) == {"true"}
    assert re.findall(r"<mtext>\((\d+)\)</mtext>", result.stdout) == ["2", "3", "4", "5"]


def inventory(site: Path, domain: str) -> set[str]:
    """The names that the reference documents."""
    from sphinx.util.inventory import InventoryFile

    with (site / "objects.inv").open("rb") as file:
        found = InventoryFile.load(file, "", lambda base, path: path)
    return {name for kind, names in found.items() if kind.startswith(domain) for name in names}


@pytest.mark.slow
def test_the_reference_documents_every_exported_python_name(site: Path) -> None:
    import propwash

    described = inventory(site, "py:")
    for name in set(propwash.__all__) - {"__version__"}:
        value = getattr(propwash, name)
        path = value.__name__ if inspect.ismodule(value) else f"propwash.{name}"
        assert path in described, path
    for init in (ROOT / "python" / "propwash").glob("*/__init__.py"):
        package = importlib.import_module(f"propwash.{init.parent.name}")
        for name in set(getattr(package, "__all__", ())) - {"__version__"}:
            if not inspect.ismodule(getattr(package, name)):
                page = site / f"docs/api/python/{package.__name__}.html"
                assert re.search(rf">{name}<", page.read_text("utf-8")), f"{package}: {name}"


DETAIL = r"namespace (\w*_)?detail\b.*?\n}  // namespace (\w*_)?detail"


@pytest.mark.slow
def test_the_reference_documents_every_public_class_of_the_headers(site: Path) -> None:
    described = inventory(site, "cpp:")
    umbrella = (ROOT / "include/propwash/propwash.hpp").read_text("utf-8")
    headers = re.findall(r'#include "(propwash/\w+/\w+\.hpp)"', umbrella)
    headers += [
        path.relative_to(ROOT / "include").as_posix()
        for module in ("paint", "render")
        for path in (ROOT / "include" / "propwash" / module).glob("*.hpp")
    ]
    assert len(headers) > 90
    for header in headers:
        text = (ROOT / "include" / header).read_text("utf-8")
        module = header.split("/")[1]
        page = (site / f"docs/api/cpp/{module}.html").read_text("utf-8")
        assert f"&lt;{header}&gt;" in page, header
        text = re.sub(DETAIL, "", text, flags=re.S)
        for name in re.findall(r"^(?:struct|class|enum class) (\w+)(?= |$)(?!.*;$)", text, re.M):
            assert any(entry.endswith(f"::{name}") for entry in described), f"{header}: {name}"


@pytest.fixture
def extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extensions of the site can be imported."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(EXTENSIONS))


@pytest.mark.usefixtures("extensions")
def test_public_names_of_headers_need_a_comment(tmp_path: Path) -> None:
    from cpp_api import names_of, run_doxygen, undocumented

    header = tmp_path / "sample.hpp"
    header.write_text(
        "namespace propwash {\n"
        "/// A point.\n"
        "struct Point {\n"
        "  Point();\n"
        "  double x, y;  ///< m\n"
        "  double z;\n"
        "  int operator[](int i) const;\n"
        " private:\n"
        "  int hidden;\n"
        "};\n"
        "double length(const Point& p);\n"
        "/// The same of two.\n"
        "double length(const Point& p, const Point& q);\n"
        "double area(const Point& p);\n"
        "namespace detail {\n"
        "int helper();\n"
        "}\n"
        "}\n"
    )
    names = names_of(run_doxygen([header], tmp_path / "doxygen"))
    missing = [name.qualified for name in undocumented(names)]
    assert missing == ["propwash::Point::z", "propwash::area"]


@pytest.mark.usefixtures("extensions")
def test_public_names_of_python_need_a_docstring() -> None:
    from python_api import Name, undocumented

    class Described:
        """A class."""

        def documented(self) -> None:
            """A method."""

        def undocumented(self) -> None:
            pass

    Described.__module__ = "propwash.sample"
    assert undocumented(Name("propwash.Described", Described, "A class."), set()) == [
        "propwash.Described.undocumented"
    ]
    assert undocumented(Name("propwash.f", len, ""), set()) == ["propwash.f"]


@pytest.mark.usefixtures("extensions")
@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("A * b | c_ of `d`s.", "A \\* b \\| c\\_ of ``d``\\ s."),
        ("n: number.\nm: other,\n    in full.", "- ``n``: number.\n- ``m``: other,\n  in full."),
        ("As here:\n\n    a = b * c", "As here:\n\n::\n\n       a = b * c"),
        ("Raises:\n    ValueError: always.", "**Raises**\n\n- ``ValueError``: always."),
        (">>> a * b\n6", ">>> a * b\n6"),
        ("- a * b,\n  in full;\n- c.", "- a \\* b,\n  in full;\n- c."),
    ],
)
def test_docstrings_are_converted_to_restructuredtext(docstring: str, expected: str) -> None:
    from docstrings import as_rst

    assert as_rst(docstring).strip() == expected


@pytest.mark.usefixtures("extensions")
def test_an_invalid_equation_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("math_core")
    from docutils import nodes
    from mathml import to_mathml

    logger = logging.getLogger("sphinx")
    logger.addHandler(caplog.handler)
    node: Any = nodes.math_block(text=r"\nonsense{x}")
    assert to_mathml(node, block=True) == ""
    logger.removeHandler(caplog.handler)
    assert "nonsense" in caplog.text
