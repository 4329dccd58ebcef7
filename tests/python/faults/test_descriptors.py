"""P11, P12: user code that does to its process what it likes; nothing of the user's is touched."""

import os
import resource
import signal
import stat
import time
from pathlib import Path

import pytest
from faults.harness import LEAVE_S, Recording, alive, await_that, descriptors

CLOSE_ALL = "os.closerange(3, 1000)"
# Files, pipes, sockets and event descriptors on all the numbers that were ours.
REUSE = """
import socket
folder = {folder!r}
held, pipes, pairs, events = [], [], [], []
def files():
    for i in range(60): held.append(os.open(os.path.join(folder, str(i)), os.O_RDWR | os.O_CREAT))
    for fd in held: os.write(fd, b'kept' * 100); os.lseek(fd, 0, 0)
def ends():
    for _ in range(30): pipes.append(os.pipe()); os.write(pipes[-1][1], b'kept' * 100)
def sockets():
    for _ in range(30): pairs.append(socket.socketpair()); pairs[-1][0].send(b'kept')
def counters():
    for _ in range(60): events.append(os.eventfd(3, os.EFD_NONBLOCK))
order = [files, ends, sockets, counters]
for _ in range({first}): order.append(order.pop(0))
for one in order: one()
"""
CHECK = """
for fd in held:
    assert os.lseek(fd, 0, 1) == 0
    assert os.pread(fd, 1000, 0) == b'kept' * 100, fd
for read, write in pipes:
    os.set_blocking(read, False)
    assert os.read(read, 1000) == b'kept' * 100
for _, other in pairs:
    other.setblocking(False)
    assert other.recv(100) == b'kept'
for event in events: assert os.eventfd_read(event) == 3
for fd in held: os.fstat(fd)
answer = 'kept'
"""


@pytest.mark.fault("P12")
@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("in_a_cell", [True, False])
def test_all_descriptors_are_closed_and_used_again(kernel, tmp_path, in_a_cell, first):
    code = CLOSE_ALL + REUSE.format(folder=str(tmp_path), first=first)
    kernel.do(f"cell({code!r})" if in_a_cell else code)
    kernel.do("for i in range(5): cell('time.sleep(0.02)')")
    pid = kernel.await_sampler(kernel.sampler)
    await_that(lambda: not alive(kernel.sampler), LEAVE_S, "two samplers")
    kernel.do("for i in range(5): cell('time.sleep(0.02)')")
    assert kernel.do("answer = s.native.wait(8, 20)")
    assert kernel.do(CHECK) == "kept"
    known = kernel.do("answer = [[c.index, c.outcome] for c in s.native.cells()]")
    assert known == [[i + 1, "ok"] for i in range(len(known))]
    assert len(known) >= 12
    kernel.do("s.close()")
    await_that(lambda: not alive(pid), LEAVE_S)
    numbers = (
        "held + events + [n for two in pipes for n in two] + [o.fileno() for t in pairs for o in t]"
    )
    assert kernel.do(f"for fd in {numbers}: os.fstat(fd)") is None
    kernel.end()
    recording = Recording(kernel.path)
    recording.check_order()
    assert {cell["outcome"] for cell in recording.cells} == {"ok"}
    assert [cell["index"] for cell in recording.cells] == list(range(1, len(recording.cells) + 1))
    assert "the sampler was lost" in recording.gap_reasons


EACH = """
ours = [int(n) for n in os.listdir('/proc/self/fd') if int(n) > 2]
ours = [n for n in ours if os.path.exists(f'/proc/self/fd/{{n}}')]
fd = sorted(ours)[{number}] if {number} < len(ours) else None
answer = fd
if fd is not None:
    os.close(fd)
    other = os.open({path!r}, os.O_RDWR | os.O_CREAT)
    if other != fd: os.dup2(other, fd); os.close(other)
    os.write(fd, b'kept'); os.lseek(fd, 0, 0)
"""


@pytest.mark.fault("P12")
@pytest.mark.parametrize("number", range(8))
def test_any_one_descriptor_is_closed_and_used_again(kernel, tmp_path, number):
    """Whichever it is: the user's file is let alone, cells are kept, and closing doesn't hang."""
    path = tmp_path / "file"
    if kernel.do(EACH.format(number=number, path=str(path))) is None:
        pytest.skip(f"we have no {number + 1} descriptors")
    kernel.do("for i in range(3): cell('time.sleep(0.3)')")
    kernel.await_sampler()
    assert kernel.do("answer = [os.lseek(fd, 0, 1), os.pread(fd, 100, 0).decode()]") == [0, "kept"]
    known = kernel.do("answer = [[c.index, c.outcome] for c in s.native.cells()]")
    assert known == [[i + 1, "ok"] for i in range(len(known))]
    kernel.do("s.close()")
    assert kernel.do("del s; import gc; gc.collect(); os.fstat(fd); answer = 1") == 1
    recording = Recording(kernel.path)
    recording.check_order()
    assert {cell["outcome"] for cell in recording.cells} == {"ok"}


@pytest.mark.fault("P12")
def test_closed_and_left_closed(kernel):
    """Nothing is marked any more, and closing must not hang."""
    kernel.do(CLOSE_ALL)
    time.sleep(0.2)
    took = kernel.do("begin = time.monotonic(); s.close(); answer = time.monotonic() - begin")
    assert took < 4
    kernel.await_no_sampler()
    assert Recording(kernel.path).end in ("closed", None)


@pytest.mark.fault("P12")
def test_closed_and_killed(kernel):
    """The sampler may have been told to leave by then, and the next one not have come."""
    kernel.do(CLOSE_ALL)
    kernel.kill()
    kernel.await_no_sampler()
    assert Recording(kernel.path, whole=False).end in (None, "killed by signal 9 (SIGKILL)")


def test_descriptors_closed_in_a_forked_child_only(kernel):
    kernel.do(
        f"cell('''pid = os.fork()\nif pid == 0:\n    {CLOSE_ALL}\n    os._exit(0)\n"
        "os.waitpid(pid, 0)''')"
    )
    kernel.do("cell('1')")
    assert kernel.do("answer = s.native.wait(3, 20)")
    kernel.do("s.close()")
    recording = Recording(kernel.path)
    assert recording.gap_reasons == set()


@pytest.mark.fault("P11")
def test_a_daemon_that_keeps_the_socket_open(kernel):
    """A forked child holds copies of all our descriptors: no end of the sampler may wait for it."""
    pid = kernel.do(
        "pid = os.fork()\n"
        "if pid == 0:\n    os.closerange(0, 3); time.sleep(600); os._exit(0)\n"
        "answer = pid"
    )
    try:
        kernel.do("cell('1')")
        kernel.kill()
        kernel.await_no_sampler()
        assert Recording(kernel.path).end == "killed by signal 9 (SIGKILL)"
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_daemon_that_keeps_the_socket_and_closed_descriptors(kernel):
    """The sampler sees no end of its socket: the new one must not write beside it."""
    pid = kernel.do(
        "pid = os.fork()\n"
        "if pid == 0:\n    os.closerange(0, 3); time.sleep(600); os._exit(0)\n"
        "answer = pid"
    )
    try:
        kernel.do(f"cell({CLOSE_ALL!r})")
        kernel.await_sampler(kernel.sampler)
        await_that(lambda: not alive(kernel.sampler), LEAVE_S, "two samplers")
        kernel.do("cell('1'); s.close()")
        Recording(kernel.path).check_order()
    finally:
        os.kill(pid, signal.SIGKILL)


FORK = """
pid = os.fork()
if pid == 0:
    try: {child}
    finally: os._exit(0)
assert os.waitpid(pid, 0)[1] == {status}
"""
CHILDREN = {
    "marks cells": ("cell('1'); s.native.begin(b'x'); s.native.end(1, 'ok')", 0),
    "asks": ("s.native.status(); s.native.cells(); s.native.history(); s.native.ticks(1)", 0),
    "sets the rate": ("s.native.set_rate(1)", 0),
    "closes": ("s.close()", 0),
    "forgets the session": ("del s; import gc; gc.collect()", 0),
    "exits as scripts do": ("sys.exit(0)", 0),
    "dies": ("os.kill(os.getpid(), signal.SIGKILL)", 9),
    "forks again": ("os.fork() or os._exit(0); cell('1')", 0),
    "execs": ("os.execv('/bin/true', ['true'])", 0),
}


@pytest.mark.fault("P11")
@pytest.mark.parametrize("kind", CHILDREN)
def test_a_forked_child_is_no_kernel(kernel, kind):
    child, status = CHILDREN[kind]
    code = FORK.format(child=child, status=status)
    kernel.do(f"cell({code!r})")
    kernel.do("cell('2')")
    assert kernel.do("answer = s.native.wait(3, 20)")
    state = kernel.status()
    assert (state["sampler_pid"], state["rate_hz"]) == (kernel.sampler, 50)
    kernel.do("s.close()")
    assert kernel.end() == ""
    recording = Recording(kernel.path)
    recording.check_order()
    assert [cell["outcome"] for cell in recording.cells] == ["ok"] * 3
    assert [one["source"] for one in recording.of("cell_begin")] == ["pass", code, "2"]
    assert recording.end == "closed"


@pytest.mark.fault("P11")
def test_a_forked_child_goes_on_as_the_script(kernel):
    """It leaves as every interpreter does, with all its exit handlers; the parent lives on."""
    kernel.do(
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os.close(1); os.open('/dev/null', 1); sys.stdin = None; raise SystemExit\n"
        "answer = os.waitpid(pid, 0)[1]"
    )
    kernel.do("cell('2')")
    assert kernel.do("answer = s.native.wait(2, 20)")
    assert kernel.status()["sampler_pid"] == kernel.sampler


@pytest.mark.fault("P11")
def test_a_session_of_a_forked_child_s_own(kernel):
    """A child may begin one; it has a recording of its own."""
    path = kernel.do(
        "read, write = os.pipe()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    import jumper\n"
        "    with jumper.session(rate=50) as own:\n"
        "        with own.cell('of the child'): time.sleep(0.1)\n"
        "    os.write(write, own.path.encode()); os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "answer = os.read(read, 1000).decode()"
    )
    assert path != kernel.path
    kernel.do("cell('2'); s.close()")
    assert [one["source"] for one in Recording(path).of("cell_begin")] == ["of the child"]
    assert [one["source"] for one in Recording(kernel.path).of("cell_begin")] == ["pass", "2"]


UNSEEN = """
import threading, subprocess
signals = []
signal.signal(signal.SIGCHLD, lambda *_: signals.append(1))
answer = []
try: os.waitpid(-1, os.WNOHANG)
except ChildProcessError: answer.append('no child')
try: os.wait()
except ChildProcessError: answer.append('no child')
import psutil
me = psutil.Process()
answer.append([one.pid for one in me.children(recursive=True)])
answer.append(signals)
answer.append([open(f'/proc/self/task/{t}/children').read() for t in os.listdir('/proc/self/task')])
"""


def test_nobody_sees_the_sampler_as_a_child(kernel):
    answer = kernel.do(UNSEEN)
    assert answer[:4] == ["no child", "no child", [], []]
    assert set(answer[4]) <= {""}
    stat_line = Path(f"/proc/{kernel.sampler}/stat").read_text().rpartition(")")[2].split()
    parent, group, session = stat_line[1:4]
    assert int(parent) != kernel.pid
    assert int(group) == int(session) == kernel.sampler
    # Killed, it is still nobody's child here.
    kernel.signal_sampler(signal.SIGKILL)
    kernel.do("time.sleep(0.1)")
    assert kernel.do("answer = signals") == []


def test_a_thread_in_wait_gets_its_own_child(kernel):
    """While samplers come and go."""
    kernel.do(
        "import threading\n"
        "pid = os.fork()\n"
        "if pid == 0: time.sleep(1.5); os._exit(7)\n"
        "got = []\n"
        "thread = threading.Thread(target=lambda: got.append(os.wait())); thread.start()"
    )
    kernel.signal_sampler(signal.SIGKILL)
    kernel.await_sampler(kernel.sampler)
    assert kernel.do("thread.join(); answer = [got[0][0] == pid, got[0][1] >> 8]") == [True, 7]


SIGNALS = "SIGPIPE SIGALRM SIGTERM SIGINT SIGUSR1 SIGHUP SIGCHLD"


@pytest.mark.fault("P12")
def test_signals_of_the_process_are_the_user_s(start_kernel):
    kernel = start_kernel()
    masks = kernel.do(
        f"names = {SIGNALS!r}.split()\n"
        "answer = [str(signal.getsignal(getattr(signal, n))) for n in names]"
    )
    kernel.do("signal.signal(signal.SIGPIPE, signal.SIG_DFL); cell('1')")
    kernel.signal_sampler(signal.SIGKILL)
    kernel.do("for i in range(10): cell('time.sleep(0.01)')")
    kernel.await_sampler(kernel.sampler)
    again = kernel.do("answer = [str(signal.getsignal(getattr(signal, n))) for n in names]")
    assert again[1:] == masks[1:]
    # Our thread takes none of them: whoever waits for a signal gets it.
    got = kernel.do(
        "got = []\nsignal.signal(signal.SIGUSR1, lambda *_: got.append(threading.get_ident()))\n"
        "for _ in range(20): os.kill(os.getpid(), signal.SIGUSR1); time.sleep(0.001)\n"
        "answer = set(got) == {threading.main_thread().ident} and len(got)"
    )
    assert got == 20
    blocked = kernel.do(
        "answer = {t: [l.split()[1] for l in open(f'/proc/self/task/{t}/status') "
        "if l.startswith('SigBlk')][0] for t in os.listdir('/proc/self/task')}"
    )
    assert int(blocked.pop(str(kernel.pid)), 16) == 0
    blockable = [n for n in signal.valid_signals() if n not in (signal.SIGKILL, signal.SIGSTOP)]
    assert blocked
    for mask in blocked.values():
        assert [n for n in blockable if not int(mask, 16) >> (n - 1) & 1] == []


@pytest.mark.fault("P12")
def test_chdir_and_umask(start_kernel, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    kernel = start_kernel()
    kernel.await_sampler()
    kernel.do(f"os.umask(0); os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); cell('1')")
    kernel.signal_sampler(signal.SIGKILL)
    kernel.await_sampler(kernel.sampler)
    kernel.do(f"cell({CLOSE_ALL!r})")
    kernel.do("cell('3')")
    await_that(lambda: kernel.status()["sampler_pid"])
    kernel.do("cell('4'); s.close()")
    recording = Recording(kernel.path)
    assert stat.S_IMODE(Path(kernel.path).stat().st_mode) == 0o600
    assert {cell["outcome"] for cell in recording.cells} == {"ok"}


@pytest.mark.fault("P12")
def test_umask_0_from_the_begin(start_kernel, tmp_path):
    kernel = start_kernel(before=["sh", "-c", 'umask 0; exec "$@"', "sh"])
    assert stat.S_IMODE(Path(kernel.path).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(kernel.path).parent.stat().st_mode) == 0o700


def test_the_sampler_keeps_no_directory_and_no_terminal_busy(kernel):
    proc = Path(f"/proc/{kernel.sampler}")
    assert str((proc / "cwd").readlink()) == "/"
    targets = descriptors(kernel.sampler)
    assert [targets.pop(fd) for fd in range(3)] == ["/dev/null"] * 3
    files = [one for one in targets.values() if not one.startswith(("/proc", "/sys", "socket:"))]
    assert sorted(files) == sorted([kernel.path, "anon_inode:[pidfd]"])
    status = (proc / "status").read_text()
    assert "SigBlk:\t0000000000000000" in status


def test_priorities_and_limits_of_the_kernel_stay(start_kernel):
    kernel = start_kernel()
    mine = kernel.do(
        "import resource\n"
        "answer = [os.getpriority(0, 0), sorted(os.sched_getaffinity(0)), os.sched_getscheduler(0),"
        "[resource.getrlimit(i) for i in range(16)], int(open('/proc/self/oom_score_adj').read())]"
    )
    assert mine == [
        os.getpriority(0, 0),
        sorted(os.sched_getaffinity(0)),
        os.sched_getscheduler(0),
        [list(resource.getrlimit(i)) for i in range(16)],
        int(Path("/proc/self/oom_score_adj").read_text()),
    ]
    sampler = kernel.sampler
    assert os.getpriority(os.PRIO_PROCESS, sampler) == mine[0]
    assert sorted(os.sched_getaffinity(sampler)) == mine[1]
