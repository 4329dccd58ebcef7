import pytest

from jumper.settings import PREFIXES, SETTINGS, Settings


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("rate", "10", 10.0),
        ("rate", "0.1", 0.1),
        ("rate", "1e3", 1000.0),
        ("rate", 25, 25.0),
        ("summary", "never", "never"),
        ("min_reports", "3", 3),
        ("min_reports", 0, 0),
        ("min_reports", "auto", None),
        ("min_reports", None, None),
        ("level", "all", "all"),
        ("directory", "/a/b", "/a/b"),
        ("directory", None, None),
    ],
)
def test_what_is_allowed_is_taken(name, text, value):
    settings = Settings({})
    settings.set("magic", name, text)
    assert settings.look_up(name) == (value, "%jumper set")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("rate", bad) for bad in ("0", "-1", "1000.1", "0.09", "nan", "inf", "fast", "", None)),
        *(("summary", bad) for bad in ("yes", "", None, "AUTO")),
        *(("min_reports", bad) for bad in ("-1", "1.5", "many", "")),
        *(("level", bad) for bad in ("users", "", None, 1)),
        *(("directory", bad) for bad in ("", 5)),
    ],
)
def test_what_is_not_is_refused_in_one_sentence(name, text):
    with pytest.raises(ValueError) as refusal:
        Settings({}).set("magic", name, text)
    sentence = str(refusal.value)
    assert sentence.startswith(f"{name}={text} is refused: it must be ")
    assert SETTINGS[name].allowed in sentence


def test_the_first_layer_that_says_something_counts():
    environment: dict[str, str] = {}
    settings = Settings(environment)
    assert settings.look_up("rate") == (10.0, "default")
    settings.set("file", "rate", 2)
    assert settings.look_up("rate") == (2.0, "configuration file")
    environment["JUMPER_SAMPLING_RATE"] = "3"
    assert settings.look_up("rate") == (3.0, "JUMPER_SAMPLING_RATE")
    settings.set("config", "rate", 10.0)  # the default's value counts as said, too
    assert settings.look_up("rate") == (10.0, "%config")
    settings.set("magic", "rate", 5)
    assert settings.look_up("rate") == (5.0, "%jumper set")


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("SAMPLING_RATE", "50", "rate", 50.0),
        ("REPORT_FREQUENCY", "0.25", "rate", 4.0),
        ("REPORT_FREQUENCY", "10", "rate", 0.1),
        ("MIN_REPORTS", "7", "min_reports", 7),
        ("REPORTS_MIN", "7", "min_reports", 7),
        ("DIR", "/data", "directory", "/data"),
    ],
)
def test_the_environment_in_each_spelling(prefix, variable, text, name, value):
    settings = Settings({prefix + variable: text})
    assert settings.look_up(name) == (value, prefix + variable)
    assert settings.take_warnings() == []


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        *(("SAMPLING_RATE", bad) for bad in ("0", "2000", "fast", "nan")),
        *(("REPORT_FREQUENCY", bad) for bad in ("0", "0.0001", "11", "inf", "nan", "-1", "often")),
        *(("MIN_REPORTS", bad) for bad in ("-1", "some")),
    ],
)
def test_a_bad_value_in_the_environment_is_told_once_and_the_next_layer_counts(variable, text):
    settings = Settings({f"JUMPER_{variable}": text})
    settings.set("file", "rate", 4)
    settings.set("file", "min_reports", 4)
    for _ in range(3):
        assert settings.rate_hz == 4
        assert settings.min_reports == 4
    (sentence,) = settings.take_warnings()
    assert f"JUMPER_{variable}={text} is ignored: it must be " in sentence
    assert settings.take_warnings() == []


def test_of_two_rates_the_sampling_rate_counts_and_it_is_said_once():
    settings = Settings({"JUMPER_REPORT_FREQUENCY": "1", "JUMPER_SAMPLING_RATE": "20"})
    assert settings.rate_hz == 20
    assert settings.rate_hz == 20
    assert settings.take_warnings() == [
        "JUMPER_SAMPLING_RATE and JUMPER_REPORT_FREQUENCY are both set: JUMPER_SAMPLING_RATE counts"
    ]


def test_of_two_rates_the_good_one_counts():
    settings = Settings({"JUMPER_REPORT_FREQUENCY": "1", "JUMPER_SAMPLING_RATE": "x"})
    assert settings.rate_hz == 1
    assert len(settings.take_warnings()) == 1


def test_an_empty_variable_says_nothing():
    settings = Settings({"JUMPER_SAMPLING_RATE": "", "JUMPER_DIR": ""})
    assert settings.look_up("rate") == (10.0, "default")
    assert settings.directory is None
    assert settings.take_warnings() == []


def test_a_folder_is_absolute(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    assert Settings({"JUMPER_DIR": "runs"}).directory == str(tmp_path / "runs")
    assert Settings({"JUMPER_DIR": "~/runs"}).directory == "/home/me/runs"
