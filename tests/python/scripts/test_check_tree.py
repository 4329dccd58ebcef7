import pytest

WHO = "somebody"
FRAGMENT = {"changes/x.added.md": "Something.\n"}


@pytest.fixture
def problems(script, tree):
    return lambda files: list(script("check_tree").problems(tree(files)))


def test_a_tree_in_order_passes(problems):
    files = {
        "src/base/a.cpp": "",
        "src/base/a.hpp": "",
        "docs/a.md": "/home/user/x, $HOME/root/y and ~/z\n",
        "tests/data/hosts/a/mounts": f"/home/{WHO}/x\n",
        "build/x.h": "",
    }
    assert problems(FRAGMENT | files) == []


@pytest.mark.parametrize("ending", ["h", "cc", "cxx", "hh", "c"])
def test_other_endings_of_cpp_are_refused(problems, ending):
    found = problems({**FRAGMENT, f"src/base/a.{ending}": ""})
    assert found == [f"src/base/a.{ending}: C++ files end in .cpp and .hpp"]


@pytest.mark.parametrize("path", ["home/somebody", "root/x", "Users/somebody"])
def test_home_folders_are_refused(problems, path):
    found = problems({**FRAGMENT, "docs/a.md": f"one\nsee /{path}/notes\n"})
    assert len(found) == 1
    assert found[0].startswith("docs/a.md:2: a path of one machine")


def test_the_path_of_the_checkout_is_refused(problems, tmp_path):
    found = problems({**FRAGMENT, "scripts/a.sh": f"cd {tmp_path}\n"})
    assert len(found) == 1


def test_a_tree_without_a_fragment_is_refused(problems):
    found = problems({"changes/README.md": "How to.\n"})
    assert len(found) == 1
    assert "changes/" in found[0]
