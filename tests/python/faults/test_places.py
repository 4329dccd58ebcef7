"""S2, X1, X2, X5: where recordings lie, who may read them, and what is never in them."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from faults.harness import NOBODY, Recording, descriptors, jumper, recordings

pytestmark = pytest.mark.slow  # the same core, whichever CPython

RUN = (
    "import jumper, json\nwith jumper.session(rate=50) as s:\n"
    "    with s.cell('x') as c: pass\n    s.native.wait(1, 20)\n"
    "    t = s.native.status()\n"
    "    print(json.dumps([s.path, t.where, json.loads(c.summary().json)['cell']['outcome']]))"
)


def run(env=None, before=(), cwd=None):
    """A script in an environment without any of the names that say where files go."""
    import json

    kept = {n: v for n, v in os.environ.items() if n in ("PATH", "LANG", "JUMPER_TEST_MARK")}
    done = subprocess.run(
        [*before, sys.executable, "-c", RUN],
        env={**kept, **(env or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stderr
    path, where, outcome = json.loads(done.stdout)
    assert outcome == "ok"
    return path and Path(path), where, done.stderr


def mode(path) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_in_the_home_folder(home):
    path, where, err = run({"HOME": str(home)})
    assert path.parent == home / ".local/state/jumper"
    assert err == ""
    assert str(path) in where
    assert mode(path) == 0o600
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        assert mode(folder) == 0o700
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_in_the_state_home(home, tmp_path):
    path, _, err = run({"HOME": str(home), "XDG_STATE_HOME": str(tmp_path / "state")})
    assert path.parent == tmp_path / "state/jumper"
    assert err == ""
    assert list(home.iterdir()) == []


def test_a_relative_state_home_counts_as_none(home, tmp_path):
    path, _, _ = run({"HOME": str(home), "XDG_STATE_HOME": "state"}, cwd=tmp_path)
    assert path.parent == home / ".local/state/jumper"
    assert not (tmp_path / "state").exists()


def test_in_jumper_dir(home, tmp_path):
    path, _, err = run({"HOME": str(home), "JUMPER_DIR": str(tmp_path / "a/b/c")})
    assert path.parent == tmp_path / "a/b/c"
    assert err == ""
    assert mode(path.parent) == 0o700


@pytest.mark.fault("S2")
@pytest.mark.parametrize("env", [{}, {"HOME": ""}, {"HOME": "relative"}, {"HOME": "/nowhere"}])
def test_without_a_home(tmp_path, env):
    """`/nowhere` can't be made by everybody; root can."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    if env.get("HOME") == "/nowhere":
        env = {"HOME": str(tmp_path / "file/home")}
        (tmp_path / "file").write_text("")
    path, _, err = run({**env, "TMPDIR": str(temporary)})
    assert path.parent.parent == temporary
    assert path.parent.name.startswith("jumper-")
    assert mode(path.parent) == 0o700
    if env.get("HOME", "").startswith("/"):
        assert err.count("\n") == 1
        assert str(path) in err


@pytest.mark.fault("S2")
def test_a_read_only_home(mounts, home, tmp_path):
    script = f'mount --bind "{home}" "{home}" && mount -o remount,bind,ro "{home}" && exec "$@"'
    path, _, err = run(
        {"HOME": str(home), "TMPDIR": str(tmp_path)},
        before=["unshare", "-m", "sh", "-c", script, "sh"],
    )
    assert path.parent.parent == tmp_path
    assert err.count("\n") == 1
    assert f"recorded in {path}" in err
    assert f"'{home}/.local/state/jumper': Read-only file system" in err
    assert Recording(path).end == "closed"


@pytest.mark.fault("S2")
def test_nowhere_but_in_memory(mounts, home, tmp_path):
    """Nothing is lost for who asks while the session lives."""
    script = (
        f'mount --bind "{home}" "{home}" && mount -o remount,bind,ro "{home}" && '
        "mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && "
        'exec "$@"'
    )
    path, where, err = run(
        {"HOME": str(home), "TMPDIR": str(home)},
        before=["unshare", "-m", "sh", "-c", script, "sh"],
        cwd="/",
    )
    assert path is None
    assert where.startswith("kept in memory only")
    assert err.count("\n") == 1
    assert "kept in memory only" in err
    assert "'/tmp': Read-only file system" in err


def refused(folder, home) -> tuple[Path, str]:
    """JUMPER_DIR isn't used, the next place is, and the user is told."""
    before = os.lstat(folder)
    path, where, err = run({"HOME": str(home), "JUMPER_DIR": str(folder)})
    assert path.parent == home / ".local/state/jumper"
    assert err.count("\n") == 1
    assert f"recorded in {path}" in err
    assert f"'{folder}': " in err
    assert str(path) in where
    after = os.lstat(folder)
    assert (before.st_mode, before.st_uid) == (after.st_mode, after.st_uid)
    return path, err


@pytest.mark.fault("X2")
def test_a_jumper_dir_that_is_a_link(home, tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("real")
    _, err = refused(tmp_path / "link", home)
    assert "a link or file" in err
    assert list((tmp_path / "real").iterdir()) == []


def test_a_jumper_dir_that_is_a_file(home, tmp_path):
    (tmp_path / "file").write_text("mine")
    refused(tmp_path / "file", home)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_jumper_dir_below_a_file(home, tmp_path):
    (tmp_path / "file").write_text("mine")
    path, _, err = run({"HOME": str(home), "JUMPER_DIR": str(tmp_path / "file/x")})
    assert path.parent == home / ".local/state/jumper"
    assert "Not a directory" in err


@pytest.mark.fault("X2")
@pytest.mark.parametrize("bits", [0o770, 0o777, 0o1777, 0o720])
def test_a_jumper_dir_that_others_may_write_to(home, tmp_path, bits):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(bits)
    _, err = refused(tmp_path / "open", home)
    assert "others may write to it" in err
    assert list((tmp_path / "open").iterdir()) == []


@pytest.mark.fault("X2")
def test_a_jumper_dir_of_another_user(as_root, home, tmp_path):
    (tmp_path / "foreign").mkdir(mode=0o700)
    os.chown(tmp_path / "foreign", NOBODY, NOBODY)
    _, err = refused(tmp_path / "foreign", home)
    assert "it belongs to another user" in err
    assert list((tmp_path / "foreign").iterdir()) == []


def test_a_jumper_dir_that_cannot_be_written(as_root, tmp_path):
    """As a user who isn't root."""
    tmp_path.chmod(0o755)
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o700)
    os.chown(mine, NOBODY, NOBODY)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    os.chown(closed, NOBODY, NOBODY)
    for one in tmp_path.parents:
        if one.stat().st_uid == 0 and one != Path("/"):
            one.chmod(mode(one) | 0o011)
    path, _, err = run(
        {"HOME": str(mine), "JUMPER_DIR": str(closed)},
        before=["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"],
        cwd="/",
    )
    assert path.parent == mine / ".local/state/jumper"
    assert f"'{closed}': Permission denied" in err
    assert path.stat().st_uid == NOBODY


@pytest.mark.fault("X2")
def test_what_is_planted_in_the_temporary_folder_is_not_followed(as_root, tmp_path):
    """X2: names can't be guessed; what lies there of others stays as it is."""
    planted = tmp_path / "tmp"
    planted.mkdir()
    planted.chmod(0o1777)
    victim = tmp_path / "victim"
    victim.mkdir()
    (planted / "jumper").symlink_to(victim)
    (planted / "jumper-XXXXXX").symlink_to(victim)
    path, _, _ = run({"TMPDIR": str(planted)})
    assert path.parent.parent == planted
    assert mode(path.parent) == 0o700
    assert list(victim.iterdir()) == []


@pytest.mark.fault("X1")
def test_another_user_can_not_read_it(as_root, start_kernel, tmp_path):
    kernel = start_kernel()
    kernel.await_sampler()
    for one in Path(kernel.path).parents:  # so that only our own folder stands in the way
        if one.name != "jumper" and one != Path("/"):
            one.chmod(mode(one) | 0o055)
    before = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    for command in (["ls", str(Path(kernel.path).parent)], ["cat", kernel.path]):
        done = subprocess.run([*before, *command], capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert "Permission denied" in done.stderr
        assert done.stdout == ""
    folder = f"/proc/{kernel.sampler}/fd"
    done = subprocess.run([*before, "ls", folder], capture_output=True, text=True, check=False)
    assert "Permission denied" in done.stderr


CANARY = "canary-7c5b1f0e"


@pytest.mark.fault("X5")
def test_no_secrets_in_it(start_kernel):
    """X5: no environment, no command lines, no output of the user's."""
    kernel = start_kernel(env={"A_TOKEN": CANARY + "-environment"})
    kernel.await_sampler()
    kernel.do(
        "import subprocess\n"
        f"os.environ['B_TOKEN'] = {CANARY + '-later'!r}\n"
        f"child = subprocess.Popen(['sleep', '0.5', '0.{CANARY[-4:-1] and 1}'])\n"
        f"named = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(.5)', "
        f"{CANARY + '-argument'!r}])\n"
        "cell('named.wait(); child.wait()', 'a cell')"
    )
    kernel.do("cell('1', 'the code is kept'); s.close()")
    kernel.end()
    (path,) = recordings()
    content = path.read_bytes()
    assert b"the code is kept" in content
    assert CANARY.encode() not in content
    assert os.environ["JUMPER_TEST_MARK"].encode() not in content
    shown = jumper("dump", path).stdout + jumper("report", path).stdout
    assert CANARY not in shown


@pytest.mark.fault("X5")
def test_the_sampler_s_command_line_tells_nothing(start_kernel):
    """Every user of the machine can read that."""
    kernel = start_kernel()
    line = Path(f"/proc/{kernel.sampler}/cmdline").read_bytes()
    assert b"a test" not in line
    assert kernel.path.encode() not in line


@pytest.mark.fault("X7")
def test_no_socket_with_a_name_and_no_port(start_kernel):
    kernel = start_kernel()
    kernel.await_sampler()
    inodes = set()
    for pid in (kernel.pid, kernel.sampler):
        for target in descriptors(pid).values():
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    for table in ("tcp", "tcp6", "udp", "udp6", "raw", "packet"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            assert not inodes & set(line.split())
    named = [
        line.split()
        for line in Path("/proc/net/unix").read_text().splitlines()[1:]
        if line.split()[6] in inodes
    ]
    assert [one for one in named if len(one) > 7] == []


def test_descriptors_in_the_kernel_are_closed_on_exec(start_kernel):
    kernel = start_kernel()
    kernel.await_sampler()
    open_ones = kernel.do(
        "import subprocess\n"
        "answer = subprocess.run(['ls', '-l', '/proc/self/fd'], capture_output=True, text=True, "
        "close_fds=False).stdout"
    )
    assert not [word for word in ("jumper", "memfd", "pidfd", "eventfd") if word in open_ones]
