"""Settings that cannot be right are refused when a study is planned, in few words."""

import copy
import json
import math
import re
from datetime import date
from functools import cache

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from small_studies import put

from scant import schema
from scant.errors import SettingError
from scant.study import checked
from scant.study import schema as study_schema
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


def repeated(form: str, levels: int, times: int) -> str:
    """YAML whose every value is the one before, some times."""
    lines = ["a0: &a0 {x: 1}"]
    for level in range(1, levels):
        aliases = ", ".join([f"*a{level - 1}"] * times)
        lines.append(f"a{level}: &a{level} {form.format(aliases)}")
    return "\n".join(lines)


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
        *(
            (f"a:\n  - [1, {number}]\n", "line 2: a number of more than 200 characters")
            for number in (
                "9" * 5000,
                "1" + 99_999 * ":59",
                f"1{':1' * 200}.5",
                f"!!int '{9**999}'",
            )
        ),
        (f'{{"a": {"9" * 5000}}}', "line 1: a number of more than 200 characters"),
        ("a: " + "[" * 101 + "]" * 101, "100 levels"),
        ("a: [1\n", r"not YAML: .*\Z"),
        ("a: &e {a: *e}\n", "line 1: more than 200,000 values, with all that aliases repeat"),
        (repeated("[{}]", 9, 9), "line [67]: more than 200,000 values, with all that aliases"),
        (repeated("{{<<: [{}]}}", 9, 9), "line [67]: more than 200,000 values"),
        (repeated("[{}]", 150, 1), "line 98: 100 levels are no settings"),
        ("a: [" + "1," * 200_000 + "]", "line 1: more than 200,000 values"),
        ('{"a": [' + "1," * 200_000 + "1]}", "more than 200,000 values"),
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
 ['1:30.5', '90.5'], ['1e-5', '"1e-5"'], ['no', 'false'], ['Yes', 'true'], ['on', 'true'],
 ['1_000', '1000'], ['0x1_0', '16'], ['-0x96', '-150'], ['0o14', '"0o14"'], ['1_0.5', '10.5']]
"""),
)
def test_words_that_the_versions_of_yaml_read_otherwise_are_refused(word, read):
    message = f"a: line 2: {word} is {read} in YAML 1.1 and something else in YAML 1.2. Write"
    with pytest.raises(SettingError, match=re.escape(message)):
        schema.parsed(f"a:\n  - {{b: {word}}}\n", "a")
    assert schema.parsed(f"a: {read}\n", "a") == {"a": json.loads(read)}


def test_words_that_all_versions_of_yaml_read_alike():
    text = """
[-7, +7, 1.0e-5, .5, 1., .inf, -.Inf, true, False, null, ~, 0x, 0x96, 2020-01-01, a b, nan,
 Infinity, inf, 12345678901234567, _1]
"""
    assert schema.parsed(text, "a") == yaml.safe_load(text)
    assert math.isnan(schema.parsed("[.nan]", "a")[0])


@settings(max_examples=500)
@given(st.text("0123456789_:.+-eExob", min_size=1, max_size=6))
def test_a_number_is_what_its_digits_say(word):
    try:
        read = schema.parsed(f"a: {word}", "a")["a"]
    except SettingError:
        return
    if isinstance(read, str):
        with pytest.raises(ValueError, match="could not convert"):
            float(read.replace("_", "?"))
    elif read is not None:
        assert read == (int(word, 16) if word.startswith("0x") else float(word))


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


# --- what no machine can play
PLACES = yaml.safe_load("""
streams: {d: {dataset: ohsumed}, adversary: {generator: adversary, settings: {ratio: 9}}}
click_logs: {c: {stream: d}}
games: {g: {stream: flip, loss: dcg, settings: {items: 20, relevant: 1}}}
logs: {h: {campaign: hotel}}
populations: {p: {generator: linear}}
learners: {i: {kind: item-position}, f: {kind: forest}, k: {kind: rtopkf},
  s: {kind: erm-l2, surrogate: smoothdcg}}
experiments:
  clicks: {kind: rankings, click_logs: [c], learners: [i]}
  game: {kind: fixed-items, games: [g], learners: [k], rounds: 100}
  ads: {kind: ads, logs: [h], learners: [f]}
  erm: {kind: generalisation, populations: [p], learners: [s], ascents: 1}
coverage: {repeats: 10}
""")


def integers(rule, path=()):
    """The rules of whole numbers in a schema, by their place."""
    if isinstance(rule, dict):
        kind = rule.get("type", ())
        if "integer" in ([kind] if isinstance(kind, str) else kind):
            yield ".".join(path), rule
        for key, part in rule.items():
            yield from integers(part, (*path, str(key)))
    elif isinstance(rule, list):
        for number, part in enumerate(rule):
            yield from integers(part, (*path, str(number)))


def test_every_whole_number_of_a_study_has_a_limit():
    found = dict(integers(study_schema.schema()))
    assert len(found) > 50
    assert [place for place, rule in found.items() if "maximum" not in rule] == []


LOWER = "above the limit of .*: lower it"


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("experiments.e.rounds", 10**12, f"experiments.e.rounds: 1,000,000,000,000 is {LOWER}"),
        ("experiments.game.rounds", [10, 10**12], f"rounds: 1,000,000,000,000 is {LOWER}"),
        ("experiments.e.seeds", 10**9, f"experiments.e.seeds: 1,000,000,000 is {LOWER}"),
        ("experiments.e.tuning_seeds", 10**9, LOWER),
        ("experiments.clicks.visits", [10**12], f"experiments.clicks.visits.0: .*{LOWER}"),
        ("click_logs.c.visits", 10**12, f"click_logs.c.visits: .*{LOWER}"),
        ("click_logs.c.held_out", 10**15, f"click_logs.c.held_out: .*{LOWER}"),
        ("streams.a.settings.documents", 10**12, f"settings.documents: .*{LOWER}"),
        (
            "streams.a.settings.documents",
            10**8,
            "streams.a: queries x documents x features: .*lower",
        ),
        ("streams.adversary.settings", {"ratio": 10**9}, f"settings.ratio: .*{LOWER}"),
        ("games.g.settings.items", 10**9, f"settings.items: .*{LOWER}"),
        ("experiments.game.rounds", 10**9 - 1, "rounds x items: .* are the most: lower them"),
        ("logs.h.train_rows", 10**9, "rows x dimensions: .*lower them"),
        ("logs.h.settings", {"share": 10**9}, f"share: .*{LOWER}"),
        ("learners.f.trees", 10**9, f"trees: .*{LOWER}"),
        ("learners.s.starts", 10**9, f"starts: .*{LOWER}"),
        ("coverage.repeats", 10**9, f"coverage.repeats: .*{LOWER}"),
        ("populations.p.settings", {"distinct": 10**9}, "the most: lower n"),
        ("experiments.erm.ascents", 10**9, f"ascents: .*{LOWER}"),
        (
            "experiments.e.sweep",
            [{"rounds": [*range(1, 8000)]}],
            "7,999 combinations, and 1,000 are",
        ),
        (
            "experiments.e.sweep",
            [{"rounds": [*range(1, 102)], "keep": [i / 20 for i in range(1, 11)]}],
            "1,010 combinations",
        ),
    ],
)
def test_numbers_that_no_machine_can_play(path, value, reason):
    config = copy.deepcopy(SMALL)
    for section, entries in copy.deepcopy(PLACES).items():
        config.setdefault(section, {}).update(entries)
    studies.load(config)
    put(config, path, value)
    message = refused(config)
    assert re.search(reason, message) and "\n" not in message


def test_jobs_that_no_workflow_can_plan():
    config = changed("experiments.e.seeds", 100_001)
    config["experiments"]["e"]["batch"] = 1
    assert refused(config) == (
        "experiments: 100,006 jobs, and 100,000 are the most: raise batch, or lower seeds"
    )
    config["experiments"]["e"]["batch"] = 100
    studies.load(config)


def test_what_passed_a_check_is_checked_again_once_it_changes(tmp_path, monkeypatch):
    """Also by another process, and where only the type of a value or key is another."""
    monkeypatch.setattr(checked, "FILE", tmp_path / "checked.json")
    rule, made = {"properties": {"a": {"enum": ["1", 1, 1.0, "2026-01-01", None]}}}, []
    monkeypatch.setattr(checked, "check", lambda *given: made.append(given) or schema.check(*given))
    for _ in range(2):
        monkeypatch.setattr(checked, "_passed", cache(checked._passed.__wrapped__))
        for value in ("1", "1", 1, 1.0, 1, "2026-01-01"):
            checked.check_once({"a": value}, rule, "here")
        for wrong in ({"a": date(2026, 1, 1)}, {"a": "2"}, {"a": True}):
            with pytest.raises(SettingError, match="here: a: "):
                checked.check_once(wrong, rule, "here")
    assert [type(given[0]["a"]) for given in made].count(str) == 2 + 2 and len(made) == 4 + 2 * 3
    checked.check_once({"a": "1"}, {}, "here")
    assert made[-1][1] == {}
