"""What became of the last kernel: told once, and opened to read."""

import os
import re
import signal
from pathlib import Path

import pytest
from faults.harness import Recording, await_that, recordings
from notebook import JSON_TYPE, in_ipython

from jumper import earlier

NAME = "plan.ipynb"


@pytest.fixture
def start(open_notebook):
    return lambda name=NAME, **more: open_notebook(env={"JPY_SESSION_NAME": name}, **more)


def path_of(notebook) -> Path:
    text = notebook.run("%jumper", store_history=False).displays[0]["text/plain"]
    return next(one for one in recordings() if str(one) in text)


def die(notebook, code: str = "import os; os.kill(os.getpid(), 9)") -> Path:
    """Lets the kernel die in a cell; its recording, once it is complete."""
    path = path_of(notebook)
    notebook.send(code)
    notebook.manager.provisioner.process.wait(10)
    await_that(lambda: Recording(path, whole=False).end)
    return path


@pytest.mark.fault("P1")
def test_the_next_kernel_tells_once(start):
    first = start()
    first.run("x = 1")
    path = die(first, "keep = 'what it did'\nimport os\nos._exit(3)")
    second = start()
    assert re.fullmatch(
        rf"jumper: the last kernel of '{NAME}' ended \d+ s ago in In \[2\] "
        r"\(keep = 'what it did'\): exited with status 3; "
        "`%jumper open last` shows what it did\n",
        second.run("x = 1").stderr,
    )
    assert second.run("x = 2").stderr == ""
    assert start().run("x = 1").stderr == ""
    assert Recording(path).of("told")
    assert Recording(path).end == "exited with status 3"


@pytest.mark.fault("P1")
def test_a_signal_is_told_by_its_name(start):
    die(start())
    assert "killed by signal 9 (SIGKILL)" in start().run("1").stderr


def test_other_notebooks_are_not_told(start):
    die(start())
    assert start("other.ipynb").run("1").stderr == ""
    assert "SIGKILL" in start().run("1").stderr


def test_without_a_notebook_the_folder_counts(open_notebook, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    die(open_notebook(cwd=str(one)))
    assert open_notebook(cwd=str(other)).run("1").stderr == ""
    assert "SIGKILL" in open_notebook(cwd=str(one)).run("1").stderr


def test_nothing_is_told_of_a_kernel_that_was_shut_down(start):
    first = start()
    first.run("1")
    first.close()
    assert start().run("1").stderr == ""


def test_nothing_is_told_of_a_kernel_that_lives(start):
    first = start()
    first.run("1")
    second = start()
    assert second.run("1").stderr == ""
    assert second.run("%jumper open last").ename == "UsageError"


def test_nothing_is_told_after_a_week(start):
    path = die(start())
    then_s = path.stat().st_mtime - 8 * 24 * 3600
    os.utime(path, (then_s, then_s))
    assert start().run("1").stderr == ""


@pytest.mark.fault("P1")
def test_the_sampler_died_too(start):
    first = start()
    first.run("1")
    path = path_of(first)
    sampler = Recording(path, whole=False).of("machine")[-1]["sampler_pid"]
    request = first.send("import time; time.sleep(60)")
    first.drain(lambda: first.of(request))
    await_that(lambda: len(Recording(path, whole=False).cells) == 3)
    os.kill(first.pid, signal.SIGSTOP)  # so that it starts no other one
    os.kill(sampler, signal.SIGKILL)
    os.kill(first.pid, signal.SIGKILL)
    first.manager.provisioner.process.wait(10)
    second = start()

    def told() -> str:  # its last sample is fresh for some seconds: it may have moved elsewhere
        return second.run("1").stderr

    assert "probably" in await_that(told)


def test_opens_it_to_read(start):
    first = start()
    first.run("a = 1")
    die(first, "b = '<b>'; import os; os._exit(9)")
    second = start()
    second.run("c = 1")
    facts, history, summary = second.run("%jumper open last").displays
    assert "exited with status 9" in facts["text/plain"]
    assert NAME in facts["text/plain"]
    assert [one["cell"]["outcome"] for one in history[JSON_TYPE]] == ["ok", "ok", "died"]
    assert "c = 1" not in history["text/plain"]
    assert "<b>" not in history["text/html"]
    assert summary[JSON_TYPE]["cell"]["outcome_text"] == "exited with status 9"
    (code,) = second.run("%jumper open last code 1").displays
    assert code["text/plain"] == "a = 1"
    (summary,) = second.run("%jumper open last summary #1 --level node").displays
    assert "node" in summary[JSON_TYPE]["levels"]
    assert len(second.run("%jumper open last history").displays) == 1
    assert second.run("%jumper open last", silent=False).status == "ok"


def test_opens_any_recording(start, tmp_path):
    path = die(start())
    copy = tmp_path / "a copy.jumper"
    copy.write_bytes(path.read_bytes())
    facts, *_ = start("another.ipynb").run(f"%jumper open '{copy}'").displays
    assert str(copy) in facts["text/plain"]
    assert "SIGKILL" in facts["text/plain"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("open", "open needs a recording: last, or the path of a file"),
        ("open last", "there is no recording of an earlier kernel of "),
        ("open nowhere.jumper", "cannot open recording 'nowhere.jumper'"),
        ("open /dev/null", "'/dev/null'"),
        ("open /etc/passwd what", "it is not a JUmPER recording"),
    ],
)
def test_what_can_not_be_opened(line, said):
    script = f"answer = [run('%load_ext jumper')[2], run('%jumper {line}')[2]]"
    assert said in in_ipython(script)[1]


def test_an_unknown_question(start):
    die(start())
    run = start().run("%jumper open last sumary")
    assert run.ename == "UsageError"
    assert "Did you mean summary?" in run.stderr


def test_a_broken_neighbour_is_no_trouble(start, state_home):
    path = die(start())
    (state_home / "jumper" / "b.jumper").write_bytes(path.read_bytes()[:300])
    (state_home / "jumper" / "c.jumper").write_bytes(b"\xf1JUMPER\n" + b"\xff" * 500)
    (state_home / "jumper" / "d.jumper").mkdir()
    run = start().run("x = 1")
    assert run.status == "ok"
    assert "off from here on" not in run.stderr


def test_one_that_can_not_be_opened_is_passed_over(state_home, monkeypatch):
    """Another kernel has deleted it between the list and the look."""
    gone = str(state_home / "gone.jumper")
    monkeypatch.setattr(earlier._native, "earlier", lambda *_: [gone])
    assert earlier.last("own.jumper", NAME) == (None, False, None)


def test_one_that_ended_quietly_is_not_opened(monkeypatch):
    """It may take a while to open, and the first cell would wait for it."""
    monkeypatch.setattr(earlier._native, "earlier", lambda *_: ["closed.jumper"])
    monkeypatch.setattr(earlier._native, "ended_quietly", lambda path: path == "closed.jumper")
    monkeypatch.setattr(earlier._native, "Report", None)
    found = earlier.last("own.jumper", NAME)
    assert found == ("closed.jumper", False, None)
    assert earlier.notice(found) is None
