"""What a user of JupyterLab sees of cells that run in a process of their own."""

DEFINE = """\
import time
import numpy as np

class Model:
    def __init__(self): self.losses = []

model = Model()
weights = [np.ones(2**24) for _ in range(2)]
view = weights[0][:3]"""
TRAIN = """\
%%jumper run
for step in range(3):
    model.losses.append(step)
    print("step", step)
weights[0][1] = 5
weights[0][:3]"""
GO_ON = "model.losses, view, isinstance(model, Model), view.base is weights[0]"
FAIL = "%%jumper run\nmodel.losses.append(99)\nmodel.nothing"
CRASH = "%%jumper run\nimport os\nmodel.losses.clear()\nos.abort()"
AGAIN = "model.losses"
LONG = "%%jumper run\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"
LAST = "print('still here', weights[0][1])"


def test_nobody_notices(lab, new_page, open_notebook, write_notebook, picture):
    cells = [DEFINE, TRAIN, GO_ON, FAIL, CRASH, AGAIN, LONG, LAST]
    write_notebook("engine.ipynb", cells)
    page = new_page(viewport={"width": 1000, "height": 1400})
    notebook = open_notebook(page, lab(), "engine.ipynb")
    notebook.wait_idle()

    for number in range(6):
        notebook.run(number)
    trained, went_on, failed, crashed, again = (notebook.text(number) for number in range(1, 6))
    assert "step 0\nstep 1\nstep 2\n" in trained
    assert "array([1., 5., 1.])" in trained
    assert "([0, 1, 2], array([1., 5., 1.]), True, True)" in went_on
    assert "AttributeError" in failed
    assert "'Model' object has no attribute 'nothing'" in failed
    assert "model.nothing" in failed  # its own line
    assert "EngineDied" in crashed
    assert "Aborted" in crashed
    assert "[0, 1, 2, 99]" in again  # the crash took nothing along
    picture(page, "engine")

    notebook.start(6)
    notebook.output(6).get_by_text("begun").wait_for(timeout=60_000)
    page.keyboard.press("Escape")
    page.keyboard.press("i")
    page.keyboard.press("i")
    notebook.output(6).get_by_text("KeyboardInterrupt").first.wait_for(timeout=60_000)
    notebook.wait_idle()
    notebook.run(7)
    assert "still here 5.0" in notebook.text(7)
    picture(page, "engine-interrupted")
