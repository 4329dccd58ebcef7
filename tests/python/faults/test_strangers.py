"""X1, X2: another user walks through what a kernel has, and plays with names in a shared folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from faults.harness import NOBODY, descriptors

pytestmark = pytest.mark.slow  # the same core, whichever CPython

AS_NOBODY = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
# Tries everything by which one process may come at another's, and prints what it got.
WALK = """
import ctypes, json, os, signal, socket, sys
got = []
def tries(what, call):
    try: result = call()
    except OSError: return
    got.append([what, str(result)[:50]])
libc = ctypes.CDLL(None, use_errno=True)
def syscall(*numbers):
    result = libc.syscall(*numbers)
    if result < 0: raise OSError(ctypes.get_errno(), 'refused')
    return result
for path in sys.argv[1].split():
    tries(path, lambda: os.listdir(path) if os.path.isdir(path) else open(path, 'rb').read(10))
    tries(path + ' write', lambda: os.open(path, os.O_RDWR))
for pid in map(int, sys.argv[2].split()):
    for name in ('fd', 'map_files', 'fdinfo', 'cwd', 'root', 'exe'):
        tries(f'{pid}/{name}', lambda: os.listdir(f'/proc/{pid}/{name}'))
    for name in ('mem', 'environ', 'maps', 'io', 'smaps', 'syscall', 'stack'):
        tries(f'{pid}/{name}', lambda: open(f'/proc/{pid}/{name}', 'rb').read(1))
    for fd in range(64):
        tries(f'{pid}/fd/{fd}', lambda: os.open(f'/proc/{pid}/fd/{fd}', os.O_RDONLY))
    for number in (0, signal.SIGCONT, signal.SIGTERM):
        tries(f'{pid} signal {number}', lambda: os.kill(pid, number))
    pidfd = os.pidfd_open(pid)
    for fd in range(64):
        tries(f'{pid} pidfd_getfd {fd}', lambda: syscall(438, pidfd, fd, 0))
    tries(f'{pid} ptrace', lambda: syscall(101, 16, pid, 0, 0))
for line in open('/proc/net/unix').read().splitlines()[1:]:
    name = line.split()[7:]
    if name and name[0].startswith('@') and line.split()[6] in sys.argv[3].split():
        tries(name[0], lambda: socket.socket(socket.AF_UNIX).connect(chr(0) + name[0][1:]))
for name in os.listdir('/dev/shm'):
    if 'jumper' in name: tries(name, lambda: os.open('/dev/shm/' + name, os.O_RDONLY))
print(json.dumps(got))
"""


def walk(paths: list[Path], pids: list[int], inodes: set[str]) -> list:
    import json

    done = subprocess.run(
        [
            *AS_NOBODY, sys.executable, "-I", "-S", "-c", WALK,
            " ".join(map(str, paths)), " ".join(map(str, pids)), " ".join(inodes),
        ],
        capture_output=True, text=True, timeout=60, check=False, cwd="/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def open_up(folder: Path) -> None:
    """So that only what is ours stands in a stranger's way."""
    for one in (folder, *folder.parents):
        if one != Path("/"):
            one.chmod(one.stat().st_mode | 0o055)


@pytest.mark.fault("X1")
@pytest.mark.parametrize("in_memory", [False, True])
def test_another_user_walks_through_a_running_kernel(
    as_root, start_kernel, tmp_path, mounts, in_memory
):
    open_up(tmp_path)
    options = {}
    if in_memory:  # the recording is a memfd
        script = 'mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && exec "$@"'
        options = {
            "before": ["unshare", "-m", "sh", "-c", script, "sh"],
            "env": {"HOME": None, "XDG_STATE_HOME": None, "TMPDIR": None},
        }
    kernel = start_kernel(**options)
    kernel.await_sampler()
    kernel.do("cell('y = ' + repr('x' * 100_000))")
    ours = {**descriptors(kernel.pid), **descriptors(kernel.sampler)}
    assert bool(kernel.path) != in_memory
    if in_memory:
        assert any("memfd:jumper-recording" in one for one in ours.values())
    inodes = {one[8:-1] for one in ours.values() if one.startswith("socket:[")}
    paths = [Path(kernel.path), Path(kernel.path).parent] if kernel.path else []
    assert walk(paths, [kernel.pid, kernel.sampler], inodes) == []
    # The walk finds what there is to find: where it may, it gets in.
    open_one = tmp_path / "open"
    open_one.write_text("x")
    open_one.chmod(0o644)
    assert walk([open_one], [], set()) == [[str(open_one), "b'x'"]]


# Swaps what it can in a folder that everybody may write to, as fast as it can. What it makes can be
# told by its owner.
PLAY = """
import os, sys
folder, victim = sys.argv[1:]
os.chdir(folder)
print('at work', flush=True)
kinds = [
    lambda name: os.symlink(victim, name), lambda name: os.symlink('/nowhere/x', name),
    lambda name: os.mkfifo(name, 0o666), lambda name: os.mkdir(name, 0o777),
    lambda name: os.close(os.open(name, os.O_CREAT | os.O_EXCL, 0o666)),
]
turn = 0
while True:
    seen = [name for name in os.listdir('.') if name.startswith('jumper')]
    for name in [*seen, 'jumper', 'jumper-XXXXXX', 'jumper-' + str(turn % 1000)]:
        turn += 1
        for move in (
            lambda: os.unlink(name), lambda: os.rmdir(name), lambda: os.rename(name, 'moved'),
            lambda: os.link(name, f'link{turn}'), lambda: kinds[turn % len(kinds)](name),
            lambda: os.symlink(victim, name + '/x'), lambda: os.chmod(name, 0o777),
            lambda: os.close(os.open(name, os.O_RDONLY | os.O_NONBLOCK)),
        ):
            try: move()
            except OSError: pass
"""
SESSION = """
import jumper, os, sys
for _ in range(int(sys.argv[1])):
    with jumper.session(rate=50) as s:
        with s.cell('secret') as c: pass
        s.native.wait(1, 20)
        path = s.path
    print(path)
"""


def play(tmp_path: Path, sessions: int) -> None:
    """Nothing of theirs is written to, and nothing of ours lies where they can read it."""
    shared, victim = tmp_path / "tmp", tmp_path / "victim"
    for one in (shared, victim):
        one.mkdir()
    shared.chmod(0o1777)
    victim.chmod(0o777)
    (victim / "file").write_text("theirs")
    open_up(tmp_path)
    player = subprocess.Popen(
        [*AS_NOBODY, sys.executable, "-I", "-S", "-c", PLAY, str(shared), str(victim)],
        stdout=subprocess.PIPE, cwd="/",
    )  # fmt: skip
    try:
        assert player.stdout.readline() == b"at work\n"
        done = subprocess.run(
            [sys.executable, "-c", SESSION, str(sessions)],
            env={**{n: v for n, v in os.environ.items() if n != "XDG_STATE_HOME"},
                 "HOME": "relative", "TMPDIR": str(shared)},
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert player.poll() is None
    finally:
        player.kill()
        player.wait()
        player.stdout.close()
    assert done.returncode == 0, done.stderr
    paths = [Path(line) for line in done.stdout.splitlines()]
    assert len(set(paths)) == sessions
    for path in paths:
        assert path.parent.parent in (shared, Path("/tmp"))
        for one in (path, path.parent):
            status = one.lstat()
            assert status.st_uid == os.geteuid()
            assert status.st_mode & 0o077 == 0
            assert one.is_dir() or status.st_nlink == 1
    (victim / "file").chmod(0o600)
    strangers = [one for one in victim.iterdir() if one.lstat().st_uid != NOBODY]
    assert [one.name for one in strangers] == ["file"]
    assert (victim / "file").read_text() == "theirs"
    for one in shared.iterdir():  # what is theirs holds nothing of ours
        if one.lstat().st_uid == NOBODY and one.is_file() and not one.is_symlink():
            assert one.stat().st_size == 0
        if one.lstat().st_uid == NOBODY and one.is_dir() and not one.is_symlink():
            assert not [inner for inner in one.iterdir() if inner.lstat().st_uid != NOBODY]


@pytest.mark.fault("X2")
def test_names_are_swapped_while_sessions_begin(as_root, tmp_path):
    play(tmp_path, 10)


@pytest.mark.fault("X2")
@pytest.mark.long
@pytest.mark.timeout(900)
def test_names_are_swapped_while_many_sessions_begin(as_root, tmp_path):
    play(tmp_path, 200)
