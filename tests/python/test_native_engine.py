"""Segments, channels and the engine's process through the border, with real processes."""

import errno
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from leftovers import wait_until

from jumper import _native

SOON = 20
MIB = 1 << 20
SHELL = {"PATH": "/usr/bin:/bin"}


def maps(word: str = "jumper-segment") -> int:
    return Path("/proc/self/maps").read_text().count(word)


def is_open(descriptor: int) -> bool:
    return Path(f"/proc/self/fd/{descriptor}").exists()


def segment_of(*buffers, transport="memfd", directory=""):
    writer = _native.SegmentWriter(transport, directory)
    places = [writer.add(one) for one in buffers]
    return places, _native.SegmentMapping(writer.finish())


def shell(script: str, **options) -> _native.EngineProcess:
    env = SHELL | {"JUMPER_TEST_MARK": os.environ["JUMPER_TEST_MARK"]}
    return _native.EngineProcess.start(["sh", "-c", script], env, **options)


def all_of(read) -> bytes:
    text = b""
    while (piece := read()) is not None:
        text += piece
    return text


@pytest.fixture
def alarm():
    """Runs a function as a signal handler, in a moment."""
    before = signal.getsignal(signal.SIGALRM)

    def soon(handler, after_s=0.05):
        signal.signal(signal.SIGALRM, lambda *_: handler())
        signal.setitimer(signal.ITIMER_REAL, after_s)

    yield soon
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


# ---- segments ----


@pytest.mark.parametrize("transport", ["memfd", "file"])
def test_bytes_arrive_through_a_segment(transport, tmp_path):
    places, mapping = segment_of(
        b"small", bytearray(MIB), b"", transport=transport, directory=str(tmp_path)
    )
    assert [size for _, size in places] == [5, MIB, 0]
    assert places[1][0] % os.sysconf("SC_PAGESIZE") == 0
    assert [bytes(mapping.view(*one)) for one in places] == [b"small", bytes(MIB), b""]
    assert len(memoryview(mapping)) == mapping.size_bytes
    assert list(tmp_path.glob("*jumper*")) == []


def test_a_view_can_be_written_to_and_keeps_the_mapping_alive():
    places, mapping = segment_of(b"a" * 100_000)
    view = mapping.view(*places[0])
    assert (view.format, view.readonly, view.contiguous) == ("B", False, True)
    del mapping
    gc.collect()
    assert maps() == 1
    view[0] = ord("b")
    assert bytes(view[:2]) == b"ba"
    view.release()
    del view
    assert maps() == 0


def test_an_array_over_a_view_keeps_the_mapping_alive():
    numpy = pytest.importorskip("numpy")
    numbers = numpy.arange(100_000)
    places, mapping = segment_of(numbers)
    array = numpy.frombuffer(mapping.view(*places[0]), dtype=numbers.dtype)
    part = array[10:20]
    del array, mapping
    gc.collect()
    part += 1
    assert list(part) == list(range(11, 21))
    del part
    assert maps() == 0


def test_what_was_written_to_is_told_by_page():
    page = os.sysconf("SC_PAGESIZE")
    places, mapping = segment_of(bytes(16 * page))
    assert mapping.changed(*places[0]) == []
    view = mapping.view(*places[0])
    view[3 * page + 5] = 1
    view[4 * page] = 1
    assert mapping.changed(*places[0]) == [(3 * page, 2 * page)]
    mapping.discard(3 * page, page)
    assert mapping.changed(*places[0]) == [(4 * page, page)]
    assert view[3 * page + 5] == 0


def test_bytes_outside_the_segment_are_an_error():
    _, mapping = segment_of(b"12345")
    for ask in (mapping.view, mapping.changed, mapping.discard):
        with pytest.raises(_native.Error, match="aren't in a segment of 5"):
            ask(3, 3)
    with pytest.raises(TypeError):
        mapping.view(-1, 2)


def test_exports_are_held_until_the_segment_is_finished():
    buffer = bytearray(b"123")
    writer = _native.SegmentWriter("memfd")
    writer.add(buffer)
    with pytest.raises(BufferError):
        buffer.append(4)
    os.close(writer.finish())
    buffer.append(4)
    with pytest.raises(ValueError, match="finished"):
        writer.finish()
    with pytest.raises(ValueError, match="finished"):
        writer.add(b"")


def test_exports_end_with_the_writer_and_with_an_error():
    buffer = bytearray(1000)
    writer = _native.SegmentWriter("memfd")
    writer.add(buffer)
    del writer
    buffer.append(1)
    writer = _native.SegmentWriter("memfd", most_bytes=10)
    writer.add(buffer)
    with pytest.raises(_native.Error, match=r"only .* are free"):
        writer.finish()
    buffer.append(1)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    writer = _native.SegmentWriter("file", str(tmp_path / "nowhere"))
    writer.add(b"1")
    with pytest.raises(_native.Error, match="nowhere") as caught:
        writer.finish()
    assert caught.value.errno == errno.ENOENT


def test_only_contiguous_buffers_and_known_transports_are_taken():
    writer = _native.SegmentWriter("memfd")
    with pytest.raises(BufferError):
        writer.add(memoryview(b"123456")[::2])
    with pytest.raises(TypeError):
        writer.add("text")
    assert writer.size_bytes == 0
    with pytest.raises(ValueError, match="not one of memfd, file"):
        _native.SegmentWriter("pigeon")


def test_a_descriptor_is_taken_even_when_it_can_not_be_mapped():
    read, write = os.pipe()
    with pytest.raises(_native.Error, match="not a regular file"):
        _native.SegmentMapping(read)
    assert not is_open(read)
    os.close(write)


def test_an_empty_segment_is_one_too():
    _, mapping = segment_of()
    assert mapping.size_bytes == 0
    assert bytes(mapping.view(0, 0)) == b""
    assert mapping.changed(0, 0) == []


def test_free_memory_is_told():
    assert _native.room_bytes() > MIB


# ---- channels ----


def channel_pair():
    ours, descriptor = _native.Channel.pair()
    return ours, _native.Channel(descriptor)


def fill(channel, timeout_s=None):
    while True:
        channel.send(1, b"x" * 1000, timeout_s)


@pytest.mark.parametrize("size", [0, 10, 64 * 1024 + 1, 3 * MIB])
def test_messages_arrive_whole(size):
    ours, theirs = channel_pair()
    payload = os.urandom(size)
    ours.send(7, payload)
    got = theirs.receive(SOON)
    assert (got.status, got.kind, got.payload == payload) == ("message", 7, True)
    assert (got.descriptor, got.woken, got.reason) == (-1, 0, "")


def test_a_descriptor_comes_along_and_is_the_receivers():
    ours, theirs = channel_pair()
    read, write = os.pipe()
    ours.send(1, memoryview(bytearray(b"look")), descriptor=write)
    os.close(write)
    got = theirs.receive(SOON)
    os.write(got.descriptor, b"!")
    assert not os.get_inheritable(got.descriptor)
    assert os.read(read, 1) == b"!"
    os.close(got.descriptor)
    os.close(read)


def test_a_time_out_is_told():
    ours, theirs = channel_pair()
    assert ours.receive(0).status == "timeout"
    assert ours.receive(0.15).status == "timeout"
    with pytest.raises(_native.Error) as caught:
        fill(ours, 0)
    assert caught.value.errno == errno.ETIMEDOUT
    assert theirs.receive(0).payload == b"x" * 1000


def test_the_other_ends_end_is_told():
    ours, theirs = channel_pair()
    theirs.close()
    assert theirs.fileno() == -1
    assert ours.receive(SOON).status == "closed"
    with pytest.raises(_native.Error) as caught:
        ours.send(1, b"")
    assert caught.value.errno == errno.EPIPE
    with pytest.raises(_native.Error) as caught:
        theirs.send(1, b"")
    assert caught.value.errno == errno.EBADF
    assert theirs.receive(SOON).status == "closed"


def test_bytes_that_are_no_message_are_dropped():
    ours, descriptor = _native.Channel.pair()
    os.write(descriptor, b"nonsense")
    got = ours.receive(SOON)
    assert (got.status, got.payload, bool(got.reason)) == ("malformed", b"", True)
    os.close(descriptor)


def test_wakes_wake():
    ours, theirs = channel_pair()
    read, write = os.pipe()
    assert ours.receive(0, [-1, read]).status == "timeout"
    os.write(write, b"1")
    got = ours.receive(SOON, [-1, read])
    assert (got.status, got.woken) == ("woken", 2)
    theirs.send(1, b"first")
    got = ours.receive(SOON, [-1, read])
    assert (got.status, got.woken, got.payload) == ("message", 2, b"first")
    with pytest.raises(ValueError, match="32"):
        ours.receive(0, [-1] * 33)
    os.close(read)
    os.close(write)


@pytest.mark.parametrize("blocked", ["receive", "send", "accept", "wait"])
def test_signal_handlers_run_while_it_waits(blocked, alarm):
    ours, theirs = channel_pair()
    process = shell("exec sleep 100")
    place = _native.Rendezvous()
    seen = []

    def handler():
        seen.append(1)
        if len(seen) == 2:
            raise InterruptedError
        alarm(handler)

    wait = {
        "receive": ours.receive,
        "send": lambda: fill(ours),
        "accept": place.accept,
        "wait": process.wait,
    }
    alarm(handler)
    with pytest.raises(InterruptedError):
        wait[blocked]()
    assert len(seen) == 2
    assert theirs.fileno() >= 0


def test_a_signal_handler_may_receive_too(alarm):
    ours, theirs = channel_pair()
    got = []

    def handler():
        theirs.send(1, b"inner")
        got.append(ours.receive(SOON).payload)
        theirs.send(1, b"outer")

    alarm(handler)
    assert ours.receive(SOON).payload == b"outer"
    assert got == [b"inner"]


def test_other_threads_run_while_it_waits():
    ours, theirs = channel_pair()
    threads = [
        threading.Thread(target=theirs.send, args=(i, bytes([i]) * 100_000)) for i in range(8)
    ]
    for one in threads:
        one.start()
    got = [ours.receive(SOON) for _ in threads]
    for one in threads:
        one.join()
    assert sorted(one.payload[0] for one in got) == list(range(8))
    assert all(one.payload == bytes([one.kind]) * 100_000 for one in got)


def test_closing_ends_a_wait_in_another_thread():
    ours, theirs = channel_pair()
    got = []
    waiting = threading.Thread(target=lambda: got.append(ours.receive()))
    waiting.start()
    ours.close()
    waiting.join(SOON)
    assert [one.status for one in got] == ["closed"]
    assert theirs.receive(SOON).status == "closed"


def test_only_a_socket_of_messages_is_a_channel():
    read, write = os.pipe()
    with pytest.raises(_native.Error, match="cannot use as a channel"):
        _native.Channel(read)
    assert not is_open(read)
    os.close(write)


# ---- the process ----


def test_a_process_speaks_and_ends():
    process = shell("echo said; echo complained >&2; exit 3")
    ended = process.wait(SOON)
    assert (ended.how, ended.status, ended.text) == ("exited", 3, "exited with status 3")
    assert (all_of(process.read_output), all_of(process.read_errors)) == (
        b"said\n",
        b"complained\n",
    )
    assert process.wait(0).status == 3


def test_nothing_to_read_yet_is_not_the_end():
    process = shell("exec sleep 100")
    assert (process.read_output(), process.read_errors()) == (b"", b"")
    assert process.wait(0) is None
    assert process.wait(0.15) is None


@pytest.mark.parametrize("name", ["interrupt", "terminate", "kill"])
def test_its_group_is_signalled(name):
    process = shell("sleep 100 & exec sleep 100")
    assert getattr(process, name)()
    wanted = {"interrupt": signal.SIGINT, "terminate": signal.SIGTERM, "kill": signal.SIGKILL}
    ended = process.wait(SOON)
    assert (ended.how, ended.signal, ended.core) == ("killed", wanted[name], False)


def test_finishing_kills_and_closes_now():
    process = shell("exec sleep 100")
    pid, descriptors = process.pid, (process.pidfd, process.output_fd, process.errors_fd)
    process.finish()
    assert not Path(f"/proc/{pid}").exists()
    assert not any(is_open(one) for one in descriptors)
    assert (process.pid, process.pidfd, process.read_output()) == (-1, -1, None)
    assert process.kill() is False
    assert process.wait(SOON) is None
    process.finish()


def test_a_process_that_nobody_holds_any_more_is_killed():
    process = shell("exec sleep 100")
    pid = process.pid
    del process
    assert not Path(f"/proc/{pid}").exists()


def test_somebody_else_may_reap_it():
    process = shell("exit 3")
    os.waitpid(process.pid, 0)
    ended = process.wait(SOON)
    assert (ended.how, ended.text) == ("unknown", "ended, status unknown: reaped by somebody else")


def test_a_forked_child_of_the_kernel_leaves_it_alone():
    process = shell("exec sleep 100")
    child = os.fork()
    if child == 0:
        reached = process.kill()
        del process
        os._exit(reached)
    assert os.waitpid(child, 0)[1] == 0
    assert process.wait(0) is None


def test_the_environment_is_the_one_that_was_given(tmp_path):
    odd = os.fsdecode(b"\xff odd")
    env = SHELL | {"ODD": odd, "JUMPER_TEST_MARK": os.environ["JUMPER_TEST_MARK"]}
    code = ["sh", "-c", 'printf "%s|%s|%s" "$ODD" "$HOME" "$PWD"']
    process = _native.EngineProcess.start(code, env, directory=str(tmp_path))
    assert process.wait(SOON).status == 0
    assert all_of(process.read_output) == b"\xff odd||" + os.fsencode(tmp_path)


@pytest.mark.parametrize(
    ("command", "environment", "error"),
    [
        ([], {}, ValueError),
        (["a\0b"], {}, ValueError),
        (["true"], {"A=B": ""}, ValueError),
        (["true"], {"A": "\0"}, ValueError),
        ([1], {}, TypeError),
    ],
)
def test_what_the_system_can_not_take_is_refused(command, environment, error):
    with pytest.raises(error):
        _native.EngineProcess.start(command, environment)


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(_native.Error, match="cannot start 'no-such-program'"):
        _native.EngineProcess.start(["no-such-program"], SHELL)


ENGINE = """
import os
from jumper import _native
channel = _native.Channel(3)
assert _native.watch_parent(4)
got = channel.receive(20)
mapping = _native.SegmentMapping(got.descriptor)
view = mapping.view(0, mapping.size_bytes)
view[0] = 255
(offset, size), = mapping.changed(0, mapping.size_bytes)
writer = _native.SegmentWriter("memfd")
writer.add(mapping.view(offset, size))
descriptor = writer.finish()
channel.send(got.kind + 1, f"{offset} {size}".encode(), descriptor=descriptor)
"""


def python(code: str, **options) -> _native.EngineProcess:
    names = ("JUMPER_TEST_MARK", "PATH", "PYTHONPATH")
    env = {name: os.environ[name] for name in names if name in os.environ}
    env |= options.pop("env", {})
    return _native.EngineProcess.start([sys.executable, "-c", code], env, **options)


def test_a_process_gets_a_segment_and_sends_one_back():
    ours, descriptor = _native.Channel.pair()
    process = python(ENGINE, channel=descriptor)
    os.close(descriptor)
    writer = _native.SegmentWriter("memfd")
    writer.add(bytes(MIB))
    sent = writer.finish()
    ours.send(41, b"", descriptor=sent)
    os.close(sent)
    got = ours.receive(SOON, [process.pidfd])
    assert got.status == "message", all_of(process.read_errors)
    page = os.sysconf("SC_PAGESIZE")
    assert (got.kind, got.payload) == (42, b"0 %d" % page)
    assert bytes(_native.SegmentMapping(got.descriptor).view(0, 2)) == b"\xff\0"
    assert process.wait(SOON).status == 0


def test_an_engine_ends_with_its_kernel():
    kernel = (
        "import os, sys, time; from jumper import _native\n"
        "engine = _native.EngineProcess.start([sys.executable, '-c', "
        "'from jumper import _native; import time; _native.watch_parent(4);'"
        "'print(\"watching\", flush=True); time.sleep(100)'], os.environ)\n"
        "while not engine.read_output(): time.sleep(0.01)\n"
        "os.write(1, b'%d' % engine.pid); os._exit(0)"
    )
    said = subprocess.run([sys.executable, "-c", kernel], check=True, stdout=subprocess.PIPE).stdout
    assert wait_until(lambda: not Path(f"/proc/{int(said)}").exists(), SOON)


def test_only_a_pidfd_is_watched():
    read, write = os.pipe()
    assert _native.watch_parent(read) is False
    assert not is_open(read)
    os.close(write)


# ---- the meeting place ----

COMER = """
import os
from jumper import _native
_native.connect(os.environ["PLACE"], os.environ["TOKEN"]).send(os.getpid(), b"here")
"""


def test_an_engine_comes_to_the_meeting_place():
    place = _native.Rendezvous()
    process = python(COMER, env={"PLACE": place.path, "TOKEN": place.token})
    status, channel, pid = place.accept(SOON, [process.pidfd])
    assert (status, pid) == ("met", process.pid)
    got = channel.receive(SOON)
    assert (got.kind, got.payload) == (process.pid, b"here")
    assert not Path(place.path).parent.exists()
    assert place.accept(0)[0] == "failed"


def test_nobody_comes_to_the_meeting_place():
    place = _native.Rendezvous()
    path = Path(place.path)
    assert place.accept(0.15) == ("timeout", None, -1)
    process = shell("exit 0")
    assert place.accept(SOON, [process.pidfd]) == ("woken", None, -1)
    del place
    assert not path.parent.exists()


def test_a_meeting_place_that_is_gone_is_named(tmp_path):
    with pytest.raises(_native.Error, match="cannot reach the kernel at"):
        _native.connect(str(tmp_path / "engine"), "0" * 32)


# ---- the launcher ----


def test_a_launchers_text_becomes_a_command():
    words = _native.split_words("env 'A=b c' perf stat")
    assert words == ["env", "A=b c", "perf", "stat"]
    assert _native.launch_command(words, "py", "engine.py") == [*words, "py", "engine.py"]
    assert _native.launch_command([], "py", Path("engine.py")) == ["py", "engine.py"]
    assert _native.needs_named_channel(["mpirun", "-n", "1"]) is True
    assert _native.needs_named_channel(words) is False


def test_a_launchers_text_may_have_any_bytes():
    odd = os.fsdecode(b"\xff")
    assert _native.split_words(f"ä {odd}") == ["ä", odd]
    assert _native.launch_command([odd], "py", "e") == [odd, "py", "e"]


def test_what_only_a_shell_can_do_is_refused():
    with pytest.raises(_native.Error, match="shell"):
        _native.split_words("time; rm")


def test_the_gil_is_free_while_a_segment_is_written():
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())

    buffer = bytearray(64 * MIB)
    writer = _native.SegmentWriter("memfd")
    writer.add(buffer)
    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    descriptor = writer.finish()
    end = time.monotonic()
    done.set()
    thread.join()
    os.close(descriptor)
    assert [one for one in ticks if begin < one < end]
