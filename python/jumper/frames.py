"""Columns by name as pandas has them, and as CSV and JSON files; foreign files are read with care.

None is what isn't known: NA in a DataFrame, nothing in CSV, null in JSON.
"""

import csv
import io
import json
import math
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from . import exporting
from ._native import Error

Columns = Mapping[str, Sequence[Any]]
KINDS: Final = (".csv", ".json")
MOST_BYTES: Final = 256 << 20
MOST_FIELDS: Final = 20_000_000
MOST_COLUMNS: Final = 5000
TEXTS: Final = ("raw_cell", "cell_magics")  # what looks like a number there is none
WHOLE: Final = ("cell_index",)


def frame(columns: Columns, missing: Mapping[str, str] | None = None) -> Any:
    """Raises ValueError with the whole sentence."""
    pandas = exporting.module("pandas")
    if pandas is None:
        raise ValueError(
            "a DataFrame needs pandas, which can't be imported: pip install pandas, "
            "or give --file for a CSV or JSON file"
        )
    made = pandas.DataFrame(
        {
            name: pandas.array(list(values), dtype="Int64") if name in WHOLE else list(values)
            for name, values in columns.items()
        }
    )
    for name in made.columns:  # a column of nothing but None has numbers all the same
        if name not in TEXTS and made[name].dtype == object and made[name].isna().all():
            made[name] = made[name].astype("float64")
    if missing:
        made.attrs["jumper"] = {"missing": dict(missing)}
    return made


def write(columns: Columns, path: str) -> Path:
    """As the ending says; without one it is .csv. What stands there is replaced, as by theirs."""
    ending = Path(path).suffix.lower()
    if not ending:
        path, ending = f"{path}.csv", ".csv"
    if ending not in KINDS:
        raise ValueError(f"cannot write {path!r}: its ending must be {' or '.join(KINDS)}")
    text = csv_text(columns) if ending == ".csv" else _json_text(columns)
    return exporting.save(path, lambda file: file.write(text.encode()), force=True)


def csv_text(columns: Columns) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return file.getvalue()


def _json_text(columns: Columns) -> str:
    rows = zip(*columns.values(), strict=True)
    records = [dict(zip(columns, row, strict=True)) for row in rows]
    return json.dumps(records, indent=2)


def read_bytes(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Of a regular file; raises Error with the whole sentence for anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Error(f"cannot read {str(path)!r}: it is no regular file")
            found = file.read(most_bytes + 1)
    except OSError as error:
        if isinstance(error, Error):
            raise
        raise Error(f"cannot read {str(path)!r}: {error.strerror} (errno {error.errno})") from None
    if len(found) > most_bytes:
        raise Error(f"cannot read {str(path)!r}: it is larger than {most_bytes >> 20} MiB")
    return found


def read(path: Path, required: Sequence[str]) -> dict[str, list[Any]]:
    """A file as `write` and jumper-extension make it; raises Error with the whole sentence."""
    ending = path.suffix.lower()
    if ending not in KINDS:
        raise Error(f"cannot read {str(path)!r}: its ending must be {' or '.join(KINDS)}")
    return parse(read_bytes(path), str(path), required, is_json=ending == ".json")


def parse(
    data: bytes, name: str, required: Sequence[str], *, is_json: bool = False
) -> dict[str, list[Any]]:
    """`name`: of the file, for what is wrong with it. Foreign bytes: raises Error only."""
    try:
        text = data.decode("utf-8")
        columns = _from_json(text) if is_json else _from_csv(text)
        _check_names(columns, required)
        return {
            column: list(map(_text, values))
            if column in TEXTS
            else _numbers(values, column, must=column in required)
            for column, values in columns.items()
        }
    except (ValueError, RecursionError, csv.Error) as error:
        raise Error(f"cannot read {name!r}: {error}") from None


def _from_csv(text: str) -> dict[str, list[Any]]:
    before = csv.field_size_limit(MOST_BYTES)  # a cell may be long; all of the file is bounded
    try:
        rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        names = next(rows, [])
        _check_size(len(names), 0)
        if len(set(names)) != len(names) or not names:
            raise ValueError("its first line doesn't name columns, each once")
        columns: list[list[Any]] = [[] for _ in names]
        for count, row in enumerate(rows, 1):
            if not row:
                continue
            if len(row) != len(names):
                raise ValueError(
                    f"line {rows.line_num} has {len(row)} fields, the first line {len(names)}"
                )
            _check_size(len(names), count)
            for column, value in zip(columns, row, strict=True):
                column.append(value)
        return dict(zip(names, columns, strict=True))
    finally:
        csv.field_size_limit(before)


def _from_json(text: str) -> dict[str, list[Any]]:
    """A list of records; or a dict of columns, each a list or a dict by row."""
    whole = json.loads(text)
    if isinstance(whole, dict):
        found = {
            name: list(column.values()) if isinstance(column, dict) else column
            for name, column in whole.items()
        }
        if len({len(one) if isinstance(one, list) else -1 for one in found.values()} | {-1}) > 2:
            raise ValueError("its columns aren't equally long lists")
    elif isinstance(whole, list) and all(isinstance(one, dict) for one in whole):
        names = list(dict.fromkeys(name for record in whole for name in record))
        _check_size(len(names), len(whole))
        found = {name: [record.get(name) for record in whole] for name in names}
    else:
        raise ValueError("it is neither a list of records nor a dict of columns")
    if not all(isinstance(one, list) for one in found.values()):
        raise ValueError("its columns aren't equally long lists")
    _check_size(len(found), max(map(len, found.values()), default=0))
    return found


def _check_names(columns: Columns, required: Sequence[str]) -> None:
    missing = [one for one in required if one not in columns]
    if missing:
        raise ValueError(f"it has no column {', '.join(missing)}")


def _check_size(columns: int, rows: int) -> None:
    if columns > MOST_COLUMNS:
        raise ValueError(f"it has more than {MOST_COLUMNS} columns")
    if columns * rows > MOST_FIELDS:
        raise ValueError(f"it has more than {MOST_FIELDS} fields")


def _text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else str(value)


def _numbers(values: list[Any], column: str, *, must: bool) -> list[Any]:
    """As numbers; a column that needn't be one of numbers stays as it is when it isn't."""
    try:
        found = [_number(value) for value in values]
    except (ValueError, TypeError, OverflowError):
        if not must:
            return values
        raise ValueError(f"its column {column} holds something that is no number") from None
    if column in WHOLE:
        if any(one is not None and one != int(one) for one in found):
            raise ValueError(f"its column {column} holds something that is no whole number")
        return [None if one is None else int(one) for one in found]
    return found


def _number(value: Any) -> float | None:
    if value is None or (isinstance(value, str) and value.strip() in ("", "<NA>")):
        return None
    number = float(value)
    if math.isinf(number):
        raise ValueError
    return None if math.isnan(number) else number
