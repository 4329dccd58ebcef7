"""How variables go to an engine is chosen, by our names and by the peers'."""

import pytest
from notebook import JSON_TYPE

ARRAY = "import numpy as np, threading\nx = np.zeros(50_000); v = x[:2]; lock = threading.Lock()"


@pytest.fixture
def notebook(open_notebook):
    return open_notebook()


def shown(notebook, code):
    done = notebook.run(code)
    assert done.status == "ok", done.traceback
    assert done.stderr == ""
    return "\n".join(one["text/plain"] for one in done.displays)


def test_the_choice_is_told_set_and_refused(notebook):
    told = shown(notebook, "%jumper carry")
    assert "pickler=cloudpickle" in told
    assert "transport=memfd" in told
    assert "rate" not in told
    notebook.run("%jumper carry transport=file pickler=dill")
    assert "transport=file" in shown(notebook, "%jumper carry")
    assert "transport=tape is refused" in notebook.run("%jumper carry transport=tape").stderr
    assert "no way of carrying 'rate'" in notebook.run("%jumper carry rate=5").stderr
    notebook.run(
        "%env JUMPER_PARALLEL_MARSHALL_BACKEND=pickle\n"
        "%env scorep_jupyter_PARALLEL_MARSHALL_NWORKERS=3"
    )
    told = shown(notebook, "%jumper carry")
    assert "backend=pickle" in told
    assert "workers=3" in told
    notebook.run("%jumper carry workers=2 pickler=parallel")
    assert "workers=2" in shown(notebook, "%jumper carry")  # the magic's word counts
    assert "workers=0 is refused" in notebook.run("%jumper carry workers=0").stderr


def test_many_variables_go_by_workers_and_the_report_says_so(notebook):
    notebook.run(
        "%jumper carry pickler=parallel workers=2\n%env JUMPER_MARSHALLING_DETAILED_REPORT=1"
    )
    notebook.run("a = {i: str(i) for i in range(500_000)}; b = [str(i) for i in range(700_000)]")
    notebook.run("first = a[77]")
    there = notebook.run("%%jumper run\na[8] = b[9]; b.append(a); len(a), len(b)")
    assert there.result == "(500000, 700001)"
    assert "of it by 1 other process in" in there.stderr
    assert notebook.run("a[8], a[77] is first, b[-1] is a").result == "('9', True, True)"


@pytest.mark.parametrize("transport", ["memfd", "file"])
def test_each_way_brings_changes_back(notebook, transport):
    notebook.run(f"%jumper carry transport={transport}")
    notebook.run(ARRAY)
    there = notebook.run("%%jumper run\nx[1] = 5; new = x[1:3]; g = (i for i in ())")
    assert there.status == "ok"
    assert "lock (a _thread.lock belongs to its process)" in there.stderr
    assert "made by the cell, and can't be brought here: g (" in there.stderr
    assert (
        notebook.run("v[1], new.base is x, lock.locked()").result
        == "(np.float64(5.0), True, False)"
    )
    assert "CannotCarry" in notebook.run("next(g)").traceback
    again = notebook.run("%%jumper run\nx[0] = 1")
    assert "lock" not in again.stderr  # said once


def test_the_peers_words(notebook):
    assert "pickler    dill" in shown(
        notebook, "%%marshalling_settings\nMARSHALLER=dill\nMODE=disk"
    )
    told = shown(notebook, "%marshalling_settings")
    assert "transport  file" in told
    told = shown(notebook, "%%marshalling_settings\nMARSHALLER=parallel_marshall\nMODE=memory")
    assert "pickler    parallel" in told
    assert "backend    cloudpickle" in told
    refused = notebook.run("%%marshalling_settings\nMARSHALLER=json").stderr
    assert "MARSHALLER must be one of cloudpickle, pickle, dill, parallel_marshall" in refused
    assert "sets nothing" in notebook.run("%%marshalling_settings\nMODUS=disk").stderr
    assert "pickler    parallel" in shown(notebook, "%%marshalling_settings")


def test_what_is_carried_is_no_output_of_the_cell(notebook):
    notebook.run("%jumper set summary=always")
    notebook.run("import numpy as np\nx = np.ones(25_000_000); y = np.ones(25_000_000)")
    (told,) = notebook.run("%%jumper run\nx += 1").displays
    process = told[JSON_TYPE]["levels"]["process"]
    assert process["io_write_bytes"] < 50e6  # 400 MB have gone, 200 MB have come back
    assert notebook.run("x[0], y[0]").result == "(np.float64(2.0), np.float64(1.0))"
