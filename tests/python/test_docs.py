"""What the pages say is so: links, paths, names and examples."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jumper import views
from jumper.__main__ import parser
from jumper.session import program
from jumper.settings import PREFIXES, SETTINGS
from jumper.verbs import VERBS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
# What stands behind a name in backticks: files and folders of the repository.
TOP = "src|python|tests|fuzz|scripts|docs|examples|changes|benchmarks|share|cmake"
PATH = re.compile(rf"`((?:{TOP})(?:/[\w.<>/-]*)?|[\w-]+\.(?:md|toml|txt))`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
VARIABLE = re.compile(r"`((?:JUMPER|XDG|VIRTUAL|JPY|TMP|HOME|IPYTHON)[A-Z_]*)`")


def text(page):
    return page.read_text(encoding="utf-8")


def section(page, title):
    """From the heading to the next one of its rank or above."""
    rank = title.split()[0]
    found = re.search(
        rf"^{re.escape(title)}\n(.*?)(?=^#{{1,{len(rank)}}} |\Z)",
        text(page),
        re.MULTILINE | re.DOTALL,
    )
    assert found, f"{page.name} has no heading {title!r}"
    return found[1]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text(page), re.MULTILINE | re.DOTALL)


def anchors(page):
    """The headings' names as GitHub and MyST make them."""
    titles = re.findall(r"^#+ (.*)$", text(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("docs") / "run.jumper"
    code = "import time; end = time.monotonic() + 0.6\nwhile time.monotonic() < end: pass"
    jumper("record", "-o", str(path), "--", "python3", "-c", code)
    return path


def jumper(*words):
    done = subprocess.run([program(), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- links and paths ----


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(text(page)):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        other = (page.parent / path) if path else page
        assert other.exists(), target
        assert not anchor or anchor in anchors(other), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_of_the_repository_are_there(page):
    for path in PATH.findall(text(page)):
        # `tests/native/<room>` and `fuzz/x_fuzz.cpp` stand for many.
        whole = re.sub(r"(<|\bx(?:_\w+\.cpp)?(?:/|$)).*", "", path)
        assert (ROOT / whole).exists(), path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_of_the_core_are_there(page):
    rooms = "|".join(path.name for path in (ROOT / "src").iterdir() if path.is_dir())
    for room, name, member in re.findall(rf"`({rooms})::(\w+)(?:::(\w+))?", text(page)):
        code = "".join(text(path) for path in (ROOT / "src" / room).glob("*.hpp"))
        for word in filter(None, (name, member)):
            assert re.search(rf"\b{word}\b", code), f"{room}::{name}"


def test_verbs_of_make_are_there():
    known = set(re.findall(r"^([a-z-]+)(?:-%)?:", text(ROOT / "Makefile"), re.MULTILINE))
    for page in PAGES:
        for words in re.findall(r"`make ([a-z -]+)", text(page)):
            assert set(words.split()) <= known, words


# ---- settings.md ----

SETTINGS_PAGE = DOCS / "settings.md"


def test_every_verb_of_the_magic_is_described_and_nothing_else():
    page = section(SETTINGS_PAGE, "## `%jumper`")
    rows = re.findall(r"^\| `%%?jumper[^|]*\|", page, re.MULTILINE)
    described = {word for row in rows for word in re.findall(r"`%%?jumper ([a-z]+)", row)}
    assert described == set(VERBS)


def test_every_setting_is_described_with_its_default_and_its_variables():
    rows = {}
    for line in section(SETTINGS_PAGE, "## What can be set").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0].startswith("`"):
            rows[cells[0].strip("`")] = cells
    assert rows.keys() == SETTINGS.keys()
    for name, setting in SETTINGS.items():
        _, default, values, environment = rows[name]
        variables = {"JUMPER_" + variable.name for variable in setting.variables}
        assert set(VARIABLE.findall(environment)) == variables
        if name != "directory":
            shown = "auto" if setting.default is None else str(setting.default).removesuffix(".0")
            assert default == f"`{shown}`"
        if name in ("summary", "level"):
            assert set(setting.choices) <= set(re.findall(r"`(\w+)`", values))
    for prefix in PREFIXES:
        assert f"`{prefix}" in text(SETTINGS_PAGE)


def test_every_environment_variable_is_described_and_nothing_else():
    read = {"JUMPER_" + one.name for setting in SETTINGS.values() for one in setting.variables}
    for path in (ROOT / "src").rglob("*.cpp"):
        if path.stem != "failpoint":  # developing.md has it
            read |= set(re.findall(r'(?:getenv|variable)\("([A-Z_]+)"\)', text(path)))
    for path in (ROOT / "python").rglob("*.py"):
        read |= set(re.findall(r'environ(?:\.get\(|\[)"([A-Z_]+)"', text(path)))
    described = set(VARIABLE.findall(text(SETTINGS_PAGE)))
    described.discard("JUMPER_")
    assert described == read
    assert "`JUMPER_FAILPOINTS=" in text(DOCS / "developing.md")


def test_every_verb_and_option_of_the_program_is_described_and_nothing_else():
    rows = re.findall(r"^\| `(jumper [^|]*)\| (.*) \|$", text(SETTINGS_PAGE), re.MULTILINE)
    described = {row.split()[1].strip("`"): row + about for row, about in rows}
    known = re.findall(r"^ {2}([a-z]+) {2,}", jumper("--help").split("ubcommands")[1], re.MULTILINE)
    assert set(described) == set(
        known or re.findall(r"^ {2}([a-z]+)", jumper("--help"), re.MULTILINE)
    )
    for verb, line in described.items():
        helped = (
            jumper(verb, "--help")
            if verb in ("record", "report", "dump", "sample", "doctor", "monitor")
            else python_help(verb)
        )
        options = set(re.findall(r"(--[a-z][a-z-]*)", helped)) - {"--help"}
        assert set(re.findall(r"(--[a-z][a-z-]*)", line)) == options, verb


def python_help(verb):
    verbs = next(a for a in parser()._actions if a.choices)
    return verbs.choices[verb].format_help()


# ---- formats.md ----

FORMATS_PAGE = DOCS / "formats.md"


def shape(value):
    """Keys and kinds of values, all the way down; every number is a number."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    if isinstance(value, bool) or value is None:
        return type(value).__name__
    return "number" if isinstance(value, int | float) else "text"


def test_the_example_of_a_summary_is_like_a_real_one(tmp_path, monkeypatch):
    import jumper

    monkeypatch.setenv("JUMPER_DIR", str(tmp_path))
    (example,) = (json.loads(block) for block in blocks(FORMATS_PAGE, "json"))
    with jumper.session(rate=50) as session, session.cell("busy") as cell:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            pass
    real = json.loads(cell.summary("all").json)
    for summary in (example, real):  # what differs from machine to machine
        for key in summary["unknown"]:
            level, _, metric = key.partition(".")
            assert level in summary["levels"]
            assert not metric or metric.split(".")[0] in [*summary["levels"][level], "devices"]
        del summary["unknown"]
        for key in ("devices", "consumers", "other_consumers", "rate_note"):
            summary.pop(key, None)
        for name in list(summary["levels"]):
            level = summary["levels"][name]
            if name not in example["levels"]:
                del summary["levels"][name]
                continue
            for metric in level.keys() - views.ORDINARY:
                del level[metric]
        summary.pop("notes", None)
        summary.pop("sample_age_s", None)
        summary["gaps"] = []
        summary["cell"]["execution_count"] = None
    assert shape(example) == shape(real)
    assert example["version"] == real["version"]


def test_every_key_of_a_summary_is_described():
    (example,) = (json.loads(block) for block in blocks(FORMATS_PAGE, "json"))
    page = section(FORMATS_PAGE, "## The summary as JSON").split("```")[-1]
    others = example["levels"]["process"].keys() - views.ORDINARY  # by their columns' names
    for key in [*example["cell"], *example, *(example["levels"]["process"].keys() - others)]:
        stem = re.sub(r"^(io|storage)_.*", r"\1_…", key)
        assert re.search(rf"`(?:\w+\.|levels\.\*\.)?{re.escape(stem)}[`.]", page) or key in (
            "version",
            "cell",
            "levels",
            "cpu_time_s",
        ), key


def test_every_record_is_described_with_its_fields(recording):
    """`jumper dump --json` shows what is really in a file."""
    seen = set()
    for line in jumper("dump", "--json", str(recording)).splitlines():
        record = json.loads(line)
        kind = record.pop("kind")
        seen.add(kind)
        title = next(
            title
            for title in re.findall(r"^### .*$", text(FORMATS_PAGE), re.MULTILINE)
            if kind in title.replace(",", "").split()
        )
        described = set(re.findall(r"`(\w+)`", section(FORMATS_PAGE, title)))
        assert set(record) <= described | {"detail"}, kind
        assert set(record.get("counters", {})) <= described or kind == "cell_end", kind
    assert {"machine", "schema", "settings", "row", "cell_begin", "cell_end", "end"} <= seen


def test_every_column_is_described(recording):
    lines = map(json.loads, jumper("dump", "--json", str(recording)).splitlines())
    schema = next(line for line in lines if line["kind"] == "schema")
    page = section(FORMATS_PAGE, "### 2 schema")
    described = set(re.findall(r"`([\w.]+)`", page))
    described |= {"process." + name for name in re.findall(r"`…(\w+)`", page)}
    for column in (column["name"] for column in schema["columns"]):
        name = re.sub(r"(core|file_system)\d+", r"\1N", column)
        if re.search(r"\.(gpu|drm)\d", name):
            continue
        name = re.sub(r"^process\.root_(?!cpu_time_ns)", "process.", name)
        assert name in described, column


def test_kinds_and_lines_of_a_dump_are_those_of_the_page(recording):
    words = {line.split()[0] for line in jumper("dump", str(recording)).splitlines()}
    (example,) = (b for b in blocks(FORMATS_PAGE, "text") if b.startswith("machine "))
    assert {line.split()[0] for line in example.splitlines()} == words - {"device", "consumers"} | {
        "missing"
    }
    header = text(ROOT / "src" / "record" / "log.hpp")
    kinds = re.findall(
        r"^  k(\w+) = (\d+),$", header.split("enum class ChunkKind")[1].split("}")[0], re.MULTILINE
    )
    headings = " ".join(re.findall(r"^### (.*)$", text(FORMATS_PAGE), re.MULTILINE))
    assert {number for _, number in kinds} == set(re.findall(r"\d+", headings))


# ---- quickstart.md ----


def test_scripts_of_the_pages_run(tmp_path):
    for page in (DOCS / "quickstart.md", ROOT / "README.md"):
        for script in blocks(page, "python"):
            if "import jumper" not in script:
                continue
            path = tmp_path / "script.py"
            path.write_text(script)
            environment = os.environ | {"JUMPER_DIR": str(tmp_path / "recordings")}
            done = subprocess.run(
                [sys.executable, str(path)],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert "CPU" in done.stdout


def test_the_example_of_a_text_summary_reads_like_a_real_one():
    example = next(b for b in blocks(DOCS / "quickstart.md", "text") if b.startswith("In ["))
    labels = [line.split()[0] for line in example.splitlines()]
    assert labels[:4] == ["In", "CPU", "memory", "I/O"]


def test_no_page_names_a_machine():
    for page in [*PAGES, *sorted((ROOT / "changes").glob("*.md"))]:
        assert not re.search(r"(?<![\w~])/(?:root|work|home)\b", text(page)), page.name
