"""The kernel's protocol is ipykernel's: Jupyter's own tests of a kernel, on our kernelspec."""

import jupyter_kernel_test
import pytest
from notebook import write_kernelspecs


@pytest.fixture(scope="class", autouse=True)
def kernelspec(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jupyter")
    write_kernelspecs(folder / "kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        yield


class TestKernel(jupyter_kernel_test.KernelTests):
    kernel_name = "jumper"
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('test', file=sys.stderr)"
    completion_samples = (
        {"text": "zi", "matches": {"zip"}},
        {"text": "%jumper se", "matches": {"set"}},
    )
    complete_code_samples = ("1", "print('hello')", "def f(x):\n  return x*2\n\n")
    incomplete_code_samples = ("print('''hello", "def f(x):\n  x*2")
    invalid_code_samples = ("import = 7q",)
    code_page_something = "zip?"
    code_generate_error = "raise"
    code_execute_result = ({"code": "1+2+3", "result": "6"},)
    code_display_data = (
        {
            "code": "from IPython.display import HTML, display; display(HTML('<b>test</b>'))",
            "mime": "text/html",
        },
    )
    code_history_pattern = "1?2*"
    supported_history_operations = ("tail", "search")
    code_inspect_sample = "zip"
    code_clear_output = "from IPython.display import clear_output; clear_output()"
