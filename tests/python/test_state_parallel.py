"""Names that share no object are taken apart by several processes, and nobody can tell."""

import contextlib
import os
import signal
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from state_pair import Pair

from jumper import _native, parallel
from jumper.state import Carried


@pytest.fixture
def pair():
    with Pair(workers=3) as pair:
        yield pair


def groups_of(pair):
    items = {name: it for name, it in pair.shell.user_ns.items() if not name.startswith("_")}
    items = {name: it for name, it in items.items() if name not in ("In", "Out")}
    found = parallel.Groups(items, [pair.shell.user_ns])
    names = [sorted(found.names[value] for value in group) for group, _ in found.native.found]
    return sorted(names)


# ---- who goes with whom ----

TOGETHER = {
    "nothing_shared": ("a = [1, 'x']; b = [1, 'x']", [["a"], ["b"]]),
    "an_alias": ("a = [1]; b = a", [["a", "b"]]),
    "deep_inside": ("s = {1}; a = [[[s]]]; b = {'k': (s,)}; c = []", [["a", "b", "s"], ["c"]]),
    "by_a_third": ("a = []; b = []; c = [a, b]", [["a", "b", "c"]]),
    "a_cycle": ("a = []; a.append(a); b = {}; b[1] = b", [["a"], ["b"]]),
    "an_attribute": (
        "class Q: pass\na = Q(); b = Q(); a.b = b; c = Q()",
        [["Q"], ["a", "b"], ["c"]],
    ),
    "slots": ("class Q: __slots__ = 'x',\nl = []; a = Q(); a.x = l", [["Q"], ["a", "l"]]),
    "short_text": ("t = 'x' * 100; a = [t]; b = [t]", [["a"], ["b"], ["t"]]),
    "long_text": ("t = 'x' * 100_000; a = [t]; b = [t]", [["a", "b", "t"]]),
    "a_class": ("class Q: pass\na = [Q]; b = {Q: 1}", [["Q"], ["a"], ["b"]]),
    "the_namespace": ("a = [globals()]; b = [globals()]", [["a"], ["b"]]),
    "arrays_and_views": (
        "import numpy as np\na = np.zeros(9); v = a[:2]; b = [np.zeros(9)]",
        [["a"], ["b"], ["np"], ["v"]],  # a view goes first, and its owner with it
    ),
    "own_reduce": ("class Q:\n def __reduce__(self): return int, ()\na = Q(); b = [a]", [["Q"]]),
    "own_state": ("class Q:\n def __getstate__(self): return l\nl = []; a = Q()", [["Q"], ["l"]]),
    "objects_in_arrays": ("import numpy as np\na = np.array([[], 1], dtype=object)", [["np"]]),
    "weak": (
        "import weakref\nclass Q: pass\nq = Q(); w = weakref.ref(q)",
        [["Q"], ["q"], ["weakref"]],
    ),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_what_shares_objects_stays_together(name, pair):
    code, names = TOGETHER[name]
    pair.here(code)
    assert groups_of(pair) == names


@given(st.lists(st.integers(1, 1000), max_size=40), st.integers(1, 8))
def test_shares_are_as_even_as_the_largest_first_rule_makes_them(sizes, workers):
    shares = parallel.spread([([n], size) for n, size in enumerate(sizes)], workers)
    assert sorted(value for share in shares for value in share.values) == list(range(len(sizes)))
    assert [share.size_bytes for share in shares] == [
        sum(sizes[value] for value in share.values) for share in shares
    ]
    # Nobody has taken one when another had less: without its last one each is the least.
    least = min(share.size_bytes for share in shares)
    for share in shares:
        assert not share.values or share.size_bytes - sizes[share.values[-1]] <= least


def test_one_giant_and_many_dwarfs():
    shares = parallel.spread([([0], 1000), *(([n], 10) for n in range(1, 31))], 3)
    assert [share.size_bytes for share in shares] == [1000, 150, 150]
    assert shares[0].values == [0]


# ---- real sizes ----

LARGE = """
import numpy as np
class P:
    def __init__(self, i): self.x = i
large = {i: str(i) for i in range(40_000)}
small = [(i, i + 0.5) for i in range(4_000)]
many = [P(i) for i in range(10_000)]
tiny = [1]; alias = small; array = np.arange(50_000); view = array[3:]
"""
CELL = """
large[7] += '!'; small.append(large); many[5].x = tiny; del many[0]; view[0] = -1
new = [small, P('new')]
"""
LOOK = """
seen = (
    len(large), large[7], alias is small, small[-1] is large, many[4].x is tiny, len(many),
    array[3], new[0] is small, type(new[1]) is P, sum(map(len, large.values())),
    list(globals()),
)
"""


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_result_is_that_of_one_stream(workers):
    with Pair(workers=workers) as pair:
        pair.here(LARGE)
        before = pair["large"], pair["many"][1], pair["large"][9]
        pair.there(CELL)
        assert pair.taken_apart_by == {1: 0, 2: 2, 4: 4}[workers]
        assert (pair["large"], pair["many"][0], pair["large"][9]) == before
        assert pair["many"][0] is before[1]
        assert pair["large"][9] is before[2]
        pair.here(LOOK)
        plain = {}
        exec(LARGE + CELL + LOOK, plain)
        own = {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__"}
        *seen, names = pair["seen"]
        *wanted, wanted_names = plain["seen"]
        assert seen == wanted
        assert [one for one in names if one in wanted_names and one not in own] == [
            one for one in wanted_names if one not in own
        ]


def test_little_goes_in_one_stream(pair):
    parallel.SERIAL_BELOW_BYTES = 64 << 20
    pair.here("a = ['x' * 30_000_000]; b = ['y' * 30_000_000]")
    pair.there("a.append(1)")
    assert pair.taken_apart_by == 1
    pair.here("c = ['z' * 10_000_000]")
    pair.there("a.append(1)")
    assert pair.taken_apart_by == 3
    assert pair["a"][1:] == [1, 1]


# ---- whatever happens ----


def test_what_meets_after_all_goes_in_one_stream(pair):
    """Seen only when it is pickled: what an object's own code gives."""
    pair.here(
        "l = [1]; k = [2]; large = [str(n) for n in range(1000)]\n"  # this one is the kernel's
        "class Q:\n"
        " def __reduce__(self): return make, (Q, l)\n"
        "def make(Q, l, kept=[]): kept.append(l); return Q()\n"
        "q = Q()"
    )
    pair.there("same = make.__defaults__[0][-1] is l; l.append(3)")
    assert pair["same"]
    assert pair["l"] == [1, 3]
    assert pair.taken_apart_by == 0


def test_what_functions_hold_goes_before_all(pair):
    pair.here("l = [1]; k = [l]; other = [2]\ndef keep(l): return lambda: l\nf = keep(l); g = [f]")
    pair.there("same = f() is l and k[0] is l and g[0] is f; l.append(3); other.append(k)")
    assert pair["same"]
    assert pair["f"]() is pair["l"]
    assert pair["other"] == [2, [[1, 3]]]
    assert pair.taken_apart_by == 3


def test_what_stays_stays_and_the_others_go_by_workers(pair):
    pair.here("import threading; k = threading.Lock(); a = [1]; b = [2]; c = [k, a]")
    pair.there("b.append(a[0]); a.append(3)")
    assert (pair["b"], pair["a"], pair["c"][1] is pair["a"]) == ([2, 1], [1, 3], True)
    assert set(pair.left) == {"k"}
    assert pair.taken_apart_by > 1


@pytest.mark.parametrize("how", ["killed", "reaped by the user's handler"])
def test_a_worker_that_ends_costs_nothing(pair, how, monkeypatch):
    pair.here("a = [1]; b = [2]; c = [3]")
    fork = _native.fork_worker

    def fork_and_end():
        pid, pidfd = fork()
        if pid and how == "killed":
            with contextlib.suppress(ProcessLookupError):  # it was fast, and is reaped
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        return pid, pidfd

    monkeypatch.setattr(_native, "fork_worker", fork_and_end)
    reaped = []
    old = signal.signal(signal.SIGCHLD, lambda *_: reaped.append(reap()))
    try:
        pair.there("b.append(a[0])")
    finally:
        signal.signal(signal.SIGCHLD, old)
    assert pair["b"] == [2, 1]
    assert reaped


def reap():
    try:
        return os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None


def test_no_process_can_be_made(pair, monkeypatch):
    def refuse():
        raise BlockingIOError(11, "no more processes")

    monkeypatch.setattr(_native, "fork_worker", refuse)
    pair.here("a = [1]; b = [2]")
    pair.there("b.append(a[0])")
    assert pair["b"] == [2, 1]


def test_an_interrupt_ends_the_workers(pair, monkeypatch):
    """While the kernel waits for one of them. The interrupt isn't theirs."""
    pair.here("a = [1]; b = [2]; c = [3]")
    work, wait = parallel.Team._work, threading.Event().wait
    begun, pids = os.pipe(), []

    def hang(self, *arguments, **options):
        os.write(begun[1], os.getpid().to_bytes(8, "little"))
        wait()
        work(self, *arguments, **options)

    monkeypatch.setattr(parallel.Team, "_work", hang)
    main = threading.main_thread().ident

    def interrupt():
        pids.extend(int.from_bytes(os.read(begun[0], 8), "little") for _ in range(2))
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    carried = Carried(pair.shell, pair.choice)
    with pytest.raises(KeyboardInterrupt):
        carried.pack()
    thread.join()
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    carried.forget()
    for end in begun:
        os.close(end)


def test_workers_end_with_the_process_that_they_work_for(tmp_path):
    """Its own death, of whatever kind, ends them at once."""
    ready, told = os.pipe()
    parent = os.fork()
    if not parent:
        pid, _ = _native.fork_worker()
        if not pid:
            os.write(told, str(os.getpid()).encode())
            signal.pause()
        os.waitpid(pid, 0)
        os._exit(0)
    worker = os.pidfd_open(int(os.read(ready, 20)))
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert signal.sigtimedwait([], 0) is None
    assert ended(worker)
    for end in (ready, told, worker):
        os.close(end)


def ended(pidfd):
    import select

    waiting = select.poll()
    waiting.register(pidfd, select.POLLIN)
    return bool(waiting.poll(10_000))


def test_the_search_can_be_interrupted():
    big = [[{} for _ in range(300)] for _ in range(4_000)]
    timer = threading.Timer(0.01, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        search_often(big)
    timer.join()


def search_often(thing):
    for _ in range(1000):
        _native.Groups([thing], [], parallel.way_of, parallel.ask)
