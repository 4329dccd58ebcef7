"""Cells as a script: it runs without IPython, and prints what the notebook has printed."""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import scorep_standin
from notebook import Notebook, in_ipython
from script_notebooks import IPYTHONS, NOTEBOOKS, PIECES

NAME = "jupyter_to_script"
TIMES = re.compile(r"^.*(CPU times|Wall time| loop|\bloops\b).*\n", re.MULTILINE)
OURS = re.compile(r"^jumper: .*\n", re.MULTILINE)
PLACES = re.compile(r"^/.*?:\d+: |^.*ipykernel_.*:\d+: ", re.MULTILINE)


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    return scorep_standin.make(tmp_path_factory.mktemp("scorep"))


@pytest.fixture
def notebook(open_notebook, stand_in) -> Notebook:
    stand_in.forget()
    return open_notebook(env=stand_in.environment(), cwd=stand_in.folder)


def plain(text: str) -> str:
    """Without what differs from run to run, and a terminal's line ends."""
    return TIMES.sub("", OURS.sub("", PLACES.sub("", text.replace("\r\n", "\n"))))


def begin(notebook: Notebook, folder, code: str) -> None:
    folder.mkdir(exist_ok=True)
    notebook.run("%abort_writefile", silent=True)  # of a test that has failed
    notebook.run(f"%cd -q {folder}", silent=True)
    run = notebook.run(code)
    assert run.status == "ok", run.stderr


def finish(notebook: Notebook, code: str) -> str:
    run = notebook.run(code)
    assert run.status == "ok", run.stderr
    return "\n".join(one["text/plain"] for one in run.displays)


def clean(folder) -> None:
    for path in folder.iterdir():
        if path.suffix not in (".py", ".sh") or path.name == "beside_it.py":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def run_script(folder, *command, env=None):
    clean(folder)
    python = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{python}{os.pathsep}{os.environ['PATH']}", **(env or {})}
    environment = {k: v for k, v in environment.items() if not k.startswith("JUMPER_SCRIPT")}
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", env=environment,
        timeout=60, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scripts")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_script_prints_what_the_notebook_printed(shared_notebook, shared_folder, name):
    folder = shared_folder / re.sub(r"\W+", "_", name)
    mark = "%%execute_with_scorep\n"
    begin(shared_notebook, folder, "%jumper script begin it")
    runs = []
    for cell in NOTEBOOKS[name]:
        marked = cell.startswith(mark)
        # Without Score-P the cell itself is refused here; the script runs it all the same.
        runs.append(shared_notebook.run(cell.removeprefix(mark) if marked else cell))
        assert runs[-1].status == "ok", runs[-1].traceback
    said = finish(shared_notebook, "%jumper script end")
    assert "IPython" not in said
    out = plain("".join(run.stdout for run in runs))
    err = plain("".join(run.stderr for run in runs))
    for command in ([sys.executable, "it.py"], ["bash", "it.sh"]):
        done = run_script(folder, *command)
        assert done.returncode == 0, done.stderr
        assert plain(done.stdout) == out
        assert plain(done.stderr) == err


@pytest.mark.parametrize("name", IPYTHONS)
def test_what_only_ipython_has_is_run_by_it(notebook, tmp_path, name):
    cells, what = IPYTHONS[name]
    begin(notebook, tmp_path / "it", "%jumper script begin it")
    runs = [notebook.run(cell) for cell in cells]
    assert [run.status for run in runs] == ["ok"] * len(runs), runs[-1].traceback
    said = finish(notebook, "%jumper script end")
    (note,) = [line for line in said.splitlines() if "only IPython has that" in line]
    assert what in note
    done = run_script(tmp_path / "it", "bash", "it.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    if name != "the last value":
        assert plain(done.stdout) == plain("".join(run.stdout for run in runs))


def test_only_cells_that_ended_well_are_in_it(notebook, tmp_path):
    begin(notebook, tmp_path, "%jumper script begin it")
    notebook.run("a = 1")
    assert notebook.run("raise ValueError('no')").status == "error"
    assert notebook.run("def f(:").status == "error"
    notebook.run("silent = 1", silent=True)
    notebook.run("%jumper status")
    assert "1 cell;" in finish(notebook, "%jumper script end")
    text = (tmp_path / "it.py").read_text()
    assert "a = 1" in text
    assert "raise ValueError" not in text


def test_31_an_error_names_its_cell(notebook, tmp_path):
    begin(notebook, tmp_path, "%start_write_script it.py")
    notebook.run("def f(): return sum(g)")
    notebook.run("def f(): return 1 / 0")
    notebook.run("%%execute_with_scorep\nprint('x')\nf()")
    finish(notebook, "%end_write_script")
    text = (tmp_path / "it.py").read_text()
    assert [line for line in text.splitlines() if line.startswith("# %% In [")] == [
        "# %% In [2]", "# %% In [3]", "# %% In [4], under Score-P",
    ]  # fmt: skip
    for command in ([sys.executable, "it.py"], ["bash", "it.sh"]):
        done = run_script(tmp_path, *command)
        assert done.returncode == 1
        assert done.stdout == "x\n"
        assert (
            "ZeroDivisionError: division by zero\nin In [3], line 1, called by In [4], line 2"
            in done.stderr
        )


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_53_any_locale_and_any_name(open_notebook, tmp_path, locale):
    folder = tmp_path / "a folder with ' and ü"
    folder.mkdir()
    notebook = open_notebook(env={"LC_ALL": locale}, cwd=folder)
    assert notebook.run("%jumper script begin 'Ein \"ü\"'").status == "ok"
    run = notebook.run('größe = "ä"\ndef Δt(x): return x\nprint(ascii(Δt(größe)))')
    finish(notebook, "%jumper script end")
    for command in ([sys.executable, 'Ein "ü".py'], ["bash", 'Ein "ü".sh']):
        done = run_script(folder, *command, env={"LC_ALL": locale})
        assert done.stdout == run.stdout == "'\\xe4'\n", done.stderr


def test_score_ps_instrumenter_is_on_in_marked_cells_alone(notebook, stand_in, tmp_path):
    cells = (
        "%env SCOREP_ENABLE_TRACING=1\n%env SCOREP_TOTAL_MEMORY=3g",
        "%%scorep_python_binding_arguments\n--noinstrumenter --thread=pthread",
        "def outside(): pass\noutside()",
        "%%execute_with_scorep\ndef one(): outside()\none()",
        "%%enable_multicellmode",
        "def two(): pass\ntwo()",
        "def three(): pass\nthree()",
        "%%finalize_multicellmode",
        "def after(): pass\nafter()\nprint('end')",
    )
    begin(notebook, tmp_path, "%%start_writefile mine")
    for cell in cells:
        run = notebook.run(cell)
        assert (run.status, run.stdout) == ("ok", ""), run.stderr
    assert not stand_in.lines()
    finish(notebook, "%%end_writefile")
    assert notebook.run("outside").ename == "NameError"
    done = run_script(tmp_path, "bash", "mine_run.sh", env=stand_in.environment())
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "end"), done.stderr
    assert stand_in.names() == ["one", "outside", "two", "three"]
    regions = [line["name"] for line in stand_in.lines("region") if line["begins"]]
    assert regions == ["In [5]", "In [7]", "In [8]"]
    start = stand_in.lines("start")[0]
    assert start["argv"][:2] == ["--nopython", "--thread=pthread"]
    text = (tmp_path / "mine_run.sh").read_text()
    assert "export SCOREP_ENABLE_TRACING=1\nexport SCOREP_TOTAL_MEMORY=3g\n" in text


def test_a_marked_cell_that_fails_leaves_its_region(notebook, stand_in, tmp_path):
    begin(notebook, tmp_path, "%%start_writefile mine")
    notebook.run("%%execute_with_scorep\ndef one(): raise KeyError('x')\none()")
    finish(notebook, "%%end_writefile")
    done = run_script(tmp_path, "bash", "mine_run.sh", env=stand_in.environment())
    assert done.returncode == 1
    regions = [line["begins"] for line in stand_in.lines("region")]
    assert regions == [True, False]


def test_without_scorep_the_script_says_so_and_runs(notebook, stand_in, tmp_path):
    begin(notebook, tmp_path, "%%start_writefile mine")
    notebook.run("%%execute_with_scorep\nprint('on')")
    finish(notebook, "%%end_writefile")
    environment = stand_in.environment(config=False)
    done = run_script(tmp_path, "bash", "mine_run.sh", env=environment)
    assert (done.returncode, done.stdout) == (0, "on\n")
    assert "Score-P is not here" in done.stderr


def test_29_no_code_is_lost_after_env_lines_and_settings_are_exports(notebook, tmp_path):
    begin(notebook, tmp_path, "%%start_writefile mine")
    notebook.run('# settings\n%env JUMPER_SCRIPT_X=it\'s "1"\n%env OMP_NUM_THREADS=2')
    notebook.run("kept = 1\n%env JUMPER_SCRIPT_Y=late\nprint(kept)")
    notebook.run(
        "from __future__ import annotations\ns = '''\n  a\n'''\n%matplotlib inline\nprint(s)"
    )
    finish(notebook, "%%end_writefile")
    shell = (tmp_path / "mine_run.sh").read_text()
    assert "export JUMPER_SCRIPT_X='it'\"'\"'s \"1\"'\n" in shell
    assert "export OMP_NUM_THREADS=2\n" in shell
    assert "JUMPER_SCRIPT_Y" not in shell
    done = run_script(tmp_path, sys.executable, "mine.py")
    expected = (
        'env: JUMPER_SCRIPT_X=it\'s "1"\nenv: OMP_NUM_THREADS=2\nenv: JUMPER_SCRIPT_Y=late\n'
        "1\n\n  a\n\n"
    )
    assert done.stdout == expected
    second = (tmp_path / "mine.py").read_text().splitlines()[1]
    assert second == "from __future__ import annotations"


@pytest.mark.parametrize(
    ("first", "last", "files"),
    [
        ("%%start_writefile", "%%end_writefile", [f"{NAME}.py", f"{NAME}_run.sh"]),
        ("%%start_writefile in/my", "%%end_writefile", ["in/my.py", "in/my_run.sh"]),
        ("%start_writefile my.py", "%end_writefile", ["my.py", "my_run.sh"]),
        ("%start_write_script new/out.py", "%end_write_script", ["new/out.py", "new/out.sh"]),
        ("%jumper script begin", "%jumper script end", [f"{NAME}.py", f"{NAME}.sh"]),
        ("%jumper script begin in/my.py", "%jumper script end", ["in/my.py", "in/my.sh"]),
    ],
)  # fmt: skip
def test_files_are_where_their_name_says(notebook, tmp_path, first, last, files):
    (tmp_path / "in").mkdir()
    begin(notebook, tmp_path, first)
    notebook.run("x = 1")
    finish(notebook, last)
    found = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")]
    assert sorted(one for one in found if one.endswith((".py", ".sh"))) == files
    for name, is_program in zip(files, (False, True), strict=True):
        mode = (tmp_path / name).stat().st_mode
        assert bool(mode & stat.S_IXUSR) == is_program
    assert not [one for one in found if one.endswith(".part")]


def test_a_script_without_a_name_has_the_time(notebook, tmp_path):
    begin(notebook, tmp_path, "%start_write_script")
    notebook.run("x = 1")
    finish(notebook, "%end_write_script")
    (path,) = tmp_path.glob("notebook_script_*.py")
    assert re.fullmatch(r"notebook_script_\d{8}_\d{6}", path.stem)


def test_files_follow_the_umask(notebook, tmp_path):
    notebook.run("import os; os.umask(0o027)")
    begin(notebook, tmp_path, "%jumper script begin it")
    finish(notebook, "%jumper script end")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("it.py", "it.sh")]
    assert modes == [0o640, 0o750]


@pytest.mark.parametrize("there", ["it.py", "it.sh"])
def test_what_is_there_is_replaced_only_when_it_is_said(notebook, tmp_path, there):
    (tmp_path / there).write_text("mine")
    refused = notebook.run(f"import os; os.chdir({str(tmp_path)!r})\n%jumper script begin it")
    assert refused.ename == "UsageError"
    assert there in refused.stderr
    assert "--force" in refused.stderr
    assert notebook.run("%jumper script end").ename == "UsageError"
    assert (tmp_path / there).read_text() == "mine"
    begin(notebook, tmp_path, "%jumper script begin it --force")
    finish(notebook, "%jumper script end")
    assert (tmp_path / there).read_text() != "mine"


def test_the_peers_names_replace_their_own_scripts_only(notebook, tmp_path):
    for _ in range(2):
        begin(notebook, tmp_path, "%%start_writefile mine")
        finish(notebook, "%%end_writefile")
    (tmp_path / "mine.py").write_text("# of the user's\n")
    refused = notebook.run("%%start_writefile mine")
    assert refused.ename == "UsageError"
    assert "not by this mode" in refused.stderr
    assert notebook.run("1 + 1").result == "2"


def test_a_file_that_comes_meanwhile_is_kept_and_the_mode_is_off(notebook, tmp_path):
    begin(notebook, tmp_path, "%jumper script begin it")
    (tmp_path / "it.py").write_text("mine")
    refused = notebook.run("%jumper script end")
    assert refused.ename == "UsageError"
    assert (tmp_path / "it.py").read_text() == "mine"
    assert notebook.run("get_ipython().ast_transformers").result == "[]"


@pytest.mark.parametrize("abort", ["%%abort_writefile", "%jumper script abort"])
def test_an_aborted_script_is_not_written_and_has_not_run(notebook, tmp_path, abort):
    begin(notebook, tmp_path, "%%start_writefile mine")
    notebook.run("x = 1")
    assert "nothing is written" in finish(notebook, abort)
    assert not list(tmp_path.glob("mine*"))
    assert notebook.run("x").ename == "NameError"
    assert notebook.run("get_ipython().ast_transformers").result == "[]"


def test_names_without_a_mode_say_so_and_answer_well(notebook, tmp_path):
    for name in ("%%end_writefile", "%%abort_writefile", "%end_write_script"):
        assert "none is being made" in finish(notebook, name)
    assert notebook.run("%jumper script abort").ename == "UsageError"
    begin(notebook, tmp_path, "%%start_writefile mine\nnot_run = 1")
    assert "already" in finish(notebook, "%start_write_script other.py")
    assert notebook.run("%jumper script begin other").ename == "UsageError"
    assert "stay" in finish(notebook, "%%abort_multicellmode")
    finish(notebook, "%%abort_writefile")
    assert notebook.run("%%enable_multicellmode").status == "ok"
    assert "multi-cell mode is on" in finish(notebook, "%%start_writefile mine")
    refused = notebook.run("%jumper script begin other")
    assert "another mode is on" in refused.stderr
    finish(notebook, "%%abort_multicellmode")


@pytest.mark.parametrize("words", ["", "start", "begin a b", "end now", "begin --fast"])
def test_wrong_words_are_refused(notebook, words):
    refused = notebook.run(f"%jumper script {words}")
    assert refused.ename == "UsageError"
    assert "script" in refused.stderr


def test_variables_from_before_the_script_are_told(notebook, tmp_path):
    notebook.run("old = 1; other = 2")
    begin(notebook, tmp_path, "%jumper script begin it")
    notebook.run("new = old + len([other for other in range(3)])")
    said = finish(notebook, "%jumper script end")
    assert "cells before the script: old" in said
    assert "other" not in said


def test_slurm_gets_a_head(open_notebook, tmp_path):
    environment = {
        "SLURM_CPUS_PER_TASK": "8",
        "SLURM_MEM_PER_NODE": "4096",
        "SLURM_JOB_ACCOUNT": "p_x",
    }
    folder, spool = tmp_path / "notebook", tmp_path / "spool"
    folder.mkdir()
    notebook = open_notebook(env=environment, cwd=folder)
    assert notebook.run("%jumper script begin it --slurm").status == "ok"
    notebook.run("print('ran')")
    finish(notebook, "%jumper script end")
    head, *lines = (folder / "it.sh").read_text().splitlines()
    assert head == "#!/bin/bash"
    for option in ("--job-name=it", "--cpus-per-task=8", "--mem=4096M", "--account=p_x"):
        assert f"#SBATCH {option}" in lines
    assert any(line.startswith("##SBATCH --time=") for line in lines)
    spool.mkdir()
    shutil.copy(folder / "it.sh", spool / "slurm_script")  # as sbatch does
    done = run_script(folder, "bash", str(spool / "slurm_script"))
    assert done.stdout == "ran\n", done.stderr


def test_a_script_that_was_moved_runs_where_it_is(notebook, tmp_path):
    (tmp_path / "a").mkdir()
    begin(notebook, tmp_path / "a", "%jumper script begin it")
    notebook.run("import os; print(os.path.basename(os.getcwd()))")
    finish(notebook, "%jumper script end")
    notebook.run("os.chdir('/')")
    (tmp_path / "a").rename(tmp_path / "b")
    done = run_script(tmp_path / "b", "bash", "it.sh")
    assert done.stdout == "b\n"
    assert "runs in" in done.stderr


def test_jumper_can_record_it(notebook, tmp_path):
    begin(notebook, tmp_path, "%jumper script begin it")
    notebook.run("import sys; print(sys.argv[1:])")
    finish(notebook, "%jumper script end")
    record = {"JUMPER_RECORD": str(tmp_path / "run.jumper")}
    done = run_script(tmp_path, "bash", "it.sh", "a b", env=record)
    assert done.stdout == "['a b']\n", done.stderr
    assert (tmp_path / "run.jumper").stat().st_size > 0


def test_unloading_forgets_the_script(tmp_path):
    answer = in_ipython(
        f"""
import os; os.chdir({str(tmp_path)!r})
run("%load_ext jumper")
run("%start_writefile mine"); run("n = 1")
run("%unload_ext jumper"); run("n = 2")
answer = [len(shell.ast_transformers), shell.user_ns.get("n"), os.listdir()]
"""
    )
    assert answer[:2] == [0, 2]
    assert not [name for name in answer[2] if name.startswith("mine")]


def test_ipython_runs_under_scorep_too(notebook, stand_in, tmp_path):
    begin(notebook, tmp_path, "%%start_writefile mine")
    notebook.run("%%capture said\nprint('kept')")
    notebook.run("%%execute_with_scorep\ndef one(): return said.stdout\nprint(one())")
    assert "%%capture: only IPython" in finish(notebook, "%%end_writefile")
    done = run_script(tmp_path, "bash", "mine_run.sh", env=stand_in.environment())
    assert (done.returncode, done.stdout) == (0, "kept\n\n"), done.stderr
    assert "one" in stand_in.names()


def test_a_time_limit_is_no_argument_of_the_bindings(notebook, stand_in, tmp_path):
    begin(notebook, tmp_path, "%%start_writefile mine")
    notebook.run("%%jumper scorep --timeout 5 --mpp=mpi\nprint(1)")
    finish(notebook, "%%end_writefile")
    assert "--nopython --mpp=mpi " in (tmp_path / "mine_run.sh").read_text()


def test_the_papers_own_sequence_gives_its_output(notebook, stand_in, tmp_path):
    """Every name of the mode, as their notebooks use it."""
    begin(notebook, tmp_path, "%%start_writefile")
    notebook.run("%env SCOREP_ENABLE_TRACING=1\n%env SCOREP_TOTAL_MEMORY=3g")
    assert notebook.run("%%abort_writefile").status == "ok"
    (tmp_path / "made").mkdir()
    cells = [
        "%%start_writefile made/mine",
        "%env SCOREP_ENABLE_TRACING=1\n%env SCOREP_ENABLE_PROFILING=0",
        "%%scorep_python_binding_arguments\n--noinstrumenter",
        "import numpy as np\na, b = 5, 10\nv, w = np.arange(a), np.arange(5, b)\nprint('+', a + b)",
        (
            "%%execute_with_scorep\nimport scorep\nprint('-', a - b)\n"
            "with scorep.instrumenter.enable():\n    m = np.outer(v, w)"
        ),
        "%%enable_multicellmode",
        "c = np.sum(m)",
        "with scorep.instrumenter.enable():\n    c = np.sum(m)\nz = np.arange(b, c)",
        "print('c =', c)\nprint('sum =', z.sum())",
        "%%finalize_multicellmode",
        "%%end_writefile",
    ]
    for cell in cells:
        run = notebook.run(cell)
        assert (run.status, run.stdout) == ("ok", ""), run.stderr
    run = notebook.run("%%bash\nchmod u+x made/mine_run.sh\n./made/mine_run.sh")
    assert run.status == "ok"
    wanted = "+ 15\n- -5\nc = 350\nsum = 61030\n"
    assert run.stdout.removeprefix(
        "env: SCOREP_ENABLE_TRACING=1\nenv: SCOREP_ENABLE_PROFILING=0\n"
    ) == wanted  # fmt: skip


def test_the_extensions_own_sequence(notebook, tmp_path):
    begin(notebook, tmp_path, "x = 42")
    cells = [
        "%start_write_script made.py",
        "print('inside')\nfor i in range(3):\n    print(f'Counting: {i}')",
        "%perfmonitor_enable_perfreports --interval 1 --level system --text",
        "import numpy as np\nA = np.ones((3, 3))\nC = A @ A\nprint('Shape:', C.shape)",
        "%perfmonitor_plot",
    ]
    for cell in cells:
        run = notebook.run(cell)
        assert (run.status, run.stdout) == ("ok", ""), run.stderr
    said = finish(notebook, "%end_write_script")
    assert "%perfmonitor_enable_perfreports, %perfmonitor_plot" in said
    assert notebook.run("print('on')").stdout == "on\n"
    done = run_script(tmp_path, sys.executable, "made.py")
    assert done.stdout == "inside\nCounting: 0\nCounting: 1\nCounting: 2\nShape: (3, 3)\n"


def test_whatever_stands_beside_a_magic_stays_as_it_is():
    """Each line that is no magic is there, and the whole compiles."""
    answer = in_ipython(
        f"""
import ast, random
from pathlib import Path
from jumper.collecting import Cell
from jumper.script_cells import part
from jumper.script_text import Place, script
chance, pieces, answer = random.Random(8), {PIECES!a}, []
for number in range(400):
    chosen = [chance.choice(pieces) for _ in range(chance.randint(1, 6))]
    made = part(shell, Cell(number, "\\n".join(chosen)), is_marked=False)
    text = made.text
    whole = script([made, made], Place(Path("a.py"), Path("a.sh"), Path("/")), (), (), {{}}).python
    compile(whole, "a.py", "exec")
    if text.startswith("_jumper_await("):
        text = ast.literal_eval(ast.parse(text).body[0].value.args[1])
    for piece in chosen:
        if not any(one in piece for one in ("!ls", "%", "?", "__future__")) and piece not in text:
            answer.append([piece, text])
""",
        timeout_s=120,
    )
    assert answer == []
