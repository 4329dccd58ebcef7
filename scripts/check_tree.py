"""Refuses what doesn't belong here: other C++ endings, paths of one machine, no change noted."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

CPP_FOLDERS = ("src", "tests", "fuzz", "benchmarks")
OTHER_CPP = {".c", ".cc", ".cxx", ".c++", ".h", ".hh", ".hxx", ".h++", ".inl", ".ipp"}
LEFT_OUT = {".git", ".venv", "build", "dist", "node_modules", "__pycache__"}
# Captured trees of hosts hold the paths of those hosts.
CAPTURED = ("tests/data/", "fuzz/corpus/")
LARGEST_TEXT_BYTES = 1 << 20
# A home folder; `/home/USER`, `/home/user` and the like are what examples and made-up hosts use.
EXAMPLE = rb"(?!user\b|me\b|alice\b|bob\b)"
HOME = re.compile(rb"(?<![\w.}])/(?:root/[\w.]|(?:home|Users)/" + EXAMPLE + rb"[a-z]\w*)")


def files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name for name in folders if name not in LEFT_OUT and not name.endswith("_cache")
        )
        yield from (Path(folder) / name for name in sorted(names))


def own_path(root: Path) -> re.Pattern[bytes] | None:
    """Where this checkout lies; a path of one part (`/src`) would be found in every other file."""
    parts = root.resolve().parts
    return re.compile(re.escape(str(root.resolve()).encode()) + rb"\b") if len(parts) > 2 else None


def problems(root: Path) -> Iterator[str]:
    own = own_path(root)
    for path in files(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(CPP_FOLDERS) and path.suffix in OTHER_CPP:
            yield f"{name}: C++ files end in .cpp and .hpp"
        if name.startswith(CAPTURED) or not path.is_file():
            continue
        if path.stat().st_size > LARGEST_TEXT_BYTES:
            continue
        text = path.read_bytes()
        for pattern in (HOME, own):
            found = pattern.search(text) if pattern and b"\0" not in text else None
            if found:
                line = text.count(b"\n", 0, found.start()) + 1
                yield f"{name}:{line}: a path of one machine: {found[0].decode()}"
    lock = root / "frontend" / "package-lock.json"
    if lock.is_file() and '"resolved"' in lock.read_text():
        yield "frontend/package-lock.json: names a registry; remove its `resolved` lines"
    if not [path for path in (root / "changes").glob("*.md") if path.name != "README.md"]:
        yield "changes/: no fragment says what changed (see changes/README.md)"


def main(root: Path) -> int:
    found = list(problems(root))
    print("\n".join(found) or "tree: in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
