"""Which cells are meant by what a user writes."""

from typing import NamedTuple

import pytest

from jumper.session import find_all


class Info(NamedTuple):
    index: int
    execution_count: int | None
    running: bool = False
    group: int | None = None
    group_name: str = ""


# In [2] ran twice; #4 has no number; the last one asks.
CELLS = [Info(1, 1), Info(2, 2), Info(3, 2), Info(4, None), Info(5, 3), Info(6, 4, running=True)]


@pytest.mark.parametrize(
    ("text", "indices"),
    [
        ("all", [1, 2, 3, 4, 5]),
        ("", [1, 2, 3, 4, 5]),
        ("1", [1]),
        ("2", [3]),
        ("#2", [2]),
        ("-1", [5]),
        ("4", [6]),
        ("1-3", [1, 3, 5]),
        ("2-999999999999999999", [3, 5]),
        ("#2-#4", [2, 3, 4]),
        ("#2-4", [2, 3, 4]),
        ("#2-#2", [2]),
        ("3,1", [1, 5]),
        ("#5 1-2, -1", [1, 3, 5]),
        ("2 all", [1, 2, 3, 4, 5]),
    ],
)
def test_cells_by_number_entry_range(text, indices):
    assert [cell.index for cell in find_all(CELLS, text)] == indices


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", "'x' names no cell: give n for In [n]"),
        ("1-", "'1-' names no cell"),
        ("3-1", "'3-1' names no cells: write the smaller number first"),
        ("1-#3", "'1-#3' names no cells: write 1-3, or #1-#3"),
        ("7-9", "there is no measured cell in 7-9: `%jumper history` lists them"),
        ("#70-#90", "there is no measured cell in #70-#90"),
        ("9", "there is no measured cell In [9]"),
        ("-6", "there is no cell -6: 5 have been measured"),
        ("--1", "'--1' names no cell"),
        ("¹-²", "'¹-²' names no cell"),
    ],
)
def test_what_names_no_cell_is_refused_in_one_sentence(text, words):
    with pytest.raises(ValueError, match=r".") as refused:
        find_all(CELLS, text)
    assert str(refused.value).startswith(words)


@pytest.mark.parametrize("text", ["all", "1", "-1", "#1-#3"])
def test_before_the_first_cell(text):
    with pytest.raises(ValueError, match=r"no (measured )?cell"):
        find_all([], text)
