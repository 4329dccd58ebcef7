"""X3: settings and recordings that mean harm: told in one sentence, nothing of theirs is run."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from faults.harness import Recording
from notebook import in_ipython

pytestmark = pytest.mark.slow  # the same core, whichever CPython

LOAD = """
{setting}
result, out, err = run("%load_ext jumper\\n1 + 1")
asked, _, later = run("%jumper set")
answer = [result.result, err + later, asked.success, extension().settings.rate_hz]
run("%unload_ext jumper")
"""
VALUES = [
    ("rate", "float('nan')"),
    ("rate", "10**400"),
    ("rate", "'9' * 10_000"),
    ("rate", "[1, 2]"),
    ("rate", "lambda: 1"),
    ("rate", "Raises()"),
    ("summary", "{'always': 1}"),
    ("level", "object()"),
    ("min_reports", "'9' * 10_000"),
    ("min_reports", "-1"),
    ("directory", "7"),
    ("directory", "'a\\0b'"),
    ("directory", "'~nobody-of-that-name/x'"),
    ("directory", "b'/tmp'"),
]
RAISES = """
class Raises:
    def __str__(self): raise RuntimeError('planted')
    __repr__ = __float__ = __str__
"""


@pytest.mark.fault("X3")
@pytest.mark.parametrize(("name", "value"), VALUES)
def test_a_configuration_of_wrong_types_is_told_and_left_out(name, value):
    setting = f"{RAISES}\nfrom traitlets.config import Config\n"
    setting += f"shell.config.merge(Config(Jumper={{{name!r}: {value}}}))"
    result, err, asked, rate_hz = in_ipython(LOAD.format(setting=setting))
    assert (result, asked, rate_hz) == (2, True, 10)
    assert err.count("the configuration file's c.Jumper is ignored") == 1, err
    assert "Traceback" not in err


ENVIRONMENT = [
    ("JUMPER_SAMPLING_RATE", "9" * 10_000),
    ("JUMPER_SAMPLING_RATE", "__import__('os').system('touch planted')"),
    ("JUMPER_REPORT_FREQUENCY", "1e-400"),
    ("JUMPER_MIN_REPORTS", "9" * 10_000),
    ("JUMPER_DIR", "~nobody-of-that-name/x"),
    ("JUMPER_DIR", "/" + "x" * 5000),
    ("JUMPER_DIR", "/proc/self/mem"),
    ("JUMPER_DIR", "/dev/null/x"),
]


@pytest.mark.fault("X3")
@pytest.mark.parametrize(("name", "value"), ENVIRONMENT)
def test_an_environment_that_makes_no_sense_is_told_and_left_out(name, value, tmp_path):
    result, err, asked, rate_hz = in_ipython(LOAD.format(setting=""), env={name: value})
    assert (result, asked, rate_hz) == (2, True, 10)
    assert err.count("jumper: ") == 1, err
    assert "Traceback" not in err
    assert not (tmp_path / "planted").exists()


@pytest.mark.fault("X3")
def test_a_folder_whose_name_is_no_text(tmp_path):
    """A byte that isn't UTF-8 is a name as any other on Linux."""
    folder = os.fsencode(tmp_path) + b"/\xff"
    result, err, _, _ = in_ipython(LOAD.format(setting=""), env={"JUMPER_DIR": os.fsdecode(folder)})
    assert result == 2
    assert "Traceback" not in err
    assert err == ""
    assert len(list(Path(os.fsdecode(folder)).iterdir())) == 1


@pytest.mark.fault("X3")
def test_a_relative_folder_where_there_is_none(tmp_path):
    gone = tmp_path / "gone"
    setting = (
        f"import os\nos.mkdir({str(gone)!r}); os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})"
    )
    result, err, _, _ = in_ipython(LOAD.format(setting=setting), env={"JUMPER_DIR": "relative"})
    assert result == 2
    assert err.count("\n") == 1
    assert "JUMPER_DIR=relative is ignored" in err


class Bomb:
    def __reduce__(self):
        return (os.system, ("touch planted",))


# Everything that could run foreign code, from when all of ours is imported.
OPEN = """
import sys, jumper.session, jumper.views, jumper.earlier
from jumper import _native
seen = []
def hook(event, arguments):
    if armed and event.startswith(('pickle', 'marshal', 'exec', 'compile', 'subprocess', 'os.exec',
                                   'os.posix_spawn', 'os.fork', 'os.system', 'import', 'ctypes')):
        seen.append(event)
armed = False
sys.addaudithook(hook)
armed = True
report = _native.Report.open(sys.argv[1])
report.history(); report.ending(); report.label()
for cell in report.cells():
    report.summary(cell.index, 'all'); jumper.views.readable(report.code(cell.index))
armed = False
print(seen, len(report.cells()))
"""


@pytest.mark.fault("X3")
def test_nothing_in_a_recording_is_unpickled_imported_or_run(start_kernel, tmp_path):
    kernel = start_kernel()
    bombs = [pickle.dumps(Bomb(), protocol) for protocol in (0, 2, 5)]
    bombs += [b"__import__('os').system('touch planted')", b"!touch planted"]
    for bomb in bombs:
        kernel.do(f"i = s.native.begin(bytes.fromhex({bomb.hex()!r}), None); s.native.end(i, 'ok')")
    assert kernel.do(f"answer = s.native.wait({len(bombs)}, 20)")
    kernel.do("s.close()")
    for path in (kernel.path, str(tmp_path / "whole.jumper")):
        if path != kernel.path:  # and one that is a bomb from some place on
            Path(path).write_bytes(Path(kernel.path).read_bytes() + bombs[1])
        done = subprocess.run(
            [sys.executable, "-c", OPEN, path],
            capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, f"[] {len(bombs)}\n"), done.stderr
        assert Recording(path, whole=False).cells
    assert not (tmp_path / "planted").exists()
