import pytest


@pytest.mark.parametrize(
    ("lines", "status", "said"),
    [(500, 0, "in order"), (501, 0, "look again"), (700, 0, "look again"), (701, 1, "refused")],
)
def test_long_files_are_named_and_too_long_ones_refused(script, tree, capsys, lines, status, said):
    root = tree({"src/base/file.cpp": "x;\n" * lines})
    assert script("check_sizes").main(root) == status
    assert said in capsys.readouterr().out


def test_data_and_foreign_endings_are_left_out(script, tree):
    root = tree({"tests/data/big.py": "x\n" * 900, "src/notes.txt": "x\n" * 900})
    assert script("check_sizes").main(root) == 0
