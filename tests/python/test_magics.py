"""`%jumper VERB`: what each does, and how each is refused."""

import pytest
from notebook import JSON_TYPE, in_ipython


@pytest.fixture(scope="module", autouse=True)
def first_cells(shared_notebook):
    shared_notebook.run("a = 1")
    shared_notebook.run("a = '<script>alert(1)</script>'")


def table(run) -> dict[str, str]:
    """The rows of what `status` and `set` show."""
    (display,) = run.displays
    assert display["text/html"].startswith("<table>")
    lines = display["text/plain"].split("\n")
    return {
        line.split()[0]: line.split(maxsplit=1)[1] for line in lines if not line.startswith(" ")
    }


def test_status_says_what_is_measured_and_where(shared_notebook, tmp_path):
    rows = table(shared_notebook.run("%jumper"))
    assert rows["rate"] == "10 Hz (default)"
    assert rows["levels"] == "process, user, job, node"
    assert "B)" in rows["where"]
    assert int(rows["cells"]) >= 2
    assert rows["sampler"].startswith("process ")
    assert set(rows) >= {"its", "gaps", "missing"}
    assert table(shared_notebook.run("%jumper status")).keys() == rows.keys()


def test_summary_without_a_cell_is_the_last_finished_one(shared_notebook):
    count = shared_notebook.run("b = 1").count
    run = shared_notebook.run("%jumper summary")
    (bundle,) = run.bundles
    assert bundle[JSON_TYPE]["cell"]["execution_count"] == count
    assert set(bundle) == {"text/plain", "text/html", JSON_TYPE}


@pytest.mark.parametrize("cell", ["1", "#1"])
def test_summary_of_a_cell(shared_notebook, cell):
    (bundle,) = shared_notebook.run(f"%jumper summary {cell}").bundles
    assert bundle[JSON_TYPE]["cell"]["index"] == 1


@pytest.mark.parametrize("option", ["--level node", "--level=node"])
def test_the_level_of_a_summary(shared_notebook, option):
    plain = shared_notebook.run("%jumper summary 1").bundles[0]["text/plain"]
    node = shared_notebook.run(f"%jumper summary 1 {option}").bundles[0]["text/plain"]
    other = shared_notebook.run(f"%jumper summary {option} 1").bundles[0]["text/plain"]
    assert node == other != plain


def test_history_lists_every_cell_and_the_magics_too(shared_notebook):
    shared_notebook.run("%jumper history")
    before = shared_notebook.history()
    after = shared_notebook.history()
    assert len(after) == len(before) + 1
    assert [one["index"] for one in after] == list(range(1, len(after) + 1))


def test_code_is_the_text_that_ran(shared_notebook):
    count = shared_notebook.run("%%capture\nx = '<b>' # größe").count
    (display,) = shared_notebook.run(f"%jumper code {count}").displays
    assert display["text/plain"] == "%%capture\nx = '<b>' # größe"
    assert "&lt;b&gt;" in display["text/html"]
    assert "<b>" not in display["text/html"]
    assert "style=" in display["text/html"]


def test_help_names_every_verb_and_setting(shared_notebook):
    (display,) = shared_notebook.run("%jumper help").displays
    for word in ("status", "set", "summary", "history", "code", "rate=", "min_reports=", "level="):
        assert word in display["text/plain"]


def test_the_magic_has_a_page_of_help(shared_notebook):
    page = shared_notebook.run("%jumper?").reply["content"]["payload"][0]["data"]["text/plain"]
    assert "%jumper set NAME=VALUE" in page


REFUSED = [
    ("sumary", "there is no verb 'sumary'. Did you mean summary? The verbs are status, set,"),
    ("zzz", "there is no verb 'zzz'. The verbs are"),
    ("set rate=0", "rate=0 is refused: it must be a number of samples a second from 0.1 to 1000"),
    ("set rate=", "rate= is refused"),
    ("set rate", "'rate' sets nothing: write NAME=VALUE without spaces, as rate=50"),
    ("set rate = 5", "'rate' sets nothing"),
    ("set rat=5", "there is no setting 'rat'. Did you mean rate? The settings are rate, summary,"),
    ("set summary=yes", "summary=yes is refused: it must be auto, always or never"),
    ("set level=gpu", "level=gpu is refused: it must be process, user, job, node or all"),
    ("set min_reports=-1", "min_reports=-1 is refused"),
    ("set directory=/tmp", "directory can't be changed while recording: set c.Jumper.directory or"),
    ("set rate=20 summary=maybe", "summary=maybe is refused"),
    ("summary 99999", "there is no measured cell In [99999]: the history has #1 to #"),
    ("summary #99999", "there is no entry #99999: the history has #1 to #"),
    ("summary -99999", "there is no cell -99999"),
    ("summary x", "'x' names no cell: give n for In [n], #k for entry k of the history, or -1"),
    ("summary 1 2", "summary does not know what to do with '2': it takes [CELL|GROUP] [--level L]"),
    ("summary --level", "--level needs a value"),
    ("summary --level gpu", "level=gpu is refused"),
    ("summary --depth 1", "--depth is no option of summary: it knows --level"),
    ("history 5", "history does not know what to do with '5': it takes nothing"),
    ("status now", "status does not know what to do with 'now'"),
    ("help me", "help does not know"),
    ("code", "code needs a cell"),
    ("code 1 2", "code does not know what to do with '2'"),
    ("code 'x", "No closing quotation"),
]


@pytest.mark.parametrize(("line", "words"), REFUSED)
def test_what_it_cannot_do_it_says_in_one_sentence(shared_notebook, line, words):
    run = shared_notebook.run(f"%jumper {line}")
    assert run.status == "error"
    assert run.ename == "UsageError"
    assert run.stderr.startswith(f"UsageError: %jumper: {words}")
    assert run.stderr.count("\n") == 1
    assert run.displays == []


def test_refused_settings_change_nothing(shared_notebook):
    shared_notebook.run("%jumper set rate=20 summary=maybe")
    assert "10 Hz (default)" in shared_notebook.run("%jumper").displays[0]["text/plain"]


def test_settings_act_at_once_and_from_every_layer(notebook):
    assert notebook.run("%jumper set rate=20 summary=never level=all min_reports=2").stdout == ""
    text = notebook.run("%jumper set").displays[0]["text/plain"]
    for words in ("rate=20 ", "summary=never ", "level=all ", "min_reports=2 "):
        assert words in text
    assert "20 Hz (%jumper set)" in notebook.run("%jumper").displays[0]["text/plain"]


def test_the_environment_acts_at_the_next_cell(notebook):
    notebook.run("%env JUMPER_SAMPLING_RATE=25")
    assert "25 Hz (JUMPER_SAMPLING_RATE)" in notebook.run("%jumper").displays[0]["text/plain"]
    notebook.run("import os; del os.environ['JUMPER_SAMPLING_RATE']")
    assert "10 Hz (default)" in notebook.run("%jumper").displays[0]["text/plain"]
    run = notebook.run("%env JUMPER_SAMPLING_RATE=fast")
    run = notebook.run("1")
    assert run.stderr.startswith("jumper: JUMPER_SAMPLING_RATE=fast is ignored: it must be")
    assert notebook.run("1").stderr == ""


def test_config_counts_before_the_environment_and_is_checked(notebook):
    notebook.run("%env JUMPER_SAMPLING_RATE=25")
    notebook.run("%config Jumper.rate = 10.0")
    assert "10 Hz (%config)" in notebook.run("%jumper").displays[0]["text/plain"]
    notebook.run("%config Jumper.rate = 30")
    assert "30 Hz (%config)" in notebook.run("%jumper").displays[0]["text/plain"]
    run = notebook.run("%config Jumper.rate = 0")
    assert "Jumper.rate=0 is refused: it must be a number of samples" in run.stderr
    assert "30 Hz (%config)" in notebook.run("%jumper").displays[0]["text/plain"]
    assert "Samples a second." in notebook.run("%config Jumper").stdout


def test_the_configuration_file_counts_last(open_notebook):
    options = ["--Jumper.rate=5", "--Jumper.summary=never"]
    notebook = open_notebook(options=options)
    assert "5 Hz (configuration file)" in notebook.run("%jumper").displays[0]["text/plain"]
    assert notebook.run("import time; time.sleep(1.1)").displays == []


def test_a_bad_configuration_file_is_said_under_the_first_cell(open_notebook):
    notebook = open_notebook(options=["--Jumper.rate=fast"])
    run = notebook.run("x = 1")
    assert run.status == "ok"
    assert run.stderr.startswith(
        "jumper: the configuration file's c.Jumper is ignored: Jumper.rate"
    )
    assert notebook.run("x = 1").stderr == ""
    assert "10 Hz (default)" in notebook.run("%jumper").displays[0]["text/plain"]


@pytest.mark.parametrize(
    ("line", "matches"),
    [
        (
            "%jumper ",
            [
                *(
                    "carry",
                    "code",
                    "compare",
                    "doctor",
                    "export",
                    "group",
                    "guard",
                    "help",
                    "history",
                    "monitor",
                    "open",
                    "plot",
                ),
                *("save", "script", "set", "status", "summary", "total"),
            ],
        ),
        ("%jumper su", ["summary"]),
        ("%%jumper ", ["run", "scorep"]),
        ("%%jumper scorep --t", ["--thread=pthread", "--timeout"]),
        ("%%jumper run --w", ["--with"]),
        (
            "%jumper set ",
            [
                "backend=",
                "carry_report=",
                "level=",
                "min_reports=",
                "pickler=",
                "rate=",
                "summary=",
                "transport=",
                "workers=",
            ],
        ),
        (
            "%jumper carry ",
            ["backend=", "carry_report=", "pickler=", "transport=", "workers="],
        ),
        ("%jumper carry transport=", ["file", "memfd"]),
        ("%jumper set rate=5 su", ["summary="]),
        ("%jumper set summary=", ["always", "auto", "never"]),
        ("%jumper set level=p", ["process"]),
        ("%jumper summary --le", ["--level"]),
        ("%jumper summary --level ", ["all", "job", "node", "process", "user"]),
        ("%jumper summary 3 --level=n", ["node"]),
        ("%jumper plot --metrics cpu,me", ["memory"]),
        ("%jumper plot --level n", ["node"]),
        ("%jumper script ", ["abort", "begin", "end"]),
        ("%jumper script begin it --s", ["--slurm"]),
        ("x = 1\n%jumper hi", ["history"]),
    ],
)
def test_completion(shared_notebook, line, matches):
    assert sorted(shared_notebook.complete(line)) == matches


def test_completion_of_other_lines_is_as_ever(shared_notebook):
    assert "sum" in shared_notebook.complete("su")
    assert "%jumper" in shared_notebook.complete("%jum")


def test_completion_without_jedi():
    answer = in_ipython("""
shell.Completer.use_jedi = False
run("%load_ext jumper")
answer = [shell.complete(None, line, len(line))[1] for line in ("%jumper s", "%jumper set ra")]
""")
    assert answer == [["save", "script", "set", "status", "summary"], ["rate="]]


def test_the_order_of_summaries(notebook):
    """auto: 1 s or more, or as many ticks as min_reports says; always; never."""
    long, short = "import time; time.sleep(1.05)", "import time; time.sleep(.3)"
    assert len(notebook.run(long).bundles) == 1
    assert len(notebook.run(short).bundles) == 0
    notebook.run("%env JUMPER_MIN_REPORTS=2")  # one tick may fall into the shortest cell
    assert len(notebook.run(short).bundles) == 1
    assert len(notebook.run("x = 1").bundles) == 0
    notebook.run("%jumper set min_reports=100")
    assert len(notebook.run(long).bundles) == 0
    notebook.run("%jumper set summary=always")
    assert len(notebook.run("x = 1").bundles) == 1
    notebook.run("%jumper set summary=never min_reports=auto")
    assert len(notebook.run(long).bundles) == 0


def test_summary_of_the_chosen_level(notebook):
    notebook.run("%jumper set summary=always level=node")
    run = notebook.run("x = 1")
    node = notebook.run(f"%jumper summary {run.count} --level node")
    assert run.bundles[0]["text/plain"] == node.bundles[0]["text/plain"]
