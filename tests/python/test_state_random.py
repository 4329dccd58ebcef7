"""Namespaces with random sharing, changed at random: the same in one process and in two."""

import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from state_pair import WAYS, Pair, Shell

PRELUDE = """
import collections
import numpy as np
class Thing:
    def __init__(self, part): self.part = part
class Slotted:
    __slots__ = ("part", "other")
    def __init__(self, part): self.part = part
def make(part):
    def get(): return part
    def put(new):
        nonlocal part
        part = new
    return get, put
"""

# {0}, {1}: earlier nodes; {n}: a number
MAKE = [
    "[{0}, {1}]", "[]", "{{'a': {0}, {n}: {1}}}", "({0}, {1}, {n})", "Thing({0})", "Slotted({0})",
    "make({0})", "collections.deque([{0}, {1}], maxlen=5)", "collections.OrderedDict(a={0}, b={1})",
    "{{{n}, 'x'}}", "bytearray(b'ab{n}')", "np.arange({n})", "np.zeros(10_000 + {n})",
    "np.array([{0}, {n}, None], dtype=object)", "'text{n}'", "{n} * 1.5", "frozenset([{n}, ()])",
    "[{0}] * 3", "collections.defaultdict(list, z={0})", "lambda x={0}: ({1}, x)",
    "[np.ones(9_000)][0][{n}:]", "({0},) + ([],)",
]  # fmt: skip

# Not set.pop(): what it takes depends on hashes of text, which differ between processes.
# {0}: a node of which the kind isn't known: what doesn't suit it raises, in both processes
CHANGE = [
    "{0}.append({1})", "{0}.pop(-1)", "{0}['a'] = {1}", "{0}[0] = {1}", "{0}.part = {1}",
    "{0}.other = {1}", "{0}.add({n})", "{0}.clear()", "{0} += [{1}]", "{0} = {1}", "del {0}",
    "{0}[{n}:] = 7", "{0}[1](({1}, {n}))", "{0}.new = {1}", "{0}.appendleft({1})",
    "{0}.move_to_end('a')", "{0} *= 2", "{0}['z'].append({1})", "Thing.{0}_at = {1}",
    "new{n} = [{0}, {1}]", "new{n} = {0}[1:]", "new{n} = Thing({0})", "{0}, {1} = {1}, {0}",
    "{0}.sort(key=str)", "del {0}.part", "{0}.__dict__['direct'] = {n}", "{0} = {0}",
    "new{n} = ({0}, {0})", "{0}.fill({n})", "{0}.__defaults__ = ({1},)", "{0}.update(u={1})",
]  # fmt: skip

LOOK = """
def look():
    seen, parts = {}, []
    def see(v):
        if isinstance(v, (int, float, str, bytes, type(None))):
            return repr(v)
        if id(v) in seen:
            return seen[id(v)]
        seen[id(v)] = f"#{len(seen)}"
        kept.append(v)
        head = type(v).__name__
        if isinstance(v, np.ndarray):
            in_array = isinstance(v.base, np.ndarray)
            memory = see(v.base) if in_array else "" if v.base is None else "m"
            inner = [str(v.dtype), str(v.shape), str(v.flags.writeable), memory]
            elements = v.tolist() if v.dtype == object else [v.tobytes().hex()[:4000]]
            inner += [see(element) for element in elements]
        elif isinstance(v, dict):
            inner = [see(k) + ":" + see(e) for k, e in v.items()]
        elif isinstance(v, (set, frozenset)):
            inner = sorted(map(see, v))
        elif isinstance(v, (list, tuple, collections.deque)):
            inner = list(map(see, v))
        elif isinstance(v, bytearray):
            inner = [v.hex()]
        elif isinstance(v, type(look)):
            inner = [see(c.cell_contents) for c in v.__closure__ or ()]
            inner += [see(v.__defaults__), v.__name__]
        elif isinstance(v, type):
            return v.__name__
        else:
            held = [name for name in ("part", "other", "new", "direct") if hasattr(v, name)]
            inner = [name + "=" + see(getattr(v, name)) for name in held]
        parts.append(f"{seen[id(v)]} {head} {inner}")
        return seen[id(v)]
    kept = []
    names = [n for n in list(globals()) if n[:1] == "n" and n[-1].isdigit()]
    marks = [n for n in vars(Thing) if n.endswith("_at")]
    shown = [f"{n}={see(globals()[n])}" for n in names + [f for f in ()]]
    shown += [f"{n}={see(getattr(Thing, n))}" for n in marks]
    return shown + parts
looked = look()
"""


@st.composite
def programs(draw):
    nodes, cells = [], []
    for number in range(draw(st.integers(1, 8))):
        earlier = st.sampled_from(nodes or ["None"])
        text = draw(st.sampled_from(MAKE))
        made = text.format(draw(earlier), draw(earlier), n=draw(st.integers(0, 9)))
        cells.append(f"n{number} = {made}")
        nodes.append(f"n{number}")
    gone = draw(st.sets(st.sampled_from(nodes), max_size=len(nodes) - 1))
    cells += [f"del {name}" for name in sorted(gone)]
    left = st.sampled_from([name for name in nodes if name not in gone])
    changes = []
    for _ in range(draw(st.integers(0, 6))):
        text = draw(st.sampled_from(CHANGE))
        change = text.format(draw(left), draw(left), n=draw(st.integers(0, 9)))
        changes.append(f"try: {change}\nexcept Exception: pass")
    return cells, changes


@pytest.fixture(scope="module", params=WAYS)
def pair(request):
    with Pair(**WAYS[request.param]) as pair:
        yield pair


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(programs())
def test_two_processes_do_what_one_does(pair, program):
    cells, changes = program
    shell, main = Shell(), sys.modules["__main__"]
    sys.modules["__main__"] = shell.user_module
    for cell in [PRELUDE, *cells, *changes, LOOK]:
        shell.run(cell)
    sys.modules["__main__"] = main
    pair.begin()
    pair.here(PRELUDE)
    for cell in cells:
        pair.here(cell)
    half = len(changes) // 2
    pair.there("\n".join(changes[:half]))
    pair.there("\n".join(changes[half:]))
    pair.here(LOOK)
    assert pair["looked"] == shell.user_ns["looked"]
    assert pair.left == {}
