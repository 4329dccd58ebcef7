"""clang-tidy over src/, in parallel; again only for files of which something they read changed.

The argument is the build folder with compile_commands.json.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIDY = Path(sys.executable).parent / "clang-tidy"
OWN_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def reads(path: Path, src: Path) -> set[Path]:
    """The file itself and every header of ours that it includes, however far away."""
    found: set[Path] = set()
    todo = [path]
    while todo:
        one = todo.pop()
        if one in found or not one.is_file():
            continue
        found.add(one)
        todo.extend(src / os.fsdecode(name) for name in OWN_INCLUDE.findall(one.read_bytes()))
    return found


def key(paths: Iterable[Path], *rest: str) -> str:
    digest = hashlib.sha256("\0".join(rest).encode())
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def run(build: Path, path: Path, stamp: Path) -> bool:
    command: list[str | Path] = [TIDY, "-p", build, "--quiet", path]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        stamp.touch()
    else:
        print(f"{path.relative_to(ROOT)}:\n{result.stdout}{result.stderr}", flush=True)
    return result.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()

    src = ROOT / "src"
    stamps = ROOT / "build" / "tidy"
    stamps.mkdir(parents=True, exist_ok=True)
    version = subprocess.check_output([TIDY, "--version"], text=True)
    config = (ROOT / ".clang-tidy").read_text()
    todo: list[tuple[Path, Path]] = []
    known: set[Path] = set()
    for entry in json.loads((options.build / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if src not in path.parents or path in known:
            continue
        known.add(path)
        stamp = stamps / key(reads(path, src), entry["command"], config, version)
        if not stamp.exists():
            todo.append((path, stamp))

    with ThreadPoolExecutor(options.jobs) as pool:
        passed = list(pool.map(lambda item: run(options.build, *item), todo))
    print(f"clang-tidy: {len(known)} files, {len(todo)} looked at, {passed.count(False)} refused")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
