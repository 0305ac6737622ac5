"""Settings that cannot be right are refused when a study is planned, in few words."""

import copy
import json
import math
import re
from datetime import date

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from small_studies import put

from scant import schema
from scant.errors import SettingError
from scant.study import settings as studies
from scant.study.schema import ID_RULE

SMALL = yaml.safe_load("""
study: s
claims: null
streams: {a: {generator: linear, settings: {queries: 12, documents: 4}}}
learners: {l: {kind: slam, rates: [0.5]}}
experiments: {e: {streams: [a], learners: [l], rounds: 10, seeds: 2}}
""")


def changed(path: str, value) -> dict:
    """The small study with a value at a place, given as keys with dots between them."""
    config = copy.deepcopy(SMALL)
    put(config, path, value)
    return config


def refused(config: dict) -> str:
    with pytest.raises(SettingError) as caught:
        studies.load(config)
    return str(caught.value)


SHOWN = "which cannot be shown"


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("experiments.e.rounds", 20.0, "experiments.e.rounds: 20.0 is not written as a whole "),
        ("seed", 7.0, "seed: 7.0 is not written as a whole number: write 7"),
        ("seed", 2**63, "a whole number of more than 63 bits"),
        ("learners.l.rates", [math.nan], "learners.l.rates.0: "),
        ("streams.a.settings.noise", math.nan, "streams.a.settings.noise: nan is not a finite"),
        ("study", "s" * (ID_RULE["maxLength"] + 1), "is too long"),
        ("streams.b\n", {"generator": "linear"}, "does not match"),
        ("streams.a.title", 2020, "2020 is not of type 'string'. Put it in quotes if it is text"),
        ("streams.a.title", "\ud800", f"'\\ud800' has the character '\\ud800', {SHOWN}"),
        ("learners.l", {"kind": "m:C", "options": {"a\x1b": 1}}, f"character '\\x1b', {SHOWN}"),
        ("streams.a.title", date(2020, 1, 1), "a value of type 'date' is no setting. Put it in "),
        ("streams.a.title", json.loads("[" * 200 + "]" * 200), "100 levels are no settings"),
    ],
)
def test_what_cannot_be_right(path, value, reason):
    message = refused(changed(path, value))
    assert reason in message and len(message) < 600


LIKE = yaml.safe_load(
    """{streams.A: {generator: linear, settings: {queries: 9, documents: 4}},
    learners.L: {kind: random}, experiments.E: {streams: [a], learners: [l]}}"""
)


@pytest.mark.parametrize(("path", "value"), LIKE.items(), ids=LIKE)
def test_ids_that_are_one_file_on_some_systems(path, value):
    assert "differ in upper and lower case alone" in refused(changed(path, value))


TWO_KEYS = (("true", "True"), ("1", "1.0"), ("~", "null"), ("2020-01-01", "x"), ("yes", "on"))
NO_TEXT = "is no text. Put it in quotes"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *(
            (f"a: 1\nb:\n  {a}: 1\n  {b}: 2\n", f"line 3: the key '{a}' {NO_TEXT}")
            for a, b in TWO_KEYS
        ),
        ("? [a, b]\n: 1\n", "line 1: the key .* is no text"),
        ("a: &b c\n*b : 1\nc: 2\n", "line 3: the key 'c' is there twice"),
        ("a: 1\nb: 2\na: 3\n", "line 3: the key 'a' is there twice"),
        (f"a: [1, {'9' * 5000}]\n", "not YAML"),
        ("a: " + "[" * 101 + "]" * 101, "100 levels"),
        ("a: [1\n", r"not YAML: .*\Z"),
        ("a: 1\n---\nb: 1\n", r"not YAML: .*\Z"),
    ],
)
def test_what_yaml_takes_for_something_else(tmp_path, text, reason):
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(SettingError, match=reason):
        schema.read_yaml(tmp_path / "a.yaml")


@pytest.mark.parametrize(
    ("word", "read"),
    yaml.safe_load("""
[['012', '10'], ['-0_12', '-10'], ['08', '"08"'], ['0b11', '3'], ['1:30', '90'],
 ['1:30.5', '90.5'], ['1e-5', '"1e-5"'], ['no', 'false'], ['Yes', 'true'], ['on', 'true']]
"""),
)
def test_words_that_the_versions_of_yaml_read_otherwise_are_refused(word, read):
    message = f"a: line 2: {word} is {read} in YAML 1.1 and something else in YAML 1.2. Write"
    with pytest.raises(SettingError, match=re.escape(message)):
        schema.parsed(f"a:\n  - {{b: {word}}}\n", "a")
    assert schema.parsed(f"a: {read}\n", "a") == {"a": json.loads(read)}


def test_words_that_all_versions_of_yaml_read_alike():
    text = "[1_000, -7, 1.0e-5, .5, .inf, -.inf, true, False, null, ~, 0x, 2020-01-01, a b]"
    assert schema.parsed(text, "a") == yaml.safe_load(text)


@settings(max_examples=500)
@given(st.text("0123456789_:.+-eExob", min_size=1, max_size=6))
def test_a_number_is_what_its_digits_say(word):
    try:
        read = schema.parsed(f"a: {word}", "a")["a"]
    except SettingError:
        return
    if isinstance(read, str):
        with pytest.raises(ValueError, match="could not convert"):
            float(read)
    elif read is not None:
        assert read == float(word)


def test_json_is_read_as_json_whatever_its_name(tmp_path):
    content = {"a": [1e-5, 1e20, True, None, "\U0001f600\x7f/\t"], "b": {"c": "a: b"}}
    for name in ("a.json", "a.yaml"):
        (tmp_path / name).write_text(json.dumps(content, indent="\t"))
        assert schema.read_yaml(tmp_path / name) == content
    (tmp_path / "a.json").write_text('{"a":\t{"b": 1, "c": 2, "b": 3}}')
    with pytest.raises(SettingError, match=r"a\.json: the key 'b' is there twice"):
        schema.read_yaml(tmp_path / "a.json")
    (tmp_path / "a.json").write_text('{"a": ' * 5000)
    with pytest.raises(SettingError, match="100 levels are no settings"):
        schema.read_yaml(tmp_path / "a.json")
