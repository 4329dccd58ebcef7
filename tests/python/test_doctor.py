"""`jumper doctor` and `jumper sample --list`: here, and where a test has taken something away."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from notebook import TIMEOUT_S, in_ipython

from jumper.session import program

GROUPS = [
    "program",
    "levels",
    "sources",
    "limits",
    "GPU",
    "system calls",
    "processes",
    "places",
    "clocks",
    "Python",
]
NOBODY = 65534


def run(*words, prefix=(), **options):
    return subprocess.run(
        [*prefix, program(), *words],
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
        **options,
    )


class Findings:
    """What `jumper doctor --json` said."""

    def __init__(self, *words, **options):
        done = run("doctor", "--json", *words, **options)
        assert done.stderr == ""
        self.status = done.returncode
        self.list = [json.loads(line) for line in done.stdout.splitlines()]
        assert self.list

    def about(self, what, group=None):
        found = [one for one in self.list if one["what"] == what and group in (None, one["group"])]
        assert found, f"nothing about {what}: {self.list}"
        return found[0]


def python(*words, **options):
    return Findings("--python", sys.executable, *words, **options)


# ---- the report ----


def test_every_group_is_tried_here():
    found = python()
    assert list(dict.fromkeys(one["group"] for one in found.list)) == GROUPS
    for one in found.list:
        assert list(one) == ["group", "what", "result", "reason", "remedy"]
        assert one["result"] in ("ok", "limited", "missing")
        assert one["what"]
        assert one["reason"]
    missing = [one for one in found.list if one["result"] == "missing"]
    assert found.status == (1 if missing else 0)
    assert found.about("start of the sampler")["result"] == "ok"
    assert found.about("recordings")["result"] == "ok"
    assert " values are measured" in found.about("process", "levels")["reason"]


def test_the_text_has_groups_and_columns():
    text = run("doctor", "--python", sys.executable).stdout
    lines = text.splitlines()
    assert lines[0].startswith("jumper ")
    assert [line for line in lines[1:-1] if line and line[0] != " "] == GROUPS
    assert "\x1b" not in text
    for line in lines[1:]:
        assert len(line) <= 100 or " " not in line.strip() or len(line.split()[-1]) > 60, line
    counts = [int(word) for word in lines[-1].replace(":", "").split() if word.isdigit()]
    assert len(counts) == 3
    assert counts[2] > 0 or lines[-1].endswith("missing: cells can be measured here")


def test_the_environment_of_this_python_is_in_order():
    found = python()
    for what in ("Python", "package jumper", "IPython", "ipykernel", "kernel JUmPER"):
        assert found.about(what)["result"] == "ok", found.about(what)
    assert sys.prefix in found.about("Python")["reason"]


def test_it_leaves_nothing(state_home):
    before = set(Path(tempfile.gettempdir()).glob("jumper-*"))
    assert python().about("recordings")["reason"].startswith(f"{state_home}/jumper: ")
    assert not state_home.exists()
    assert set(Path(tempfile.gettempdir()).glob("jumper-*")) <= before


@pytest.mark.parametrize("words", [["doctor"], ["doctor", "--json"], ["sample", "--list"]])
def test_a_reader_that_has_gone_is_no_failure(words):
    done = subprocess.Popen([program(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done.stdout.close()
    _, said = done.communicate(timeout=TIMEOUT_S)
    assert (done.returncode, said) == (0, b"")


def test_what_it_does_not_understand():
    assert run("doctor", "--nothing").returncode == 2
    assert run("doctor", "--pid", "-1").returncode == 2


# ---- something is missing ----


def test_a_process_that_is_not_there():
    child = subprocess.Popen(["true"])
    child.wait()
    found = Findings("--pid", str(child.pid))
    assert found.about("process")["result"] == "missing"
    assert found.status == 1
    assert " values are measured" in found.about("node", "levels")["reason"]


def test_a_file_of_our_name_hides_the_package_and_is_not_run(tmp_path):
    (tmp_path / "jumper.py").write_text("open('ran', 'w')")
    found = python(cwd=tmp_path)
    one = found.about("package jumper")
    assert one["result"] == "missing"
    assert one["reason"].startswith(f"{tmp_path}/jumper.py hides the installed package")
    assert one["remedy"] == "rename it"
    assert found.status == 1
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "__pycache__").exists()


def test_files_with_names_of_python_s_own_modules_are_not_run(tmp_path):
    for name in ("json", "importlib", "os"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')")
    assert python(cwd=tmp_path).about("package jumper")["result"] == "ok"
    assert not (tmp_path / "ran").exists()


def test_another_python_without_us(tmp_path, monkeypatch):
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True
    )
    kernel = tmp_path / "jupyter" / "kernels" / "broken"
    kernel.mkdir(parents=True)
    argv = ["/nowhere/python", "-m", "ipykernel_launcher", "--ext=jumper"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": argv}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    found = Findings("--python", str(tmp_path / "venv" / "bin" / "python"))
    for what in ("package jumper", "IPython", "ipykernel"):
        assert found.about(what)["result"] == "limited"
    assert "isn't installed in this Python" in found.about("package jumper")["reason"]
    assert found.about("IPython")["remedy"] == "pip install ipython"
    others = (
        Path(folder, "kernels") for folder in ("/usr/local/share/jupyter", "/usr/share/jupyter")
    )
    if not any(folder.exists() for folder in others):
        one = found.about("kernel JUmPER")
        assert one["reason"] == f"{kernel} names /nowhere/python, which isn't there"
        assert one["remedy"].startswith("`jumper install --user`")
    assert found.status == 0


def test_the_environment_s_python_is_found_by_itself(monkeypatch):
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert sys.prefix in Findings().about("Python")["reason"]


# ---- taken away ----

FILTER = """
import ctypes, errno, os, struct, sys
calls, command = sys.argv[1].split(","), sys.argv[2:]
allow, refuse = 0x7FFF0000, 0x00050000 | errno.EPERM
program = [(0x20, 0, 0, 0)]  # the call's number
for call in calls:
    program += [(0x15, 0, 1, int(call)), (0x06, 0, 0, refuse)]
program.append((0x06, 0, 0, allow))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in program))
filter = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
    PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0
):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execv(command[0], command)
"""
NUMBERS = {  # /usr/include/asm/unistd_64.h; include/uapi/asm-generic/unistd.h
    "x86_64": {
        "perf_event_open": 298,
        "ptrace": 101,
        "pidfd_open": 434,
        "pidfd_send_signal": 424,
        "process_vm_readv": 310,
        "memfd_create": 319,
        "socketpair": 53,
    },
    "aarch64": {
        "perf_event_open": 241,
        "ptrace": 117,
        "pidfd_open": 434,
        "pidfd_send_signal": 424,
        "process_vm_readv": 270,
        "memfd_create": 279,
        "socketpair": 199,
    },
}[platform.machine()]


def without(*calls):
    """The prefix of a command that a seccomp filter refuses these calls."""
    words = [sys.executable, "-c", FILTER, ",".join(str(NUMBERS[call]) for call in calls)]
    tried = subprocess.run([*words, "/bin/true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no seccomp filter can be set here: {tried.stderr.strip()}")
    return words


def test_each_refused_call_is_named_with_what_is_off_and_what_would_help():
    calls = ("perf_event_open", "ptrace", "pidfd_open", "process_vm_readv")
    found = Findings(prefix=without(*calls))
    for call, consequence in zip(
        calls,
        ("hardware counters are off", "can't attach", "twice a second", "later feature"),
        strict=True,
    ):
        one = found.about(call)
        assert one["result"] == "limited"
        assert consequence in one["reason"]
        assert "Operation not permitted" in one["reason"] or "paranoid" in one["reason"]
        assert "seccomp profile" in one["remedy"] or "administrator" in one["remedy"]
    assert found.about("seccomp")["reason"].startswith("a filter is active")
    assert found.about("start of the sampler")["result"] == "ok"
    assert found.status == 0


@pytest.mark.parametrize(
    ("call", "what", "result"),
    [
        ("pidfd_send_signal", "pidfd_send_signal", "limited"),
        ("memfd_create", "memfd_create, seals", "limited"),
        ("socketpair", "socket pair", "missing"),
    ],
)
def test_other_refused_calls(call, what, result):
    found = Findings(prefix=without(call))
    one = found.about(what)
    assert one["result"] == result
    assert call in one["remedy"]
    assert found.status == (1 if result == "missing" else 0)


def as_nobody(*before):
    """The prefix of a command that somebody without rights runs."""
    if os.geteuid() != 0:
        if before:
            pytest.skip("only root can prepare it")
        return []
    if not shutil.which("setpriv"):
        pytest.skip("no setpriv")
    words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    command = [*before, *words]
    tried = subprocess.run(
        [*command, program(), "--version"], capture_output=True, text=True, check=False
    )
    if tried.returncode != 0:
        pytest.skip(f"nobody can't run the program here: {tried.stderr.strip()}")
    return command


def test_a_home_that_cannot_be_written_to(tmp_path_factory, monkeypatch):
    monkeypatch.delenv("XDG_STATE_HOME")
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o555)
        monkeypatch.setenv("HOME", home)
        found = Findings(prefix=as_nobody(), cwd="/")
        one = found.about("HOME")
        assert one["result"] == "limited"
        assert one["reason"] == f"'{home}/.local/state/jumper': Permission denied"
        assert "JUMPER_DIR" in one["remedy"]
        assert found.about("recordings")["reason"].startswith("a new folder in /")
        assert found.status == 0


def test_a_hidden_proc():
    mount = ["unshare", "-m", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "-"]
    if os.geteuid() != 0 or subprocess.run([*mount, "true"], check=False).returncode != 0:
        pytest.skip("no mount of /proc is possible here")
    found = Findings(prefix=as_nobody(*mount), cwd="/")
    one = found.about("/proc")
    assert one["result"] == "limited"
    assert one["reason"].startswith("mounted with hidepid=")
    assert found.about("process", "levels")["result"] != "missing"
    assert "processes" in " ".join(
        one["reason"] for one in found.list if one["what"] == "node" and one["group"] == "levels"
    )


def test_no_process_can_be_started():
    limit = ["prlimit", "--nproc=1"]
    if not shutil.which("prlimit"):
        pytest.skip("no prlimit")
    found = Findings(prefix=as_nobody(*limit), cwd="/")
    assert found.status == 1
    for one in found.list:
        assert one["result"] == "missing"
        assert one["reason"].startswith("not tried: no process can be started: ")
        assert "ulimit -u" in one["remedy"]


# ---- every metric ----


def test_the_list_has_every_column_of_a_sample():
    lines = run("sample", "--list", "--json").stdout.splitlines()
    metrics = [json.loads(line) for line in lines]
    done = run("sample", "--pid", str(os.getpid()), "--count", "1", "--json")
    names = list(json.loads(done.stdout)["values"])
    assert [one["name"] for one in metrics if "gpu" not in one["name"]] == [
        name for name in names if "gpu" not in name
    ]
    for one in metrics:
        assert one["level"] == one["name"].split(".")[0]
        assert one["kind"] in ("counter", "gauge")
        assert one["name"].endswith(one["unit"].lower()) or one["unit"] in ("count", "thousandths")
        assert one["source_cost_us"] >= 0
        assert one["state"]
    first = metrics[0]
    assert (first["name"], first["unit"]) == ("process.cpu_time_ns", "ns")
    assert (first["source"], first["state"]) == ("tree", "measured")


def test_the_list_for_people_stands_in_columns():
    lines = run("sample", "--list", "--no-process").stdout.splitlines()
    head = lines[0]
    assert head.split() == ["metric", "unit", "kind", "level", "source", "its", "cost", "now"]
    table = lines[1 : lines.index("")]
    for line in table:
        assert line[head.index("kind") :].split()[0] in ("counter", "gauge"), line
        assert not line.startswith("process.")
    assert any(" µs " in line for line in table)


# ---- in a notebook ----


def test_the_magic_examines_the_kernel(notebook):
    done = notebook.run("%jumper doctor")
    (display,) = done.displays
    text = display["text/plain"]
    assert f" process {notebook.pid} " in text.splitlines()[0]
    for group in GROUPS:
        assert f"\n{group}\n" in text
    assert "not installed" not in text
    assert sys.prefix in text
    assert display["text/html"].startswith("<pre>jumper ")
    assert (done.stdout, done.stderr) == ("", "")


def test_the_magic_looks_at_the_notebook_s_folder_and_directory(open_notebook, tmp_path):
    folder = tmp_path / "a<b"
    folder.mkdir()
    notebook = open_notebook(cwd=tmp_path, env={"JUMPER_DIR": str(folder)})
    (tmp_path / "jumper.py").write_text("")
    (display,) = notebook.run("%jumper doctor").displays
    assert "package jumper" in display["text/plain"]
    assert "1 missing" in display["text/plain"]
    assert "a<b" in display["text/plain"]
    assert "a&lt;b" in display["text/html"]


def test_the_magic_without_the_program():
    answer = in_ipython("""
run("%load_ext jumper")
import jumper.examining
jumper.examining.program = lambda: ""
answer = [run("%jumper doctor")[2]]
jumper.examining.program = lambda: "/bin/false"
answer += [run("%jumper doctor")[2]]
answer += [run("%jumper doctor now")[2]]
""")
    assert answer[0].startswith("UsageError: %jumper: the program `jumper` is missing")
    assert answer[1].startswith("UsageError: %jumper: cannot run /bin/false: it said nothing")
    assert "doctor does not know what to do with 'now': it takes nothing" in answer[2]
