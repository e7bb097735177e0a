"""Reports what the running Python lacks for building propwash; runs on any Python 3."""

import importlib.util
import os
import sys
import sysconfig


def main() -> None:
    """Exit with one message per problem."""
    problems = []
    if sys.version_info < (3, 11):
        problems.append(
            "Python >= 3.11 is needed and %s is %s; run make PYTHON=/path/to/a/newer/python3"
            % (sys.executable, sys.version.split()[0])
        )
    if importlib.util.find_spec("ensurepip") is None:
        problems.append("the module venv is missing (Debian: apt-get install python3-venv)")
    header = os.path.join(sysconfig.get_path("include"), "Python.h")
    if not os.path.exists(header):
        problems.append("%s is missing (Debian: apt-get install python3-dev)" % header)
    if problems:
        sys.exit("\n".join("make: " + problem for problem in problems))


if __name__ == "__main__":
    main()
