"""A session as jumper-extension writes it to a folder or a zip, and a copy of our recording in it.

    manifest.json        what it is, of which machine, when; which columns the others have
    perf_LEVEL.csv       samples: process, user, system, slurm; left out where there is none
    cell_history.csv     cells
    recording.jumper     ours: everything else that was recorded

Reading: the files are foreign. Only these names are looked at, each is bounded, none may lead out
of the folder, and nothing in them is run.
"""

import json
import lzma
import os
import stat
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from . import _native, exporting, frames, origins
from ._native import Error
from .imported import PERFDATA, Imported
from .origins import Origin, Recording

MANIFEST: Final = "manifest.json"
HISTORY: Final = "cell_history.csv"
COPY: Final = "recording.jumper"
LEVELS: Final = ("process", "user", "system", "slurm")
MOST_BYTES: Final = {MANIFEST: 1 << 20, COPY: 600 << 20}  # the others: frames.MOST_BYTES
MOST_MEMBERS: Final = 1000
BROKEN: Final = (
    zipfile.BadZipFile,
    OSError,
    RuntimeError,  # it is encrypted
    NotImplementedError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    ValueError,
)
Read = Callable[[str, int], bytes | None]  # None: there is no such file


# ---- write ----


def export(origin: Origin, path: str, magics: list[str]) -> tuple[Path, list[str]]:
    """Where it is, and which files it has. What stands there under these names is replaced."""
    target = Path(path or f"jumper-session-{time.strftime('%Y%m%d-%H%M%S')}").expanduser()
    texts = _texts(origin, magics)
    session = origin.recorded if isinstance(origin.recorded, _native.Session) else None
    if target.suffix.lower() == ".zip":
        written = exporting.save(str(target), lambda file: _zip(file, texts, session), force=True)
        return written, [*texts, *([COPY] if session else [])]
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Error(
            f"cannot make the folder {str(target)!r}: {os.strerror(error.errno or 0)}"
        ) from None
    if session is not None:
        exporting.save(str(target / COPY), lambda file: session.save(file.fileno()), force=True)
    for name, text in reversed(texts.items()):  # the manifest last: with it the session is whole
        exporting.save(str(target / name), partial(_put, text.encode()), force=True)
    return target.absolute(), [*texts, *([COPY] if session else [])]


def _put(data: bytes, file: IO[bytes]) -> None:
    file.write(data)


def _texts(origin: Origin, magics: list[str]) -> dict[str, str]:
    cells = origin.cells()
    samples = {level: origin.samples(level, cells) for level in LEVELS}
    found = {level: one for level, one in samples.items() if one.rows}
    history = origins.history(origin, cells, magics)
    monitor = origin.monitor()
    manifest = {
        "version": "1.0",
        "app": {"name": "JUmPER", "version": _native.__version__},
        "monitor": monitor,
        "levels": list(found),
        "schemas": {
            "perf": {level: list(one.columns) for level, one in found.items()},
            "cell_history": list(history),
        },
        "visualizer": {
            "default_metric_subsets": ["cpu", "mem", "io"]
            + (["gpu", "gpu_all"] if monitor.get("num_gpus") else []),
            "figsize": [5, 3],
            "io_window": None,
            "last_state": {},
        },
        "reporter": {"level": "process", "format": "text", "thresholds": {}},
        "time_origin": "perf_counter",
        "timezone": time.tzname[0],
        "jumper": {
            "first_entry": cells[0].entry if cells else 1,
            "last_entry": cells[-1].entry if cells else 0,
            "missing": {level: one.missing for level, one in found.items()},
        },
    }
    texts = {MANIFEST: json.dumps(manifest, indent=2)}
    if cells:
        texts[HISTORY] = frames.csv_text(history)
    texts |= {f"perf_{level}.csv": frames.csv_text(one.columns) for level, one in found.items()}
    return texts


def _zip(file: IO[bytes], texts: dict[str, str], session: _native.Session | None) -> None:
    with zipfile.ZipFile(file, "w", compression=zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
        if session is not None:
            with tempfile.TemporaryFile() as copy:
                session.save(copy.fileno())
                copy.seek(0)
                archive.writestr(COPY, copy.read())


# ---- read ----


def load(path: str) -> Origin:
    """Raises Error with the whole sentence."""
    source = Path(path).expanduser()
    if source.is_dir():
        return _load(str(source), lambda name, most: _from_folder(source, name, most))
    try:
        with zipfile.ZipFile(source) as archive:
            members = _members(archive)
            return _load(str(source), lambda name, most: _from_zip(archive, members, name, most))
    except Error:
        raise
    except BROKEN as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise Error(
            f"cannot import {str(source)!r}: it is neither a folder nor a zip file that can be "
            f"read ({why or type(error).__name__})"
        ) from None


def _load(source: str, read: Read) -> Origin:
    manifest = _manifest(source, read(MANIFEST, MOST_BYTES[MANIFEST]))
    monitor = manifest.get("monitor")
    monitor = monitor if isinstance(monitor, dict) else {}
    copy = read(COPY, MOST_BYTES[COPY])
    if copy is not None:
        first, last = (_entry(source, manifest, name) for name in ("first_entry", "last_entry"))
        return Recording(_open(copy), first, monitor, last)
    tables = {}
    for level in LEVELS:
        name = f"perf_{level}.csv"
        data = read(name, frames.MOST_BYTES)
        if data is not None:
            tables[level] = frames.parse(data, f"{source}: {name}", PERFDATA)
    data = read(HISTORY, frames.MOST_BYTES)
    history = frames.parse(data, f"{source}: {HISTORY}", origins.HISTORY[:-1]) if data else {}
    if not tables and not history:
        raise Error(f"cannot import {source!r}: it has neither samples nor cells")
    return Imported(source, monitor, tables, history)


def _manifest(source: str, data: bytes | None) -> dict[str, Any]:
    if data is None:
        raise Error(f"cannot import {source!r}: it has no {MANIFEST}, so it is no exported session")
    try:
        found: Any = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Error(f"cannot import {source!r}: {MANIFEST} is broken: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("jumper", {}), dict):
        raise Error(f"cannot import {source!r}: {MANIFEST} holds no object")
    version = found.get("version")
    if not isinstance(version, str) or version.partition(".")[0] != "1":
        shown = str(version)[:40]
        raise Error(f"cannot import {source!r}: its version is {shown!r}, 1.… can be read")
    return found


def _entry(source: str, manifest: dict[str, Any], name: str) -> int:
    value = manifest.get("jumper", {}).get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Error(f"cannot import {source!r}: jumper.{name} in {MANIFEST} is no entry")
    return value


def _open(copy: bytes) -> _native.Report:
    """It is read at once: the file may go."""
    with tempfile.TemporaryDirectory(prefix="jumper-") as folder:
        path = Path(folder) / COPY
        path.write_bytes(copy)
        return _native.Report.open(str(path))


def _from_folder(folder: Path, name: str, most_bytes: int) -> bytes | None:
    path = folder / name
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Error(f"cannot read {str(path)!r}: {error.strerror}") from None
    if stat.S_ISLNK(mode):
        raise Error(f"cannot import {str(folder)!r}: {name} is a link, which may lead out of it")
    return frames.read_bytes(path, most_bytes)


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    if len(infos) > MOST_MEMBERS:
        raise Error(f"cannot import {archive.filename!r}: it has more than {MOST_MEMBERS} files")
    members: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        path = PurePosixPath(info.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise Error(
                f"cannot import {archive.filename!r}: it names the file {info.filename[:100]!r}, "
                "which lies outside of it"
            )
        if info.filename in members:
            raise Error(f"cannot import {archive.filename!r}: {info.filename[:100]!r} twice")
        members[info.filename] = info
    return members


def _from_zip(
    archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], name: str, most_bytes: int
) -> bytes | None:
    if name not in members:
        return None
    with archive.open(members[name]) as file:
        found = file.read(most_bytes + 1)  # what it says of its own size may be anything
    if len(found) > most_bytes:
        raise Error(
            f"cannot import {archive.filename!r}: {name} is larger than {most_bytes >> 20} MiB"
        )
    return found
