"""Where recording is impossible, in whole or in part, cells run and the user is told once."""

import os
import subprocess

import pytest
from notebook import in_ipython

RUN = """
texts = []
for code in ("%load_ext jumper", "a = 6", "a = a * 7", "print(a)"):
    result, out, err = run(code)
    assert result.success, code
    texts.append(out + err)
answer = {"texts": texts, "magic": run("%jumper")[1], "last": run("%jumper summary")[1]}
"""


def said(answer) -> list[str]:
    lines = "".join(answer["texts"]).splitlines()
    assert "42" in lines
    return [line for line in lines if line.startswith("jumper: ")]


def test_a_program_that_is_missing():
    answer = in_ipython(
        RUN,
        before="import jumper.session as s, sys\n"
        "sys.modules['jumper.session'].program = lambda: ''",
    )
    assert len(said(answer)) == 1
    assert answer["texts"][0].startswith("jumper: ")
    assert "none" in answer["magic"]


def test_a_program_that_cannot_run(tmp_path):
    program = tmp_path / "jumper"
    program.write_text("#!/nonexistent/interpreter\n")
    program.chmod(0o755)
    answer = in_ipython(
        RUN,
        before="import jumper.session, sys\n"
        f"sys.modules['jumper.session'].program = lambda: {str(program)!r}",
    )
    assert len(said(answer)) == 1


@pytest.mark.fault("S2")
@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": "/proc/nonexistent", "XDG_STATE_HOME": ""},
        {"HOME": "/proc", "XDG_STATE_HOME": "/proc/self"},
        {"HOME": "/proc/nonexistent", "XDG_STATE_HOME": "", "TMPDIR": "/proc/nonexistent"},
        {"XDG_RUNTIME_DIR": "", "HOME": ""},
    ],
)
def test_folders_that_cannot_be_written(environment, tmp_path):
    answer = in_ipython(RUN, env={**environment, "IPYTHONDIR": str(tmp_path / "ipython")})
    assert len(said(answer)) <= 1
    assert "where" in answer["magic"]
    assert answer["last"]


def test_a_named_folder_that_cannot_be_used_is_said(tmp_path):
    answer = in_ipython(RUN, env={"JUMPER_DIR": "/proc/no"})
    (sentence,) = said(answer)
    assert "/proc/no" in sentence


MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
READ_ONLY = ["unshare", "--mount", "sh", "-c", MOUNT]


@pytest.mark.fault("S2")
def test_a_home_that_is_mounted_read_only(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    prefix = [*READ_ONLY, str(home)]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounts need more rights")
    environment = {"HOME": str(home), "XDG_STATE_HOME": "", "TMPDIR": str(tmp_path)}
    answer = in_ipython(RUN, env=environment, prefix=prefix)
    assert len(said(answer)) <= 1
    assert "where" in answer["magic"]
    assert list(home.iterdir()) == []


def test_the_folder_of_the_environment_is_used(tmp_path):
    answer = in_ipython(RUN, env={"JUMPER_DIR": str(tmp_path / "runs")})
    assert said(answer) == []
    assert str(tmp_path / "runs") in answer["magic"]
    assert len(list((tmp_path / "runs").iterdir())) == 1


NO_START = """
import jumper
def fail(*_): raise RuntimeError("no core")
sys.modules["jumper.session"].start = fail
"""


@pytest.mark.fault("C2")
@pytest.mark.parametrize(
    "broken",
    [
        "sys.modules['jumper._native'] = None",
        "import jumper; sys.modules['jumper.magics'] = None",
        NO_START,
    ],
)
def test_what_fails_while_loading_is_said_under_the_cell(broken):
    answer = in_ipython(
        """
cells = "%load_ext jumper", "1", "2"
answer = [(result.success, out + err) for result, out, err in map(run, cells)]
""",
        before=f"import sys\n{broken}",
    )
    assert [good for good, _ in answer] == [True] * 3
    assert answer[0][1].startswith("jumper: nothing is measured: ")
    assert answer[0][1].count("\n") == 1
    assert "jumper" not in answer[1][1] + answer[2][1]


def test_a_kernel_whose_extension_fails_says_it_under_its_first_cell(open_notebook, tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import sys; sys.modules['jumper._native'] = None")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    notebook = open_notebook(env={"PYTHONPATH": path})
    run = notebook.run("6 * 7")
    assert run.result == "42"
    assert run.stderr.startswith("jumper: nothing is measured: ")
    assert notebook.run("1").stderr == ""
