"""`%jumper compare` and `total`: figures of several cells, and the summaries of a notebook."""

import json
import subprocess
from html.parser import HTMLParser

import nbformat
import pytest
from notebook import JSON_TYPE

from jumper import comparing, totals
from jumper.session import program

NONE = comparing.UNKNOWN


def summary(index=1, begin="2026-11-29T10:00:00Z", duration_s=2.0, outcome="ok", **process):
    return {
        "version": 1,
        "cell": {
            "index": index,
            "execution_count": index + 10,
            "begin": begin,
            "duration_s": duration_s,
            "outcome": outcome,
        },
        "levels": {"process": process, "job": None},
        "unknown": {"job": "not supported: no cgroup"},
    }


class Rendered:
    def __init__(self, shown: dict) -> None:
        self.json = json.dumps(shown)


def compared(first: dict, second: dict, code=(b"x = 1", b"x = 2"), level="process") -> dict:
    return comparing.compare(Rendered(first), Rendered(second), code, level)


def line_of(text: str, name: str) -> str:
    return next(line for line in text.split("\n") if line.startswith(name))


def test_figures_stand_side_by_side_with_their_difference():
    first = summary(
        cpu_time_s=2.0, memory_bytes={"peak": 1 << 20}, io_read_bytes=0, processes={"max": 1}
    )
    second = summary(
        2, duration_s=3.0, cpu_time_s=1.0, memory_bytes={"peak": 64 << 20}, io_read_bytes=512
    )
    bundle = compared(first, second)
    text = bundle["text/plain"]
    assert text.split("\n")[0].split("  ")[-1] == "difference"
    assert line_of(text, "duration").split() == [
        "duration",
        "2",
        "s",
        "3",
        "s",
        "+1",
        "s",
        "+50",
        "%",
    ]
    assert line_of(text, "CPU time").split()[-4:] == ["-1", "s", "-50", "%"]
    assert line_of(text, "memory, peak").split()[-2:] == ["x", "64"]
    assert line_of(text, "I/O, read").split()[-3:] == ["+512", "B", NONE]
    assert line_of(text, "processes, most").split()[-3:] == [NONE, NONE, NONE]
    figures = {one["name"]: one for one in bundle[JSON_TYPE]["figures"]}
    assert figures["duration"]["relative"] == 0.5
    assert figures["I/O, read"]["relative"] is None
    assert figures["processes, most"]["second"] is None


def test_what_is_unknown_has_its_reason_once():
    one, other = summary(), summary(2)
    text = compared(one, other, level="job")["text/plain"]
    assert text.count("level job: not supported: no cgroup") == 1
    other["unknown"]["process.cpu_time_s"] = "not yet: no sample"
    text = compared(one, other)["text/plain"]
    assert "In [12] (#2): cpu_time_s: not yet: no sample" in text


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.styles: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.styles += [value for name, value in attrs if name == "style"]
        assert {name for name, _ in attrs} <= {"style"}

    def handle_data(self, data):
        self.text += data


def test_the_difference_in_code_is_shown_and_escaped():
    bundle = compared(summary(), summary(2), (b"a\n<b>\nc", b"a\n<script>alert(1)</script>\nc"))
    text = bundle["text/plain"].split("\n")
    assert "-<b>" in text
    assert "+<script>alert(1)</script>" in text
    page = Tags(bundle["text/html"])
    assert page.tags == {"table", "tr", "th", "td", "pre", "span"}
    assert "+<script>alert(1)</script>" in page.text
    assert sum("rgba(46,160,67" in style for style in page.styles) == 1
    assert sum("rgba(248,81,73" in style for style in page.styles) == 1
    assert not bundle[JSON_TYPE]["same_code"]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (b"x", b"x", "the code is the same"),
        (b"x\n", b"x\r\n", "the code differs in the ends of its lines only"),
        (b"x", b"y\n" * 3000, "the code differs; it is too long to be compared line by line"),
        (b"x" * 200_000, b"y", "the code differs; it is too long to be compared line by line"),
        (b"\xed\xa0\x80", b"\xed\xa0\x80", "the code is the same"),
    ],
)
def test_code_that_shows_no_lines(first, second, said):
    bundle = compared(summary(), summary(2), (first, second))
    assert bundle["text/plain"].endswith(f"\n\n{said}")
    assert said in Tags(bundle["text/html"]).text


def test_cards_are_compared_too():
    one, other = summary(), summary(2)
    one["levels"]["node"] = {"devices": {"gpu0": {"utilization_percent": {"mean": 50}}}}
    other["levels"]["node"] = {"devices": {"file_system0": {"used_bytes": {"mean": 5}}}}
    text = compared(one, other)["text/plain"]
    assert line_of(text, "gpu0 use, mean").split()[-5:] == ["50.0", "%", NONE, NONE, NONE]
    assert "file_system" not in text


WHOLE = summary(0, "2026-11-29T10:00:00Z", 3600.0, cpu_time_s=7200.0, io_read_bytes=5)


def totalled(whole: dict, cells: list[dict], level="process") -> tuple[dict[str, str], dict]:
    bundle = totals.total(json.dumps(whole), json.dumps(cells), level)
    rows = dict(line.split(maxsplit=1) for line in bundle["text/plain"].split("\n"))
    return rows, bundle[JSON_TYPE]["total"]


def test_total_adds_up_what_cells_did():
    cells = [
        summary(1, "2026-11-29T10:00:00Z", 600.0, memory_bytes={"peak": 1 << 30}),
        summary(2, "2026-11-29T10:05:00Z", 60.0, "error"),  # within the first
        summary(3, "2026-11-29T10:30:00Z", 300.0, "interrupted"),
        summary(4, "2026-11-29T10:59:00Z", 0.5, None),
    ]
    rows, numbers = totalled(WHOLE, cells)
    assert rows["notebook"].startswith("1 h 00 min since 2026-11-29")
    assert rows["cells"] == "3, of them 1 error, 1 interrupted"
    assert numbers["busy_s"] == 900.5
    assert rows["idle"] == "45 min 00 s between the cells"
    assert rows["CPU"] == "2 core-hours (2 h 00 min of CPU time)"
    assert rows["memory"] == "at most 1 GiB"
    assert rows["I/O"].startswith("read 5 B, written unknown (not yet: ")
    assert rows["GPU"].startswith("unknown (not supported")
    assert numbers["gpu_hours"] is None
    assert numbers["io_write_bytes"] is None


def test_total_of_a_level_that_is_not_there_says_why():
    rows, numbers = totalled(WHOLE, [summary()], "job")
    assert rows["CPU"] == "unknown (not supported: no cgroup)"
    assert numbers["core_hours"] is None


def test_total_of_cards():
    whole = json.loads(json.dumps(WHOLE))
    whole["devices"] = {"gpu0": {"driver": "NVML"}, "fs": {"driver": "file system"}}
    card = {"utilization_percent": {"mean": 25}, "energy_millijoules": 7_200_000}
    whole["levels"]["node"] = {"devices": {"gpu0": card, "fs": {}, "gpu0_mig1": {}}}
    rows, numbers = totalled(whole, [])
    assert rows["GPU"] == "0.25 GPU-hours used, of 1 card by whomever"
    assert rows["energy"] == "2 Wh of the cards"
    del card["energy_millijoules"]
    whole["unknown"]["node.gpu0.energy_millijoules"] = "not supported: the card has no counter"
    rows, numbers = totalled(whole, [])
    assert rows["energy"].startswith("unknown (not supported: the card has no counter)")
    assert numbers["gpu_energy_joules"] is None


def test_before_the_first_sample():
    whole = summary(0, "1970-01-01T00:00:00Z", 0.0)
    rows, _ = totalled(whole, [])
    assert rows["cells"] == "0, none failed"
    assert rows["CPU"].startswith("unknown (not yet")


REFUSED = [
    ("compare 1", "compare needs two cells, as in `%jumper compare 3 5` or `#1 -1`"),
    ("compare 1 2 3", "compare needs two cells"),
    ("compare 1 99999", "there is no measured cell In [99999]"),
    ("compare 1 1 --level x", "level=x is refused"),
    ("compare 1 1 --to x", "--to is no option of compare: it knows --level"),
    ("total 3", "total does not know what to do with '3': it takes [--level L]"),
]


@pytest.mark.parametrize(("line", "words"), REFUSED)
def test_refusals(shared_notebook, line, words):
    shared_notebook.run("a = 1")
    run = shared_notebook.run(f"%jumper {line}")
    assert run.stderr.startswith(f"UsageError: %jumper: {words}")


def test_two_runs_of_a_cell_in_a_real_kernel(shared_notebook):
    first = shared_notebook.run("x = sum(range(10**6)) # <i>").count
    second = shared_notebook.run("x = sum(range(10**6)) # <b>").count
    run = shared_notebook.run(f"%jumper compare {first} {second}")
    (bundle,) = run.bundles
    assert "-x = sum(range(10**6)) # <i>" in bundle["text/plain"].split("\n")
    assert "<b>" not in bundle["text/html"]
    assert [one["execution_count"] for one in bundle[JSON_TYPE]["compare"]] == [first, second]
    (bundle,) = shared_notebook.run("%jumper total").bundles
    assert bundle[JSON_TYPE]["total"]["core_hours"] > 0
    assert bundle[JSON_TYPE]["total"]["cells"] >= 2


def report(*words):
    return subprocess.run(
        [program(), "report", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_program_reads_the_summaries_of_an_executed_notebook(shared_notebook, tmp_path):
    shared_notebook.run("%jumper set summary=always")
    runs = [shared_notebook.run(f"x = {i}") for i in range(2)]
    shared_notebook.run("%jumper set summary=never")
    book = nbformat.v4.new_notebook()
    for run in runs:
        (data,) = run.bundles
        output = nbformat.v4.new_output("display_data", data=data)
        book.cells.append(nbformat.v4.new_code_cell("x", outputs=[output]))
    path = tmp_path / "größe run.ipynb"
    nbformat.write(book, path)
    done = report(path)
    assert done.returncode == 0, done.stderr
    for run in runs:
        assert run.bundles[0]["text/plain"] in done.stdout
    done = report(path, "--json")
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    assert shown == [run.bundles[0][JSON_TYPE] for run in runs]
    assert report(path, "--level", "node").returncode == 0


def test_what_is_no_executed_notebook(tmp_path):
    empty, broken = tmp_path / "empty.ipynb", tmp_path / "broken.ipynb"
    nbformat.write(nbformat.v4.new_notebook(), empty)
    broken.write_text("{")
    done = report(empty)
    assert done.returncode == 1
    assert done.stderr.startswith(f"jumper: cannot report '{empty}': none of its 0 code cells has")
    done = report(broken)
    assert done.returncode == 1
    assert "it is no JSON: cut off, or not a notebook" in done.stderr
    newer = json.loads(empty.read_text())
    shown = {"version": 2, "cell": {"index": 1, "outcome": "ok"}, "levels": {}}
    newer["cells"] = [{"cell_type": "code", "outputs": [{"data": {JSON_TYPE: shown}}]}]
    empty.write_text(json.dumps(newer))
    done = report(empty)
    assert done.returncode == 1
    assert "1 summaries were written by a newer JUmPER" in done.stderr
