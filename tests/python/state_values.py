"""Values of every kind that a notebook may hold: name -> expression, over PRELUDE's names."""

PRELUDE = '''
import abc, array, collections, contextlib, copy, dataclasses, datetime, decimal, enum, fractions
import functools, heapq, io, ipaddress, itertools, json, logging, math, operator, os, pathlib
import queue, random, re, string, sys, threading, types, typing, uuid, weakref, zoneinfo
import numpy as np
import numpy
import numpy.linalg as la
import pandas as pd
import xml.etree.ElementTree as ET

class Point:
    count = 0
    def __init__(self, x=1, y=2): self.x, self.y = x, y
    def __eq__(self, other): return type(other) is type(self) and vars(self) == vars(other)
    def __hash__(self): return hash(self.x)
    def __repr__(self): return f"Point({self.x}, {self.y})"
    @property
    def norm(self): return self.x + self.y
    @classmethod
    def make(cls): return cls(8, 9)
    @staticmethod
    def free(a): return a * 2

class Sub(Point):
    def __init__(self): super().__init__(5, 6); self.more = [1]

class Slotted:
    __slots__ = ("a", "__b")
    def __init__(self): self.a = 1; self.__b = [2]
    def __repr__(self): return f"Slotted({self.a}, {self.__b})"

class SlottedToo(Slotted):
    __slots__ = ("c",)

@dataclasses.dataclass
class Data:
    a: int = 1
    b: list = dataclasses.field(default_factory=list)

@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: int = 1

class Color(enum.Enum):
    RED = 1
    BLUE = "b"

class Flag(enum.Flag):
    A = 1
    B = 2

class Level(enum.IntEnum):
    LOW = 1

Pair = collections.namedtuple("Pair", "a b")

class Typed(typing.NamedTuple):
    a: int
    b: str = "x"

class Meta(type):
    def __call__(cls, *a): made = super().__call__(*a); made.by = cls.__name__; return made

class WithMeta(metaclass=Meta):
    def __repr__(self): return f"WithMeta by {self.by}"

class Abstract(abc.ABC):
    @abc.abstractmethod
    def act(self): ...

class Concrete(Abstract):
    def act(self): return 3
    def __repr__(self): return "Concrete"

class MyList(list):
    pass

class MyDict(dict):
    def __missing__(self, key): return "missing " + str(key)

class MyInt(int):
    pass

class MyStr(str):
    pass

class Stateful:
    def __init__(self): self.kept, self.dropped = 1, lambda: 2
    def __getstate__(self): return {"kept": self.kept}
    def __setstate__(self, state): self.kept = state["kept"]; self.dropped = None
    def __repr__(self): return f"Stateful({self.kept})"

class Reduced:
    def __init__(self, n): self.n = n
    def __reduce__(self): return Reduced, (self.n,)
    def __repr__(self): return f"Reduced({self.n})"

class Problem(Exception):
    def __init__(self, text, code=3): super().__init__(text); self.code = code

class Callable_:
    def __call__(self, x): return x + 1
    def __repr__(self): return "Callable_"

class Descriptor:
    def __get__(self, obj, owner): return "got"

class Described:
    d = Descriptor()
    def __repr__(self): return "Described " + self.d

class MyArray(np.ndarray):
    pass

T = typing.TypeVar("T")
class Generic_(typing.Generic[T]):
    def __repr__(self): return "Generic_"

def plain(a, b=2, *c, d=4, **e):
    """Documented."""
    return a + b + d
plain.note = ["attribute"]
def recursive(n): return 1 if n < 2 else n * recursive(n - 1)
def calls_global(): return plain(1) + OFFSET
OFFSET = 100
def make_counter():
    count = 0
    def step():
        nonlocal count
        count += 1
        return count
    return step
def generator_function():
    yield from range(3)
async def coroutine_function(): return 5
def decorate(f):
    @functools.wraps(f)
    def inner(*a): return f(*a) + 1
    return inner
@decorate
def decorated(x): return x
@functools.lru_cache(maxsize=10)
def cached(x): return x * 2
@functools.singledispatch
def dispatched(x): return "any"
@dispatched.register
def _(x: int): return "int"
def annotated(a: "int", b: Point = None) -> list[int]: return [a]
'''

VALUES = {
    "none": "None",
    "true": "True",
    "int": "7",
    "large_int": "10 ** 40",
    "negative": "-(2 ** 63)",
    "float": "1.5",
    "nan": "float('nan')",
    "infinity": "float('-inf')",
    "complex": "1 + 2j",
    "text": "'text with ü and \\u4e2d'",
    "surrogate": "'\\udc80'",
    "long_text": "'ab' * 100_000",
    "bytes": "b'\\x00\\xff'",
    "long_bytes": "bytes(200_000)",
    "bytearray": "bytearray(b'abc')",
    "long_bytearray": "bytearray(200_000)",
    "memoryview": "memoryview(b'abcdef')",
    "tuple": "(1, 'a', (2,))",
    "empty_tuple": "()",
    "list": "[1, [2, [3]]]",
    "dict": "{'a': 1, (1, 2): [3]}",
    "set": "{1, 2, 3}",
    "frozenset": "frozenset({1, 2})",
    "range": "range(3, 30, 3)",
    "slice": "slice(1, 2, 3)",
    "ellipsis": "...",
    "not_implemented": "NotImplemented",
    "type": "int",
    "none_type": "type(None)",
    "ordered_dict": "collections.OrderedDict([('b', 1), ('a', 2)])",
    "default_dict": "collections.defaultdict(list, a=[1])",
    "default_dict_of_lambda": "collections.defaultdict(lambda: 5, a=1)",
    "counter": "collections.Counter('hello')",
    "deque": "collections.deque([1, 2, 3], maxlen=5)",
    "chain_map": "collections.ChainMap({'a': 1}, {'b': 2})",
    "namedtuple": "Pair(1, [2])",
    "typed_namedtuple": "Typed(1)",
    "user_dict": "collections.UserDict(a=1)",
    "array_array": "array.array('d', [1.0, 2.0])",
    "datetime": "datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)",
    "zone": "zoneinfo.ZoneInfo('Europe/Berlin')",
    "timedelta": "datetime.timedelta(days=1, seconds=2)",
    "decimal": "decimal.Decimal('1.10')",
    "fraction": "fractions.Fraction(1, 3)",
    "uuid": "uuid.UUID(int=5)",
    "path": "pathlib.Path('a') / 'b'",
    "address": "ipaddress.ip_network('10.0.0.0/8')",
    "pattern": "re.compile('a+', re.I)",
    "string_io": "io.StringIO('abc')",
    "bytes_io": "io.BytesIO(b'abc')",
    "element": "ET.fromstring('<a><b c=\"1\"/></a>')",
    "namespace": "types.SimpleNamespace(a=1, b=[2])",
    "mapping_proxy": "types.MappingProxyType({'a': 1})",
    "module": "math",
    "module_alias": "la",
    "made_module": "types.ModuleType('made')",
    "builtin": "len",
    "bound_builtin": "[1, 2].append",
    "type_method": "str.upper",
    "ufunc": "np.add",
    "bound_method": "Point(3, 4).make",
    "method": "Point(3, 4).__repr__",
    "static_method": "Point.free",
    "partial": "functools.partial(plain, 1, d=5)",
    "itemgetter": "operator.itemgetter(1)",
    "attrgetter": "operator.attrgetter('x')",
    "function": "plain",
    "recursive": "recursive",
    "calls_global": "calls_global",
    "lambda": "lambda x, y=[]: (x, y)",
    "closure": "make_counter()",
    "generator_function": "generator_function",
    "coroutine_function": "coroutine_function",
    "decorated": "decorated",
    "cached": "cached",
    "dispatched": "dispatched",
    "annotated": "annotated",
    "class": "Point",
    "subclass": "Sub",
    "instance": "Point(3, 4)",
    "sub_instance": "Sub()",
    "slotted": "Slotted()",
    "slotted_too": "SlottedToo()",
    "dataclass": "Data(2, [3])",
    "frozen_dataclass": "Frozen(2)",
    "enum": "Color.RED",
    "enum_class": "Color",
    "flag": "Flag.A | Flag.B",
    "int_enum": "Level.LOW",
    "with_meta": "WithMeta()",
    "concrete": "Concrete()",
    "my_list": "MyList([1, 2])",
    "my_dict": "MyDict(a=1)",
    "my_int": "MyInt(5)",
    "my_str": "MyStr('s')",
    "stateful": "Stateful()",
    "reduced": "Reduced(4)",
    "exception": "Problem('broken', 7)",
    "builtin_exception": "ValueError('v', 1)",
    "unicode_error": "UnicodeDecodeError('utf-8', b'x', 0, 1, 'why')",
    "stop": "StopIteration(5)",
    "exit": "SystemExit(3)",
    "syntax_error": "SyntaxError('bad', ('f', 1, 2, 'text'))",
    "os_error": "FileNotFoundError(2, 'no', 'name')",
    "exception_group": "ExceptionGroup('g', [ValueError(1)])",
    "callable": "Callable_()",
    "described": "Described()",
    "generic": "Generic_()",
    "alias": "list[int]",
    "union": "int | None",
    "typing_alias": "typing.Optional[Point]",
    "typevar": "T",
    "property": "Point.norm",
    "logger": "logging.getLogger('a.b')",
    "random": "random.Random(5)",
    "count": "itertools.count(5)",
    "template": "string.Template('$a')",
    "environ": "os.environ",
    "user_module": "sys.modules['__main__']",
    "int_array": "np.arange(10)",
    "large_array": "np.arange(100_000.0).reshape(100, 1000)",
    "fortran": "np.asfortranarray(np.arange(20_000.0).reshape(100, 200))",
    "reversed_array": "np.arange(10)[::-1]",
    "strided": "np.arange(100_000)[::3]",
    "transposed": "np.arange(6).reshape(2, 3).T",
    "broadcast": "np.broadcast_to(np.arange(3), (4, 3))",
    "scalar_array": "np.array(5)",
    "empty_array": "np.empty((0, 3))",
    "read_only": "(lambda a: (a.setflags(write=False), a)[1])(np.arange(20_000))",
    "bool_array": "np.array([True, False])",
    "complex_array": "np.array([1 + 2j])",
    "text_array": "np.array(['a', 'bcd'])",
    "bytes_array": "np.array([b'a', b'bcd'])",
    "date_array": "np.array(['2026-01-01'], dtype='datetime64[D]')",
    "structured": "np.array([(1, 2.0)], dtype=[('a', 'i4'), ('b', 'f8')])",
    "record": "np.rec.array([(1, 2.0)], dtype=[('a', 'i4'), ('b', 'f8')])",
    "object_array": "np.array([[1], None, 'a'], dtype=object)",
    "masked": "np.ma.array([1, 2, 3], mask=[0, 1, 0])",
    "matrix": "np.asmatrix(np.arange(4).reshape(2, 2))",
    "sub_array": "np.arange(4).view(MyArray)",
    "big_endian": "np.arange(4, dtype='>i4')",
    "from_buffer": "np.frombuffer(b'12345678', dtype='i4')",
    "numpy_scalar": "np.float32(1.5)",
    "numpy_date": "np.datetime64('2026-01-01')",
    "dtype": "np.dtype([('a', 'i4')])",
    "generator": "np.random.default_rng(3)",
    "random_state": "np.random.RandomState(3)",
    "polynomial": "np.polynomial.Polynomial([1, 2])",
    "frame": "pd.DataFrame({'a': range(3), 'b': list('xyz'), 'c': pd.Categorical(list('aab'))})",
    "large_frame": "pd.DataFrame(np.arange(40_000.0).reshape(10_000, 4), columns=list('abcd'))",
    "series": "pd.Series([1.5, None], index=['x', 'y'], name='s')",
    "index": "pd.MultiIndex.from_product([[1, 2], ['a']])",
    "times": "pd.date_range('2026-01-01', periods=3, tz='UTC')",
    "timestamp": "pd.Timestamp('2026-01-01')",
    "missing": "pd.NA",
    "grouped": "pd.DataFrame({'a': [1, 1, 2], 'b': [1, 2, 3]}).groupby('a')",
}

# What a value shows of itself, without addresses.
DESCRIBE = r"""
def describe(v):
    shown = [type(v).__module__, type(v).__qualname__, re.sub("0x[0-9a-fA-F]+", "0x", repr(v))]
    if isinstance(v, np.ndarray):
        shown += [v.shape, v.strides, v.dtype.str, v.flags.writeable]
        shown += [] if v.dtype.hasobject else [v.tobytes()]
    if isinstance(v, (types.FunctionType, type)):
        shown += [v.__name__, v.__qualname__, v.__module__, v.__doc__]
    if isinstance(v, types.FunctionType):
        shown += [v.__defaults__, v.__kwdefaults__, sorted(vars(v)), str(v.__annotations__)]
        shown += [v.__globals__ is globals()]
    if isinstance(v, (BaseException, memoryview)):
        shown += [vars(v) if hasattr(v, "__dict__") else bytes(v)]
    if isinstance(v, io.IOBase):
        shown += [v.getvalue(), v.tell()]
    if isinstance(v, type):
        shown += [v.__mro__, [name for name in vars(v) if name[:2] != '__']]
    return str(shown)

USES = {
    "function": lambda v: v(1), "recursive": lambda v: v(5), "calls_global": lambda v: v(),
    "lambda": lambda v: v(1), "closure": lambda v: (v(), v()), "decorated": lambda v: v(1),
    "cached": lambda v: v(3), "dispatched": lambda v: (v(1), v("a")), "partial": lambda v: v(),
    "generator_function": lambda v: list(v()), "bound_builtin": lambda v: v(3),
    "bound_method": lambda v: v(), "method": lambda v: v(), "random": lambda v: v.random(),
    "generator": lambda v: v.random(), "random_state": lambda v: v.rand(),
    "count": lambda v: (next(v), next(v)), "default_dict_of_lambda": lambda v: v["new"],
    "default_dict": lambda v: v["new"], "my_dict": lambda v: v["no"], "property": lambda v:
    v.fget(Point()), "grouped": lambda v: str(v.sum()), "concrete": lambda v: v.act(),
    "callable": lambda v: v(1), "enum": lambda v: (v is Color.RED, v.name),
    "enum_class": lambda v: list(v), "stateful": lambda v: v.kept, "class": lambda v: v.make(),
    "subclass": lambda v: v().more, "frame": lambda v: str(v.describe()), "string_io":
    lambda v: (v.read(), v.write("more")), "deque": lambda v: (v.append(4), v.maxlen),
    "my_int": lambda v: v + 1, "flag": lambda v: Flag.A in v,
    "unicode_error": lambda v: (str(v), v.start, v.object),
    "stop": lambda v: v.value,
    "exit": lambda v: v.code, "syntax_error": lambda v: (v.lineno, v.text), "os_error":
    lambda v: (v.errno, v.filename), "weak": lambda v: v(),
}
"""
