"""C5: what processes, notebooks and cells call themselves is text in all that we make."""

import os

import pytest
from faults.harness import jumper
from payloads import NAMES, PAYLOADS, check_output, check_page, check_text

from jumper.page import STYLE

pytestmark = pytest.mark.slow  # the same core, whichever CPython

# Children that call themselves so (prctl(2), PR_SET_NAME), and compute until they are told to end.
CHILDREN = """
import ctypes, threading
gate, children = os.pipe(), []
for name in {names!r}:
    pid = os.fork()
    if pid == 0:
        os.close(gate[1])
        ctypes.CDLL(None).prctl(15, name.encode() + b'\\0', 0, 0, 0)
        end = time.process_time() + 0.12
        while time.process_time() < end: pass
        os.read(gate[0], 1); os._exit(0)
    children.append(pid)
os.close(gate[0])

def ticks(pid):
    fields = open(f'/proc/{{pid}}/stat').read().rpartition(')')[2].split()
    return int(fields[11]) + int(fields[12])
while min(map(ticks, children)) < 10: time.sleep(0.01)
"""
END = "os.close(gate[1])\nfor pid in children: os.waitpid(pid, 0)"


@pytest.mark.fault("C5")
def test_names_of_processes_and_code_are_text(start_kernel, tmp_path):
    kernel = start_kernel()
    kernel.await_sampler()
    kernel.do(f"cell({CHILDREN.format(names=NAMES)!r})")
    for payload in PAYLOADS:
        kernel.do(f"cell('1', {payload!r})")
    kernel.do(f"cell({END!r}, 'end')")
    kernel.do("s.native.wait(s.native.cells()[-1].index, 20)")
    pages = kernel.do(
        "answer = [s.history().html] + [s.summary(k, v).html for k in (2, -1) "
        "for v in ('process', 'user', 'job', 'node', 'all')]"
    )
    texts = kernel.do(
        "answer = [s.history().text] + [s.summary(2, v).text "
        "for v in ('process', 'user', 'job', 'node', 'all')]"
    )
    for page in pages:
        check_page(page)
    for text in texts:
        check_text(text)
    shown = check_page(pages[0]).text
    for payload in PAYLOADS[:5]:
        assert payload[:15] in shown
    assert any(name in texts[1] for name in NAMES), texts[1]  # they used most: they are named
    kernel.do("s.close()")
    path = tmp_path / "<img src=x onerror=stolen>\u202e.jumper"
    os.link(kernel.path, path)
    for arguments in (("report", path), ("dump", path), ("report", "--level", "all", path)):
        done = jumper(*arguments)
        assert done.returncode == 0, done
        check_text(done.stdout + done.stderr)


@pytest.mark.fault("C5")
def test_what_a_notebook_brings_is_text_in_every_answer(notebook):
    """Magics too, with names and files that don't exist."""
    for payload in PAYLOADS:
        notebook.run(f"# {payload}")
    shown = ["%jumper", "%jumper history", "%jumper status", "%jumper code 1", "%jumper report 1"]
    shown += ["%jumper plot all", "%jumper compare 1 2", "%jumper total", "%jumper export --to x"]
    shown += [f"%jumper {payload}" for payload in PAYLOADS if "\n" not in payload]
    for command in shown:
        run = notebook.run(command)
        for data in run.displays:
            if "text/html" in data:
                check_output(data["text/html"], STYLE)
