"""What can't go stays and is there afterwards; what can't come back is said."""

import os

import pytest
from state_pair import WAYS, Pair

from jumper.placeholders import CannotCarry


@pytest.fixture(scope="module", params=WAYS)
def one_pair(request):
    with Pair(**WAYS[request.param]) as pair:
        yield pair


@pytest.fixture
def pair(one_pair):
    one_pair.begin()
    return one_pair


STAYING = {
    "a_lock": "import threading; v = threading.Lock()",
    "a_generator": "v = (i for i in range(3))",
    "a_file": "v = open('/dev/null')",
    "a_connection": "import sqlite3; v = sqlite3.connect(':memory:')",
    "a_socket": "import socket; v = socket.socket(); v.close()",
    "a_thread": "import threading; v = threading.Thread()",
    "a_thread_of_their_own": "import threading\nclass W(threading.Thread): pass\nv = W()",
    "an_executor": "from concurrent.futures import ThreadPoolExecutor as T\nv = T(1)",
    "a_frame": "import sys; v = sys._getframe()",
    "a_process": "import subprocess; v = subprocess.Popen(['true']); v.wait()",
    "what_raises": "class Q:\n def __reduce__(self): raise RuntimeError('not me')\nv = Q()",
    "what_lies": "class Q:\n def __reduce__(self): return 5\nv = Q()",
    "a_wrong_name": "class Q:\n def __reduce__(self): return 'nowhere'\nv = Q()",
    "what_exits": "class Q:\n def __reduce__(self): raise SystemExit\nv = Q()",
    "what_exits_later": (
        "def stop(): raise SystemExit\n"
        "class Q:\n def __reduce__(self): return list, (), None, iter(stop, 0)\nv = Q()"
    ),
    "too_deep": "v = []\nfor _ in range(100_000): v = [v]",
}


@pytest.mark.parametrize("kind", STAYING)
def test_a_name_that_can_not_go_is_there_afterwards(kind, pair):
    pair.here(STAYING[kind])
    before = pair["v"]
    pair.there("x = 1")
    assert pair["v"] is before
    assert pair["x"] == 1
    assert "v" in pair.left
    assert pair.left["v"]
    with pytest.raises(CannotCarry, match="v could not be carried: "):
        pair.there("y = 2; len(v)")
    assert pair["y"] == 2
    assert pair["v"] is before
    pair.here("v = None")


USES = [
    "v.acquire()", "v.x = 1", "del v.x", "v()", "v + 1", "1 + v", "v[0]", "v[0] = 1", "iter(v)",
    "len(v)", "int(v)", "str(v)", "f'{v}'", "bool(v)", "with v: pass", "v < 1", "-v", "next(v)",
    "1 in v", "for _ in v: pass", "v += 1", "a, b = v", "print(*v)", "dict(**v)", "abs(v)",
    "import numpy; numpy.asarray(v)", "isinstance(v, int) or v.x",
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_a_use_says_what_is_missing(use, pair):
    pair.here("import threading; v = threading.Lock(); a = b = 0")
    with pytest.raises(CannotCarry, match=r"v could not be carried: a _thread\.lock belongs"):
        pair.there(use)


def test_it_may_be_looked_at_moved_and_come_back(pair):
    pair.here("import threading; v = threading.Lock(); d = {'k': [v]}")
    pair.there("w = v; d['m'] = v; shown = repr(v); e = [d['k'][0] is v]; del v")
    assert pair["w"] is pair["d"]["k"][0] is pair["d"]["m"]
    assert type(pair["w"]).__name__ == "lock"
    assert pair["e"] == [True]
    assert pair["shown"] == "<v could not be carried: a _thread.lock belongs to its process>"
    assert "v" not in pair.shell.user_ns


def test_what_holds_it_goes_without_it(pair):
    pair.here("import threading\nclass Q: pass\nq = Q(); q.lock = threading.Lock(); q.n = 1")
    lock = pair["q"].lock
    pair.there("q.n += 1")
    assert pair["q"].n == 2
    assert pair["q"].lock is lock
    assert pair.left == {"_thread.lock in q": "a _thread.lock belongs to its process"}


def test_a_module_that_is_not_there_holds_the_name_back(pair, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("class Thing:\n    n = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    pair.here("import only_here; t = only_here.Thing(); u = [t]; k = 1")
    before = pair["t"], pair["u"], pair["only_here"]
    pair.there("k = 2")
    assert pair["k"] == 2
    assert (pair["t"], pair["u"], pair["only_here"]) == before
    assert set(pair.left) == {"only_here", "t", "u"}
    assert "No module named 'only_here'" in pair.left["t"]
    pair.there("w = t")
    assert pair["w"] is before[0]


def test_what_can_not_come_back_is_said(pair):
    pair.here("l = []")
    pair.there("g = (i for i in range(3)); l.append(g); k = 5; h = {'g': g}")
    assert pair["k"] == 5
    assert pair.lost == {"g": "a generator belongs to its process"}
    with pytest.raises(CannotCarry, match="g could not be carried"):
        next(pair["g"])
    assert pair["l"][0] is pair["g"] is pair["h"]["g"]


def test_what_is_too_deep_to_come_back_is_said(pair):
    pair.there("d = []\nfor _ in range(100_000): d = [d]\nk = 5")
    assert pair["k"] == 5
    assert list(pair.lost) == ["d"]


def test_an_error_that_can_not_come_back_is_said(pair):
    pair.here("class E(Exception):\n def __reduce__(self): raise RuntimeError('no')\nk = 1")
    with pytest.raises(TypeError):  # a placeholder is no exception
        pair.there("k = 2; raise E")
    assert pair["k"] == 2
    assert list(pair.lost) == ["the cell"]


WILL_NOT_LOAD = """
class Q:
    def __init__(self, n): self.n = n
    def __reduce__(self): return broken, (self.n,)
def broken(n):
    if here: raise RuntimeError("not in the kernel")
    return Q(n)
here = False; l = []; k = 1
"""


def test_what_can_not_be_loaded_here_takes_nothing_else_along(pair):
    pair.here(WILL_NOT_LOAD)
    pair.there("q = Q(1); k = 2; l.append(5); here = True")
    assert pair["k"] == 2
    pair.here("here = True")
    pair.there("r = Q(2); k = 3; l.append(6)")
    assert pair["k"] == 3
    assert pair["l"] == [5, 6]
    assert pair.lost == {"r": "not in the kernel"}
    with pytest.raises(CannotCarry, match="r could not be carried: not in the kernel"):
        pair["r"].n  # noqa: B018


def test_an_error_whose_init_wants_more_than_its_arguments_comes_back(pair):
    pair.here(
        "class E(Exception):\n def __init__(self, *, code): super().__init__('x'); self.code = code"
    )
    with pytest.raises(pair["E"]) as caught:
        pair.there("k = 5\ntry: 1 / 0\nexcept ZeroDivisionError as e: raise E(code=3) from e")
    assert caught.value.code == 3
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert pair["k"] == 5


def test_a_class_that_changes_while_it_is_read_is_its_own_affair(pair):
    pair.here(
        "class Q:\n def __getstate__(self): globals()['made'] = 1; return {'a': 1}\nq = Q(); z = 1"
    )
    pair.there("z = 2")
    assert pair["z"] == 2


def test_nothing_of_the_engines_is_unpickled_before_all_of_it_is_there(pair):
    from jumper.state import Carried

    pair.here("l = [1]; k = 1")
    carried = Carried(pair.shell, pair.choice)
    _, descriptor = carried.pack()
    os.close(descriptor)
    with pytest.raises(Exception):  # noqa: B017
        carried.apply(b"cut", -1)
    assert pair["l"] == [1]
    assert pair["k"] == 1
