from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "src" / "README.md").read_text()


@pytest.fixture
def problems(script, tree):
    """What the check says about a tree that has these files too."""
    check = script("check_includes")

    def run(files):
        root = tree({"src/README.md": README, "src/base/file.hpp": "", **files})
        return [*check.check_cpp(root), *check.check_python(root)]

    return run


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/record/log.cpp", '#include <vector>\n#include "base/file.hpp"\n'),
        ("src/base/file.cpp", '#include "base/file.hpp"\n'),
        ("src/bind/module.cpp", "#include <Python.h>\n#include <nanobind/nanobind.h>\n"),
        ("src/store/export.cpp", "#include <nlohmann/json.hpp>\n"),
        ("src/tools/main.cpp", '#include <CLI/CLI.hpp>\n#include "base/file.hpp"\n'),
        ("python/jumper/views.py", "from IPython.display import display\n"),
        ("python/jumper/magics.py", "from .session import Session\nimport IPython\n"),
        ("python/jumper/session.py", "from . import _native, state, views\n"),
        ("python/jumper/__init__.py", "def load():\n    from .extension import load\n"),
        (
            "python/jumper/session.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import IPython\n",
        ),
    ],
)
def test_what_keeps_the_order_passes(problems, name, text):
    assert problems({name: text}) == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("src/base/a.cpp", '#include "record/log.hpp"\n', "base may not include record/log.hpp"),
        ("src/base/a.cpp", "#include <record/log.hpp>\n", "base may not include record/log.hpp"),
        ("src/base/a.cpp", '  #  include "record/log.hpp"\n', "base may not include"),
        ("src/store/a.cpp", '#include "probe/cpu.hpp"\n', "store may not include probe/cpu.hpp"),
        ("src/record/a.cpp", '#include "base/none.hpp"\n', "which is not there"),
        ("src/base/a.cpp", '#include "file.hpp"\n', "not written from src"),
        ("src/base/a.cpp", '#include "../record/log.hpp"\n', "not written from src"),
        ("src/view/a.cpp", "#include <Python.h>\n", "includes Python.h; only bind may"),
        ("src/tools/a.cpp", "#include <nanobind/stl/list.h>\n", "only bind may"),
        ("src/probe/a.cpp", "#include <nlohmann/json.hpp>\n", "only store, tools, trace, view may"),
        ("src/store/a.cpp", "#include <CLI/CLI.hpp>\n", "only tools may"),
        ("src/util/a.cpp", "", "lies in no room"),
        ("src/a.cpp", "", "lies in no room"),
        ("python/jumper/session.py", "import IPython.core\n", "session.py: imports IPython"),
        ("python/jumper/session.py", "def f():\n    from IPython import x\n", "imports IPython"),
        ("python/jumper/other.py", "import ipykernel\n", "imports ipykernel"),
        ("python/jumper/session.py", "from .magics import x\n", "session may not import magics"),
        ("python/jumper/state.py", "from . import session\n", "state may not import session"),
        ("python/jumper/views.py", "import jumper.extension\n", "views may not import extension"),
        ("python/jumper/other.py", "from jumper import names\n", "other may not import names"),
    ],
)
def test_what_breaks_the_order_is_refused(problems, name, text, said):
    found = problems({"src/record/log.hpp": "", "src/probe/cpu.hpp": "", name: text})
    assert len(found) == 1
    assert said in found[0]
    assert found[0].startswith(name)


def test_the_exit_status_says_it(script, tree, capsys):
    check = script("check_includes")
    root = tree({"src/README.md": README})
    assert check.main(root) == 0
    tree({"src/util/a.cpp": ""})
    assert check.main(root) == 1
    assert "src/util/a.cpp" in capsys.readouterr().out


def test_a_readme_without_its_table_is_refused(script, tree):
    with pytest.raises(SystemExit, match="no block"):
        script("check_includes").main(tree({"src/README.md": "# nothing\n"}))
