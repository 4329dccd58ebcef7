"""Shallow snapshots: which objects hold something else than they did."""

import collections
import copyreg
import dataclasses
import enum
import functools
import gc
import re
import sys
import threading
import weakref
from typing import NamedTuple

import pytest

from jumper._native import Numbers, Snapshot


class Plain:
    pass


class Slotted:
    __slots__ = ("__weakref__", "a", "b")


class Both(Slotted):
    pass


class Mixed(Plain, Slotted):
    __slots__ = ("c",)


@dataclasses.dataclass
class Data:
    a: int
    b: list


def made(cls, **attributes):
    one = cls()
    for name, value in attributes.items():
        setattr(one, name, value)
    return one


CHANGES = {
    "list item": ([1, 2], lambda x: x.__setitem__(0, 2)),
    "list longer": ([1], lambda x: x.append(1)),
    "list shorter": ([1, 1], lambda x: x.pop()),
    "list empty": ([1], lambda x: x.clear()),
    "list order": ([1, 2], lambda x: x.reverse()),
    "list equal but another": ([1], lambda x: x.__setitem__(0, 1.0)),
    "dict value": ({1: 2}, lambda x: x.__setitem__(1, 3)),
    "dict key": ({1: 2}, lambda x: x.__setitem__(3, 3)),
    "dict order": ({1: 2, 2: 3}, lambda x: x.__setitem__(1, x.pop(1))),
    "dict equal key": ({1: 2}, lambda x: (x.pop(1), x.__setitem__(1.0, 2))),
    "dict empty": ({1: 2}, lambda x: x.clear()),
    "set longer": ({1}, lambda x: x.add(2)),
    "set other": ({1}, lambda x: (x.remove(1), x.add(2))),
    "set shorter": ({1, 2}, lambda x: x.remove(1)),
    "bytearray byte": (bytearray(b"ab"), lambda x: x.__setitem__(0, 1)),
    "bytearray longer": (bytearray(), lambda x: x.extend(b"1")),
    "attribute": (made(Plain, a=1), lambda x: setattr(x, "a", 2)),
    "attribute new": (Plain(), lambda x: setattr(x, "a", 2)),
    "attribute gone": (made(Plain, a=1), lambda x: delattr(x, "a")),
    "attribute order": (made(Plain, a=1, b=2), lambda x: setattr(x, "a", x.__dict__.pop("a"))),
    "another __dict__": (made(Plain, a=1), lambda x: setattr(x, "__dict__", {"a": 2})),
    "another class": (made(Plain, a=1), lambda x: setattr(x, "__class__", Like)),
    "slot": (made(Slotted, a=1), lambda x: setattr(x, "a", 2)),
    "slot set": (Slotted(), lambda x: setattr(x, "a", 2)),
    "slot unset": (made(Slotted, a=1, b=2), lambda x: delattr(x, "b")),
    "slot beside dict": (made(Both, a=1, z=2), lambda x: setattr(x, "a", 2)),
    "dict beside slot": (made(Both, a=1, z=2), lambda x: setattr(x, "z", 3)),
    "slot of a mixture": (made(Mixed, a=1, c=2), lambda x: setattr(x, "c", 3)),
    "inherited slot of a mixture": (made(Mixed, a=1, c=2), lambda x: setattr(x, "a", 3)),
    "dataclass": (Data(1, []), lambda x: setattr(x, "b", [])),
}


class Like(Plain):
    pass


@pytest.mark.parametrize("name", CHANGES)
def test_what_holds_something_else_is_told(name):
    original, change = CHANGES[name]
    twin = original
    snapshot = Snapshot([[], original, {}])
    assert snapshot.changed() == []
    assert snapshot.other() == []
    change(twin)
    assert snapshot.changed() == [1]


def test_a_change_inside_belongs_to_what_is_inside():
    inner = [1]
    outer = {"inner": inner}
    snapshot = Snapshot([outer, inner])
    inner.append(2)
    assert snapshot.changed() == [1]


def test_what_is_set_back_is_unchanged():
    value, other = object(), object()
    keeping = [value]
    instance = made(Plain, a=value)
    snapshot = Snapshot([keeping, instance])
    keeping[0] = instance.a = other
    assert snapshot.changed() == [0, 1]
    keeping[0] = instance.a = value
    assert snapshot.changed() == []


def test_the_same_dictionary_by_another_name_is_unchanged():
    instance = made(Plain, a=1)
    snapshot = Snapshot([instance])
    instance.__dict__ = dict(instance.__dict__)
    assert snapshot.changed() == []


def test_a_freed_objects_address_is_never_met_again():
    held = [[object()] for _ in range(1000)]
    snapshot = Snapshot(held)
    for one in held:
        one[0] = object()
    assert snapshot.changed() == list(range(1000))


def test_what_came_before_the_begin_is_left_out():
    objects = [[], "a", len.__class__, [], "b", len.__class__]
    snapshot = Snapshot(objects, 3)
    objects[0].append(1)
    objects[3].append(1)
    assert (snapshot.changed(), snapshot.other()) == ([3], [5])
    assert Snapshot(objects, begin=100).other() == []


class Reducing:
    def __reduce__(self):
        return (Reducing, ())


class Stateful:
    def __getstate__(self):
        return 1


class Restored(Plain):
    def __setstate__(self, state):
        pass


class Registered:
    pass


class Property:
    @property
    def __dict__(self):
        raise AssertionError


class Colour(enum.Enum):
    RED = 1


class OfList(list):
    pass


class OfDict(dict):
    pass


class OfInt(int):
    pass


class Point(NamedTuple):
    x: int


def test_what_is_neither_known_nor_an_atom_is_told(monkeypatch):
    monkeypatch.setitem(copyreg.dispatch_table, Registered, lambda one: (Registered, ()))
    others = [
        Reducing(), Stateful(), Restored(), Registered(), Property(), Colour.RED, OfList(),
        OfDict(), OfInt(), Point(1), Plain, len.__class__, Plain.__init__, lambda: 0,
        collections.deque(), collections.OrderedDict(), collections.defaultdict(int),
        functools.partial(len), re.compile("a"), threading.Lock(), range(3), sys,
        ValueError(), (i for i in ()), iter([]), memoryview(b""), weakref.ref(Plain), slice(1),
        type("Meta", (type,), {})("Made", (), {}), {}.keys(), Ellipsis,
    ]  # fmt: skip
    atoms = ["a", b"b", 1, 1.5, 1j, True, None, (), (1,), frozenset(), len, [].append]
    atoms.append(test_what_is_neither_known_nor_an_atom_is_told.__code__)
    known = [[], {}, set(), bytearray(), object(), Plain(), Slotted(), Both(), Mixed(), Data(1, [])]
    snapshot = Snapshot([*others, *atoms, *known])
    assert snapshot.other() == list(range(len(others)))
    assert snapshot.changed() == []


def test_instances_of_numpy_and_ctypes_are_none_of_its_business():
    numpy = pytest.importorskip("numpy")
    ctypes = pytest.importorskip("ctypes")

    class Pair(ctypes.Structure):
        _fields_ = (("a", ctypes.c_int),)

    class OfArray(numpy.ndarray):
        pass

    objects = [numpy.zeros(3), OfArray(3), Pair(1), numpy.random.default_rng(), numpy.dtype("f8")]
    assert Snapshot(objects).other() == list(range(len(objects)))


def test_types_can_be_refused_and_are_asked_about_once():
    asked = []
    objects = [Plain(), Data(1, []), Plain(), [], OfList()]
    snapshot = Snapshot(objects, plain_types=lambda one: asked.append(one) or one is Data)
    assert asked == [Plain, Data]
    assert snapshot.other() == [0, 2, 4]


def test_what_the_decision_raises_is_raised_and_nothing_is_kept():
    inner = Plain()
    gone = weakref.ref(inner)

    def decide(_):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        Snapshot([[inner], Plain()], plain_types=decide)
    del inner
    gc.collect()
    assert gone() is None


def test_none_of_the_users_code_runs():
    class Mine:
        armed = False

        def refuse(self, *_):
            assert not Mine.armed
            return 1

        __eq__ = __bool__ = __len__ = __getattr__ = __index__ = refuse

        def __hash__(self):
            assert not Mine.armed
            return 7

        def __getattribute__(self, name):
            assert not Mine.armed
            return object.__getattribute__(self, name)

    ones = [Mine() for _ in range(3)]
    objects = [ones, {ones[0]: ones[1]}, {ones[2]}, ones[0]]
    Mine.armed = True
    snapshot = Snapshot(objects)
    assert snapshot.changed() == snapshot.other() == []
    object.__setattr__(ones[0], "a", ones[1])
    ones[1] = 3
    assert snapshot.changed() == [0, 3]
    Mine.armed = False


def test_the_collector_sees_through_it():
    class Held:
        pass

    objects = [[Held()], {Held(): Held()}, {Held()}, Held(), bytearray(3)]
    objects[3].a = Held()
    loop = Held()
    objects[0].append(loop)
    loop.snapshot = Snapshot(objects, plain_types=lambda _, keep=loop: bool(keep))
    alive = [weakref.ref(loop), weakref.ref(objects[3]), weakref.ref(Held)]
    assert loop.snapshot.changed() == []
    del objects, loop, Held
    gc.collect()
    assert [one() for one in alive] == [None] * 3


def test_every_reference_is_given_back():
    marker, key = object(), "a key of its own"
    before = sys.getrefcount(marker), sys.getrefcount(key), sys.getrefcount(Plain)
    objects = [[marker] * 3, {key: marker}, {marker}, made(Plain, a=marker), made(Slotted, a=key)]
    snapshot = Snapshot(objects)
    snapshot.changed()
    assert sys.getrefcount(marker) > before[0] + 6
    del snapshot, objects
    gc.collect()
    assert (sys.getrefcount(marker), sys.getrefcount(key), sys.getrefcount(Plain)) == before


def test_a_finaliser_may_ask_it_while_it_ends():
    seen = []

    class Last:
        def __del__(self):
            seen.append(1)

    objects = [[Last()]]
    snapshot = Snapshot(objects)
    objects[0].clear()
    assert (snapshot.changed(), seen) == ([0], [])
    del snapshot
    assert seen == [1]


def test_only_a_sequence_can_be_looked_at():
    with pytest.raises(TypeError):
        Snapshot(3)


def test_numbers_are_those_of_the_list_by_identity():
    objects = [[], "text", [], 7, *(object() for _ in range(5000))]
    numbers = Numbers(objects)
    assert [numbers.get(id(one)) for one in objects] == list(range(len(objects)))
    assert all(id(one) in numbers and numbers[id(one)] == n for n, one in enumerate(objects))
    assert numbers.get(id([])) is None
    assert id(numbers) not in numbers


def test_a_number_that_is_forgotten_is_gone_and_the_others_stay():
    objects = [object() for _ in range(100)]
    numbers = Numbers(objects)
    numbers.discard(id(objects[3]))
    assert [numbers.get(id(one)) for one in objects] == [0, 1, 2, None, *range(4, 100)]
    with pytest.raises(KeyError):
        numbers[id(objects[3])]
    numbers.discard(id(objects[3]))


def test_an_object_that_is_there_twice_has_one_of_its_numbers():
    one = object()
    assert Numbers([one, [], one]).get(id(one)) == 2


def test_numbers_of_nothing():
    assert Numbers([]).get(id(7)) is None
