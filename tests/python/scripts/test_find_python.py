import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FIND = ROOT / "scripts" / "find_python.sh"


def run(*arguments, **environment):
    return subprocess.run(
        ["/bin/sh", FIND, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def test_a_named_python_comes_first(tmp_path):
    found = run("any", PYTHON=sys._base_executable, PATH="/usr/bin:/bin", HOME=str(tmp_path))
    assert found.stdout.strip() == sys._base_executable


def test_a_python_that_only_fails_is_passed_over(tmp_path):
    shim = tmp_path / "python3.12"  # as pyenv's, when that version isn't selected
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    found = run("3.12", PATH=f"{tmp_path}:/bin", HOME=str(tmp_path))
    assert (found.returncode, found.stdout) == (1, "")
