"""The stacks of all threads, read from outside the interpreter while they run."""

import re
import sys
import sysconfig

import pytest
from notebook import run_python

LINE = re.compile(r"thread \d+( \".*\")?( · .*)*|  .+:(\d+|\?) in .+|  no Python code|  … .*|… .*")

STRESS = """
import random, sys, threading, time
from jumper import _native

sys.setswitchinterval(1e-5)
stop = False

def calls():
    def f(n): return f(n - 1) if n else 0
    while not stop: f(random.randrange(30))

def codes():
    while not stop:
        scope = {}
        name = "/made/%d.py" % random.randrange(9)
        exec(compile("def g():\\n  return 1\\ng()", name, "exec"), scope)

def generators():
    def numbers(n):
        if n:
            yield from numbers(n - 1)
        yield n
    while not stop: list(numbers(10))

def starts():
    while not stop:
        one = threading.Thread(target=int); one.start(); one.join()

def raises():
    def deep(n):
        if not n: raise ValueError
        deep(n - 1)
    while not stop:
        try: deep(20)
        except ValueError: pass

threads = [threading.Thread(target=t) for t in (calls, codes, generators, starts, raises) * 2]
for one in threads: one.start()
texts = [_native.stacks() for _ in range(REQUESTS)]
stop = True
for one in threads: one.join()
print("\\n".join(texts))
"""


def check(requests: int) -> None:
    done = run_python(STRESS.replace("REQUESTS", str(requests)))
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line for line in done.stdout.splitlines() if line]
    assert not [line for line in lines if not LINE.fullmatch(line)]
    assert sum("· main thread" in line for line in lines) == requests
    for function in ("calls", "codes", "generators", "starts", "raises"):
        assert [line for line in lines if line.endswith(f" in {function}")], function


def test_threads_that_call_and_return_as_fast_as_they_can():
    check(1000)


@pytest.mark.long
def test_they_do_for_long():
    for _ in range(10):
        check(5000)


def stacks_of(script: str) -> str:
    done = run_python(f"import sys, threading\nfrom jumper import _native\n{script}")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_frames_have_their_names_files_and_lines():
    text = stacks_of(
        "code = '''class Größe:\\n  def ψ(self, y):\\n    return list(map(lambda x: (\\n"
        "      next(self.g())), [1]))\\n  def g(self):\\n    yield _native.stacks()\\n'''\n"
        "exec(compile(code, '/x/π \\x1b\\udcff.py', 'exec'))\n"
        "sys.stdout.buffer.write(Größe().ψ(1)[0].encode())"
    )
    assert "\n".join(text.splitlines()[1:-1]) == (
        "  /x/π \\x1b\ufffd.py:6 in Größe.g\n"
        "  /x/π \\x1b\ufffd.py:4 in Größe.ψ.<locals>.<lambda>\n"
        "  /x/π \\x1b\ufffd.py:3 in Größe.ψ"
    )


def test_deep_and_long_ones_are_cut():
    text = stacks_of(
        "name = 'f' * 10000\nexec('def ' + name + '(n): return n and ' + name + '(n - 1)"
        " or _native.stacks()')\nprint(locals()[name](150))"
    )
    thread, *frames = text.strip().splitlines()
    assert "main thread" in thread
    assert frames == ["  <string>:1 in …" + "f" * 200] * 100 + ["  … called from more"]


def test_many_threads_are_cut():
    text = stacks_of(
        "done = threading.Event()\n"
        "threads = [threading.Thread(target=done.wait) for _ in range(150)]\n"
        "for one in threads: one.start()\nprint(_native.stacks())\ndone.set()"
    )
    assert text.count("thread ") + text.count("main thread") >= 100
    assert len(re.findall("^thread ", text, re.MULTILINE)) <= 100
    assert text.strip().splitlines()[-1] in ("… and more threads", "… the rest is cut")
    assert len(text.encode()) <= 48 << 10


def test_a_sub_interpreter_is_not_read():
    if sys.version_info >= (3, 13) or sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("the module can't be imported there")
    # The module itself refuses to be imported twice; what counts is that nothing crashes.
    text = stacks_of(
        "import _xxsubinterpreters as s\none = s.create()\n"
        "try: s.run_string(one, 'from jumper import _native; print(_native.stacks())')\n"
        "except s.RunFailedError as error: print('refused')\ns.destroy(one)"
    )
    assert text.strip() in ("refused", "not supported in a sub-interpreter")


def test_where_the_system_refuses_it_says_so(tmp_path):
    """A sandbox that allows no process_vm_readv: Docker's before Linux 4.8, some batch systems'."""
    text = stacks_of(FILTER + "print(_native.stacks())")
    assert text.strip() == ("not safe here: process_vm_readv is refused (Operation not permitted)")


# A seccomp filter: EPERM for one system call, all else is allowed.
FILTER = """
import ctypes, errno, platform, struct
number = {"x86_64": 310, "aarch64": 270}[platform.machine()]
steps = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, number, 6, 0, 0, 0x50000 | errno.EPERM,
                    6, 0, 0, 0x7FFF0000)
buffer = ctypes.create_string_buffer(steps)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4, ctypes.addressof(buffer)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
"""
