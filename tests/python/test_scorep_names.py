"""What notebooks written for the peers call Score-P's things, as they write it there."""

import os
from pathlib import Path

import psutil
import pytest
import scorep_standin
from leftovers import wait_until
from notebook import Notebook, in_ipython
from scorep_standin import StandIn

VAMPIR = """#!/bin/sh
echo "$1" > "$VAMPIR_LOG.new"; mv "$VAMPIR_LOG.new" "$VAMPIR_LOG"
echo $$ > "$VAMPIR_LOG.pid"
while [ ! -e "$VAMPIR_LOG.end" ]; do sleep 0.05; done
"""


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory) -> StandIn:
    return scorep_standin.make(tmp_path_factory.mktemp("scorep"))


@pytest.fixture
def vampir_log(tmp_path) -> Path:
    return tmp_path / "vampir"


@pytest.fixture
def notebook(open_notebook, stand_in, tmp_path, vampir_log) -> Notebook:
    environment = stand_in.environment()
    environment["PATH"] = f"{tmp_path}/bin{os.pathsep}{environment['PATH']}"
    environment["VAMPIR_LOG"] = str(vampir_log)
    (tmp_path / "bin").mkdir()
    stand_in.forget()
    return open_notebook(env=environment, cwd=stand_in.folder)


def install_vampir(tmp_path: Path, mode: int = 0o755) -> None:
    path = tmp_path / "bin" / "vampir"
    path.write_text(VAMPIR)
    path.chmod(mode)


def shown(notebook: Notebook, code: str) -> str:
    done = notebook.run(code)
    assert done.status == "ok", done.traceback + done.stderr
    return "\n".join(one["text/plain"] for one in done.displays)


def test_a_cell_of_theirs_runs(notebook, stand_in):
    assert notebook.run("%env SCOREP_ENABLE_TRACING=1\nimport os").status == "ok"
    made = notebook.run("%%execute_with_scorep\nimport numpy as np\na = [1, 2]\ndef f(): return a")
    assert made.status == "ok", made.stderr
    assert notebook.run("a.append(3); f(), np.__name__").result == "([1, 2, 3], 'numpy')"
    (path,) = stand_in.experiments()
    assert (path / "traces.otf2").exists()


def test_an_error_is_an_error(notebook):
    failed = notebook.run("%%execute_with_scorep\n1 / 0")
    assert (failed.status, failed.ename) == ("error", "ZeroDivisionError")


def test_binding_arguments_stand_below_the_name(notebook, stand_in):
    code = "%%scorep_python_binding_arguments\n--keep-files --thread=pthread"
    assert "--keep-files --thread=pthread" in shown(notebook, code)
    assert notebook.run("%%execute_with_scorep\n1").result == "1"
    start = stand_in.lines("start")[0]
    assert start["argv"][:3] == ["--nopython", "--keep-files", "--thread=pthread"]


def test_theirs_says_noinstrumenter_too(notebook, stand_in):
    shown(notebook, "%%scorep_python_binding_arguments\n--noinstrumenter")
    assert notebook.run("%%execute_with_scorep\ndef f(): pass\nf()").status == "ok"
    assert "f" in stand_in.names()


def test_arguments_of_a_cell_count_before_those_of_all(notebook, stand_in):
    shown(notebook, "%scorep_python_binding_arguments --thread=pthread")
    notebook.run("%%jumper scorep --mpp=mpi\n1")
    assert stand_in.lines("start")[0]["argv"][1:2] == ["--mpp=mpi"]
    assert "--thread=pthread" in shown(notebook, "%%scorep_python_binding_arguments")
    assert "none" in shown(notebook, "%scorep_python_binding_arguments none")
    stand_in.forget()
    notebook.run("%%execute_with_scorep\n1")
    assert stand_in.lines("start")[0]["argv"][1].endswith("engine_main.py")


@pytest.mark.parametrize("below", ["pthread", "--", "'--x"])
def test_wrong_arguments_are_refused(notebook, below):
    shown(notebook, "%scorep_python_binding_arguments --thread=pthread")
    refused = notebook.run(f"%%scorep_python_binding_arguments\n{below}")
    assert refused.ename == "UsageError"
    assert "--thread=pthread" in shown(notebook, "%scorep_python_binding_arguments")


@pytest.mark.parametrize(
    "code", ["%%execute_with_scorep", "%execute_with_scorep", "%jumper scorep"]
)
def test_score_p_needs_a_cell(notebook, code):
    refused = notebook.run(code)
    assert refused.ename == "UsageError"
    assert "below it" in refused.stderr


def test_vampir_opens_each_trace_and_outlives_the_kernel(notebook, stand_in, tmp_path, vampir_log):
    install_vampir(tmp_path)
    said = shown(notebook, "%%enable_vampir_launch_on_scorep_instrumented")
    assert f"opens each trace ({tmp_path}/bin/vampir)" in said
    notebook.run("%env SCOREP_ENABLE_TRACING=true")
    done = notebook.run("%%execute_with_scorep\n1")
    (path,) = [one for one in stand_in.experiments() if str(one) in done.stderr]
    assert f"Vampir opens {path}/traces.otf2" in done.stderr
    pid_file = Path(f"{vampir_log}.pid")
    assert wait_until(pid_file.exists)
    assert wait_until(lambda: pid_file.read_text().strip() != "")
    assert vampir_log.read_text() == f"{path}/traces.otf2\n"
    process = psutil.Process(int(pid_file.read_text()))
    assert process.pid not in {
        one.pid for one in psutil.Process(notebook.pid).children(recursive=True)
    }
    notebook.close()
    assert process.is_running()
    Path(f"{vampir_log}.end").touch()
    assert wait_until(lambda: not process.is_running() or process.status() == "zombie")


def test_an_open_vampir_is_left_alone(notebook, tmp_path, vampir_log):
    """Another one, of the user's: theirs ends all of them first."""
    install_vampir(tmp_path)
    other = psutil.Popen(
        [tmp_path / "bin" / "vampir", "other"],
        env={**os.environ, "VAMPIR_LOG": str(tmp_path / "other")},
    )
    notebook.run("%env SCOREP_ENABLE_TRACING=true\n%enable_vampir_launch_on_scorep_instrumented")
    notebook.run("%%execute_with_scorep\n1")
    assert wait_until(vampir_log.exists)
    assert other.poll() is None
    for one in (vampir_log, tmp_path / "other"):
        Path(f"{one}.end").touch()
    assert other.wait(60) == 0


def test_vampir_is_looked_for_again_each_time(notebook, tmp_path, vampir_log):
    install_vampir(tmp_path, 0o644)
    said = shown(notebook, "%%enable_vampir_launch_on_scorep_instrumented")
    assert "can't open traces: no vampir is on PATH that can be executed" in said
    notebook.run("%env SCOREP_ENABLE_TRACING=true")
    done = notebook.run("%%execute_with_scorep\n1")
    assert done.status == "ok"
    assert "Vampir was not opened: no vampir" in done.stderr
    assert "stays closed" in shown(notebook, "%%disable_vampir_launch")
    assert "Vampir" not in notebook.run("%%execute_with_scorep\n1").stderr
    assert not vampir_log.exists()


def test_vampir_needs_a_trace(notebook, tmp_path, vampir_log):
    install_vampir(tmp_path)
    shown(notebook, "%%enable_vampir_launch_on_scorep_instrumented")
    assert "there is no trace" in notebook.run("%%execute_with_scorep\n1").stderr
    assert not vampir_log.exists()


def test_code_below_a_switch_isnt_run_and_that_is_said(notebook):
    said = shown(notebook, "%%disable_vampir_launch\nx = 1")
    assert "was not run" in said
    assert notebook.run("x").ename == "NameError"


def test_the_names_go_when_the_extension_goes():
    answer = in_ipython("""
run("%load_ext jumper")
def there():
    known = shell.magics_manager.magics
    names = [name for kind in known.values() for name in kind if "scorep" in name]
    return len(names), len(shell.input_transformers_cleanup)
answer = [there()]
run("%unload_ext jumper")
answer.append(there())
""")
    (names, transformers), (left, left_transformers) = answer
    assert (names, left) == (6, 0)
    assert transformers == left_transformers + 1


def test_other_cells_are_left_to_ipython(open_notebook, stand_in):
    notebook = open_notebook(cwd=stand_in.folder)
    assert notebook.run("%%execute_with_scorepx\n1").ename == "UsageError"
    assert (
        notebook.run("x = '''\n%%disable_vampir_launch'''\nx").result
        == "'\\n%%disable_vampir_launch'"
    )
