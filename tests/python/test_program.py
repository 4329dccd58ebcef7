"""`python -m jumper VERB` and what it makes of Jupyter and IPython."""

import json
import os
import subprocess
import sys

import pytest

from jumper.session import wheel_file


def jumper(*arguments, env=None, cwd=None, safe=True):
    return subprocess.run(
        [sys.executable, *(["-P"] if safe else []), "-m", "jumper", *arguments],
        env={**os.environ, **(env or {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("name", ["jumper", "jumper-gpu"])
def test_install_writes_a_kernelspec_for_this_interpreter(tmp_path, name):
    options = ["--name", name] if name != "jumper" else []
    done = jumper("install", "--prefix", str(tmp_path), *options, "--env", "A=1", "--env", "B=x=y")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "share" / "jupyter" / "kernels" / name
    assert str(folder) in done.stdout
    spec = json.loads((folder / "kernel.json").read_text())
    assert spec["argv"][0] == sys.executable
    assert "--ext=jumper" in spec["argv"]
    assert spec["env"] == {"A": "1", "B": "x=y"}
    assert {"logo-32x32.png", "logo-64x64.png", "logo-svg.svg"} <= {
        path.name for path in folder.iterdir()
    }
    again = jumper("install", "--prefix", str(tmp_path), *options)
    assert again.returncode == 0
    assert "env" not in json.loads((folder / "kernel.json").read_text())


def test_install_for_the_user(tmp_path):
    done = jumper("install", "--user", env={"JUPYTER_DATA_DIR": str(tmp_path)})
    assert done.returncode == 0
    assert (tmp_path / "kernels" / "jumper" / "kernel.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["install", "--prefix", "/proc/nowhere"], "cannot install the kernel"),
        (["install", "--prefix", "/tmp", "--name", "a b"], "cannot install the kernel"),
        (["install", "--prefix", "/tmp", "--name", "../x"], "cannot install the kernel"),
        (["install", "--prefix", "/tmp", "--name", "/tmp/x"], "cannot install the kernel"),
        (["install", "--user", "--sys-prefix"], "not allowed with"),
        (["install", "--env", "A"], "'A' is not of the form NAME=VALUE"),
        (["install", "--nothing"], "unrecognized arguments"),
        (["enable", "x"], "unrecognized arguments"),
        (["nothing"], ""),
    ],
)
def test_what_is_wrong_is_said_and_the_status_is_not_zero(arguments, words):
    done = jumper(*arguments)
    assert done.returncode != 0
    assert words in done.stderr
    assert "Traceback" not in done.stderr


CHECK = (
    "print('jumper' in get_ipython().extension_manager.loaded, [n for n in dir() if n[0] != '_'])"
)


def ipython(cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "-c", CHECK],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=cwd,
    )


def test_enable_loads_us_in_every_ipython_until_disable():
    names = ipython().stdout.split(" ", 1)[1]
    for _ in range(2):
        done = jumper("enable")
        assert done.returncode == 0
        assert "jumper disable" in done.stdout
    assert ipython().stdout == f"True {names}"
    assert jumper("disable").returncode == 0
    assert jumper("disable").returncode == 0
    assert ipython().stdout == f"False {names}"


def test_enable_refuses_a_folder_that_cannot_be_written():
    done = jumper("enable", env={"IPYTHONDIR": "/proc/no"})
    assert done.returncode == 1
    assert done.stderr.startswith("jumper: cannot enable jumper in /proc/no/profile_default")


def test_enable_leaves_one_file_and_disable_none(tmp_path):
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    jumper("enable")
    assert [path.name for path in startup.iterdir()] == ["50-jumper.py"]
    jumper("disable")
    assert list(startup.iterdir()) == []


def test_an_environment_without_jumper_shares_the_profile_in_peace():
    jumper("enable")
    script = (
        "import sys\nclass Hide:\n  def find_spec(self, name, *_):\n"
        "    if name == 'jumper': raise ModuleNotFoundError('none', name='jumper')\n"
        "sys.meta_path.insert(0, Hide())\nimport IPython\n"
        f"IPython.start_ipython(['--no-banner', '-c', {CHECK!r}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("False")
    assert "Error" not in done.stdout + done.stderr


def test_a_kernel_of_an_enabled_profile_measures(open_notebook, tmp_path):
    notebook = open_notebook("plain", env={"IPYTHONDIR": str(tmp_path / "ipython")})
    assert notebook.run("%jumper").status == "error"
    jumper("enable")
    notebook = open_notebook("plain", env={"IPYTHONDIR": str(tmp_path / "ipython")})
    run = notebook.run("x = 1")
    assert (run.stdout, run.stderr, run.displays) == ("", "", [])
    assert notebook.history()[0]["outcome"] == "ok"


def test_a_file_of_our_name_is_named(tmp_path):
    (tmp_path / "jumper.py").write_text("")
    done = jumper("enable", cwd=tmp_path)
    assert done.returncode == 0
    assert f"jumper: {tmp_path}/jumper.py hides the package" in done.stderr
    shown = ipython(cwd=tmp_path)
    assert "hides the package of this name: rename it" in shown.stdout + shown.stderr


def test_other_verbs_are_the_program_s():
    done = jumper("--version")
    assert done.returncode == 0
    assert wheel_file("bin", "jumper") is not None
