"""C4: output, code and cells in numbers and sizes that nobody has asked for."""

import hashlib
import resource
from pathlib import Path

import pytest
from faults.harness import Recording
from notebook import in_ipython

pytestmark = pytest.mark.slow  # the same core, whichever CPython

MIB = 1 << 20
MOST_SOURCE_BYTES = 8 * MIB  # what a recording keeps of a cell's code
FLOOD = (
    "import sys\n"
    "for i in range({lines}):\n"
    "    print('line', i)\n"
    "    if i % 100 == 0: print('odd', i, file=sys.stderr)\n"
)


def rss(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


def flood(notebook, lines: int) -> tuple:
    run = notebook.run(FLOOD.format(lines=lines), timeout_s=240)
    assert run.status == "ok"
    assert run.stdout.count("\n") == lines
    kinds = {one["header"]["msg_type"] for one in run.messages}
    shown = [one for one in run.without_ours() if one[0] != "stream"]
    return kinds - {"display_data"}, run.stdout, run.stderr, shown, run.count


@pytest.mark.fault("C4")
def test_a_flood_of_output_is_the_same_with_us(open_notebook):
    with_us, without = (flood(open_notebook(name), 20_000) for name in ("jumper", "plain"))
    assert with_us == without


@pytest.mark.fault("C4")
@pytest.mark.long
def test_a_larger_flood_of_output_is_the_same_with_us(open_notebook):
    with_us, without = (flood(open_notebook(name), 100_000) for name in ("jumper", "plain"))
    assert with_us == without


@pytest.mark.fault("C4")
@pytest.mark.parametrize("size", [MOST_SOURCE_BYTES, 100 * MIB])
def test_code_of_any_size_is_kept_as_far_as_is_said(kernel, size):
    """It is cut, says so, and costs the sampler no more than what is kept of it."""
    kernel.do("cell('pass')")
    before = rss(kernel.sampler)
    index = kernel.do(
        f"text = '#' + 'x' * ({size} - 1)\nwith s.cell(text) as c: pass\nanswer = c.index"
    )
    assert kernel.do(f"answer = s.native.wait({index}, 30)")
    assert rss(kernel.sampler) - before < 8 * MOST_SOURCE_BYTES
    kernel.do("del text")
    kept = kernel.do(f"answer = len(s.native.code({index}))")
    assert kept == min(size, MOST_SOURCE_BYTES)
    history = kernel.do("answer = s.history().text")
    assert len(history) < 10_000
    kernel.do("s.close()")
    assert kernel.end() == ""
    assert Path(kernel.path).stat().st_size < 2 * MOST_SOURCE_BYTES
    (begin,) = [one for one in Recording(kernel.path).of("cell_begin") if one["index"] == index]
    assert begin["source_bytes"] == size


SOURCES = [
    bytes(range(256)),
    b"\xff\xfe\x00\x00" * 1000,
    b"\xed\xa0\x80 lone",
    "x = '\ud800 \udfff'".encode("utf-8", "surrogatepass"),
    b"\x00" * 5000,
    b"\xc3",
    "ü".encode() * 20_000 + b"\xc3",
    b"",
]


@pytest.mark.fault("C4")
def test_code_that_is_no_text_comes_back_byte_for_byte(kernel):
    for source in SOURCES:
        kernel.do(
            f"i = s.native.begin(bytes.fromhex({source.hex()!r}), None); s.native.end(i, 'ok')"
        )
    count = 1 + len(SOURCES)
    assert kernel.do(f"answer = s.native.wait({count}, 20)")
    for number, source in enumerate(SOURCES, start=2):
        digest = kernel.do(
            f"import hashlib\nanswer = hashlib.sha256(s.native.code({number})).hexdigest()"
        )
        assert digest == hashlib.sha256(source).hexdigest(), source[:20]
    for form in ("text", "html", "json"):
        assert kernel.do(f"answer = s.history().{form}.encode().decode()")
    kernel.do("s.close()")
    recording = Recording(kernel.path)
    assert len(recording.cells) == count


CODES = [
    "x = '\\x00\\x01'",
    "x = '\ud800'",
    "x = '\x00'",
    "\x1b[31m",
    "\ufeffx = 1",
    "\x00",
    "\udcff = 1",
]
RUN = """
run("%load_ext jumper" if with_us else "pass")
runs = [run(code) for code in {codes!a}]
error = lambda result: type(result.error_in_exec or result.error_before_exec).__name__
answer = [[result.success, error(result), out] for result, out, _ in runs]
if with_us: answer.append(len(cells()))
"""


@pytest.mark.fault("C4")
def test_binary_and_surrogates_in_code_change_nothing():
    """The shell says of each what it says without us."""
    with_us, without = (
        in_ipython(f"with_us = {with_us}" + RUN.format(codes=CODES)) for with_us in (True, False)
    )
    assert with_us.pop() == len(CODES)
    assert with_us == without


def run_cells(kernel, count: int, most_kernel: int, most_sampler: int) -> None:
    """In parts, so that what grows with time shows."""
    part = count // 10
    kernel.do(f"for i in range({part}): cell('x = 1')", timeout_s=300)
    before = rss(kernel.pid), rss(kernel.sampler)
    for _ in range(9):
        kernel.do(f"for i in range({part}): cell('x = 1')", timeout_s=300)
    last = 1 + 10 * part
    assert kernel.do(f"answer = s.native.wait({last}, 60)", timeout_s=90)
    sampler = kernel.status()["sampler_pid"]
    assert sampler == kernel.sampler
    assert rss(kernel.pid) - before[0] < most_kernel
    assert rss(kernel.sampler) - before[1] < most_sampler
    cells = kernel.do("answer = len(s.native.cells())", timeout_s=300)
    assert cells == last
    assert kernel.do("answer = json.loads(s.summary().json)['cell']['index']") == last
    assert kernel.do(f"answer = s.native.code({last}).decode()") == "x = 1"
    text = kernel.do("answer = s.history().text", timeout_s=300)
    assert f"#{last}" in text
    kernel.do("s.close()")
    assert kernel.end() == ""


@pytest.mark.fault("C4")
def test_thousands_of_cells_in_one_session(start_kernel):
    """About 1.5 kB a cell in the kernel (its index of them), nothing in the sampler."""
    kernel = start_kernel(rate=10)
    kernel.await_sampler()
    run_cells(kernel, 5000, 24 * MIB, 4 * MIB)


@pytest.mark.fault("C4")
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_hundred_thousand_cells_in_one_session(start_kernel):
    kernel = start_kernel(rate=10)
    kernel.await_sampler()
    run_cells(kernel, 100_000, 256 * MIB, 8 * MIB)
