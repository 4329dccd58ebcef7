# ruff: noqa: E501, ISC004
"""A cell in another process gives what the plain kernel gives, message by message."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from leftovers import watch_leftovers
from notebook import Notebook, Run, in_ipython, write_kernelspecs

CELLS = {
    "print": "print('a'); print('b', 'c')",
    "print without a newline": "print('a', end='')",
    "stderr": "import sys; print('e', file=sys.stderr)",
    "mixed": "import sys\nfor i in range(3):\n    print(i)\n    print(-i, file=sys.stderr)",
    "mixed and flushed": "import sys\nfor i in range(3):\n    print(i, flush=True)\n"
    "    print(-i, file=sys.stderr, flush=True)",
    "non-ASCII": "print('äöü €🙂')",
    "lone surrogate": "print(ascii('\\udc80'))",
    "display": "display(1, 'x', [2])",
    "display with an id": "h = display('one', display_id='here'); print('between')",
    "update": "h.update('two')",
    "update by name": "from IPython.display import update_display\n"
    "update_display('three', display_id='here')",
    "unknown id": "display(1, display_id=True) is None",
    "display between prints": "print(1); display(2); print(3); display(4)",
    "HTML": "from IPython.display import HTML\nHTML('<b>x</b>')",
    "repr_html": "class R:\n    def __repr__(self): return 'R'\n"
    "    def _repr_html_(self): return '<i>R</i>'\nR()",
    "png": "from IPython.display import Image\nImage(data=b'\\x89PNG\\r\\n\\x1a\\n' + b'x' * 20)",
    "mimebundle with metadata": "class M:\n    def _repr_mimebundle_(self, **_):\n"
    "        return {'text/plain': 'm', 'a/b': {'c': [1]}}, {'a/b': {'d': 1}}\nM()",
    "raw display": "display({'text/plain': 'x'}, raw=True, metadata={'k': {'v': 1}})",
    "clear_output": "from IPython.display import clear_output\nprint(1)\nclear_output()\nprint(2)\n"
    "clear_output(wait=True)\nprint(3)",
    "result": "1 + 1",
    "result after print": "print('x')\n'result'",
    "underscores": "_, __, _1 if '_1' in dir() else None",
    "semicolon": "5;",
    "None": "None",
    "In": "len(In), In[-1]",
    "Out": "type(Out), len(Out) > 1, Out[max(Out)]",
    "all expressions": "%config InteractiveShell.ast_node_interactivity = 'all'",
    "all expressions shown": "1\n2\n3",
    "last expression": "%config InteractiveShell.ast_node_interactivity = 'last_expr'",
    "raise": "raise ValueError('bad row')",
    "state after raise": "rows = []\nfor i in range(5):\n    rows.append(i)\n"
    "    if i == 3: raise ValueError('bad row')",
    "what was set before it": "len(rows)",
    "raise in a function": "def f(x):\n    y = x + 1\n    raise KeyError(y)\n\nf(1)",
    "raise in an older function": "f(2)",
    "nested traceback": "def g(n):\n    return g(n - 1) if n else 1 / 0\ng(4)",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise RuntimeError('x') from e",
    "while handling": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    {}['k']",
    "own exception": "class Mine(Exception):\n    def __str__(self): return 'own text'\n"
    "raise Mine(1, 2)",
    "exception with arguments": "class Odd(Exception):\n    def __init__(self, *, a):\n"
    "        self.a = a\nraise Odd(a=1)",
    "OSError": "open('/not/there')",
    "decode error": "b'\\xff'.decode()",
    "custom rendering": "class Own(Exception):\n    def _render_traceback_(self):\n"
    "        return ['own', 'lines']\nraise Own('x')",
    "library frames": "import json; json.loads('{')",
    "group": "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
    "assert": "assert 1 == 2, 'no'",
    "print then raise": "print('before')\nimport sys; print('err', file=sys.stderr)\n1 / 0",
    "traceback shown by the cell": "try:\n    1 / 0\nexcept ZeroDivisionError:\n"
    "    get_ipython().showtraceback()\nprint('goes on')",
    "traceback shown, then raised": "try:\n    1 / 0\nexcept ZeroDivisionError:\n"
    "    get_ipython().showtraceback()\nraise ValueError('second')",
    "nested cell that fails": "r = get_ipython().run_cell('1/0')\nprint(r.success)",
    "repr that raises": "class B:\n    def __repr__(self): raise ValueError('no repr')\nB()",
    "display that raises": "display(B())\nprint('on')",
    "syntax error": "x = = 1",
    "syntax error later": "a = 1\nb = 2\nif a\n    c = 3",
    "indentation": "a = 1\n  b = 2",
    "unterminated": "print('x",
    "return outside": "return 1",
    "compile by hand": "compile('x = = 1', 'file.py', 'exec')",
    "exec": "exec('print(7)\\nz = 8')\nz",
    "exec that fails": "exec('1/0')",
    "eval": "eval('3*4')",
    "SystemExit": "import sys; sys.exit(3)",
    "exit text": "raise SystemExit('text')",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "KeyboardInterrupt with text": "raise KeyboardInterrupt('text')",
    "timed": "%time 1 + 1",
    "timed in silence": "%timeit -n1 -r1 -q pass",
    "timed cell that fails": "%%time\n1/0",
    "captured": "%%capture c\nprint(1)\ndisplay(2)\n3",
    "captured shown": "c.show()\nc.stdout",
    "html magic": "%%html\n<b>x</b>",
    "bash": "%%bash\necho out\necho err >&2",
    "bash that fails": "%%bash\nexit 3",
    "python script": "%%python3\nprint('script')",
    "unknown magic": "%nothing_of_this_name",
    "unknown cell magic": "%%nothing_of_this_name\nx",
    "usage error": "%alias_magic",
    "magics of lists": "%who_ls nothing",
    "xmode": "%xmode Minimal",
    "minimal": "f(3)",
    "context": "%xmode Context",
    "echo": "!echo hello",
    "echo into": "x = !echo hello; echo you\nx",
    "failing command": "!exit 4\n_exit_code",
    "system": "import os; _ = os.system('echo from a child'); import time; time.sleep(0.5)",
    "subprocess": "import subprocess, time\n"
    "r = subprocess.run(['echo', 'out']).returncode; time.sleep(0.5); r",
    "subprocess's stderr": "r = subprocess.run(['sh', '-c', 'echo e >&2; exit 3']).returncode\n"
    "time.sleep(0.5); r",
    "subprocess kept": "subprocess.run(['echo', 'kept'], capture_output=True).stdout",
    "descriptor": "import time; n = os.write(1, b'written\\n'); time.sleep(0.5); n",
    "C": "import ctypes, time\nlibc = ctypes.CDLL(None)\nn = libc.puts(b'from C')\n"
    "n = libc.fflush(None)\ntime.sleep(0.5)",
    "forked child": "import os, sys\nsys.stdout.flush()\npid = os.fork()\nif pid == 0:\n"
    "    print('child', flush=True)\n    os._exit(0)\nn = os.waitpid(pid, 0)\ntime.sleep(0.5)\n"
    "print('parent')",
    "pool": "import multiprocessing as mp\ndef say(i): print('w\\n', end='', flush=True)\n"
    "with mp.get_context('fork').Pool(1) as p: p.map(say, range(2))\ntime.sleep(0.5)",
    "help": "len?",
    "source": "f??",
    "page": "from IPython.core import page; page.page('paged')",
    "next input": "get_ipython().set_next_input('next')",
    "recall": "%recall _i",
    "await": "import asyncio\nawait asyncio.sleep(0.01)\n"
    "v = asyncio.get_running_loop().time() > 0\nv",
    "await that fails": "async def co():\n    await asyncio.sleep(0)\n    1 / 0\nawait co()",
    "await and print": "print(1); await asyncio.sleep(0.01); print(2)",
    "async for": "async def many():\n    for i in range(2): yield i\n"
    "async for i in many(): print(i)",
    "loop in a plain cell": "asyncio.get_running_loop().is_running()",
    "asyncio.run": "co = asyncio.sleep(0)\ntry: asyncio.run(co)\nfinally: co.close()",
    "warning": "import warnings\nwarnings.warn('careful')",
    "warning in a function": "def w():\n    warnings.warn('deep', UserWarning, stacklevel=2)\n\nw()",
    "deprecation": "warnings.warn('old', DeprecationWarning)",
    "syntax warning": "1 is 1",
    "logging": "import logging\nlogging.warning('logged')\nlogging.getLogger('x').error('also')",
    "progress": "import sys\nfor i in range(3): print(f'\\r{i}', end='')\nprint()",
    "progress on stderr": "for i in range(3): sys.stderr.write(f'\\r{i}%'); sys.stderr.flush()",
    "thread": "import threading\nt = threading.Thread(target=print, args=('thread',))\n"
    "t.start(); t.join(); print('main')",
    "display in a thread": "t = threading.Thread(target=display, args=(1,))\n"
    "t.start(); t.join(); print('main')",
    "thread that fails": "def fail(): raise ValueError('there')\n"
    "t = threading.Thread(target=fail, name='T'); t.start(); t.join()",
    "empty": "",
    "blank": "  \n\n",
    "comments": "# nothing",
    "pass": "pass",
    "main": "import __main__\n__main__.zz = 5\nzz, __name__, f.__module__",
    "pickle of a class here": "class P: pass\nimport pickle\ntype(pickle.loads(pickle.dumps(P())))",
    "file name": "import inspect\ninspect.getsource(f)",
    "shell's name": "type(get_ipython()), type(sys.stdout)",
    "streams": "sys.stdout.isatty(), sys.stdout.encoding, sys.stdin.isatty()",
    "figures": "def flush(): display('figure')\n"
    "get_ipython().events.register('post_execute', flush)",
    "figures after an error": "print(1); 1/0",
    "figures after a result": "print(1); 2",
    "hook that fails": "get_ipython().events.unregister('post_execute', flush)\n"
    "def hook(): 1/0\nget_ipython().events.register('post_execute', hook)",
    "no more hooks": "get_ipython().events.unregister('post_execute', hook)",
    "pandas": "import pandas as pd\nprint('hi')\npd.DataFrame({'a': [1, 2]})",
    "comm": "from comm import create_comm\n"
    "k = create_comm(target_name='t', data={'a': 1}, buffers=[b'xy'])\nk.send({'b': 2})\nk.close()",
    "widget": "import ipywidgets\nipywidgets.IntSlider(value=3)",
    "output widget": "o = ipywidgets.Output()\nwith o: print('inside')",
    "custom message": "k = get_ipython().kernel\n"
    "k.send_response(k.iopub_socket, 'custom', {'x': 1});",
    "input that can't be": "input('? ')",
    "getpass that can't be": "import getpass; getpass.getpass()",
    "number": "get_ipython().execution_count",
    "history": "%history -n 5-7",
    "run": "from pathlib import Path\nn = Path('script.py').write_text('print(__name__)\\n1/0\\n')\n"
    "%run script.py",
    "write file": "%%writefile made.py\nx = 1",
    "capturing function": "from IPython.utils.capture import capture_output\n"
    "with capture_output() as cap: print(1); display(2)\ncap.stdout",
    "redirect": "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as s:\n"
    "    print('kept')\ns.getvalue()",
}
pytestmark = pytest.mark.slow  # the same interplay, whichever CPython
PATH = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
LEFT_OUT = ("status", "execute_input")


@dataclass
class Pair:
    """The plain kernel and the one that runs its cells in a child, in step."""

    plain: Notebook
    elsewhere: Notebook

    def run(self, code: str, **options) -> tuple[Run, Run]:
        one = self.plain.send(code, **options)
        other = self.elsewhere.send(f"%%elsewhere\n{code}" if code.strip() else code, **options)
        return self.plain.take(one), self.elsewhere.take(other)


@pytest.fixture(scope="module")
def shared_notebook(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        leftovers = watch_leftovers(patch)
        next(leftovers)
        specs = write_kernelspecs(folder / "kernels")
        with pytest.MonkeyPatch.context() as outside:
            outside.delenv("PYTEST_CURRENT_TEST")  # ipykernel would leave descriptors alone
            plain, elsewhere = (
                Notebook(
                    specs, "plain", env={"PYTHONPATH": PATH}, cwd=tmp_path_factory.mktemp(name)
                )
                for name in ("plain", "elsewhere")
            )
        with plain, elsewhere:
            plain.run("pass")
            loaded = elsewhere.run("%load_ext over_socket")
            assert loaded.status == "ok", loaded.traceback
            yield Pair(plain, elsewhere)
        next(leftovers, None)


def same(value):
    """Without what differs between any two kernels."""
    if isinstance(value, dict):
        return {name: same(one) for name, one in value.items() if name != "engine_info"}
    if isinstance(value, list):
        return [same(one) for one in value]
    if isinstance(value, str):
        value = re.sub(r"ipykernel_\d+", "ipykernel_PID", value)
        value = re.sub(r"/(plain|elsewhere)\d+/", "/FOLDER/", value)
        value = re.sub(r"[0-9a-f]{8}-[0-9a-f]{24}_\d+_\d+", "REQUEST", value)
        value = re.sub(r"0x[0-9a-f]{6,}", "0xADDRESS", value)
        value = re.sub(r"[0-9a-f]{32}", "IDENTITY", value)
        value = re.sub(r"[\d.e+]+ [mµμn]?s\b", "TIME", value)
        return re.sub(r"\d+-\d+(-\d+)?( [\d:.]+)?", "NUMBERS", value)
    return value


def messages(run: Run) -> list:
    kept: list = []
    for message in run.messages:
        kind, content = message["header"]["msg_type"], message["content"]
        if kind in LEFT_OUT:
            continue
        if kind == "stream" and kept and kept[-1][:2] == (kind, content["name"]):
            kept[-1] = (kind, content["name"], kept[-1][2] + content["text"])
        elif kind == "stream":
            kept.append((kind, content["name"], content["text"]))
        else:
            buffers = [bytes(one) for one in message["buffers"]]
            kept.append((kind, same(content), same(message["metadata"]), buffers))
    return [(*one[:2], same(one[2])) if one[0] == "stream" else one for one in kept]


@pytest.mark.parametrize("name", CELLS)
def test_cell(shared_notebook, name):
    plain, elsewhere = shared_notebook.run(CELLS[name], allow_stdin=False)
    assert messages(elsewhere) == messages(plain)
    assert same(elsewhere.reply["content"]) == same(plain.reply["content"])


def answer(notebook: Notebook, code: str, value: str) -> tuple[dict, Run]:
    request = notebook.send(code, allow_stdin=True)
    asked = notebook.client.get_stdin_msg(timeout=60)["content"]
    notebook.client.input(value)
    return asked, notebook.take(request)


@pytest.mark.parametrize("value", ["typed", "\x04"])
@pytest.mark.parametrize("code", ["print(1)\ninput('? ')", "import getpass\ngetpass.getpass('p ')"])
def test_whoever_reads_is_asked(shared_notebook, code, value):
    asked, plain = answer(shared_notebook.plain, code, value)
    asked_elsewhere, elsewhere = answer(shared_notebook.elsewhere, f"%%elsewhere\n{code}", value)
    assert asked_elsewhere == asked
    assert elsewhere.reply["content"].get("evalue") == plain.reply["content"].get("evalue")
    assert elsewhere.ename == plain.ename
    if plain.status == "ok":
        assert messages(elsewhere) == messages(plain)


def interrupted(notebook: Notebook, code: str) -> Run:
    request = notebook.send(code)
    notebook.drain(lambda: notebook.stdout_of(request))
    notebook.interrupt()
    return notebook.take(request)


@pytest.mark.parametrize(
    "code",
    [
        "import threading, time\nthreading.Timer(0.3, print, '1').start()\ntime.sleep(60)",
        "import threading, time\nthreading.Timer(0.3, print, '1').start()\ntry: time.sleep(60)\n"
        "except KeyboardInterrupt: print('caught')",
        "import asyncio\nprint(1, flush=True)\nawait asyncio.sleep(60)",
    ],
)
def test_an_interrupt_stops_the_cell(shared_notebook, code):
    plain = interrupted(shared_notebook.plain, code)
    elsewhere = interrupted(shared_notebook.elsewhere, f"%%elsewhere\n{code}")
    assert messages(elsewhere) == messages(plain)
    assert same(elsewhere.reply["content"]) == same(plain.reply["content"])


def test_many_lines_come_in_few_messages(shared_notebook):
    plain, elsewhere = shared_notebook.run("for i in range(100_000): print(i)")
    assert elsewhere.stdout == plain.stdout
    assert len(elsewhere.contents("stream")) <= 2 * len(plain.contents("stream")) + 1


def test_half_a_character_waits_for_its_other_half(shared_notebook):
    code = "import os, time\nfor piece in b'\\xe2\\x82', b'\\xac': n = os.write(1, piece)"
    assert shared_notebook.elsewhere.run(f"%%elsewhere\n{code}").stdout == "\u20ac"


def test_what_a_child_wrote_comes_before_what_is_displayed_after_it(shared_notebook):
    code = "import os\nn = os.system('echo child')\ndisplay('shown')\nn = os.system('echo last')"
    kept = messages(shared_notebook.elsewhere.run(f"%%elsewhere\n{code}"))
    assert [one[0] for one in kept] == ["stream", "display_data", "stream"]
    assert [kept[0][2], kept[2][2]] == ["child\n", "last\n"]


def test_capture_takes_everything(shared_notebook):
    code = "cap = get_ipython().run_cell_magic\n"
    code += "cap('capture', 'kept', \"get_ipython().run_cell_magic('elsewhere', '', "
    code += "'print(1); display(2)\\\\n3')\")\nkept.stdout, len(kept.outputs)"
    run = shared_notebook.elsewhere.run(code)
    assert (run.result, run.displays, run.stdout) == ("('1\\n', 2)", [], ""), run.traceback


def test_a_terminal_shows_it_and_keeps_the_result():
    answer = in_ipython(
        "shell.run_line_magic('load_ext', 'over_socket')\n"
        "_, out, _ = run('%%elsewhere\\nprint(1); display(2)\\n3')\n"
        "answer['out'], answer['Out'] = out, shell.user_ns['_']\n"
        "result, out, _ = run('%%elsewhere\\n1/0')\n"
        "answer['error'] = [type(result.error_in_exec).__name__, out.count('division by zero')]",
        env={"PYTHONPATH": PATH},
    )
    assert answer == {"out": "1\n2\nOut[1]: 3\n", "Out": 3, "error": ["ZeroDivisionError", 1]}


def test_no_port_is_opened(shared_notebook):
    code = "import psutil\n[c for c in psutil.Process().net_connections() if c.status == 'LISTEN']"
    assert shared_notebook.elsewhere.run(f"%%elsewhere\n{code}").result == "[]"
