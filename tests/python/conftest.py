"""Every test has a state folder and an IPython folder of its own, and must leave nothing behind."""

import os
from pathlib import Path

import pytest
from leftovers import watch_leftovers
from notebook import Notebook, write_kernelspecs

HERE = Path(__file__).parent
# The same whichever CPython runs them: the core's, or what is drawn and written of it.
SAME = {
    "faults", "truth", "test_compare.py", "test_doctor.py", "test_earlier.py", "test_export.py",
    "test_finer.py", "test_follow.py", "test_guard.py", "test_peers_names.py",
    "test_peers_notebooks.py", "test_peers_perfdata.py", "test_peers_sessions.py",
    "test_plots.py", "test_program.py", "test_run_page.py", "test_views.py",
}  # fmt: skip


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE) and item.path.relative_to(HERE).parts[0] in SAME:
            item.add_marker("slow")


@pytest.fixture(scope="session", autouse=True)
def clean_environment():
    """The tests' own settings only."""
    patch = pytest.MonkeyPatch()
    for name in list(os.environ):
        if name.upper().startswith(("JUMPER_", "SCOREP_", "JPY_")) or name == "XDG_STATE_HOME":
            patch.delenv(name)
    yield
    patch.undo()


@pytest.fixture(autouse=True)
def leaves_nothing(monkeypatch, request):
    if "shared_notebook" in request.fixturenames:  # its kernel lives on: see there
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        yield from watch_leftovers(patch)


@pytest.fixture(autouse=True)
def state_home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return tmp_path / "state"


@pytest.fixture
def open_notebook(tmp_path_factory):
    """Starts kernels: `jumper` or `plain`, with env=…, cwd=…."""
    folder = write_kernelspecs(tmp_path_factory.mktemp("kernels"))
    opened = []

    def open_one(name="jumper", **options) -> Notebook:
        opened.append(Notebook(folder, name, **options))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def notebook(open_notebook) -> Notebook:
    return open_notebook()


@pytest.fixture(scope="module")
def shared_notebook(tmp_path_factory):
    """One kernel for the tests of a module that don't mind each other's cells."""
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        leftovers = watch_leftovers(patch)
        next(leftovers)
        with Notebook(write_kernelspecs(folder / "kernels")) as one:
            yield one
        next(leftovers, None)
