"""What the benchmark carries: code that fills a notebook's names, and cells that change it."""

from dataclasses import dataclass, field
from typing import Final

ARRAYS: Final = 20
OBJECTS: Final = 1_000_000


@dataclass(frozen=True)
class Values:
    """`cells`: by what changes, a cell's code and the names that it assigns."""

    make: str
    cells: dict[str, tuple[str, list[str]]]
    probe: str  # differs after every cell that changes something
    array_bytes: int = 0
    one_bytes: int = 0  # of arrays, that the cell "one" changes
    objects: int = 0
    names: list[str] = field(default_factory=list)


def nothing() -> Values:
    return Values("", {"unchanged": ("pass", [])}, "0")


def arrays(megabytes: int) -> Values:
    size = megabytes * 1_000_000 // ARRAYS
    names = [f"a{number:02}" for number in range(ARRAYS)]
    make = "import numpy as np\n" + "\n".join(
        f"{name} = np.arange({size // 8}, dtype=float) + {number}"
        for number, name in enumerate(names)
    )
    cells = {
        "unchanged": ("pass", []),
        "one": ("a03 += 1", ["a03"]),
        "all": ("\n".join(f"{name} += 1" for name in names), names),
    }
    return Values(make, cells, "a03[0]", size * ARRAYS, size, names=names)


def dict_of_str(objects: int) -> Values:
    cells = {
        "unchanged": ("pass", []),
        "one": ('d["key 0"] += "!"', ["d"]),
        "all": ('for key in d: d[key] += "!"', ["d"]),
    }
    make = f'd = {{f"key {{n}}": f"value {{n}}" for n in range({objects})}}'
    return Values(make, cells, 'd["key 0"]', objects=objects, names=["d"])


def dicts(number: int, objects: int) -> Values:
    """Names that share nothing: several processes may take them apart."""
    names = [f"d{place}" for place in range(number)]
    make = "\n".join(
        f'{name} = {{f"{name} key {{n}}": f"value {{n}}" for n in range({objects})}}'
        for name in names
    )
    cells: dict[str, tuple[str, list[str]]] = {"unchanged": ("pass", [])}
    return Values(make, cells, "len(d0)", objects=number * objects, names=names)


def list_of_lists(objects: int) -> Values:
    cells = {
        "unchanged": ("pass", []),
        "one": ("ll[0].append(1)", ["ll"]),
        "all": ("for one in ll: one.append(1)", ["ll"]),
    }
    make = f"ll = [[n, n + 1] for n in range({objects})]"
    return Values(make, cells, "len(ll[0])", objects=objects, names=["ll"])


def instances(objects: int) -> Values:
    cells = {
        "unchanged": ("pass", []),
        "one": ("points[0].x += 1", ["points"]),
        "all": ("for one in points: one.x += 1", ["points"]),
    }
    make = f"""
class Point:
    def __init__(self, x):
        self.x = x
points = [Point(n) for n in range({objects})]
"""
    return Values(make, cells, "points[0].x", objects=objects, names=["points"])


def mix(megabytes: int, objects: int) -> Values:
    some, others = arrays(megabytes), dict_of_str(objects)
    code, names = some.cells["all"]
    cells = {
        **some.cells,
        "all": (f"{code}\n{others.cells['all'][0]}", [*names, "d"]),
    }
    return Values(
        f"{some.make}\n{others.make}",
        cells,
        some.probe,
        some.array_bytes,
        some.one_bytes,
        objects,
        [*some.names, "d"],
    )


VALUES: Final = {
    "nothing": nothing(),
    "arrays, 200 MB": arrays(200),
    "arrays, 1 GB": arrays(1000),
    "arrays, 2 GB": arrays(2000),
    "dict of str, 100 k": dict_of_str(OBJECTS // 10),
    "dict of str, 1 M": dict_of_str(OBJECTS),
    "list of lists, 1 M": list_of_lists(OBJECTS),
    "instances, 1 M": instances(OBJECTS),
    "2 GB and dict of 1 M": mix(2000, OBJECTS),
    "8 dicts of 250 k": dicts(8, OBJECTS // 4),
}
