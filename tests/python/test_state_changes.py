"""What a cell does there has happened here: each case is run in one process and in two."""

import gc
import os
import sys

import pytest
from state_pair import WAYS, Pair, Shell
from state_values import PRELUDE

from jumper import reducing
from jumper.state import Arrived, Carried, Choice

# name: (cells before, the cell, what is looked at afterwards)
CASES = {
    "append": ("l = [1]; m = l", "l.append(2)", "(l, m is l)"),
    "add_in_place": ("l = [1]; m = l", "l += [2]", "(l, m is l)"),
    "rebind": ("l = [1]; m = l", "l = [2]", "(l, m, m is l)"),
    "new_name": ("a = 1", "b = a + 1", "b"),
    "delete": ("a = b = 1", "del a", "('a' in globals(), b)"),
    "delete_new": ("", "q = 1; del q", "'q' in globals()"),
    "item": ("d = {'a': [1]}; l = d['a']", "d['a'][0] = 5; d['b'] = l", "(d, d['b'] is l)"),
    "dict_order": ("d = {1: 1, 2: 2}", "d[1] = d.pop(1)", "list(d)"),
    "dict_by_equal_key": ("d = {1: 'a'}", "d[True] = 'b'", "d"),
    "nested": ("d = {'a': {'b': {'c': [1]}}}", "d['a']['b']['c'].append(2)", "d"),
    "set": ("s = {1}; t = s", "s.add(2); s.discard(1)", "(s, t is s)"),
    "frozenset_holds": ("p = Point(); f = frozenset({p})", "p.y = 9", "(f, p in f)"),
    "bytearray": ("b = bytearray(b'abc')", "b[1:1] = b'xy'", "b"),
    "long_bytearray": ("b = bytearray(200_000)", "b[5] = 1; b.append(7)", "(b[5], b[-1], len(b))"),
    "deque": ("d = collections.deque([1], maxlen=2)", "d.append(2); d.append(3)", "d"),
    "ordered": ("o = collections.OrderedDict(a=1, b=2)", "o.move_to_end('a')", "o"),
    "counter": ("c = collections.Counter('aab')", "c.update('b'); c['z'] -= 1", "c"),
    "default_dict": ("d = collections.defaultdict(list)", "d['x'].append(1)", "d"),
    "chain_map": ("m = {'a': 1}; c = collections.ChainMap({}, m)", "c['b'] = 2; m['a'] = 3", "c"),
    "tuple_holds": ("t = ([1], 2)", "t[0].append(5)", "t"),
    "cycle": ("l = []; l.append(l)", "l.append(1)", "(l[0] is l, l[1])"),
    "cycle_of_objects": (
        "a = Point(); b = Point(); a.o = b; b.o = a",
        "a.o.o.x = 5",
        "(a.x, a.o is b, b.o is a)",
    ),
    "attribute": ("p = Point(); q = p", "p.x = 5; p.new = [1]; del p.y", "(vars(p), q is p)"),
    "new_instance": ("", "p = Point(7)", "(type(p) is Point, isinstance(p, Point), p.x)"),
    "swap": ("a, b = [1], [2]; c = a", "a, b = b, a", "(a, b, c is b)"),
    "slots": (
        "s = Slotted(); t = SlottedToo()",
        "s.a = 5; t.c = s; del t.a",
        "(s, t.c is s, hasattr(t, 'a'))",
    ),
    "mangled_slot": ("s = Slotted()", "s._Slotted__b.append(3)", "s"),
    "dataclass": ("d = Data()", "d.b.append(1); d.a = 3", "d"),
    "class_attribute": ("p = Point()", "Point.count += 1; Point.extra = [1]", "(p.count, p.extra)"),
    "class_method": (
        "p = Point()",
        "def shout(self): return self.x * 10\nPoint.shout = shout",
        "p.shout()",
    ),
    "deleted_method": ("class Q:\n def f(self): pass", "del Q.f", "hasattr(Q, 'f')"),
    "redefined_class": (
        "p = Point()",
        "class Point:\n    def __init__(self): self.z = 3\nq = Point()",
        "(isinstance(p, Point), isinstance(q, Point), q.z, type(p).__name__)",
    ),
    "new_class": ("", "class New(Point): pass\nn = New()", "(isinstance(n, Point), New.__mro__)"),
    "class_in_two_cells": ("class B: pass\nb = B()", "c = B()", "type(b) is type(c)"),
    "enum": ("c = Color.RED", "d = Color['RED']; e = Color.BLUE", "(c is d, e is Color.BLUE)"),
    "nonlocal": ("c = make_counter(); c()", "c(); c()", "c()"),
    "shared_cell": (
        (
            "def two():\n n = 0\n def up():\n  nonlocal n\n  n += 1\n def get(): return n\n"
            " return up, get\nup, get = two()"
        ),
        "up()",
        "get()",
    ),
    "global_statement": ("g = 1\ndef f():\n global g\n g += 1", "f()", "(g, f() or g)"),
    "new_function": ("k = 1", "def f(): return k", "(f(), f.__globals__ is globals())"),
    "redefined_function": (
        "def f(): return 1\ndef g(): return f()",
        "def f(): return 2",
        "g()",
    ),
    "function_attribute": (
        "h = plain",
        "plain.calls = 3; plain.note.append(2)",
        "(h.calls, h.note)",
    ),
    "defaults": ("def f(a=[]): a.append(1); return a", "f(); f()", "f()"),
    "lambda_of_loop": ("", "fs = [lambda i=i: i for i in range(3)]", "[f() for f in fs]"),
    "recursive_closure": (
        "",
        "def o():\n def r(n): return n and n + r(n - 1)\n return r\nr = o()",
        "r(4)",
    ),
    "method": ("p = Point(); m = p.__init__", "m(8, 9)", "(p, m.__self__ is p)"),
    "decorated": ("", "@decorate\ndef twice(x): return 2 * x", "(twice(4), twice.__name__)"),
    "cached": ("cached(3)", "r = cached(4)", "(r, cached(3), cached(4))"),
    "new_cached": (
        "",
        "@functools.lru_cache\ndef c2(x): return x",
        "(c2(1), c2(1), c2.cache_info())",
    ),
    "weakref": (
        "p = Point(); w = weakref.ref(p)",
        "r = w() is p; w2 = weakref.ref(p)",
        "(r, w() is p, w2() is p)",
    ),
    "weak_values": (
        "p = Point(); w = weakref.WeakValueDictionary(a=p)",
        "r = w['a'] is p",
        "(r, w['a'] is p)",
    ),
    "weak_set": ("p = Point(); w = weakref.WeakSet([p])", "r = p in w", "(r, p in w, len(w))"),
    "loop_names": ("", "for i in range(3): j = i", "(i, j)"),
    "underscore": ("_ = 5", "for _ in range(3): pass", "_"),
    "with_name": ("", "with contextlib.nullcontext(7) as w: pass", "w"),
    "made_again": (
        "a, b, c = 1, 2, 3",
        "del a; z = 4; a = 1",
        "[name for name in globals() if name in 'abcz']",
    ),
    "walrus": ("", "[(last := i) for i in range(4)]", "last"),
    "star": ("", "a, *b = range(4)", "(a, b)"),
    "except_name": (
        "",
        "try: 1 / 0\nexcept ZeroDivisionError as e: kept = e",
        "('e' in globals(), type(kept), kept.args)",
    ),
    "import": (
        "",
        "import textwrap as tw, os.path\nfrom math import tau",
        "(tw.dedent(' a'), tau, os.path.sep)",
    ),
    "annotation": ("", "n: int = 3", "(n, __annotations__)"),
    "array": ("x = np.zeros(4); y = x", "x[0] = 1", "(x, y is x)"),
    "large_array": (
        "x = np.zeros(100_000); y = x",
        "x[5] = 1; x[-1] = 2",
        "(x.sum(), x[5], x[-1], y is x)",
    ),
    "view": (
        "x = np.zeros(100_000); v = x[10:20]",
        "v[0] = 1",
        "(x[10], v.base is x, np.shares_memory(x, v))",
    ),
    "view_after": (
        "x = np.zeros(100_000); v = x[10:20]",
        "v[0] = 1",
        "(x.__setitem__(11, 3), v[:3])",
    ),
    "view_of_unnamed": ("v = np.zeros(100_000)[5:]; w = v.base[:9]", "v[0] = 4", "w[5]"),
    "two_views": ("x = np.arange(100_000); a, b = x[:50], x[25:75]", "a[30] = -1", "(b[5], x[30])"),
    "reshaped": (
        "x = np.zeros((200, 500)); y = x.T; z = x.ravel()",
        "y[3, 4] = 7",
        "(x[4, 3], z[4 * 500 + 3])",
    ),
    "new_view": ("x = np.zeros(100_000)", "v = x[3:6]; v[1] = 5", "(v.base is x, x[4])"),
    "new_array": (
        "",
        "x = np.arange(100_000); y = x[:3]; y[0] = 9",
        "(x[0], y.base is x, x.sum())",
    ),
    "array_add": ("x = np.ones(100_000); y = x", "x += 1", "(x.sum(), y is x)"),
    "array_rebound": ("x = np.ones(100_000); y = x", "x = x + 1", "(x.sum(), y.sum())"),
    "matrix_fortran": (
        "x = np.asfortranarray(np.zeros((300, 300)))",
        "x[2, 3] = 5",
        "(x[2, 3], x.flags.f_contiguous)",
    ),
    "strided": ("x = np.zeros(100_000)[::2]", "x[3] = 1", "(x[3], x.base[6])"),
    "in_dict": (
        "d = {'w': [np.zeros(100_000), np.zeros(3)]}",
        "d['w'][0][1] = 1; d['w'][1][1] = 2",
        "(d['w'][0][1], d['w'][1])",
    ),
    "object_array": (
        "l = [1]; o = np.array([l, None], dtype=object)",
        "o[0].append(2); o[1] = l",
        "(o, o[1] is l)",
    ),
    "structured": (
        "x = np.zeros(20_000, dtype=[('a', 'i4'), ('b', 'f8')])",
        "x['b'][3] = 2",
        "x[3]",
    ),
    "masked": (
        "x = np.ma.array([1, 2, 3], mask=[0, 1, 0]); y = x",
        "x[1] = 9; x[0] = np.ma.masked",
        "(x, y is x)",
    ),
    "shape": ("x = np.arange(6); y = x", "x.shape = 2, 3", "(x, y is x)"),
    "writeable": ("x = np.arange(6)", "x.flags.writeable = False", "x.flags.writeable"),
    "read_only": (
        "x = np.arange(60_000); x.flags.writeable = False",
        "try: x[0] = 1\nexcept ValueError as e: t = str(e)",
        "(t, x[0])",
    ),
    "no_longer_read_only": (
        "x = np.arange(60_000); x.flags.writeable = False; y = x",
        "x.flags.writeable = True; x[5] = -1; x.flags.writeable = False",
        "(x[5], x.flags.writeable, y is x)",
    ),
    "structured_objects": (
        "x = np.array([([1], 2)], dtype=[('a', 'O'), ('b', 'i4')]); l = x['a'][0]",
        "x['b'][0] = 7; x['a'][0].append(3)",
        "(x, l is x['a'][0], l)",
    ),
    "dunder": ("__version__ = '1'", "__version__ += '.2'", "__version__"),
    "sub_array": (
        "x = np.arange(4).view(MyArray); x.note = 1",
        "x[0] = 5; x.note = 2",
        "(x, x.note, type(x))",
    ),
    "memory_map": (
        (
            "import tempfile; tmp = tempfile.NamedTemporaryFile(); n = tmp.name\n"
            "x = np.memmap(n, 'i4', 'w+', shape=(50_000,)); y = x[5:]"
        ),
        "x[7] = 3",
        "(x[7], y[2], type(x).__name__, np.fromfile(n, 'i4')[7])",
    ),
    "memory_map_of_a_file_that_was_replaced": (
        (
            "import tempfile; tmp = tempfile.TemporaryDirectory(); n = tmp.name + '/x'\n"
            "x = np.memmap(n, 'i4', 'w+', shape=(50_000,)); x[:] = 7\n"
            "open(n + '.new', 'wb').write(bytes(200_000)); os.replace(n + '.new', n)"
        ),
        "seen = int(x[3])",
        "(seen, x[3])",
    ),
    "frame_column": (
        "df = pd.DataFrame({'a': [1, 2]}); e = df",
        "df['b'] = df.a * 2",
        "(e.to_dict(), e is df)",
    ),
    "frame_cell": (
        "df = pd.DataFrame({'a': np.arange(50_000)}); e = df",
        "df.loc[3, 'a'] = -1",
        "(e.a[3], e is df)",
    ),
    "frame_drop": (
        "df = pd.DataFrame({'a': [1, 2], 'b': [3, 4]})",
        "df.drop(columns='a', inplace=True)",
        "df.to_dict()",
    ),
    "frame_index": (
        "df = pd.DataFrame({'a': [1, 2]})",
        "df.index = ['x', 'y']; df.attrs['n'] = 1",
        "(df.to_dict(), df.attrs)",
    ),
    "frame_in_list": (
        "df = pd.DataFrame({'a': [1]}); l = [df]",
        "l[0]['z'] = 5",
        "(df.to_dict(), l[0] is df)",
    ),
    "new_frame": (
        "df = pd.DataFrame({'a': [1, 1, 2]})",
        "g = df.groupby('a').size()",
        "g.to_dict()",
    ),
    "series": (
        "s = pd.Series([1, 2]); t = s",
        "s.iloc[0] = 7; s['q'] = 8",
        "(t.to_dict(), t is s)",
    ),
    "random": ("r = random.Random(1); q = r", "a = r.random()", "(a, q.random(), q is r)"),
    "generator": (
        "g = np.random.default_rng(1); h = g",
        "a = g.random()",
        "(a, h.random(), h is g)",
    ),
    "random_state": ("g = np.random.RandomState(1)", "a = g.rand()", "(a, g.rand())"),
    "iterator": ("c = itertools.count(1); d = [c]", "next(c); next(c)", "(next(c), d[0] is c)"),
    "list_iterator": ("i = iter([1, 2, 3]); t = (i,)", "next(i)", "(next(t[0]), t[0] is i)"),
    "reduced": ("r = Reduced(1); s = [r]; t = (r,)", "r.n = 5", "(s[0], t[0] is r, s[0] is r)"),
    "stateful": ("s = Stateful(); t = s", "s.kept = 7", "(s, t is s)"),
    "exception": (
        "e = Problem('a'); f = e",
        "e.code = 9; e.args = ('b',)",
        "(f.code, f.args, f is e)",
    ),
    "string_io": ("s = io.StringIO(); t = s", "s.write('abc')", "(t.getvalue(), t is s)"),
    "bytes_io": (
        "s = io.BytesIO(b'ab'); t = s",
        "s.seek(1); s.write(b'x')",
        "(t.getvalue(), t.tell())",
    ),
    "my_list": (
        "m = MyList([1]); m.tag = 1; n = m",
        "m.append(2); m.tag = 5",
        "(n, n.tag, n is m)",
    ),
    "my_dict": ("m = MyDict(a=1)", "m['b'] = m['none']", "m"),
    "user_dict": ("u = collections.UserDict(a=1)", "u['b'] = 2", "u"),
    "namespace": ("n = types.SimpleNamespace(a=1); o = n", "n.b = [2]", "(o, o is n)"),
    "array_array": ("a = array.array('i', [1]); b = a", "a.append(2)", "(a, b is a)"),
    "element": (
        "e = ET.fromstring('<a/>'); f = e",
        "e.set('b', '1'); ET.SubElement(e, 'c')",
        "(ET.tostring(f), f is e)",
    ),
    "heap": ("h = [5, 1, 3]; heapq.heapify(h)", "heapq.heappush(h, 0)", "h"),
    "proxy": ("d = {'a': 1}; m = types.MappingProxyType(d)", "r = m['a']", "(r, m['a'])"),
    "made_module": ("m = types.ModuleType('m'); m.a = 1", "m.b = m.a + 1", "m.b"),
    "own_globals": ("", "globals()['made'] = 3; exec('other = 4')", "(made, other)"),
    "globals_object": ("g = globals()", "g['made'] = 3", "(made, g is globals())"),
    "main_module": ("", "sys.modules['__main__'].made = 3", "made"),
    "error_keeps": ("l = []", "try:\n l.append(1); 1 / 0\nexcept ZeroDivisionError: pass", "l"),
    "out": ("Out[1] = [7]", "Out[1].append(8); r = Out[1]", "(Out[1], r is Out[1])"),
    "shadowed": ("open = 5", "open += 1", "open"),
    "many": (
        "ps = [Point(i, i) for i in range(1000)]",
        "ps[500].x = -1; del ps[0]",
        "(ps[499].x, len(ps), ps[0])",
    ),
    "deep": ("d = []\nfor _ in range(300): d = [d]", "d.append(1)", "len(d)"),
}


@pytest.fixture(scope="module", params=WAYS)
def pair(request):
    with Pair(**WAYS[request.param]) as pair:
        yield pair


def run_here(cells):
    shell, main = Shell(), sys.modules["__main__"]
    sys.modules["__main__"] = shell.user_module
    try:
        for cell in cells:
            shell.run(cell)
    finally:
        sys.modules["__main__"] = main
    return shell.user_ns


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_here(name, pair):
    before, cell, look = CASES[name]
    look = f"looked = repr({look})"
    plain = run_here([PRELUDE, before, cell, look])
    pair.begin()
    pair.here(PRELUDE)
    pair.here(before)
    pair.there(cell)
    pair.here(look)
    assert pair["looked"] == plain["looked"]
    assert set(pair.left) <= {"tmp"}
    assert pair.lost == {}


def test_memory_that_changed_and_has_a_new_name_comes_back_under_both(pair):
    """Its pages are given back while they are copied: the new array must be copied before."""
    pair.begin()
    pair.here("import numpy as np\na = np.zeros(100_000)\nkept = a")
    pair.there("a += 1\nb = np.frombuffer(memoryview(a))\nc = [b[:50_000], a + 1]")
    pair.here("seen = a is kept, a.min(), b.min(), c[0].min(), c[1].min(), a.max()")
    assert pair["seen"] == (True, 1, 1, 1, 2, 1)


def test_what_changed_can_be_asked_for_twice(pair, monkeypatch):
    """The first time its pages were given back."""
    monkeypatch.setattr(reducing.here, "namespace", {})  # `there` isn't left in it
    pair.begin()
    pair.here("import numpy as np\na = np.zeros(100_000)")
    carried = Carried(pair.shell, Choice())
    there = Shell()
    arrived = Arrived(there)
    assert arrived.load(*carried.pack()) == {}
    there.run("a[50_000:] = 1")
    os.close(arrived.pack_back([])[1])
    assert carried.take_back(*arrived.pack_back([])) == {}
    carried.apply()
    assert pair["a"].sum() == 50_000
    monkeypatch.undo()
    del there, arrived
    gc.collect()
