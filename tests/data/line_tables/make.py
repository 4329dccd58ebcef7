"""Prints, for each code object of sample.py, its first line, co_linetable and what co_lines() says.

`for v in 3.11 3.12 3.13; do python$v make.py > $v.txt; done`: a line each,
`FIRST_LINE HEX BEGIN-END:LINE …` with byte offsets, LINE = 0 where there is none.
"""

from collections.abc import Iterator
from pathlib import Path
from types import CodeType


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from codes(one)


SOURCE = Path(__file__).with_name("sample.py").read_text()
for found in codes(compile(SOURCE, "sample.py", "exec")):
    lines = " ".join(f"{begin}-{end}:{line or 0}" for begin, end, line in found.co_lines())
    print(found.co_firstlineno, found.co_linetable.hex(), lines)
