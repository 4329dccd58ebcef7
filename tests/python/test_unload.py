"""Loading twice, unloading, reloading: nothing stays, nothing is said."""

import pytest
from notebook import in_ipython

STATE = """
import gc, os, weakref
def descriptors():
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing's own
            target = os.readlink(f"/proc/self/fd/{name}")
            if "profile_default" not in target:  # IPython's history
                yield target
def state():
    manager = shell.magics_manager
    return {
        "events": {name: len(hooks) for name, hooks in shell.events.callbacks.items()},
        "line": sorted(manager.magics["line"]), "cell": sorted(manager.magics["cell"]),
        "registry": sorted(manager.registry),
        "configurables": sorted(type(one).__name__ for one in shell.configurables),
        "matchers": len(shell.Completer.custom_matchers),
        "transformers": len(shell.ast_transformers),
        "threads": sorted(os.listdir("/proc/self/task")),
        "descriptors": sorted(descriptors()),
        "environment": sorted(os.environ),
        "names": sorted(n for n in shell.user_ns if not n.startswith("_")),
    }
"""


def test_unloading_leaves_nothing():
    answer = in_ipython(f"""{STATE}
run("x = 1"); run("%jumper"); run("%unload_ext nothing")
before = state()
texts = [run("%load_ext jumper"), run("y = 1"), run("%jumper set summary=always"), run("1")]
loaded = state()
alive = weakref.ref(extension())
texts.append(run("%unload_ext jumper"))
after = state()
gc.collect()
answer = [before, loaded, after, "".join(out + err for _, out, err in texts)]
result, out, err = run("%jumper")
answer += [err, alive() is None]
""")
    before, loaded, after, text, error, freed = answer
    assert freed
    before["names"].append("y")
    assert sorted(before["names"]) == after.pop("names")
    before.pop("names")
    assert {key: value for key, value in after.items() if before[key] != value} == {}
    assert "jumper" in loaded["line"]
    assert loaded["events"] != before["events"]
    assert "jumper:" not in text
    assert "`%jumper` not found" in error


def test_loading_twice_is_loading_once():
    answer = in_ipython(f"""{STATE}
run("%load_ext jumper"); run("x = 1")
once = state()
_, out, err = run("%load_ext jumper")
import jumper
jumper.load_ipython_extension(shell)
twice = state()
answer = [{{k: (once[k], v) for k, v in twice.items() if once[k] != v}}, out, err]
run("x = 1")
answer.append([one[:3] for one in cells()])
""")
    assert answer[0] == {}
    assert answer[1].strip().startswith("The jumper extension is already loaded")
    assert answer[2] == ""
    assert answer[3] == [[1, 2, "ok"], [2, 3, "ok"], [3, 4, "ok"]]


@pytest.mark.parametrize("again", ["%reload_ext jumper", "%unload_ext jumper\n%load_ext jumper"])
def test_reloading_begins_anew(again):
    answer = in_ipython(f"""{STATE}
run("%load_ext jumper"); run("x = 1")
first = extension()
def simple(): return {{k: v for k, v in state().items() if k not in ("threads", "descriptors")}}
before = simple()
result, out, err = run({again!r})
after = simple()
answer = [{{k: (before[k], v) for k, v in after.items() if before[k] != v}}, out + err]
answer.append(extension() is not first)
old = [(c.index, c.outcome, c.running) for c in first.session.cells()]
run("y = 1")
answer += [old, cells()]
""")
    assert answer[:3] == [{}, "", True]
    assert answer[3] == [[1, "ok", False], [2, "ok", False]]
    assert [one[1:] for one in answer[4]] == [[4, "ok", False]] or len(answer[4]) == 1


def test_unloading_what_was_never_loaded():
    answer = in_ipython("""
import jumper
jumper.unload_ipython_extension(shell)
answer = run("%unload_ext jumper")[1].strip()
""")
    assert answer == "The jumper extension is not loaded."
