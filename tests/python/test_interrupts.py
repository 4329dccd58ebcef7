"""KeyboardInterrupt anywhere in our hooks (faults C1) and failures inside them (C2)."""

import pytest
from notebook import in_ipython

# Raises at the n-th line of ours that a cell runs through. The first line of a hook is left out:
# it is the bare `try:`, at which CPython delivers no signal.
STRIKE = """
import os, pathlib, jumper.extension
from jumper.cells import Interrupt
from jumper.extension import Extension
ours = str(pathlib.Path(jumper.extension.__file__).parent)
first = {
    (hook.__code__, hook.__code__.co_firstlineno + 1)
    for hook in (Extension.pre_run_cell, Extension.post_run_cell)
}
class Tracer:
    def __init__(self, n): self.left, self.where = n, None
    def __call__(self, frame, event, _):
        if not frame.f_code.co_filename.startswith(ours): return None
        if event == "line" and (frame.f_code, frame.f_lineno) not in first:
            self.left -= 1
            if self.left == 0:
                self.where = f"{frame.f_code.co_name}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self
def strike(n, code):
    tracer = Tracer(n)
    sys.settrace(tracer)
    try:
        result, out, err = run(code)
    finally:
        sys.settrace(None)
    return tracer.where, result, out + err
run("%load_ext jumper")
run("%jumper set summary=always")
where = set()
"""


CODES = [
    ("ran = True", "ok"),
    ("def (:", "error"),
    ("1/0", "error"),
    ("get_ipython().run_cell('ran = True')", "ok"),
    ("get_ipython().run_cell('def (:')", "ok"),
    ("import asyncio; ran = True; await asyncio.sleep(0)", "ok"),
]


def strike_everywhere(code: str, plain: str, first: int, step: int) -> None:
    """At every `step`-th line. A cell runs through some lines more or less than the one before."""
    lines, odd, where = in_ipython(
        f"""{STRIKE}
n, odd, beyond = {first}, [], 0
while beyond < 12:
    os.environ["JUMPER_SAMPLING_RATE"] = str(10 + n % 2)
    shell.user_ns.pop("ran", None)
    at, result, text = strike(n, {code!r})
    if at is None:
        beyond += 1
        n += 1
        continue
    n += {step}
    where.add(at.split(":")[0])
    index, number, outcome, running = cells()[-1]
    after, _, _ = run("x = 1")
    good = cells()[-1] == (index + 1, after.execution_count, "ok", False) and after.success
    left = any(isinstance(one, Interrupt) for one in shell.ast_transformers)
    stopped = isinstance(result.error_in_exec, KeyboardInterrupt)
    right = number == result.execution_count and not running
    right = right and outcome == ("interrupted" if stopped else {plain!r})
    if "ran" in {code!r} and "get_ipython" not in {code!r}:
        right = right and stopped == ("ran" not in shell.user_ns)
    if not right or not good or left or "Error in callback" in text:
        odd.append([n, at, outcome, number, result.execution_count, running, good, left, text])
answer = [n, odd, sorted(where)]
""",
        timeout_s=250,
    )
    assert odd == []
    assert lines > 40
    if step == 1:
        assert {"_begin", "_end", "_finish", "_show", "_tell"} <= set(where)


@pytest.mark.fault("C1")
@pytest.mark.slow
@pytest.mark.parametrize(("first", "code", "plain"), [(i + 1, *one) for i, one in enumerate(CODES)])
def test_an_interrupt_at_any_line_of_ours(code, plain, first):
    """Together the six kinds of cells are struck at each line."""
    strike_everywhere(code, plain, first, len(CODES))


@pytest.mark.fault("C1")
@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("code", "plain"), CODES)
def test_an_interrupt_at_each_line_of_ours(code, plain):
    strike_everywhere(code, plain, 1, 1)


@pytest.mark.fault("C1")
def test_an_interrupt_before_a_cell_stops_that_cell_and_no_other():
    answer = in_ipython(f"""{STRIKE}
at, result, text = strike(1, "ran = True")
answer = [type(result.error_in_exec).__name__, "ran" in shell.user_ns, "ran = True" in text]
run("ran = 2")
answer.append(shell.user_ns["ran"])
""")
    assert answer == ["KeyboardInterrupt", False, True, 2]


@pytest.mark.fault("C2")
@pytest.mark.parametrize(
    ("method", "feature"),
    [
        ("begin", "measuring"),
        ("end", "measuring"),
        ("set_rate", "measuring"),
        ("wait", "summary"),
        ("summary", "summary"),
        ("ticks", "summary"),
    ],
)
@pytest.mark.parametrize("error", ["RuntimeError('boom')", "MemoryError()", "OSError(28, 'boom')"])
def test_a_failure_of_ours_is_told_once_and_its_feature_is_off(method, feature, error):
    answer = in_ipython(f"""
run("%load_ext jumper")
class Broken:
    def __init__(self, session): self.session = session
    def __getattr__(self, name):
        if name == {method!r}: raise {error}
        return getattr(self.session, name)
extension().session = Broken(extension().session)
shell.user_ns["os"] = __import__("os")
run("os.environ['JUMPER_MIN_REPORTS'] = '0'")
run("os.environ['JUMPER_SAMPLING_RATE'] = '50'")
for code in ("a = 6", "a = a * 7", "print(a)", "1/0"):
    result, out, err = run(code)
    answer.setdefault("ok", []).append(result.success)
    answer["text"] = answer.get("text", "") + out + err
answer["a"] = shell.user_ns["a"]
answer["off"] = sorted(extension()._off)
answer["told"] = extension()._warnings
""")
    assert answer["ok"] == [True, True, True, False]
    assert answer["a"] == 42
    assert answer["off"] == [feature]
    assert answer["told"] == []
    assert "\n42\n" in "\n" + answer["text"]


@pytest.mark.fault("C2")
@pytest.mark.parametrize(
    ("owner", "method", "feature"),
    [
        ("magics.groups", "after_cell", "the end of groups"),
        ("magics.elsewhere", "after_cell", "the spare engine"),
        ("", "_look_back", "the notice of an earlier kernel"),
    ],
)
def test_what_fails_behind_a_cell_stops_nothing_else(owner, method, feature):
    """Each later step is taken, the next cells are measured, and it is said once."""
    answer = in_ipython(f"""
run("%load_ext jumper")
from functools import reduce
owner = reduce(getattr, filter(None, {owner!r}.split(".")), extension())
def broken(*_): raise OSError(28, "boom")
setattr(owner, {method!r}, broken)
extension()._warnings.append("a later step")
texts = ["".join(run("print(42)")[1:]) for _ in range(2)]
status = extension().session.status()
answer = [texts, sorted(extension()._off), len(status.path) > 0]
""")
    texts, off, records = answer
    said = f"jumper: {feature} is off from here on: OSError: [Errno 28] boom\n"
    assert texts[0].count(said) == 1
    assert "jumper: a later step\n" in texts[0]
    assert texts[1] == "42\n"
    assert off == [feature]
    assert records


@pytest.mark.fault("C2")
def test_the_one_warning_names_the_feature_and_the_reason(notebook):
    notebook.run(
        "from jumper.extension import _loaded\n"
        "def broken(*_): raise OSError('no summary today')\n"
        "import jumper.views as views; views.bundle = broken"
    )
    run = notebook.run("%jumper set summary=always")
    sentence = "jumper: summary is off from here on: OSError: no summary today\n"
    assert run.stderr == sentence
    assert run.status == "ok"
    run = notebook.run("1")
    assert (run.stderr, run.result, run.displays) == ("", "1", [])


@pytest.mark.fault("C2")
def test_a_stderr_that_fails_costs_nothing(notebook):
    notebook.run(
        "import sys\nclass Bad:\n  def write(self, *_): raise OSError('closed')\n"
        "  flush = lambda *_: None\nkept, sys.stderr = sys.stderr, Bad()\n"
        "%env JUMPER_SAMPLING_RATE=x"
    )
    run = notebook.run("5")
    assert (run.status, run.result) == ("ok", "5")
    assert notebook.run("sys.stderr = kept").status == "ok"


@pytest.mark.fault("C1")
def test_interrupts_of_running_cells(notebook):
    for code in ("import time; time.sleep(60)", "import asyncio; await asyncio.sleep(60)"):
        request = notebook.send(f"print('on', flush=True)\n{code}")
        notebook.drain(lambda r=request: notebook.stdout_of(r) == "on\n")
        notebook.interrupt()
        run = notebook.take(request)
        assert run.status == "error"
        assert run.ename in ("KeyboardInterrupt", "CancelledError")
        assert notebook.run("6 * 7").result == "42"
    outcomes = [one["outcome"] for one in notebook.history()]
    assert outcomes == ["interrupted", "ok", "interrupted", "ok"]


STORM = """
import mmap, os, random, signal, time
run("%load_ext jumper")
struck = mmap.mmap(-1, 1)
read, write = os.pipe()
kernel = os.getpid()
child = os.fork()
if child == 0:  # sends one SIGINT for each byte, at a random moment of the cell
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while os.read(read, 1) == b"x":
        at = time.perf_counter() + random.uniform(0, 0.0008)
        while time.perf_counter() < at: pass
        os.kill(kernel, signal.SIGINT)
        struck[0] = 1
    os._exit(0)
stopped, kept = 0, (sys.stdout, sys.stderr)
sys.stdout = sys.stderr = io.StringIO()
for _ in range(1500):
    try:
        struck[0] = 0
        os.write(write, b"x")
        result = shell.run_cell("x = 1")
        stopped += result is not None and isinstance(result.error_in_exec, KeyboardInterrupt)
    except KeyboardInterrupt:
        pass
    while True:
        try:
            while not struck[0]: time.sleep(0)
            for _ in range(3): time.sleep(0)
            break
        except KeyboardInterrupt:
            continue
os.write(write, b"q")
os.waitpid(child, 0)
sys.stdout, sys.stderr = kept
run("y = 1")
left = any(type(one).__name__ == "Interrupt" for one in shell.ast_transformers)
answer = [stopped, sum(one[3] for one in cells()), cells()[-1][2], left]
"""


@pytest.mark.fault("C1")
def test_a_storm_of_signals_leaves_every_cell_ended():
    stopped, running, last, left = in_ipython(STORM)
    assert stopped > 0
    assert (running, last, left) == (0, "ok", False)
