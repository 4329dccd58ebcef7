"""A file system of our own that behaves as a bad NFS server does: by the protocol of /dev/fuse.

Passes everything to a folder beside it. `hang` leaves all requests unanswered until `go_on`;
`fail_writes` answers writes with an errno. Files have no page cache, so nobody can map them shared
or read what the server doesn't give; there are no locks. Numbers are those of linux/fuse.h, 7.31.
"""

import contextlib
import ctypes
import errno
import os
import stat
import struct
import threading
from pathlib import Path
from typing import Self

HEADER = struct.Struct("<IIQQIIII")
ATTRIBUTES = struct.Struct("<6Q10I")
MOST_WRITE = 128 << 10
DIRECT_IO = 1
NOT_ANSWERED = {2, 36, 42}  # FORGET, INTERRUPT, BATCH_FORGET
SET_MODE, SET_SIZE = 1, 8


def attributes(status: os.stat_result) -> bytes:
    return ATTRIBUTES.pack(
        status.st_ino, status.st_size, status.st_blocks,
        int(status.st_atime), int(status.st_mtime), int(status.st_ctime),
        0, status.st_mtime_ns % 10**9, 0,
        status.st_mode, status.st_nlink, status.st_uid, status.st_gid, 0, 4096, 0,
    )  # fmt: skip


def text(payload: bytes) -> str:
    return payload.partition(b"\0")[0].decode()


class HangingFs:
    def __init__(self, mount: Path, backing: Path) -> None:
        self.mount, self.backing = mount, backing
        mount.mkdir()
        backing.mkdir()
        self._answers = threading.Event()
        self._answers.set()
        self._error = 0
        self._paths: dict[int, str] = {1: ""}
        self._open: dict[int, int] = {}  # node -> a descriptor of it
        self._descriptors: set[int] = set()
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = (
            f"fd={self._fd},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions"
        )
        arguments = (b"jumper-test", os.fsencode(mount), b"fuse", 0, options.encode())
        if self._libc.mount(*arguments) != 0:
            code = ctypes.get_errno()
            os.close(self._fd)
            raise OSError(code, os.strerror(code))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def hang(self) -> None:
        self._answers.clear()

    def go_on(self) -> None:
        self._answers.set()

    def fail_writes(self, code: int) -> None:
        self._error = code

    def close(self) -> None:
        self.go_on()
        self._libc.umount2(os.fsencode(self.mount), 2)  # MNT_DETACH
        self._thread.join(10)
        for fd in (*self._descriptors, self._fd):  # nobody says that they are released any more
            os.close(fd)

    def _serve(self) -> None:
        while True:
            try:
                request = os.read(self._fd, MOST_WRITE + 8192)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                return  # ENODEV: unmounted
            _, operation, unique, node, *_ = HEADER.unpack_from(request)
            if operation in NOT_ANSWERED:
                continue
            self._answers.wait()
            try:
                handler = getattr(self, f"_on_{operation}", self._on_any_other)
                code, payload = 0, handler(node, request[HEADER.size :]) or b""
            except OSError as error:
                code, payload = error.errno or errno.EIO, b""
            answer = struct.pack("<IiQ", 16 + len(payload), -code, unique) + payload
            with contextlib.suppress(OSError):  # who asked is gone
                os.write(self._fd, answer)

    def _path(self, node: int, name: str = "") -> Path:
        return self.backing / self._paths[node] / name

    def _stat(self, node: int) -> os.stat_result:
        if node in self._open:  # it may be deleted
            return os.fstat(self._open[node])
        return os.lstat(self._path(node))

    def _entry(self, parent: int, name: str) -> bytes:
        status = os.lstat(self._path(parent, name))
        node = status.st_ino
        self._paths[node] = f"{self._paths[parent]}/{name}".lstrip("/")
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + attributes(status)

    def _opened(self, node: int, fd: int) -> bytes:
        self._open.setdefault(node, fd)
        self._descriptors.add(fd)
        return struct.pack("<QII", fd, DIRECT_IO, 0)

    def _on_any_other(self, _node: int, _payload: bytes) -> None:
        raise OSError(errno.ENOSYS, "")

    def _on_26(self, _node: int, _payload: bytes) -> bytes:  # INIT
        return struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, 0, 16, 12, MOST_WRITE, 1, 32, 0, 0)

    def _on_1(self, node: int, payload: bytes) -> bytes:  # LOOKUP
        return self._entry(node, text(payload))

    def _on_3(self, node: int, _payload: bytes) -> bytes:  # GETATTR
        return struct.pack("<QII", 0, 0, 0) + attributes(self._stat(node))

    def _on_4(self, node: int, payload: bytes) -> bytes:  # SETATTR
        valid, _, _, size = struct.unpack_from("<IIQQ", payload)
        if valid & SET_SIZE:
            os.truncate(self._open.get(node, self._path(node)), size)
        if valid & SET_MODE:
            self._path(node).chmod(struct.unpack_from("<I", payload, 68)[0] & 0o7777)
        return self._on_3(node, b"")

    def _on_9(self, node: int, payload: bytes) -> bytes:  # MKDIR
        (mode,) = struct.unpack_from("<I", payload)
        self._path(node, text(payload[8:])).mkdir(mode & 0o7777)
        return self._entry(node, text(payload[8:]))

    def _on_10(self, node: int, payload: bytes) -> None:  # UNLINK
        self._path(node, text(payload)).unlink()

    def _on_11(self, node: int, payload: bytes) -> None:  # RMDIR
        self._path(node, text(payload)).rmdir()

    def _on_12(self, node: int, payload: bytes, skip: int = 8) -> None:  # RENAME
        (folder,) = struct.unpack_from("<Q", payload)
        old, new = (one.decode() for one in payload[skip:].split(b"\0")[:2])
        self._path(node, old).rename(self._path(folder, new))
        self._entry(folder, new)

    def _on_45(self, node: int, payload: bytes) -> None:  # RENAME2
        self._on_12(node, payload, 16)

    def _on_14(self, node: int, payload: bytes) -> bytes:  # OPEN
        (flags,) = struct.unpack_from("<I", payload)
        keep = os.O_ACCMODE | os.O_TRUNC
        return self._opened(node, os.open(self._path(node), flags & keep))

    def _on_35(self, node: int, payload: bytes) -> bytes:  # CREATE
        flags, mode = struct.unpack_from("<II", payload)
        name = text(payload[16:])
        fd = os.open(self._path(node, name), (flags & ~os.O_CLOEXEC) | os.O_CREAT, mode & 0o7777)
        entry = self._entry(node, name)
        return entry + self._opened(os.fstat(fd).st_ino, fd)

    def _on_15(self, _node: int, payload: bytes) -> bytes:  # READ
        fd, offset, size = struct.unpack_from("<QQI", payload)
        return os.pread(fd, size, offset)

    def _on_16(self, _node: int, payload: bytes) -> bytes:  # WRITE
        if self._error:
            raise OSError(self._error, "")
        fd, offset, size = struct.unpack_from("<QQI", payload)
        return struct.pack("<II", os.pwrite(fd, payload[40 : 40 + size], offset), 0)

    def _on_18(self, node: int, payload: bytes) -> None:  # RELEASE
        (fd,) = struct.unpack_from("<Q", payload)
        if self._open.get(node) == fd:
            del self._open[node]
        self._descriptors.remove(fd)
        os.close(fd)

    def _on_17(self, _node: int, _payload: bytes) -> bytes:  # STATFS
        return struct.pack("<5Q4I24x", 1 << 20, 1 << 19, 1 << 19, 9999, 9999, 4096, 255, 4096, 0)

    def _on_27(self, _node: int, _payload: bytes) -> bytes:  # OPENDIR
        return struct.pack("<QII", 0, 0, 0)

    def _on_28(self, node: int, payload: bytes) -> bytes:  # READDIR
        _, offset, size = struct.unpack_from("<QQI", payload)
        found = b""
        names = sorted(one.name for one in self._path(node).iterdir())
        for number, name in enumerate(names[offset:], offset + 1):
            status = os.lstat(self._path(node, name))
            raw = name.encode()
            kind = stat.S_IFMT(status.st_mode) >> 12
            one = struct.pack("<QQII", status.st_ino, number, len(raw), kind) + raw
            one += b"\0" * (-len(one) % 8)
            if len(found) + len(one) > size:
                break
            found += one
        return found

    def _on_29(self, _node: int, _payload: bytes) -> None:  # RELEASEDIR
        pass

    def _on_20(self, _node: int, payload: bytes) -> None:  # FSYNC
        os.fsync(struct.unpack_from("<Q", payload)[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
