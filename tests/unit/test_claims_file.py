"""The file of claims: whole, in step with the code, each about something that a study has."""

import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from claimed import AGAINST_ALL, CLAIM, GAMES, planned
from small_studies import STUDIES, shipped

from scant.data import registry
from scant.declare import families
from scant.errors import SettingError
from scant.files import read_rows
from scant.rankers.traces import MEASURED
from scant.schema import check, read_yaml
from scant.study import settings as studies
from scant.study.grouping import parts
from scant.study.selectors import check_selectors
from scant.verdict import claims
from scant.verdict import statistics as verdicts
from scant.verdict.selection import quantities

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "config/claims").glob("*.yaml"))
CLAIMS = studies.claims(*FILES)
SCHEMA = read_yaml(ROOT / "workflow/schemas/claims.schema.yaml")
PROPERTIES = SCHEMA["$defs"]["claim"]["properties"]
FAMILIES = families.families()
# By its id, and by its number of a claim of several.
PARTS = {
    name if len(parts(claim)) == 1 else f"{name}.{number}": part
    for name, claim in CLAIMS.items()
    for number, part in enumerate(parts(claim), 1)
}
WITHOUT_RUNS = ("table", "coverage")
OF_RUNS = {name: part for name, part in PARTS.items() if part["quantity"] not in WITHOUT_RUNS}
OF_RUNS_WHOLE = [
    name for name, claim in CLAIMS.items() if all("learner" in part for part in parts(claim))
]


@pytest.fixture(scope="module")
def examiners():
    """What finds the experiments of each study, the default one first, that claims are about."""
    examiners = []
    for path in STUDIES:
        study, _ = shipped(path)
        of = {name: families.of(one) for name, one in study["experiments"].items()}
        plan = SimpleNamespace(study=study, families=of)
        examiners.append(claims._Examiner(plan, of, None, {}, None, None))
    return examiners


def judging(examiner, part: dict) -> dict:
    """What fits a part of a claim in each experiment that it can be judged by."""
    found = {
        name: examiner._fitting(part, name, experiment)
        for name, experiment in examiner.study["experiments"].items()
    }
    return {
        name: fitting
        for name, fitting in found.items()
        if isinstance(fitting, claims._Fitting) and not examiner._lacks(part, fitting.involved)
    }


# --- what is sought
def members() -> dict[str, list]:
    """Each member of each list of a selector, alone in the parts that have it.

    Not of lists with null, which is a default, nor of data sets, which claims in a group share.
    """
    alone = {}
    for name, claim in OF_RUNS.items():
        for selector in ("where", "on", "learner", "against", "other"):
            wanted = claim.get(selector)
            for key, value in wanted.items() if isinstance(wanted, dict) else ():
                if isinstance(value, list) and None not in value and key != "dataset":
                    for one in value:
                        id = f"{name.partition('.')[0]}, {selector}: {key} {one}"
                        part = claim | {selector: wanted | {key: [one]}, "each": ()}
                        alone.setdefault(id, []).append(part)
    return alone


# --- the file
def test_each_document_is_drawn_on_and_nothing_is_said_twice():
    documents = {"thesis", "aistats15", "aistats16", "perceptron", "ailon"}  # the five, at least
    assert documents < {part["source"].get("document") for part in PARTS.values()}
    statements = [claim["statement"] for claim in CLAIMS.values()]
    assert len(set(statements)) == len(statements) and max(map(len, statements)) <= 200
    words = ("source", "statement", "family", "data")
    asked = [{key: part[key] for key in part if key not in words} for part in PARTS.values()]
    assert all(one not in asked[:at] for at, one in enumerate(asked))
    for name, claim in CLAIMS.items():
        assert name.startswith(claim["family"].partition("-")[0]), name
        own = claim["source"].get("document") == "scant"  # our own questions, told in a document
        assert own <= (claim["row"] == "question"), name
        assert not own or (ROOT / claim["source"]["place"]).is_file()
    slopes = [part for part in OF_RUNS.values() if part["comparison"] == "slope"]
    assert {part["margin"] for part in slopes} == {0.05}, "of one rate"


def test_old_claims_are_still_there_or_it_is_said_why_not():
    for row in read_rows(ROOT / "docs/claims-of-0.2.0.csv")[1]:
        why = row["why, and where it is said now"]
        assert row["now"] in CLAIMS or (not row["now"] and why), row


# --- could it have come out otherwise?
def test_a_control_is_another_claim():
    for name, claim in PARTS.items():
        control = {key: one for key, one in claim.get("control", {}).items() if key != "words"}
        assert not control or any(claim.get(key) != one for key, one in control.items()), name
        if "plays" in control:
            plays = quantities()[claim["quantity"]][claim["where"]["kind"]].plays
            assert control["plays"] in plays, name


# --- in step with the code
def theory() -> set[str]:
    """The tables that need no run, by what families declare."""
    return {shown.name for _, shown in families.shown() if shown.reads == "nothing"}


def test_the_schema_names_what_there_is():
    declared = {name for family in FAMILIES.values() for name in family.quantities}
    # for editors; `claims` has those that are declared
    named = {*PROPERTIES["quantity"]["else"]["enum"]}
    assert {part["quantity"] for part in PARTS.values()} <= named <= {*quantities(), "table"}
    assert declared | {"table"} == {*quantities(), "table"}
    for comparison in {*PROPERTIES["comparison"]["enum"]} - {"exact"}:
        assert verdicts.claimed(comparison, 0.1, bound=1.0)
    assert tuple(PROPERTIES["over"]["enum"]) == ("all", "mean")
    assert {*PROPERTIES["table"]["enum"]} <= theory()
    # by all runs
    assert {claim["measure"] for claim in PARTS.values() if "measure" in claim} <= set(MEASURED)


def quantities_with(key: str) -> set[str]:
    """The quantities that a claim may be of if it has this key."""
    (clause,) = [
        one for one in SCHEMA["$defs"]["claim"]["allOf"] if one["if"] == {"required": [key]}
    ]
    rule = clause["then"]["properties"]["quantity"]
    return {rule["const"]} if "const" in rule else {*rule["enum"]}


def test_the_schema_gives_quantities_the_options_that_they_declare():
    options = {}
    for family in FAMILIES.values():
        for name, quantity in family.quantities.items():
            for option in quantity.options:
                options.setdefault(option, set()).add(name)
    assert {*options} == {"measure", "at", "last", "along", "since", "round", "visits", "bound"}
    for option, names in options.items():
        assert quantities_with(option) == names, option
    of_policies = {
        name for name, quantity in FAMILIES["ads"].quantities.items() if quantity.reads == "traces"
    }
    assert quantities_with("epsilon") == of_policies  # which have one
    limited = {
        name
        for name, of in quantities().items()
        for quantity in of.values()
        if quantity.most is not None
    }
    (exact,) = [
        one["if"]["properties"]["quantity"]["enum"]
        for one in SCHEMA["$defs"]["claim"]["allOf"]
        if one["then"].get("properties", {}).get("comparison") == {"const": "exact"}
    ]
    assert {*exact} == limited


def test_figures_are_those_of_the_claim_s_family():
    drawn = {
        kind: {shown.name for shown in family.shown if shown.draw}
        for kind, family in FAMILIES.items()
    }
    every = set().union(*drawn.values())
    for name, claim in PARTS.items():
        known = drawn[claim["where"]["kind"]] if "where" in claim else every
        assert claim.get("figure") in {None, *known}, name


def test_a_study_can_judge_it(examiners):
    """And every member of a list of a selector, alone."""
    alone = {name: [part] for name, part in OF_RUNS.items()} | members()
    for name, several in alone.items():
        assert any(judging(one, part) for part in several for one in examiners), name


# --- what is refused
GOOD = PARTS["items-rate-items.1"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("{margn: 1}", "unknown key 'margn': did you mean 'margin'"),
        ("{quantity: final}", "unknown value 'final': Known: excess_slope, game_slope, gap_slope"),
        ("{statement: no sentence}", "One sentence"),
        ("{where: {}}", "should be non-empty"),
        ("{margin: {share: 1}}", "margin: .* is not of type 'number'"),
        ("{margin: -0.1}", "less than the minimum of 0"),
        ("{comparison: close, margin: 0.0}", "less than or equal to the minimum of 0"),
        ("{epsilon: 0.2}", "unknown value 'game_slope'"),
        ("{source: {document: thesis}}", "'place' is a required property"),
        ("{comparison: exact, margin: {relative: 0.1}}", "margin: .* is not of type 'number'"),
        ("{quantity: ctr_gain, against: 3.0}", "against: 3.0 is not of type 'object'"),
    ],
)
def test_a_bad_claim_is_refused(change, message):
    with pytest.raises(SettingError, match=message):
        check({"bad": GOOD | yaml.safe_load(change)}, SCHEMA, "claims")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("{learner: {kind: rtop, kz: null}}", "learner: unknown key 'kz': did you mean 'k'?"),
        # which ListNet does not have
        ("{against: {kind: listnet, k: null}}", "against: unknown key 'k'"),
        ("{learner: {kind: rtop, surrogate: [kl, squard]}}", "did you mean 'squared'"),
        ("{learner: {kind: {not: rtp}}}", "unknown value 'rtp': did you mean 'rtop'"),
        ("{where: {kind: top, shedule: null}}", "where: unknown key 'shedule'"),
        ("{'on': {settings: {cosin: null}}}", "on.settings: unknown key 'cosin'"),
        ("{'on': {dataset: yahoo-c14-set}}", "did you mean 'yahoo-c14-set1'"),
        ("{each: [{surrogate: []}]}", "each.1.surrogate: a list without alternatives"),
        ("{each: [{surogate: kl}]}", "each.1: unknown key 'surogate'"),
        ("{control: {words: none, plays: weight 0}}", "unknown play 'weight 0'"),
        ("{control: {words: none, 'on': {generatr: null}}}", "control: on: unknown key 'generatr'"),
        # what no entry of a study lacks
        ("{learner: {kind: null}}", "learner: kind: None is not"),
        ("{learner: {kind: {not: null}}}", "learner: kind: None is not"),
        ("{where: {kind: null}}", "where: kind: unknown value 'None'"),
        ("{where: {kind: top, seeds: null}}", "where: seeds: None is not"),
        ("{'on': {ids: [1, 2]}}", "on: ids: 1 is not of type 'string'"),
        ("{learner: {k: {not: []}}}", "learner.k: a list without alternatives"),
        ("{'on': {settings: {not: {cosin: 1}}}}", "on.settings: unknown key 'cosin'"),
        # a share of 1 at most
        ("{against: 957}", "final: against: 957 is above the limit of 1.0: lower it"),
        ("{margin: -957}", "final: margin: -957 is less than the minimum of -1"),
        ("{control: {words: none, against: -0.1}}", "control: final: against: -0.1 is less than"),
    ],
)
def test_a_selector_that_fits_nothing_is_refused(change, message):
    """Nor a number that no value of the claim's quantity comes to."""
    claim = PARTS["top-above-random"] | yaml.safe_load(change)
    with pytest.raises(SettingError, match=re.escape(message)):
        check_selectors(claim, registry.load(ROOT / "config/datasets.yaml"))


@pytest.mark.parametrize(
    "change",
    [
        "{'on': {settings: {not: {cosine: true}}}, learner: {kind: {not: rtop}, k: {not: null}}}",
        "{against: 1}",
        "{measure: dcg@10, against: 957}",  # which is no share
    ],
)
def test_a_selector_that_fits_something_is_taken(change):
    claim = PARTS["top-above-random"] | yaml.safe_load(change)
    check_selectors(claim, registry.load(ROOT / "config/datasets.yaml"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "{learner: {ids: [one, twoo]}}",
            "learner: ids: unknown value 'twoo': did you mean 'two'?",
        ),
        ("{learner: {ids: {not: twoo}}}", "did you mean 'two'?"),
        ("{against: {ids: [all, noiselss]}}", "against: ids: .*did you mean 'noiseless'?"),
        ("{each: [{ids: [one, twoo]}]}", "each.1: ids: "),
        ("{each: [{ids: one}, {ids: twoo}]}", "each.2: ids: "),
        ("{learner: {ids: one}, against: {ids: al}}", "against: ids: .*did you mean 'all'?"),
        ("{'on': {ids: [a, bb]}}", "on: ids: unknown value 'bb'"),
        ("{own: {ids: [a, bb]}, row: reproduction}", "own: ids: unknown value 'bb'"),
        ("{where: {kind: fixed-items, ids: [first, secnd]}}", "where: ids: .*mean 'second'?"),
        ("{control: {words: w, 'on': {ids: [a, bb]}}}", "control: on: ids: "),
        ("{figure: figure-games-round}", "figure: .*did you mean 'figure-games-rounds'?"),
    ],
)
def test_an_id_that_there_is_not_is_refused_where_it_would_narrow_a_claim(
    tmp_path, change, message
):
    study, path = planned(GAMES).study, tmp_path / "mine.yaml"

    def stated(change: str) -> dict:
        path.write_text(yaml.safe_dump({"mine": CLAIM | AGAINST_ALL | yaml.safe_load(change)}))
        return studies.claims(path, schema_path=ROOT / studies.CLAIMS_SCHEMA, study=study)

    with pytest.raises(SettingError, match=message):
        stated(change)
    assert stated("{learner: {ids: [one, two]}, 'on': {ids: {not: a}}}")
    # of a study of the project; of none, whose claim is another study's
    assert stated("{'on': {ids: [a, flip-40]}, learner: {ids: one}}")
    assert stated("{'on': {ids: [theirs, hers]}, figure: figure-games-rounds}")


def test_ids_of_the_project_s_claims_are_its_studies():
    """The studies that have one of the ids of a claim name no other than theirs."""
    for path in STUDIES:
        study, datasets = shipped(path)
        for claim in PARTS.values():
            check_selectors(claim, datasets, study)


@pytest.mark.parametrize("quantity", ["final", "ctr_gain"])
def test_what_a_share_is_of_is_asked_for(quantity):
    """A relative margin, and a gain in percent, without what is compared with: an error in the job
    that judges.
    """
    claim = {key: GOOD[key] for key in GOOD if key not in ("against", "along", "margin")}
    margin = {"relative": -0.1} if quantity == "final" else 0.1
    claim |= {"quantity": quantity, "comparison": "greater", "margin": margin}
    with pytest.raises(SettingError, match="'against' is a required property"):
        check({"bad": claim}, SCHEMA, "claims")
    check({"good": claim | {"other": {"comparator": "horizon"}}}, SCHEMA, "claims")


# --- what the papers say
QUOTATIONS = read_yaml(ROOT / "tests/unit/quotations.yaml")
SOURCES = [(name, part["source"]) for name, claim in CLAIMS.items() for part in parts(claim)]
QUOTED = [(name, source) for name, source in SOURCES if source.get("document") in QUOTATIONS]
NEGATION = re.compile(r"(\b(not|no|cannot|never|neither|nor)|n't)\W*$", re.IGNORECASE)


def test_words_are_said_there_and_not_denied():
    """Of the document, at the place.

    Words that are not in tests/unit/quotations.yaml have to be looked up first.
    """
    for name, source in QUOTED:
        there = QUOTATIONS[source["document"]].get(source["place"], [])
        there = [said for said in there if source["words"] in said]
        assert there, name
        for said in there:
            assert not NEGATION.search(said.partition(source["words"])[0]), name


def test_only_our_own_questions_lack_words():
    """A document with a title is none of the project's, and its words are not looked up."""
    for name, source in SOURCES:
        own = CLAIMS[name]["row"] == "question" and source.get("document") == "scant"
        assert own or "title" in source or source["words"], name
        assert "title" in source or source["document"] in {*QUOTATIONS, "pdgd", "scant"}


def test_each_quotation_is_short_and_of_a_row():
    for document, places in QUOTATIONS.items():
        for place, quotations in places.items():
            of = (document, place)
            words = [one["words"] for _, one in QUOTED if (one["document"], one["place"]) == of]
            for said in quotations:
                assert any(one in said for one in words), said
                assert len(said.split()) <= 25, said


NUMBER = r"(\d{1,3}(?:,\d{3})+|\d+)(?!,?\d)"
STATED = {  # how statements say what is played
    "rounds": rf"{NUMBER} rounds|T = {NUMBER}",
    "round": rf"(?:[Rr]ound|[Aa]fter) {NUMBER}(?! rounds)",
    "seeds": rf"{NUMBER} seeds",
    "blocks": rf"{NUMBER} blocks",
    "k": r"top (one|two|three|five|ten)\b|\b(one|two|ten) grades?\b",
}
WORDS = {"one": 1, "two": 2, "three": 3, "five": 5, "ten": 10}
FEWEST = {"ranksvm": 2}  # grades that an estimate needs; all others one


def stated(statement: str) -> set[tuple[str, int]]:
    """The numbers of a statement, each with what it is of, such as ("rounds", 10000)."""
    return {
        (of, WORDS.get(number) or int(number.replace(",", "")))
        for of, pattern in STATED.items()
        for match in re.finditer(pattern, statement)
        for number in filter(None, match.groups())
    }


def played(study: dict, claim: dict, experiment: dict, learners) -> set[tuple[str, int]]:
    """Rounds, seeds, blocks and grades seen with which an experiment plays a claim's part."""
    settings = [study["learners"][learner] for learner in learners]
    seen = {
        one.get("k") or FEWEST.get(one.get("surrogate"), 1)
        for one in settings
        if one["kind"] not in SEE_ALL
    }
    numbers = {
        "rounds": np.atleast_1d(experiment.get("rounds", [])).tolist(),
        "seeds": [experiment["seeds"]], "k": seen,
        "round": [claim["round"]] if "round" in claim else [],
        "blocks": [one["blocks"] for one in settings if one.get("blocks")],
    }  # fmt: skip
    return {(of, number) for of, several in numbers.items() for number in several}


SEE_ALL = ("listnet", "ogd", "slam", "max-hinge", "ftpl", "hedge", "random")


def test_numbers_of_a_statement_are_those_that_every_study_plays(examiners):
    """In the experiments of its first reading, whose verdict it is; of all its parts together."""
    checked = set()
    for examiner, name in product(examiners, OF_RUNS_WHOLE):
        numbers, of_parts = stated(CLAIMS[name]["statement"]), set()
        for part in parts(CLAIMS[name]) if numbers else ():
            if not (fitting := judging(examiner, part)):
                break
            first = next(iter(fitting))
            experiment = examiner.study["experiments"][first]
            of_parts |= played(examiner.study, part, experiment, fitting[first].involved)
        else:
            lacking = numbers - of_parts
            assert not lacking, f"{examiner.study['study']}: {name} says {lacking}"
            checked |= {(of, name) for of, _ in numbers}
    assert {of for of, _ in checked} == STATED.keys() - {"seeds"} and len(checked) > 20


# learners and losses as statements name them, by the value of `kind` or `surrogate` that they are
NAMED = yaml.safe_load(
    """{PDGD: pdgd, DBGD: dbgd, ListNet: listnet, SLAM: slam, RankSVM: ranksvm, KL: kl,
    SmoothDCG: smoothdcg, OnlineRank: online-rank, Hedge: hedge,
    PermELearn: permelearn, CombBand: comb-band}"""
)  # fmt: skip


def test_learners_that_a_statement_names_are_those_of_its_cells():
    keys = ("learner", "against", "each", "where", "other")
    for name in OF_RUNS_WHOLE:
        claim = CLAIMS[name]
        of_parts = str([{key: part.get(key) for key in keys} for part in parts(claim)])
        named = {
            one for word, one in NAMED.items() if re.search(rf"\b{word}\b", claim["statement"])
        }
        if claim["quantity"] == "lead_share":  # of ListNet's
            named -= {"listnet"}
        assert all(f"'{value}" in of_parts for value in named), name
