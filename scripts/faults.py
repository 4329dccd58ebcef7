"""docs/faults.md: which fault is survived how, and which tests show it.

`python scripts/faults.py` fails when the page isn't what the tests say, or when a row has no test;
`--write` writes it.
"""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROWS = ROOT / "tests" / "faults.toml"
PAGE = ROOT / "docs" / "faults.md"
NATIVE = re.compile(
    r"^// Fault: (?P<rows>[\w, ]+)\n(?://.*\n)*TEST(?:_[FP])?\((?P<suite>\w+), (?P<name>\w+)\)",
    re.MULTILINE,
)
HEAD = """# Faults

What JUmPER survives, with what outcome, and the tests that show it. This page is made of the tests
by `scripts/faults.py`; `make lint` refuses an old one. Tests marked *long* run in `make test-long`.
"""


def rows_of(node: ast.expr) -> list[str]:
    """`pytest.mark.fault("P1", "P3")` -> the words; else nothing."""
    if isinstance(node, ast.List | ast.Tuple):
        return [row for one in node.elts for row in rows_of(one)]
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault":
        return [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
    return []


def is_long(nodes: list[ast.expr]) -> bool:
    return any(ast.unparse(one).startswith("pytest.mark.long") for one in nodes)


def python_tests() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text())
        of_module: list[str] = []
        for statement in tree.body:
            if (
                isinstance(statement, ast.Assign)
                and ast.unparse(statement.targets[0]) == "pytestmark"
            ):
                of_module = rows_of(statement.value)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marks = node.decorator_list
                own = [row for one in marks for row in rows_of(one)]
                name = f"`{path.relative_to(ROOT / 'tests')}::{node.name}`"
                for row in own or of_module:
                    yield row, name + " *long*" * is_long(marks)


def native_tests() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "tests" / "native").rglob("*_test.cpp")):
        long = " *long*" * path.name.endswith("_long_test.cpp")
        for found in NATIVE.finditer(path.read_text()):
            room = path.parent.name
            for row in found["rows"].split(", "):
                yield row, f"`{room}.{found['suite']}.{found['name']}`{long}"


def page() -> tuple[str, list[str]]:
    """The text, and what is wrong with the tests' words."""
    tests: defaultdict[str, list[str]] = defaultdict(list)
    for row, name in [*python_tests(), *native_tests()]:
        tests[row].append(name)
    lines, complaints = [HEAD], []
    for part in tomllib.loads(ROWS.read_text())["part"]:
        lines += [f"## {part['title']}\n", "| | fault | outcome | tests |", "|---|---|---|---|"]
        for row, (fault, outcome) in part["rows"].items():
            names = tests.pop(row, [])
            if not names:
                complaints.append(f"no test says that it is for {row}")
            lines.append(f"| {row} | {fault} | {outcome} | {'<br>'.join(names)} |")
        lines.append("")
    complaints += [f"{row}, which {names[0]} names, is no row" for row, names in tests.items()]
    return "\n".join(lines), complaints


def main() -> int:
    text, complaints = page()
    if "--write" in sys.argv[1:]:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        complaints.append("docs/faults.md is old: scripts/faults.py --write")
    for one in complaints:
        print(f"faults: {one}", file=sys.stderr)
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
