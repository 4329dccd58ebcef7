"""The paper's multi-cell mode: collected, not run; then run as one under Score-P."""

import pytest
import scorep_standin
from leftovers import wait_until
from notebook import Notebook, Run, in_ipython
from scorep_standin import StandIn
from script_notebooks import C51

INSTALLED = (
    "[type(one).__name__ for one in get_ipython().ast_transformers], "
    "[len(get_ipython().events.callbacks[name]) for name in ('pre_run_cell', 'post_run_cell')]"
)
# Nothing of these may be changed by being joined with others.
CONTENTS = {
    "quotes": "s = \"\"\"three ''' \"\"\"\nt = '''\"\"\" \\''''''\nprint(s, t)",
    "no line's end in a string": "print('a\\nb', r'\\n', f'{1!r:>3}')",
    "not magics": 'm = ("%d of %d"\n       % (3, 4))\nx = (17\n % 5)\nprint(m, x)',
    "shell lines": "names = !echo a b\nprint(names)",
    "a cell magic": "%%capture said\nprint('kept')",
    "its value": "10 + 1",
    "no value": "10 + 2;",
    "await": "import asyncio\nawait asyncio.sleep(0.001)\nprint('awaited')",
    "unicode": "größe = '\\U0001F600'\ndef Δt(x): return x\nprint(Δt(größe), len('\\ud800'))",
    "a future": "from __future__ import annotations\ndef g(a: no): pass\nprint(g.__annotations__)",
    "a nested cell": "get_ipython().run_cell('print(1)\\nnested = 2');\nprint(nested)",
    "only a comment": "# nothing",
    "one long line": "v = '" + "x" * 100_000 + "'; print(len(v))",
}


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory) -> StandIn:
    return scorep_standin.make(tmp_path_factory.mktemp("scorep"))


@pytest.fixture
def notebook(open_notebook, stand_in) -> Notebook:
    stand_in.forget()
    return open_notebook(env=stand_in.environment(), cwd=stand_in.folder)


def collect(notebook: Notebook, *cells: str) -> list[Run]:
    assert notebook.run("%%enable_multicellmode").status == "ok"
    return [notebook.run(cell) for cell in cells]


def headings(run: Run) -> list[str]:
    return [one["text/plain"] for one in run.displays if one["text/plain"].startswith("──")]


def test_cells_are_collected_and_run_as_one_when_it_is_said(notebook, stand_in):
    notebook.run("a = 1")
    runs = collect(notebook, "a += 1\nprint('one')", "%%execute_with_scorep\na += 1; a")
    runs.append(notebook.run("%%jumper scorep --timeout 5\na = a"))
    for run, number, count in zip(runs, (3, 4, 5), ("1 cell", "2 cells", "3 cells"), strict=True):
        assert (run.status, run.stdout, run.result) == ("ok", "", None)
        (said,) = run.displays
        assert f"In [{number}] is collected, {count} so far" in said["text/plain"]
        assert "%%finalize_multicellmode" in said["text/plain"]
    run = notebook.run("%%finalize_multicellmode")
    assert run.status == "ok"
    assert headings(run) == [f"── In [{number}], cell {number - 2} of 3 ──" for number in (3, 4, 5)]
    kinds = [kind for kind, *_ in run.without_ours()]
    assert kinds[:4] == ["display_data", "stream", "display_data", "execute_result"]
    assert (run.stdout, run.result) == ("one\n", "3")
    assert notebook.run("a").result == "3"
    assert len(stand_in.experiments()) == 1  # one engine, one trace


def without_places(run: Run) -> list[tuple]:
    """Its values; and its stream's text in one piece, headings stand between."""
    kept = [one for one in run.without_ours() if one[0] not in ("display_data", "stream")]
    return [*kept, ("stream", run.stdout)]


def test_28_any_cell_gives_what_it_gives_alone_and_so_does_the_next(open_notebook, stand_in):
    environment = stand_in.environment()
    plain = open_notebook("plain", env=environment, cwd=stand_in.folder)
    notebook = open_notebook(env=environment, cwd=stand_in.folder)
    for name, code in CONTENTS.items():
        alone = [plain.run(code), plain.run(code)]
        assert alone[1].status == "ok", alone[1].traceback
        collect(notebook, code, code)
        run = notebook.run("%finalize_multicellmode")
        assert run.status == "ok", run.traceback
        first, second = map(without_places, alone)
        joined = [*first[:-1], *second[:-1], ("stream", first[-1][1] + second[-1][1])]
        assert without_places(run) == joined, name


def test_51_a_line_that_begins_with_percent_is_not_always_a_magic(notebook):
    collect(notebook, C51, "files, x")
    run = notebook.run("%%finalize_multicellmode")
    assert run.status == "ok", run.traceback
    results = [one["data"]["text/plain"] for one in run.contents("execute_result")]
    assert results == ["('3 of 4', 2, 3, ['a b'])", "(['a b'], 2)"]


@pytest.mark.parametrize("before", ["pass", "import asyncio; await asyncio.sleep(0)"])
def test_the_trace_holds_the_cells_calls_and_not_what_runs_them(notebook, stand_in, before):
    collect(notebook, before, "def one(): pass\none()", "def two(): one()\ntwo()")
    assert notebook.run("%%finalize_multicellmode").status == "ok"
    names = stand_in.names()
    assert [name for name in names if name in ("one", "two")] == ["one", "two", "one"]
    assert "run_cell" not in names
    regions = [line["name"] for line in stand_in.lines("region") if line["begins"]]
    assert regions == ["In [2]", "In [3]", "In [4]"]


def test_an_error_ends_it_and_says_in_which_cell(notebook):
    collect(notebook, "v = 1", "v = 2\nraise KeyError('bad row')", "v = 3")
    run = notebook.run("%%finalize_multicellmode")
    assert (run.status, run.ename) == ("error", "KeyError")
    assert len(run.contents("error")) == 1
    assert "Cell In[3], line 2" in run.traceback.replace("In [", "In[")
    assert "in In [3], cell 2 of 3; the 1 after it has not run" in run.traceback
    assert "multicell" not in run.traceback
    assert len(headings(run)) == 2
    assert notebook.run("v").result == "2"
    assert notebook.run(INSTALLED).result == "([], [1, 1])"


@pytest.mark.parametrize(
    ("cell", "ename"),
    [
        ("raise SystemExit(3)", "SystemExit"),
        ("%no_magic", "UsageError"),
        ("1/0", "ZeroDivisionError"),
    ],
)
@pytest.mark.parametrize("before", ["w = 1", "import asyncio; await asyncio.sleep(0)"])
def test_its_reply_is_that_error(notebook, cell, ename, before):
    collect(notebook, before, cell)
    run = notebook.run("%%finalize_multicellmode")
    assert (run.status, run.ename) == ("error", ename)
    assert notebook.run("'on'").result == "'on'"


def test_a_cell_of_wrong_syntax_answers_at_once_and_is_not_collected(notebook):
    (wrong, right) = collect(notebook, "def f(:", "u = 1")
    assert (wrong.status, wrong.ename) == ("error", "SyntaxError")
    assert "1 cell so far" in right.displays[0]["text/plain"]
    assert notebook.run("%%finalize_multicellmode").status == "ok"


def test_aborted_cells_have_not_run_and_nothing_is_left(notebook):
    notebook.run("p = 0")
    collect(notebook, "p = 1", "p = 2")
    (said,) = notebook.run("%%abort_multicellmode").displays
    assert "2 cells dropped" in said["text/plain"]
    assert notebook.run("p").result == "0"
    assert notebook.run(INSTALLED).result == "([], [1, 1])"


def test_requests_that_are_no_cells_of_the_users_run(notebook):
    collect(notebook)
    notebook.run("silently = 1", silent=True)
    assert notebook.run("silently", store_history=False).result == "1"
    assert notebook.run("   \n").displays == []
    assert "0 cells dropped" in notebook.run("%abort_multicellmode").displays[0]["text/plain"]


def test_completion_and_history_are_untouched(notebook):
    collect(notebook, "needle_in_history = 1")
    assert "math" in notebook.complete("import mat")
    assert notebook.run("%jumper code -1").status == "ok"
    notebook.run("%abort_multicellmode")
    assert "needle_in_history = 1" in notebook.run("In").result


def test_questions_to_jumper_and_settings_of_scorep_act_at_once(notebook, stand_in):
    collect(notebook, "q = 1")
    assert notebook.run("%jumper status").bundles == []
    assert "cells" in notebook.run("%jumper status").displays[0]["text/plain"]
    assert "collected" not in str(notebook.run("%%display_code_history").displays)
    said = notebook.run("%%scorep_python_binding_arguments\n--thread=pthread").displays
    assert "--thread=pthread" in said[0]["text/plain"]
    assert notebook.run("%%finalize_multicellmode").status == "ok"
    assert any("--thread=pthread" in str(line) for line in stand_in.lines())


def test_names_without_a_mode_say_so_and_answer_well(notebook):
    for name in ("finalize_multicellmode", "abort_multicellmode"):
        run = notebook.run(f"%%{name}")
        assert run.status == "ok"
        assert "is not on" in run.displays[0]["text/plain"]
    collect(notebook)
    assert "is on already" in notebook.run("%%enable_multicellmode").displays[0]["text/plain"]
    assert (
        "no cell was collected"
        in notebook.run("%%finalize_multicellmode\nr = 1").displays[0]["text/plain"]
    )
    assert notebook.run("r").ename == "NameError"


def test_without_scorep_the_mode_is_refused_by_name(open_notebook, stand_in):
    environment = stand_in.environment(config=False)
    notebook = open_notebook(env=environment, cwd=stand_in.folder)
    run = notebook.run("%%enable_multicellmode")
    assert (run.status, run.ename) == ("error", "UsageError")
    assert "scorep-config" in run.stderr
    assert notebook.run("1 + 1").result == "2"


def test_scorep_that_is_gone_when_it_is_needed_leaves_the_mode_clean(notebook):
    collect(notebook, "o = 1")
    notebook.run("import os; os.environ['PATH'] = '/nowhere'", silent=True)
    run = notebook.run("%%finalize_multicellmode")
    assert (run.status, run.ename) == ("error", "UsageError")
    assert "scorep-config" in run.stderr
    assert notebook.run(INSTALLED).result == "([], [1, 1])"


@pytest.mark.parametrize("before", ["k = 1", "import asyncio; await asyncio.sleep(0); k = 1"])
def test_an_interrupt_ends_the_cell_that_runs_and_the_rest(notebook, before):
    busy = "k = 2\nprint('ready', flush=True)\nwhile True: pass"
    collect(notebook, before, busy, "k = 3")
    request = notebook.send("%%finalize_multicellmode")
    notebook.drain(lambda: "ready" in notebook.stdout_of(request))
    notebook.manager.interrupt_kernel()
    run = notebook.take(request)
    assert (run.status, run.ename) == ("error", "KeyboardInterrupt")
    assert notebook.run("k").result == "2"
    assert notebook.run(INSTALLED).result == "([], [1, 1])"


def test_an_engine_that_dies_leaves_the_kernel_and_the_mode_as_they_were(notebook):
    notebook.run("j = 0")
    collect(notebook, "j = 1", "import os; os._exit(3)", "j = 3")
    run = notebook.run("%%finalize_multicellmode")
    assert run.status == "error"
    assert "3" in run.traceback + run.stderr
    assert notebook.run("j").result == "0"
    assert wait_until(lambda: notebook.run(INSTALLED).result == "([], [1, 1])")


# Raises at the n-th line of ours that a cell runs through; not at a hook's bare `try:`, at which
# CPython delivers no signal.
STRIKES = """
from jumper.collecting import Collector
import jumper.collecting
ours = jumper.collecting.__file__
bare = {(hook.__code__, hook.__code__.co_firstlineno + 1)
        for hook in (Collector.pre_run_cell, Collector.post_run_cell)}
def strike(n, code):
    left = [n]
    def trace(frame, event, _):
        if frame.f_code.co_filename != ours: return None
        if event == "line" and (frame.f_code, frame.f_lineno) not in bare:
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
        return trace
    sys.settrace(trace)
    try:
        result, out, err = run(code)
    finally:
        sys.settrace(None)
    return left[0] <= 0, result, out + err
run("%load_ext jumper"); run("%enable_multicellmode")
mode = extension().mode_names._multicell
n, answer, struck = 1, [], True
while struck:
    before = len(mode._cells)
    struck, result, text = strike(n, "ran = True")
    error = type(result.error_in_exec).__name__
    answer.append([error, len(mode._cells) - before, "ran" in shell.user_ns, "in callback" in text])
    shell.run_cell("ran = 1", silent=True, store_history=False)
    answer[-1].append(shell.user_ns.pop("ran", None))
    n += 1
run("%abort_multicellmode")
"""


def test_an_interrupt_at_any_line_of_ours_leaves_a_cell_collected_or_interrupted(stand_in):
    answer = in_ipython(STRIKES, env=stand_in.environment())
    assert len(answer) > 10
    wanted = [["KeyboardInterrupt", 0, False, False, 1], ["NoneType", 1, False, False, 1]]
    assert [one for one in answer if one not in wanted] == []
    assert all(one in answer for one in wanted)


def test_unloading_ends_the_mode(stand_in):
    answer = in_ipython(
        """
run("%load_ext jumper")
before = [len(shell.ast_transformers), *map(len, shell.events.callbacks.values())]
run("%enable_multicellmode"); run("n = 1")
run("%unload_ext jumper")
after = [len(shell.ast_transformers), *map(len, shell.events.callbacks.values())]
run("n = 2")
answer = [before, after, shell.user_ns.get("n")]
""",
        env=stand_in.environment(),
    )
    before, after, value = answer
    assert after[0] == 0
    assert sum(after) == sum(before) - 2
    assert value == 2


def test_a_cell_of_scorep_that_raises_a_value_error_keeps_it(notebook):
    run = notebook.run("%%execute_with_scorep\nraise ValueError('mine')")
    assert (run.status, run.ename) == ("error", "ValueError")
