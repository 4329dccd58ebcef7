"""`jumper report --follow` on a terminal: keys, what is drawn, and how it leaves it."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios

import pytest
from faults.harness import Kernel, await_that
from follower import Follower, stacks_in

pytestmark = pytest.mark.slow  # the same program, whichever CPython

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
DRAWN = re.compile(r"\x1b\[(\?1049[hl]|\?25[hl]|[HKJ])")  # all that we ever send


class OnTerminal(Follower):
    def __init__(self, *arguments, rows=50, columns=100):
        self.ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.theirs)
        super().__init__(
            *arguments,
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.output = self.ours

    def press(self, keys: bytes) -> None:
        os.write(self.ours, keys)

    def leave(self) -> int:
        """Its status; the terminal is as it was."""
        await_that(lambda: not self.read_some(0) or self.process.poll() is not None)
        self.read_some(0.1)
        assert termios.tcgetattr(self.theirs) == self.before
        assert self.text.count(ENTER) == self.text.count(LEAVE) == 1
        assert self.process.stderr.read() == b""
        return self.process.returncode

    def screen(self) -> list[str]:
        """The last whole one."""
        return DRAWN.sub("", self.text.split("\x1b[H")[-2]).replace("\r", "").split("\n")

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        os.close(self.ours)
        os.close(self.theirs)


@pytest.fixture
def kernel():
    with Kernel() as one:
        one.await_sampler()
        yield one


def test_keys_and_screen(kernel):
    kernel.send("cell('time.sleep(1000)')")
    with OnTerminal(kernel.path) as terminal:
        terminal.until(r"running for[^\n]*\r\n  time\.sleep\(1000\)")
        terminal.until("s stacks · q quit")
        assert termios.tcgetattr(terminal.theirs)[3] & (termios.ICANON | termios.ECHO) == 0
        terminal.press(b"xyz")  # none of them
        terminal.press(b"s")
        terminal.until("asked for the stacks")
        terminal.until(r"stacks at [^\n]*\r\n(?s:.*)time\.sleep|<string>:1 in <module>")
        terminal.until(r"stacks at (?s:.*)\x1b\[H")
        screen = terminal.screen()
        stacks = stacks_in("\n".join(screen))
        assert f"thread {kernel.pid} " in next(iter(stacks))
        assert next(iter(stacks.values()))[0] == "<string>:1 in <module>"
        assert all(len(line) <= 100 for line in screen)
        terminal.press(b"q")
        assert terminal.leave() == 0
    # What was shown last stays, on the ordinary screen.
    assert "#2 · running for" in terminal.text.rpartition(LEAVE)[2]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_restore_the_terminal(kernel, name):
    with OnTerminal(kernel.path) as terminal:
        terminal.until("q quit")
        if name == "SIGINT":
            terminal.press(b"\x03")
        else:
            terminal.process.send_signal(getattr(signal, name))
        assert terminal.leave() == -getattr(signal, name)


def test_the_end_of_the_recording_ends_it(kernel):
    with OnTerminal(kernel.path) as terminal:
        terminal.until("q quit")
        kernel.kill()
        assert terminal.leave() == 0
    shown = terminal.text.rpartition(LEAVE)[2]
    assert "the recording has ended: killed by signal 9 (SIGKILL)" in shown


def test_nothing_of_the_code_reaches_the_terminal_as_it_is(kernel):
    code = "'\x1b]0;title\x07 \x1b[31m \x9b31m \u202e'"
    kernel.do(f"cell({code!r}, {code!r})")
    with OnTerminal(kernel.path) as terminal:
        terminal.until("q quit")
        terminal.press(b"q")
        terminal.leave()
    assert r"\x1b]0;title\x07 \x1b[31m" in terminal.text
    rest = DRAWN.sub("", terminal.text)
    assert not [one for one in rest if one < " " and one not in "\r\n"]
    assert not set(rest) & set("\x7f\x9b\u202e")


def test_a_small_screen_is_not_overrun(kernel):
    kernel.do("cell('x = 1\\n' * 100)")
    with OnTerminal(kernel.path, rows=4, columns=20) as terminal:
        terminal.until(r"(\x1b\[H(?s:.*)){2}")
        screen = terminal.screen()
        terminal.press(b"q")
        assert terminal.leave() == 0
    assert len(screen) == 4
    assert not [line for line in screen if len(line) > 20]
