"""Prints requirements of pyproject.toml, one a line: of `build`, `run`, or of an extra.

So an environment is filled before (or without) a wheel of ours, from the one list there is.
"""

import sys
import tomllib
from pathlib import Path


def requirements(pyproject: Path, groups: list[str]) -> list[str]:
    data = tomllib.loads(pyproject.read_text())
    known: dict[str, list[str]] = {
        "build": data["build-system"]["requires"],
        "run": data["project"]["dependencies"],
        **data["project"]["optional-dependencies"],
    }
    return sorted({line for group in groups for line in known[group]})


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    print("\n".join(requirements(root / "pyproject.toml", sys.argv[1:])))
