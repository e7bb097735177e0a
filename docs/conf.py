"""Settings of the documentation's site: `make docs` writes it to build/docs/html.

The pages are those of the repository, with their links; toc.yml lists and orders them. The build
runs the notebooks.
"""

import os
import re
import sys
from pathlib import Path

from propwash.logs import flight_folders

ROOT = Path(__file__).resolve().parents[1]

for folder in filter(Path.is_dir, reversed(flight_folders())):
    os.environ["PROPWASH_FLIGHTS"] = str(folder.resolve())  # notebooks run in their own folder

project = "propwash"
author = "The propwash authors"
copyright = author
header = (ROOT / "include/propwash/version.hpp").read_text(encoding="utf-8")
version = release = re.findall(r'#define PROPWASH_VERSION "(.+)"', header)[0]

sys.path.insert(0, str(ROOT / "docs" / "extensions"))
extensions = ["myst_nb", "sphinx_external_toc", "mathml", "cpp_api", "python_api", "commands_page"]
external_toc_path = "docs/toc.yml"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/**",
    "examples/README.md",
    "tests/data/README.md",
    "bench/peers/README.md",
    "examples/notebooks/*.ipynb",
]
exclude_patterns = ["docs/conf.py", "**/.ipynb_checkpoints"]
# breathe declares a namespace once for each header in it
suppress_warnings = ["duplicate_declaration.cpp"]
add_module_names = False
python_maximum_signature_line_length = 80
html_theme = "furo"
html_title = f"{project} {version}"

html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
