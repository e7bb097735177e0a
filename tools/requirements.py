"""Prints requirements of pyproject.toml, one per line, for `pip install -r`.

pip can install a project's extras only together with the project, but the Makefile installs the
tools before the project.
"""

import argparse
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def resolve(extra: str, extras: dict[str, list[str]]) -> list[str]:
    """The requirements of an extra, including those of the extras that it names."""
    found: list[str] = []
    for requirement in extras[extra]:
        nested = re.fullmatch(r"propwash\[(.+)\]", requirement)
        if nested is None:
            found.append(requirement)
        else:
            for name in nested.group(1).split(","):
                found += resolve(name.strip(), extras)
    return found


def main() -> None:
    """Print the requirements that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("extras", nargs="*", help="names of optional dependencies")
    parser.add_argument(
        "--build", action="store_true", help="the requirements of building the wheel"
    )
    parser.add_argument("--runtime", action="store_true", help="the requirements of the package")
    arguments = parser.parse_args()

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    requirements: list[str] = []
    if arguments.build:
        requirements += settings["build-system"]["requires"]
    if arguments.runtime:
        requirements += settings["project"]["dependencies"]
    for extra in arguments.extras:
        requirements += resolve(extra, settings["project"]["optional-dependencies"])
    print("\n".join(dict.fromkeys(requirements)))


if __name__ == "__main__":
    main()
