"""NumPy arrays on their way: the memory once, views as views of it. Only used where NumPy is there.

An array that owns its memory goes as its bytes in the order of their addresses, out of band; an
array in another's memory goes as the place it has there. What is neither (a memory map, memory of
another library) goes as if it owned its elements; arrays of objects go as NumPy pickles them.
"""

import mmap
import os
import warnings
from pathlib import Path
from pickle import PickleBuffer
from typing import Any

import numpy as np

from .reducing import here

Array = np.ndarray[Any, Any]


def buffer_of(flat: Any) -> PickleBuffer:
    return PickleBuffer(flat)


def reduce(array: Array) -> Any:
    """As `object.__reduce_ex__` would; NotImplemented: as NumPy does it."""
    kind = type(array)
    plain = (
        kind.__reduce__ is np.ndarray.__reduce__ and kind.__reduce_ex__ is np.ndarray.__reduce_ex__
    )
    if plain and array.dtype == object:
        return reduce_part(array)
    if not plain or array.dtype.hasobject or array.dtype.itemsize == 0:
        return NotImplemented
    if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap):
        return reduce_file(array)
    form = array.shape, array.strides, array.dtype, array.flags.writeable, kind
    state = None if isinstance(array, np.memmap) else getattr(array, "__dict__", None) or None
    place = place_in(array)
    if place is not None:
        return view, (*place, *form), state, None, None, set_dict
    flat = flat_bytes(array)
    if flat is None:
        return NotImplemented
    return owner, (buffer_of(flat), *form), state, None, None, set_dict


def reduce_file(array: Any) -> Any:
    """Both processes map the file.

    Where the mapping is private, or the file's name has another file by now, the bytes go.
    """
    if array.filename is None or array.mode == "c" or not is_mapped(array, array.filename):
        return np.ndarray.__reduce_ex__(array, 5)
    mode = "r" if array.mode == "r" else "r+"
    order = "C" if array.flags.c_contiguous else "F"
    what = str(array.filename), array.dtype, mode, array.offset, array.shape, order
    return np.memmap, what


def is_mapped(array: Any, path: Any) -> bool:
    """Whether its memory is of the file that has this name now; proc_pid_maps(5)."""
    try:
        file = Path(path).stat()
        lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:
        return False
    for line in lines:
        span, _, _, device, inode, *_ = line.split(None, 5)
        begin, end = (int(number, 16) for number in span.split("-"))
        if begin <= address(array) < end:
            major, minor = (int(number, 16) for number in device.split(":"))
            return int(inode) == file.st_ino and os.makedev(major, minor) == file.st_dev
    return False


def reduce_part(array: Array) -> Any:
    """Of objects, in another one's memory: its elements are every `step`-th from `first` on."""
    base, size = array.base, array.itemsize
    if not isinstance(base, np.ndarray) or not base.flags.c_contiguous or array.size == 0:
        return NotImplemented
    first, odd = divmod(address(array) - address(base), size)
    step = 1 if array.flags.c_contiguous else array.strides[0] // size if array.ndim == 1 else 0
    if odd or step == 0 or base.dtype != object or first < 0:
        return NotImplemented
    state = getattr(array, "__dict__", None) or None
    what = base, first, step, array.shape, array.flags.writeable, type(array)
    return part, what, state, None, None, set_dict


def part(
    base: Array, first: int, step: int, shape: tuple[int, ...], writeable: bool, kind: type[Array]
) -> Array:
    end = first + step * int(np.prod(shape))
    flat = base.view(np.ndarray).reshape(-1)
    array = flat[first : end if end >= 0 else None : step].reshape(shape)
    if kind is not np.ndarray:
        array = array.view(kind)
    if array.flags.writeable != writeable:
        array.flags.writeable = writeable
    return array


def place_in(array: Array) -> tuple[Any, int] | None:
    """Whose memory it is in (an array, bytes, bytearray) and at which byte of it."""
    base = array.base
    while isinstance(base, np.ndarray) and isinstance(base.base, np.ndarray | bytes | bytearray):
        base = base.base
    if isinstance(base, np.ndarray):
        flat = None if base.dtype.hasobject else flat_bytes(base)
        begin = address(base)
    elif isinstance(base, bytes | bytearray):
        flat = np.frombuffer(base, np.uint8)
        begin = address(flat)
    else:
        return None
    offset = address(array) - begin
    if flat is None or not 0 <= offset <= flat.size:
        return None
    return base, offset


def address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def flat_bytes(array: Array) -> Array | None:
    """All its memory as bytes, in the order of addresses; None where there are holes in it."""
    if array.size == 0:
        return np.ndarray(0, np.uint8, array if array.flags.forc else None)
    order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    ordered = array.view(np.ndarray).transpose(order)
    return ordered.reshape(-1).view(np.uint8) if ordered.flags.c_contiguous else None


def owner(
    buffer: Any,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: Any,
    writeable: bool,
    kind: type[Array],
) -> Array:
    mapped = isinstance(buffer, memoryview) and here.maps
    array = np.ndarray.__new__(kind, shape, dtype, buffer, 0, strides) if np.prod(shape) else None
    if array is None:
        array = np.ndarray.__new__(kind, shape, dtype)
    elif not mapped:
        array = array.copy(order="K")
    array.flags.writeable = writeable
    return array


def view(
    base: Any,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: Any,
    writeable: bool,
    kind: type[Array],
) -> Array:
    memory = flat_bytes(base) if isinstance(base, np.ndarray) else base
    array = np.ndarray.__new__(kind, shape, dtype, memory, offset, strides)
    if kind is np.memmap:
        array.__array_finalize__(base)
    if array.flags.writeable != writeable:
        array.flags.writeable = writeable
    return array


def set_dict(array: Array, state: dict[str, Any] | None) -> None:
    if state:
        array.__dict__.update(state)


def content(array: Array) -> tuple[Any, ...] | bytes:
    """Its elements where they are objects; else its form, and its memory where it isn't mapped."""
    if array.dtype.hasobject:  # with other fields beside: numbers are new ones at each look
        return tuple(array.ravel().tolist())
    form = f"{array.shape}{array.strides}{array.dtype!r}{array.flags.writeable}".encode()
    return form + array.tobytes("A") if array.flags.owndata else form


def tell(array: Array) -> tuple[Any, ...]:
    form = array.shape, array.strides, array.dtype, array.flags.writeable
    if array.dtype.hasobject:
        return *form, array.ravel().tolist()
    return *form, array.tobytes("A") if array.flags.owndata else None


def put(array: Array, told: tuple[Any, ...]) -> None:
    shape, _, dtype, writeable, elements = told
    if not array.flags.writeable:
        array.flags.writeable = True
    if array.dtype.hasobject:
        for place, element in zip(np.ndindex(array.shape), elements, strict=True):
            array[place] = element
    else:
        if dtype != array.dtype or shape != array.shape:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # no view would be the same
                reshape(array, shape, dtype)
        memory = None if elements is None else flat_bytes(array)
        if memory is not None:
            memory[:] = np.frombuffer(elements, np.uint8)
        elif elements is not None:
            array[...] = np.frombuffer(elements, dtype).reshape(shape)
    if array.flags.writeable != writeable:
        array.flags.writeable = writeable


def reshape(array: Array, shape: tuple[int, ...], dtype: Any) -> None:
    """In place, also to another size."""
    size_bytes = int(np.prod(shape)) * dtype.itemsize
    if size_bytes != array.nbytes:
        array.resize(size_bytes // array.itemsize, refcheck=False)
    array.shape = (array.size,)
    array.dtype = dtype  # type: ignore[misc]
    array.shape = shape
