"""The cell runs under what the user names: real tools, and commands that are none."""

import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path

import psutil
import pytest
from leftovers import wait_until
from notebook import JSON_TYPE, Notebook, Run

pytestmark = pytest.mark.slow  # the tools are the same under each CPython
CELL = "import os, sys\nprint('out'); print('err', file=sys.stderr)\nv = v + 1; kept.append(v)\nv"


@pytest.fixture
def ready(shared_notebook, tmp_path) -> Notebook:
    made = shared_notebook.run(f"%cd -q {tmp_path}\nv = 1; kept = [1]; n = 0")
    assert made.status == "ok", made.traceback
    return shared_notebook


def need(*names: str) -> None:
    for name in names:
        missing = importlib.util.find_spec(name) is None and shutil.which(name) is None
        if missing:
            pytest.skip(f"{name} is not installed")


def run(notebook: Notebook, launcher: str, code: str = CELL) -> Run:
    return notebook.run(f'%%jumper run --with "{launcher}"\n{code}')


def brings_all_back(notebook: Notebook, done: Run, *, alone: bool = True) -> None:
    assert (done.status, done.result) == ("ok", "2"), done.traceback + done.stderr
    assert "out\n" in done.stdout
    assert "err\n" in done.stderr
    if alone:
        assert (done.stdout, done.stderr) == ("out\n", "err\n")
    assert notebook.run("v, kept").result == "(2, [1, 2])"


@pytest.mark.parametrize(
    "launcher", ["env", "nice -n 1", "{python} {engine}", "{python} -X dev {engine}", "setsid -w"]
)
def test_a_launcher_that_says_nothing_leaves_no_trace(ready, launcher):
    need(launcher.split()[0].replace("{python}", "env"))
    brings_all_back(ready, run(ready, launcher))


def test_the_launchers_environment_is_the_cells_and_doesnt_stay(ready):
    code = "import os\nmade = os.environ['MADE'], os.environ.get('TAKEN'), os.environ['NEW']"
    ready.run("%env TAKEN=1\n%env NEW=first")
    ready.run("%%jumper run\n1")
    ready.run("%env NEW=second")
    done = run(ready, "env -u TAKEN MADE=7", f"{code}\nos.environ['CELLS'] = 'own'")
    assert done.status == "ok", done.traceback
    after = ready.run("made, os.environ.get('MADE'), os.environ['TAKEN'], os.environ['CELLS']")
    assert after.result == "(('7', None, 'second'), None, '1', 'own')", after.traceback


def test_the_channel_is_in_no_environment(ready):
    done = ready.run("%%jumper run\nimport os\n[k for k in os.environ if 'ENGINE' in k]")
    assert done.result == "[]"


def test_strace_counts_after_the_cell(ready):
    need("strace")
    done = run(ready, "strace -f -c -e trace=openat")
    brings_all_back(ready, done, alone=False)
    assert done.stderr.index("err\n") < done.stderr.index("openat")


def test_perf_tells_its_counters_after_the_cell(ready):
    need("perf")
    done = run(ready, "perf stat -e task-clock")
    brings_all_back(ready, done, alone=False)
    assert done.stderr.index("err\n") < done.stderr.index("task-clock")


def test_coverage_knows_the_cells_process(ready, tmp_path):
    need("coverage")
    brings_all_back(ready, run(ready, "{python} -m coverage run --data-file=c {engine}"))
    brings_all_back_again = run(ready, f"{sys.executable} -m coverage run --data-file=d")
    assert brings_all_back_again.result == "3"
    assert (tmp_path / "c").exists()
    assert (tmp_path / "d").exists()


def test_viztracer_writes_the_cells_calls(ready, tmp_path):
    need("viztracer")
    code = "def mine(): return 1\nn = mine()"
    done = run(ready, f"{sys.executable} -m viztracer -o v.json", code)
    assert done.status == "ok", done.traceback
    assert ready.run("n").result == "1"
    names = {one["name"] for one in json.loads((tmp_path / "v.json").read_text())["traceEvents"]}
    assert any(name.startswith("mine ") for name in names)


def test_memray_writes_its_file(ready, tmp_path):
    need("memray")
    done = run(ready, f"{sys.executable} -m memray run -o m.bin")
    brings_all_back(ready, done, alone=False)
    assert (tmp_path / "m.bin").stat().st_size > 0


def test_cprofile_is_a_runner(ready):
    done = run(ready, f"{sys.executable} -m cProfile -o p.prof")
    brings_all_back(ready, done)


def test_mpirun_closes_descriptors_and_works(ready):
    need("mpirun")
    root = "--allow-run-as-root --oversubscribe"
    code = f"{CELL}\nprint(os.environ['OMPI_COMM_WORLD_SIZE'])\nv"
    done = run(ready, f"mpirun {root} -n 1", code)
    assert (done.status, done.stdout, done.result) == ("ok", "out\n1\n", "2"), done.stderr
    assert ready.run("v, kept").result == "(2, [1, 2])"


def test_an_interrupt_doesnt_end_mpirun(ready):
    need("mpirun")
    code = (
        "import threading, time; threading.Timer(0.3, print, '1').start()\n"
        "try: time.sleep(60)\nexcept KeyboardInterrupt: v = 'caught'\nv"
    )
    launcher = "mpirun --allow-run-as-root --oversubscribe -n 1"
    request = ready.send(f'%%jumper run --with "{launcher}"\n{code}')
    ready.drain(lambda: ready.stdout_of(request))
    ready.manager.interrupt_kernel()
    assert ready.take(request).result == "'caught'"


def test_a_launcher_that_reexecutes_itself_keeps_the_channel(ready, tmp_path):
    """As Score-P's bindings do, to preload a library."""
    script = tmp_path / "again.py"
    script.write_text(
        "import os, runpy, sys\n"
        "if 'AGAIN' not in os.environ:\n"
        "    os.environ['AGAIN'] = '1'\n"
        "    os.execv(sys.executable, [sys.executable, *sys.argv])\n"
        "sys.argv = sys.argv[1:]; sys.path[0] = os.path.split(sys.argv[0])[0]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    code = f"{CELL[:-2]}\nimport settings"
    (tmp_path / "settings.py").write_text("mine = True")
    done = run(ready, f"{{python}} {script} {{engine}}")
    brings_all_back(ready, done)
    done = run(ready, f"{{python}} {script} {{engine}}", code)
    assert done.status == "ok", done.traceback
    assert ready.run("settings.mine").result == "True"


def test_the_path_stays_as_it_is(ready):
    before = ready.run("import sys; path = list(sys.path)\nlen(path)").result
    for launcher in ("", "--with env"):
        done = ready.run(f"%%jumper run {launcher}\nassert sys.path == path, sys.path")
        assert done.status == "ok", done.traceback
    assert ready.run("assert sys.path == path\nlen(sys.path)").result == before


@pytest.mark.parametrize(
    ("launcher", "said"),
    [
        ("no-such-launcher -x", "cannot start 'no-such-launcher'"),
        ("false", "has not come up, exited with status 1: false"),
        ("sh -c 'echo why >&2; exit 3'", "has not come up, exited with status 3: sh"),
        ("sh -c 'kill -9 $$'", "has not come up, was killed by signal 9"),
        ("env -i", "the launcher must leave that alone"),
        ("perf stat | cat", "no shell runs"),
        ("perf 'stat", "quote"),
        ("{python}", "{engine}"),
        ("unshare -rpf", "namespace"),
    ],
)
def test_a_launcher_that_fails_is_named_and_nothing_has_happened(ready, launcher, said):
    need(launcher.split()[0] if launcher.startswith(("unshare", "perf")) else "env")
    failed = run(ready, launcher)
    assert (failed.status, failed.ename) == ("error", "UsageError"), failed.traceback
    if "Operation not permitted" not in failed.stderr:
        assert said in failed.stderr
    assert ready.run("v, kept").result == "(1, [1])"


def test_what_a_launcher_says_before_it_fails_is_shown(ready):
    failed = run(ready, "sh -c 'echo why >&2; exit 3'")
    assert failed.stderr.startswith("why\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run --wiht env", "--wiht is no option of run: it knows --with, --timeout"),
        ("run env", "run doesn't know what to do with 'env'"),
        ("run --with", "--with needs a value"),
        ("run --with ' '", "--with needs a launcher"),
        ("status", "there is no verb with a cell below it 'status'"),
        ("rnu", "Did you mean run?"),
    ],
)
def test_a_wrong_line_is_said(ready, line, said):
    refused = ready.run(f"%%jumper {line}\nv = 2")
    assert refused.ename == "UsageError"
    assert said in refused.stderr
    assert ready.run("v").result == "1"


def test_run_needs_a_cell(ready):
    refused = ready.run("%jumper run")
    assert refused.ename == "UsageError"
    assert "%%jumper run" in refused.stderr


def test_the_cell_is_measured_and_nothing_is_left(open_notebook):
    notebook = open_notebook()
    notebook.run("%%jumper run --with env\nx = sum(range(10_000_000))")
    before = Path(f"/proc/{notebook.pid}/fd")
    count = len(list(before.iterdir()))
    for _ in range(3):
        notebook.run("%%jumper run --with env\nx")
    assert len(list(before.iterdir())) == count
    assert notebook.run("import psutil; psutil.Process().children()").result == "[]"
    summary = notebook.run("%jumper summary 1").bundles[0][JSON_TYPE]
    assert summary["cell"]["outcome"] == "ok"
    assert summary["levels"]["process"]["cpu_time_s"] > 0.1  # the engine's


def test_what_the_engine_took_stands_apart(open_notebook):
    notebook = open_notebook()
    notebook.run("%%jumper run\nx = 1")
    notebook.run("x = 2")
    notebook.run("%%jumper run\nimport os; os._exit(3)")
    there, here, died = (one[JSON_TYPE] for one in summaries(notebook, 3))
    engine = there["engine"]
    assert all(engine[name] >= 0 for name in ("start_s", "carry_s", "return_s"))
    assert 0.05 < sum(engine.values()) < there["cell"]["duration_s"]
    assert "engine" not in here
    assert died["engine"]["return_s"] is None
    text = notebook.run("%jumper summary 1").bundles[0]["text/plain"]
    assert re.search(r"engine +started in .* variables carried in .* and back in ", text), text


def summaries(notebook: Notebook, count: int) -> list[dict]:
    return [notebook.run(f"%jumper summary #{n + 1}").bundles[0] for n in range(count)]


def test_a_spare_waits_and_leaves(open_notebook):
    notebook = open_notebook()
    spares = "__import__('jumper.extension').extension._loaded[get_ipython()].magics.elsewhere"
    notebook.run(f"engines = {spares}.engines; engines.wait_s = 0.5")
    notebook.run("%%jumper run --with env\n1")
    assert notebook.run("engines.spare_pid").result is None
    notebook.run("%%jumper run\n1")
    spare = int(notebook.run("engines.spare_pid").result)
    assert wait_until(lambda: not is_running(spare))
    notebook.run("engines.wait_s = 600")
    assert notebook.run("%%jumper run\nimport os; os.getpid()").result != str(spare)
    spare = notebook.run("engines.spare_pid").result
    notebook.run("import os, sys; os.environ['ADDED'] = '1'; os.chdir('/'); sys.path.append('/p')")
    used = notebook.run("%%jumper run\nos.getpid(), os.environ['ADDED'], os.getcwd(), sys.path[-1]")
    assert used.result == f"({spare}, '1', '/', '/p')", used.traceback
    notebook.run("os.environ['LD_LIBRARY_PATH'] = '/nowhere'")
    old = notebook.run("engines.spare_pid").result
    assert notebook.run("%%jumper run\nos.getpid()").result != old
    assert not is_running(int(old))


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_spare_is_no_forked_childs(open_notebook):
    notebook = open_notebook()
    notebook.run("%%jumper run\n1")
    spares = "__import__('jumper.extension').extension._loaded[get_ipython()].magics.elsewhere"
    notebook.run(f"import os; engines = {spares}.engines; spare = engines.spare_pid")
    code = "pid = os.fork()\nif pid == 0:\n    engines.close(); del engines; os._exit(0)"
    forked = notebook.run(f"{code}\nos.waitpid(pid, 0)[1], spare == engines.spare_pid")
    assert forked.result == "(0, True)", forked.traceback
    used = notebook.run("%%jumper run\nos.getpid() == spare")
    assert used.result == "True", used.traceback


def test_a_spare_has_imported_what_the_variables_need(open_notebook, tmp_path):
    notebook = open_notebook(cwd=tmp_path)
    (tmp_path / "own_module.py").write_text("mine = 1")
    notebook.run("import numpy as np; import json")
    notebook.run(
        "from pathlib import Path; Path('own_module.py').write_text('1'); import own_module"
    )
    notebook.run("from jumper.spare import modules_ahead")
    names = notebook.run("[n for n in modules_ahead(globals()) if n[0] in 'jno']").result
    assert names == "['json', 'numpy']"
    notebook.run("%%jumper run\n1")
    assert notebook.run("%%jumper run\nfloat(np.ones(3).sum())").result == "3.0"
