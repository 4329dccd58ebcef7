"""Samples of cells as a variable or a file, and copies of a recording."""

import builtins
import importlib
import json
import keyword
import os
import secrets
from collections.abc import Callable, MutableMapping
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Final

from . import _native, views

Write = Callable[[_native.Table, IO[bytes]], None]
IPYTHONS: Final = ("In", "Out", "_", "__", "___", "get_ipython", "exit", "quit")
PYARROW: Final = "pyarrow: pip install pyarrow"
SHOWN_MOST: Final = 5  # reasons and gaps; the file has them all


def module(name: str) -> ModuleType | None:
    """The module where it is installed and can be imported."""
    try:
        return importlib.import_module(name)
    except Exception:  # noqa: BLE001  (a broken installation may fail as it likes)
        return None


def arrays(numpy: Any, table: _native.Table) -> dict[str, Any]:
    """NumPy arrays by name, without a copy; an unknown number makes a column one of floats."""
    found = {}
    for place, (name, has_unknown) in enumerate(table.columns):
        numbers = table.array(place)
        if has_unknown:
            unknown = numbers == _native.NO_NUMBER
            numbers = numbers.astype(numpy.float64)
            numbers[unknown] = numpy.nan
        found[name] = numbers
    return found


def variable(table: _native.Table) -> tuple[Any, str]:
    """The best that is installed, and in words what it is."""
    numpy = module("numpy")
    if numpy is None:
        lists = {name: table.values(place) for place, (name, _) in enumerate(table.columns)}
        return lists, "a dict of lists (neither pandas nor NumPy can be imported)"
    columns = arrays(numpy, table)
    pandas = module("pandas")
    if pandas is None:
        return columns, "a dict of NumPy arrays (pandas can't be imported)"
    frame = pandas.DataFrame(columns)
    frame.insert(0, "time", pandas.to_datetime(columns["time_unix_ns"], utc=True))
    head = json.loads(table.head)
    frame.attrs["jumper"] = {
        "units": {one["name"]: one["unit"] for one in head["columns"]},
        **{key: head[key] for key in ("version", "label", "host", "level", "gaps", "missing")},
    }
    return frame, "a pandas DataFrame"


def put(namespace: MutableMapping[str, Any], name: str, value: Any) -> str | None:
    """Gives the name its value; says what it meant before."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"--to {name} is refused: a variable's name is needed")
    if name in IPYTHONS:
        raise ValueError(f"--to {name} is refused: that name is IPython's own")
    before: str | None = None
    if name in namespace:
        before = _described(namespace[name])
    elif hasattr(builtins, name):
        before = "Python's own"
    namespace[name] = value
    return before


def _described(value: object) -> str:
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    return f"a variable of type {type(value).__qualname__}"


def _json(table: _native.Table, file: IO[bytes]) -> None:
    table.write_json(file.fileno())


def _csv(table: _native.Table, file: IO[bytes]) -> None:
    table.write_csv(file.fileno())


def _npz(table: _native.Table, file: IO[bytes]) -> None:
    numpy = module("numpy")
    if numpy is None:
        raise ValueError("an .npz file needs NumPy: pip install numpy")
    numpy.savez_compressed(file, **arrays(numpy, table), jumper_head=numpy.array(table.head))


def _arrow_table(table: _native.Table) -> Any:
    """Unknown is null; the head is in the schema's metadata, as `jumper`."""
    pyarrow, numpy = module("pyarrow"), module("numpy")
    if pyarrow is None:
        raise ValueError(f"this format needs {PYARROW}; or choose .csv, .json or .npz")
    if numpy is None:
        raise ValueError("this format needs NumPy: pip install numpy; or choose .csv or .json")
    columns, fields = [], []
    units = [one["unit"] for one in json.loads(table.head)["columns"]]
    for place, ((name, has_unknown), unit) in enumerate(zip(table.columns, units, strict=True)):
        numbers = table.array(place)
        mask = numbers == _native.NO_NUMBER if has_unknown else None
        columns.append(pyarrow.array(numbers, mask=mask, from_pandas=True))
        fields.append(pyarrow.field(name, columns[-1].type, metadata={"unit": unit}))
    schema = pyarrow.schema(fields, metadata={"jumper": table.head})
    return pyarrow.Table.from_arrays(columns, schema=schema)


def _parquet(table: _native.Table, file: IO[bytes]) -> None:
    samples = _arrow_table(table)
    parquet = module("pyarrow.parquet")
    if parquet is None:
        raise ValueError(f"this pyarrow can't write Parquet; {PYARROW}")
    parquet.write_table(samples, file)


def _arrow(table: _native.Table, file: IO[bytes]) -> None:
    samples = _arrow_table(table)
    with importlib.import_module("pyarrow.ipc").new_file(file, samples.schema) as writer:
        writer.write_table(samples)


WRITERS: Final[dict[str, Write]] = {
    ".csv": _csv,
    ".json": _json,
    ".npz": _npz,
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
}


def writer_of(path: str) -> Write:
    ending = Path(path).suffix.lower()
    if ending not in WRITERS:
        raise ValueError(
            f"cannot export to {path!r}: its ending names no format; the endings are "
            f"{', '.join(WRITERS)}"
        )
    return WRITERS[ending]


def save(path: str, write: Callable[[IO[bytes]], object], *, force: bool) -> Path:
    """Writes a new file, whole or not at all: beside its place, then renamed.

    Raises Error with the whole sentence; what stands there is replaced only with `force`.
    """
    target = Path(os.path.realpath(Path(path).expanduser()))
    if target.exists() and not target.is_file():
        raise _native.Error(f"cannot write {str(target)!r}: it is there, and no regular file")
    if target.exists() and not force:
        raise _there(target)
    part = target.with_name(f".jumper-{secrets.token_hex(6)}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise _failed(target, error) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        _publish(part, target, force=force)
    except OSError as error:
        if isinstance(error, _native.Error) and error.errno is None:
            raise
        raise _failed(target, error) from None
    finally:
        part.unlink(missing_ok=True)
    return target


def _publish(part: Path, target: Path, *, force: bool) -> None:
    if not force:
        try:
            target.hardlink_to(part)
        except FileExistsError:
            raise _there(target) from None
        except OSError:  # a file system without hard links
            if target.exists():
                raise _there(target) from None
        else:
            return
    part.replace(target)


def _there(target: Path) -> _native.Error:
    return _native.Error(f"cannot write {str(target)!r}: it is there already; --force replaces it")


def _failed(target: Path, error: OSError) -> _native.Error:
    code = error.errno or 0
    failed = _native.Error(f"cannot write {str(target)!r}: {os.strerror(code)} (errno {code})")
    failed.errno = code
    return failed


def described(table: _native.Table) -> list[tuple[str, str]]:
    """What is in the table and what isn't."""
    head = json.loads(table.head)
    count = len(head["cells"])
    reasons: dict[str, list[str]] = {}
    for one in head["missing"]:
        part = "" if one["rows"] == table.rows else f" ({one['rows']} of {table.rows} rows)"
        reasons.setdefault(one["reason"], []).append(one["column"] + part)
    missing = [f"{_listed(columns)}: {reason}" for reason, columns in reasons.items()]
    gaps = [
        f"{(one['end_unix_ns'] - one['begin_unix_ns']) / 1e9:.3g} s in #{one['cell_index']}: "
        f"{one['reason']}"
        for one in head["gaps"]
    ]
    return [
        ("cells", f"{count}, level {head['level']}"),
        ("samples", f"{table.rows} rows, {len(table.columns)} columns"),
        ("gaps", "\n".join(_first(gaps)) or "none"),
        ("missing", "\n".join(_first(missing)) or "nothing"),
    ]


def _listed(names: list[str]) -> str:
    more = len(names) - SHOWN_MOST
    return ", ".join(names[:SHOWN_MOST]) + (f" and {more} more" if more > 0 else "")


def _first(lines: list[str]) -> list[str]:
    more = len(lines) - SHOWN_MOST
    return lines[:SHOWN_MOST] + ([f"… {more} more"] if more > 0 else [])


def to_file(table: _native.Table, path: str, *, force: bool) -> views.Bundle:
    write = writer_of(path)
    written = save(path, lambda file: write(table, file), force=force)
    where = f"{written} ({views.size(written.stat().st_size)})"
    return views.table([("file", where), *described(table)])


def to_variable(
    table: _native.Table, namespace: MutableMapping[str, Any], name: str
) -> views.Bundle:
    value, what = variable(table)
    before = put(namespace, name, value)
    rows = [("variable", f"{name}: {what}"), *described(table)]
    if before is not None:
        rows.insert(1, ("replaced", f"{name} was {before}"))
    return views.table(rows)
