"""Refuses includes and imports that break the rooms' order.

C++: the tables of src/README.md (rooms left to right; libraries and who may use them).
Python: extension, magics, names, the engine's modules → session → state, views, _native.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
# The peers' names, which `names` installs.
NAMES = {"paper_names", "extension_names", "extension_files", "mode_names", "peer_magics"}
TOP = {"extension", "magics", "names", "engine_main", "engine_loop", "engine_shell"} | NAMES
UPPER = TOP | {"session"}
LOWER = {"state", "views"}
# Who may know IPython; `import jumper` in a plain script must need none of it.
# `relay` shows in the kernel what another process says, `traced` runs a cell there.
KNOWS_IPYTHON = TOP | {"views", "relay", "traced"}
IPYTHON = {"IPython", "ipykernel"}
# They only pass on: `%load_ext jumper` and `python -m jumper` begin here.
DOORS = {"__init__", "__main__"}


def block(text: str, name: str) -> list[str]:
    found = re.search(rf"^```{name}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    if not found:
        message = f"src/README.md has no block ```{name}"
        raise SystemExit(message)
    return found[1].splitlines()


def rooms(readme: str) -> dict[str, int]:
    """Each room's layer, counted from the left."""
    layers = " ".join(block(readme, "rooms")).split("|")
    return {room: layer for layer, names in enumerate(layers) for room in names.split()}


def libraries(readme: str) -> dict[str, set[str]]:
    """The rooms that may include a library, by the first part of the include's path."""
    allowed: dict[str, set[str]] = {}
    for line in block(readme, "libraries"):
        names, _, users = line.partition(":")
        allowed |= {name: set(users.split()) for name in names.split()}
    return allowed


def check_cpp(root: Path) -> Iterator[str]:
    src = root / "src"
    readme = (src / "README.md").read_text()
    layer, allowed = rooms(readme), libraries(readme)
    for path in sorted([*src.rglob("*.cpp"), *src.rglob("*.hpp")]):
        name = path.relative_to(root).as_posix()
        room = path.relative_to(src).parts[0]
        if path.parent == src or room not in layer:
            yield f"{name}: lies in no room of src/README.md's table"
            continue
        for quote, target in INCLUDE.findall(path.read_text()):
            first = target.split("/")[0]
            if first in allowed and room not in allowed[first]:
                users = ", ".join(sorted(allowed[first]))
                yield f"{name}: includes {target}; only {users} may"
            if first in layer and "/" in target:
                if first != room and layer[first] >= layer[room]:
                    yield f"{name}: {room} may not include {target}; {first} is not left of it"
                if not (src / target).is_file():
                    yield f"{name}: includes {target}, which is not there"
            elif quote == '"':
                yield f'{name}: "{target}" is not written from src, as "room/file.hpp"'


def imports(tree: ast.Module) -> Iterator[str]:
    """Dotted names imported at run time, `from .x import y` as `jumper.x.y`."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            todo.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            parts = ["jumper"] * (node.level > 0) + ([node.module] if node.module else [])
            yield from (".".join([*parts, alias.name]) for alias in node.names)
        todo.extend(ast.iter_child_nodes(node))


def forbidden(module: str) -> set[str]:
    """The modules above this one; one of no layer may use the session, not the notebook's side."""
    if module in TOP | DOORS:
        return set()
    return UPPER if module in LOWER else TOP


def check_python(root: Path) -> Iterator[str]:
    package = root / "python" / "jumper"
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        module = path.relative_to(package).with_suffix("").parts[0]
        above = forbidden(module)
        for target in imports(ast.parse(path.read_text(), name)):
            first, *rest = target.split(".")
            if first in IPYTHON and module not in KNOWS_IPYTHON:
                users = ", ".join(sorted(KNOWS_IPYTHON))
                yield f"{name}: imports {first}; only {users} may"
            if first == "jumper" and rest and rest[0] in above:
                yield f"{name}: {module} may not import {rest[0]}, which stands above it"


def main(root: Path) -> int:
    problems = [*check_cpp(root), *check_python(root)]
    print("\n".join(problems) or "includes and imports: in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
