"""Environment, folder, random states and settings go to another process and come back."""

import enum
import importlib
import os
import pickle
import random
import re
import subprocess
import sys
import threading
import types
import warnings
from pathlib import Path

import pytest
from notebook import run_python

from jumper import surroundings
from jumper.surrounding_items import ITEMS, merged
from jumper.surroundings import differences, put, take


def carried(value):
    return pickle.loads(pickle.dumps(value))


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    """Every test leaves the surroundings as they were, by the means that are tested."""
    monkeypatch.setattr(surroundings, "_later", [])
    before, path, filters, finders = take(), sys.path[:], warnings.filters[:], sys.meta_path[:]
    yield
    assert put(differences(take(), before)) == []
    sys.path[:], warnings.filters[:], sys.meta_path[:] = path, filters, finders


def brought_back(change):
    """What `change` did is told by differences, undone, and done again by them."""
    before = take()
    change()
    after = take()
    found = carried(differences(before, after))
    assert put(differences(after, before)) == []
    assert not differences(before, take())
    told = put(found)
    return found, told


CHANGES = {
    "environment": lambda: os.environ.update(JUMPER_ONE="1", HOME="/nowhere"),
    "directory": lambda: os.chdir("/"),
    "umask": lambda: os.umask(0o077),
    "path": lambda: sys.path.__setitem__(0, "/made/up"),
    "recursion": lambda: sys.setrecursionlimit(12_345),
    "digits": lambda: sys.set_int_max_str_digits(10_000),
    "filters": lambda: warnings.filterwarnings("ignore", message="made .* up"),
    "random": lambda: random.seed(3),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_told_and_done_again(name):
    found, told = brought_back(CHANGES[name])
    after = take()
    assert (list(found.changes), found.left, told) == ([name], {}, [])
    CHANGES[name]()
    assert take().values[name] == after.values[name]


def test_no_change_is_no_difference():
    found = differences(take(), take())
    assert not found
    assert put(carried(found)) == []


def test_a_variable_that_is_gone_goes(monkeypatch):
    monkeypatch.setenv("JUMPER_GONE", "1")
    found, _ = brought_back(lambda: os.environ.pop("JUMPER_GONE"))
    assert found.changes == {"environment": ({}, ["JUMPER_GONE"])}
    assert "JUMPER_GONE" not in os.environ
    put(found)


def test_a_variable_may_have_any_bytes():
    odd = os.fsdecode(b"\xff=\n")
    brought_back(lambda: os.environ.update(JUMPER_ODD=odd))
    assert os.environ["JUMPER_ODD"] == odd
    said = subprocess.run(
        ["sh", "-c", 'printf "%s" "$JUMPER_ODD"'], capture_output=True, check=True
    )
    assert said.stdout == b"\xff=\n"


def test_a_launchers_variables_stay_and_the_engines_own_are_nobodys_business(monkeypatch):
    kernel = take()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("JUMPER_ENGINE_CHANNEL", "fd:3")
    own = take()
    assert "JUMPER_ENGINE_CHANNEL" not in own.values["environment"]
    assert not differences(own, kernel, environment=False)
    assert put(differences(own, kernel)) == []
    assert "OMP_NUM_THREADS" not in os.environ
    assert "JUMPER_ENGINE_CHANNEL" in os.environ


def test_what_the_kernel_did_meanwhile_stays():
    before = take()
    sys.path.append("/of/the/cell")
    os.environ["JUMPER_CELL"] = "1"
    found = differences(before, take())
    put(differences(take(), before))
    sys.path.append("/of/a/thread")
    os.environ["JUMPER_THREAD"] = "1"
    assert put(found) == []
    assert {"/of/the/cell", "/of/a/thread"} < set(sys.path)
    assert os.environ["JUMPER_CELL"] == os.environ["JUMPER_THREAD"] == "1"


@pytest.mark.parametrize(
    ("before", "after", "now", "wanted"),
    [
        ("ab", "cab", "ab", "cab"),
        ("ab", "b", "ab", "b"),
        ("ab", "ba", "abx", "bxa"),
        ("ab", "cab", "xaby", "xcaby"),
        ("ab", "ab", "b", "b"),
        ("", "a", "x", "xa"),
        ("a", "", "ax", "x"),
    ],
)
def test_two_changes_of_a_list_are_merged(before, after, now, wanted):
    assert "".join(merged(list(before), list(after), list(now))) == wanted


def test_entries_of_the_path_may_be_paths():
    brought_back(lambda: sys.path.insert(0, Path("/a/path")))
    assert sys.path[0] == "/a/path"


def test_a_filter_arrives_as_it_was():
    _, told = brought_back(
        lambda: warnings.filterwarnings("error", "Made", DeprecationWarning, "a.b", 7)
    )
    action, message, category, module, line = warnings.filters[0]
    assert (action, category, line, told) == ("error", DeprecationWarning, 7, [])
    assert (message, module) == (re.compile("Made", re.IGNORECASE), re.compile("a.b"))


def test_remembered_decisions_about_warnings_do_not_count_any_more():
    registry = {}

    def warn():
        warnings.warn_explicit("again", UserWarning, "file", 1, registry=registry)

    warnings.simplefilter("ignore")
    before = take()
    warn()
    warnings.simplefilter("error")
    found = differences(before, take())
    put(differences(take(), before))
    warn()
    put(found)
    with pytest.raises(UserWarning, match="again"):
        warn()


def test_a_filter_of_a_class_that_is_not_there_is_told_and_the_others_count():
    before = take()
    gone = type("Gone", (UserWarning,), {"__module__": "os.path"})
    warnings.simplefilter("ignore", gone)
    warnings.simplefilter("error", ResourceWarning)
    found = differences(before, take())
    put(differences(take(), before))
    assert put(found) == ["warning filters: there is no os.path.Gone here"]
    assert warnings.filters[0][:3] == ("error", None, ResourceWarning)


def test_a_filter_waits_for_the_module_of_its_class(tmp_path, monkeypatch):
    later = type("Later", (UserWarning,), {"__module__": "made_up_later"})
    (tmp_path / "made_up_later.py").write_text("class Later(UserWarning): pass")
    monkeypatch.syspath_prepend(tmp_path)
    before = take()
    warnings.simplefilter("ignore", later)
    found = differences(before, take())
    put(differences(take(), before))
    assert put(found) == []
    assert not differences(before, take())
    module = importlib.import_module("made_up_later")
    monkeypatch.delitem(sys.modules, "made_up_later")
    assert [one[0] for one in warnings.filters if one[2] is module.Later] == ["ignore"]


def test_a_filter_that_could_not_go_is_there_afterwards():
    gone = type("Gone", (UserWarning,), {"__module__": "os.path"})
    warnings.simplefilter("ignore", gone)
    kernel = take()
    filters = warnings.filters[:]
    del warnings.filters[0]  # in the engine
    engine = take()
    warnings.simplefilter("error", ResourceWarning)
    found = differences(engine, take())
    warnings.filters[:] = filters
    assert not differences(kernel, take())
    assert put(found) == []
    assert {one[2] for one in warnings.filters[:2]} == {gone, ResourceWarning}


# ---- what can't be read or set ----


def test_a_folder_that_is_gone_is_a_reason(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    before = take()
    folder.rmdir()
    now = take()
    assert now.left == {"directory": "working directory: No such file or directory"}
    found = carried(differences(before, now))
    assert found
    assert put(found) == ["working directory: No such file or directory"]
    assert not differences(now, take())  # said once
    back = surroundings.Differences({"directory": str(folder)})
    assert put(back) == ["working directory: No such file or directory"]
    os.chdir(tmp_path)


def test_a_limit_that_is_too_low_is_a_reason():
    told = put(surroundings.Differences({"recursion": 1, "umask": 0o022}))
    assert len(told) == 1
    assert told[0].startswith("recursion limit: cannot set the recursion limit to 1")
    assert take().values["umask"] == 0o022


def test_modules_that_answer_nonsense_are_reasons():
    odd = {"random": types.ModuleType("random"), "numpy.random": object(), "torch": None}
    now = take(sys.modules | odd)
    assert set(now.left) == {"random", "numpy", "torch"}
    assert now.left["random"].startswith("state of random: ")
    assert pickle.dumps(now)


def test_values_that_are_not_plain_never_travel():
    module = types.SimpleNamespace(getstate=lambda: (3, threading.Lock()))
    now = take(sys.modules | {"random": module})
    assert now.left == {"random": "state of random: a lock is not a plain value"}


# ---- modules that others bring ----


def test_numpy_goes_on_with_its_random_numbers():
    numpy = pytest.importorskip("numpy")
    numpy.random.seed(1)
    numpy.random.normal()  # half of a pair
    before = take()
    numpy.random.normal(size=10)
    after = take()
    wanted = numpy.random.normal(size=3)
    put(differences(take(), before))
    found = carried(differences(before, after))
    assert list(found.changes) == ["numpy"]
    assert pickle.dumps(found).count(b"numpy") == 1  # the item's name, none of its classes
    assert put(found) == []
    assert list(numpy.random.normal(size=3)) == list(wanted)


def test_another_bit_generator_is_a_reason():
    pytest.importorskip("numpy")
    state = take().values["numpy"] | {"bit_generator": "Another"}
    (told,) = put(surroundings.Differences({"numpy": state}))
    assert told.startswith("state of numpy.random: ")


class Tensor(list):
    def tolist(self):
        return list(self)


def test_torch_goes_on_with_its_random_numbers(monkeypatch):
    state = [Tensor(range(16))]
    torch = types.ModuleType("torch")
    torch.uint8 = "uint8"
    torch.get_rng_state = lambda: state[-1]
    torch.tensor = lambda values, dtype: (values, dtype)
    torch.set_rng_state = state.append
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert take().values["torch"] == bytes(range(16))
    assert put(surroundings.Differences({"torch": b"\1\2"})) == []
    assert state.pop() == ([1, 2], "uint8")


class Style(enum.StrEnum):
    ROUND = "round"


class Cycler:
    def __repr__(self):
        return "cycler('color', ['r'])"


class Settings(dict):
    def __setitem__(self, name, value):
        if name == "refused":
            raise ValueError("not in this version")
        dict.__setitem__(self, name, value)

    def __getitem__(self, name):
        raise AssertionError("an access may choose a backend")

    items = None


def test_settings_of_matplotlib_go_one_by_one(monkeypatch):
    module = types.ModuleType("matplotlib")
    module.rcParams = Settings(
        {"backend": object(), "a": 1, "b": [1], "c": Cycler(), "d": len, "e": Style.ROUND}
    )
    monkeypatch.setitem(sys.modules, "matplotlib", module)
    before = take()
    assert before.values["settings"] == {
        "a": 1,
        "b": [1],
        "c": "cycler('color', ['r'])",
        "e": "round",
    }
    dict.__getitem__(module.rcParams, "b").append(2)
    dict.__setitem__(module.rcParams, "refused", 3)
    found = carried(differences(before, take()))
    assert found.changes == {"settings": ({"b": [1, 2], "refused": 3}, [])}
    module.rcParams = Settings({"a": 5, "b": [1]})
    assert put(found) == ["matplotlib.rcParams: refused: not in this version"]
    assert dict.copy(module.rcParams) == {"a": 5, "b": [1, 2]}


LATER = """
import pickle, sys
from jumper import surroundings
found = pickle.loads(bytes.fromhex("%s"))
before = set(sys.modules)
assert surroundings.put(found) == []
assert not {"numpy", "numpy.random"} & set(sys.modules)
then = surroundings.take()
assert then.values["numpy"] == found.changes["numpy"]
assert not surroundings.differences(then, surroundings.take())
import numpy.random
from importlib.machinery import SourceFileLoader
assert type(numpy.random.__loader__) is type(numpy.random.__spec__.loader) is SourceFileLoader
assert not [one for one in sys.meta_path if type(one).__module__.startswith("jumper")]
print(numpy.random.random())
"""


def test_a_state_waits_for_its_module():
    numpy = pytest.importorskip("numpy")
    numpy.random.seed(5)
    found = surroundings.Differences({"numpy": take().values["numpy"]})
    wanted = numpy.random.random()
    ran = run_python(LATER % pickle.dumps(found).hex())
    assert (ran.stderr, float(ran.stdout)) == ("", wanted)


def test_nothing_is_imported():
    code = (
        "import sys; from jumper.surroundings import take, put, differences\n"
        "put(differences(take(), take()))\n"
        "print({'numpy', 'torch', 'matplotlib', 'IPython'} & set(sys.modules))"
    )
    assert run_python(code).stdout == "set()\n"


def test_every_item_has_a_title_of_its_own():
    assert len({item.title for item in ITEMS.values()}) == len(ITEMS)
