"""Says which files are long (more than 500 lines: look again) and refuses those over 700."""

import sys
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("src", "python", "tests", "scripts", "frontend")
ENDINGS = {".cpp", ".hpp", ".py", ".pyi", ".js", ".css", ".sh"}
LEFT_OUT = {"node_modules", "data", "__pycache__"}
REVIEW_LINES = 500
MOST_LINES = 700


def long_files(root: Path) -> Iterator[tuple[int, str]]:
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in ENDINGS or LEFT_OUT & set(path.relative_to(root).parts):
                continue
            lines = len(path.read_bytes().splitlines())
            if lines > REVIEW_LINES:
                yield lines, path.relative_to(root).as_posix()


def main(root: Path) -> int:
    found = list(long_files(root))
    for lines, name in found:
        verdict = "refused, split it" if lines > MOST_LINES else "long, look again"
        print(f"{name}: {lines} lines: {verdict}")
    if not found:
        print("sizes: in order")
    return 1 if any(lines > MOST_LINES for lines, _ in found) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
