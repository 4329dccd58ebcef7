"""A forked child of the kernel is no kernel: it records and shows nothing (faults P11)."""

import pytest

FORKS = {
    "fork": "pid = os.fork()\nif pid == 0:\n    get_ipython().run_cell('z = 1'); os._exit(0)\n"
    "code = os.waitpid(pid, 0)[1]",
    "fork of a child that exits by itself": "pid = os.fork()\nif pid == 0:\n    import sys\n"
    "    try: sys.exit(0)\n    finally: os._exit(0)\ncode = os.waitpid(pid, 0)[1]",
    "multiprocessing fork": "import multiprocessing as mp\n"
    "with mp.get_context('fork').Pool(2) as pool: code = sum(pool.map(abs, [0, 0]))",
    "multiprocessing spawn": "import multiprocessing as mp\n"
    "with mp.get_context('spawn').Pool(1) as pool: code = sum(pool.map(abs, [0, 0]))",
    "multiprocessing forkserver": "import multiprocessing as mp\n"
    "with mp.get_context('forkserver').Pool(1) as pool: code = sum(pool.map(abs, [0, 0]))",
    "subprocess": "import subprocess\ncode = subprocess.run(['true']).returncode",
    "thread that forks": "import threading\ncodes = []\ndef work():\n    pid = os.fork()\n"
    "    if pid == 0: os._exit(0)\n    codes.append(os.waitpid(pid, 0)[1])\n"
    "t = threading.Thread(target=work); t.start(); t.join(); code = codes[0]",
}


@pytest.mark.fault("P11")
@pytest.mark.parametrize("kind", FORKS)
def test_children_of_every_kind(shared_notebook, kind):
    before = len(shared_notebook.history())
    run = shared_notebook.run(f"import os\n{FORKS[kind]}\ncode")
    assert (run.status, run.result) == ("ok", "0"), run.traceback
    assert run.bundles == []
    assert "jumper" not in run.stderr
    after = shared_notebook.history()
    assert len(after) == before + 2
    assert after[-1]["outcome"] == "ok"


@pytest.mark.fault("P11")
def test_a_child_that_goes_on_as_the_cell_shows_nothing(notebook):
    """The child returns from the cell; its hooks run, its atexit handlers too."""
    notebook.run("%jumper set summary=always")
    run = notebook.run(
        "import os, sys\nfrom jumper.extension import _loaded\n(extension,) = _loaded.values()\n"
        "read, write = os.pipe()\npid = os.fork()\n"
        "if pid == 0:\n"
        "    try:\n"
        "        extension.post_run_cell(None); extension.pre_run_cell(None)\n"
        "        index = extension.session.begin(b'x'); extension.session.close()\n"
        "        os.write(write, b'%d' % index)\n"
        "    finally: os._exit(0)\n"
        "os.waitpid(pid, 0); os.read(read, 10)"
    )
    assert run.result == "b'0'"
    assert len(run.bundles) == 1
    assert [one["outcome"] for one in notebook.history()] == ["ok", "ok"]
