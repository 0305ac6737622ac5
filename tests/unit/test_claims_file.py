"""The file of claims: whole, in step with the code, and each claim about something that a study
has.
"""

import re
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from scant.ads import theorems as ads_theorems
from scant.data import registry
from scant.declare import families
from scant.errors import SettingError
from scant.files import read_rows
from scant.games import atlas
from scant.games import theorems as game_theorems
from scant.generalisation import theorems as generalisation_theorems
from scant.generalisation import theory_tables
from scant.rankers import theorems as online_theorems
from scant.rankers import variance
from scant.rankers.traces import MEASURED
from scant.schema import check, read_yaml
from scant.study import settings as studies
from scant.study.grouping import parts
from scant.study.plan import Plan
from scant.study.selectors import check_selectors
from scant.theory.observability import MAX_ITEMS
from scant.verdict import claims, selection
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
OF_RUNS = {
    name: claim for name, claim in PARTS.items() if claim["quantity"] not in ("table", "coverage")
}
OF_RUNS_WHOLE = [
    name for name, claim in CLAIMS.items() if all("learner" in part for part in parts(claim))
]
OF_TABLES = {name: claim for name, claim in PARTS.items() if claim["quantity"] == "table"}


@pytest.fixture(scope="module")
def all_studies():
    """The studies of the project, the default one first."""
    paths = (ROOT / "config/config.yaml", *sorted((ROOT / "config/studies").glob("*.yaml")))
    return [studies.load(read_yaml(path), ROOT / "config/datasets.yaml")[0] for path in paths]


@pytest.fixture(scope="module")
def tables():
    """The tables of theory, the slow one for up to four items."""
    return {
        "variance": variance.variance_table(1, lists=20),
        "table-3.1": atlas.table_3_1(),
        "table-3.2": atlas.table_3_2(),
        "table-b.1": atlas.table_b_1(),
        "observability": atlas.atlas_table(4),
        "theorems-perceptron": online_theorems.perceptron_table(),
        "theorems-top": online_theorems.top_table(),
        "theorems-games": game_theorems.games_table(),
        "theorems-generalisation": generalisation_theorems.theorems_table(),
        "theorems-ads": ads_theorems.ads_table(),
        "constants": theory_tables.constants_table(),
        "table-4.1": theory_tables.table_4_1(),
    }


# --- what is sought


def fits(settings: dict, wanted: dict) -> bool:
    """Whether settings are those wanted: of a list any member, null where there is none, and of
    `not` any other.

    What is wanted of a setting that is a mapping is wanted of its keys.
    """

    def same(key, value) -> bool:
        if isinstance(value, dict) and "not" in value:
            return not fits(settings, {key: value["not"]})
        if isinstance(value, dict):
            return fits(settings.get(key) or {}, value)
        return any(
            settings.get(key) == one for one in (value if isinstance(value, list) else [value])
        )

    return all(same(key, value) for key, value in wanted.items())


def chosen(study: dict, experiment: dict, key: str, wanted: dict) -> list[str]:
    return [name for name in experiment[key] if selection.chosen(study, key, name, wanted)]


def readings(claim: dict, study: dict) -> list[str]:
    """The experiments of a study that a claim can be judged by."""
    found = []
    for name, experiment in study["experiments"].items():
        place, against = FAMILIES[experiment["kind"]].place.key, claim.get("against")
        if not fits(experiment, claim["where"]):
            continue
        other = next(
            (one for one in study["experiments"].values() if alike(experiment, one, claim)), None
        )
        if other is None:
            continue
        there = set(chosen(study, experiment, place, claim.get("on", {}))) & set(
            other.get(place, ())
        )
        learners = chosen(study, experiment, "learners", claim["learner"])
        if isinstance(against, dict):
            others = chosen(study, other, "learners", against)
        else:
            others = set(learners) & set(other["learners"])
        if there and learners and others:
            found.append(name)
    return found


def alike(experiment: dict, other: dict, claim: dict) -> bool:
    """Whether the other side may be taken from `other`: the same experiment, or one that `other`
    says how differs.
    """
    if "other" not in claim:
        return other is experiment
    named = {*claim["where"], *claim["other"]}
    same = FAMILIES[experiment["kind"]].conditions(experiment).keys() - named
    return (
        other["kind"] == experiment["kind"]
        and fits(other, claim["other"])
        and all(other[key] == experiment[key] for key in same)
    )


def members():
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
                        alone.setdefault(id, []).append(claim | {selector: wanted | {key: [one]}})
    return [pytest.param(parts, id=id) for id, parts in alone.items()]


# --- the file


def test_each_document_is_drawn_on_and_nothing_is_said_twice():
    documents = {"thesis", "aistats15", "aistats16", "perceptron", "ailon"}  # the five, at least
    assert documents < {part["source"].get("document") for part in PARTS.values()}
    statements = [claim["statement"] for claim in CLAIMS.values()]
    assert len(set(statements)) == len(statements)
    assert max(map(len, statements)) <= 200


def test_a_family_is_what_ids_begin_with():
    for name, claim in CLAIMS.items():
        assert name.startswith(claim["family"].partition("-")[0]), name


def test_no_two_claims_ask_the_same():
    words = ("source", "statement", "family", "data")
    asked = [
        {key: value for key, value in claim.items() if key not in words} for claim in PARTS.values()
    ]
    assert all(one not in asked[:at] for at, one in enumerate(asked))


def test_old_claims_are_still_there_or_it_is_said_why_not():
    for row in read_rows(ROOT / "docs/claims-of-0.2.0.csv")[1]:
        why = row["why, and where it is said now"]
        assert row["now"] in CLAIMS or (not row["now"] and why), row


# --- could it have come out otherwise?


def test_questions_are_our_own_and_only_they():
    for name, claim in CLAIMS.items():
        assert claim["row"] == "question" or claim["source"].get("document") != "scant", name


def test_a_question_is_told_in_its_document():
    for claim in CLAIMS.values():
        if claim["source"].get("document") == "scant":
            assert (ROOT / claim["source"]["place"]).is_file()


@pytest.mark.parametrize("name", [name for name, claim in PARTS.items() if "control" in claim])
def test_a_control_is_another_claim(name):
    claim, replaced = (
        PARTS[name],
        {key: value for key, value in PARTS[name]["control"].items() if key != "words"},
    )
    assert any(claim.get(key) != value for key, value in replaced.items())
    if "plays" in replaced:
        assert replaced["plays"] in quantities()[claim["quantity"]][claim["where"]["kind"]].plays


# --- in step with the code


def theory() -> set[str]:
    """The tables that need no run, by what families declare."""
    return {shown.name for _, shown in families.shown() if shown.reads == "nothing"}


def test_the_schema_names_what_there_is():
    declared = {name for family in FAMILIES.values() for name in family.quantities}
    # for editors; `claims` has those that are declared
    named = {*PROPERTIES["quantity"]["else"]["enum"]}
    assert (
        {claim["quantity"] for claim in PARTS.values()}
        <= named
        <= declared | {"table"}
        == {*quantities(), "table"}
    )
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


@pytest.mark.parametrize("name", PARTS)
def test_figures_are_those_of_the_claim_s_family(name):
    claim = PARTS[name]
    figure = claim.get("figure")
    drawn = {
        kind: {shown.name for shown in family.shown if shown.draw}
        for kind, family in FAMILIES.items()
    }
    known = drawn[claim["where"]["kind"]] if "where" in claim else set().union(*drawn.values())
    assert figure is None or figure in known


@pytest.mark.parametrize("name", OF_RUNS)
def test_a_study_can_judge_it(name, all_studies):
    assert any(readings(OF_RUNS[name], study) for study in all_studies)


@pytest.mark.parametrize("having", members())
def test_every_member_of_a_list_is_in_a_study(having, all_studies):
    assert any(readings(part, study) for part in having for study in all_studies)


@pytest.mark.parametrize("name", OF_TABLES)
def test_a_table_has_the_cells(name, tables):
    claim = OF_TABLES[name]
    table = tables[claim["table"]]
    columns = claim["column"] if isinstance(claim["column"], list) else [claim["column"]]
    assert {*claim["cell"], *columns} <= set(table)
    against = claim.get("against")
    for wanted in (claim["cell"], claim["cell"] | (against if isinstance(against, dict) else {})):
        found = [row for row in table.to_dict("records") if fits(row, wanted)]
        assert found
        for key, value in wanted.items():
            for one in value if isinstance(value, list) else [value]:
                assert one in list(table[key]) or (key, one) == ("m", MAX_ITEMS)
        if isinstance(claim.get("expected"), list):
            assert np.shape(claim["expected"]) == (
                (len(found), len(columns)) if len(columns) > 1 else (len(found),)
            )


def test_real_logs_judge_what_is_said_of_undersampling(all_studies):
    """The other side comes from an experiment that differs in that alone."""
    study = next(study for study in all_studies if study["study"] == "real-ads")
    claim = PARTS["ads-classifiers-undersampled"]
    assert readings(claim, study) == ["ads-undersampled", "held-out-undersampled"]
    without = deepcopy(study)
    del without["experiments"]["ads"]
    assert readings(claim, without) == ["held-out-undersampled"]


# --- margins


def test_slopes_of_one_rate_have_one_margin():
    for claim in OF_RUNS.values():
        if claim["comparison"] == "slope":
            assert claim["margin"] == 0.05


# --- what is refused


GOOD = PARTS["items-rate-items.1"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"margn": 1}, "unknown key 'margn': did you mean 'margin'"),
        ({"comparison": "greatr"}, "unknown value 'greatr': did you mean 'greater'"),
        (
            {"quantity": "final"},
            "unknown value 'final': Known: excess_slope, game_slope, gap_slope",
        ),
        ({"along": "round"}, "unknown value 'round': did you mean 'rounds'"),
        ({"statement": "no sentence"}, "One sentence"),
        ({"against": "bound"}, "is not of type 'number'"),
        ({"where": {}}, "should be non-empty"),
        ({"margin": {"share": 1}}, "is not valid under any"),
        ({"table": "table-3.1"}, "unknown value 'table'"),
        ({"epsilon": 0.2}, "unknown value 'game_slope'"),
        ({"source": {"document": "thesis"}}, "'place' is a required property"),
        ({"source": {"document": "The thesis", "place": "1"}}, "'The thesis'"),
    ],
)
def test_a_bad_claim_is_refused(change, message):
    with pytest.raises(SettingError, match=message):
        check({"bad": GOOD | change}, SCHEMA, "claims")


def misspelt(value, path=()):
    """Each key of a selector with a letter more, and its path; then each word among its values."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "not":
                yield (
                    (*path, key),
                    {other + "x" * (other == key): one for other, one in value.items()},
                )
            yield from ((where, value | {key: one}) for where, one in misspelt(inner, (*path, key)))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            changed = misspelt(inner, (*path, number))
            yield from (
                (where, [*value[:number], one, *value[number + 1 :]]) for where, one in changed
            )
    elif (
        isinstance(value, str)
        and "ids" not in path
        and "campaign" not in path
        and "policy" not in path
    ):
        yield path, value + "x"


def slips():
    """Each shipped claim's part with one key, or one word, of one selector misspelt."""
    for name, claim in (
        *OF_RUNS.items(),
        *((n, c) for n, c in PARTS.items() if c["quantity"] == "coverage"),
    ):
        control = claim.get("control", {})
        for key in ("where", "on", "own", "learner", "against", "other", "each"):
            for path, changed in misspelt(claim.get(key)):
                yield name, (key, *path), claim | {key: changed}
            for path, changed in misspelt(control.get(key)):
                yield name, ("control", key, *path), claim | {"control": control | {key: changed}}


def test_no_key_and_no_word_of_a_claim_can_be_misspelt():
    """With null for its value such a key would fit whatever there is, so that the claim were about
    more.
    """
    datasets, accepted, refused = registry.load(ROOT / "config/datasets.yaml"), [], 0
    for name, path, claim in slips():
        try:
            check_selectors(claim, datasets)
            accepted.append((name, path))
        except SettingError:
            refused += 1
    assert not accepted and refused > 2500


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learner": {"kind": "rtop", "kz": None}}, "learner: unknown key 'kz': did you mean 'k'?"),
        # which ListNet does not have
        ({"against": {"kind": "listnet", "k": None}}, "against: unknown key 'k'"),
        ({"learner": {"kind": "rtop", "surrogate": ["kl", "squard"]}}, "did you mean 'squared'"),
        ({"learner": {"kind": {"not": "rtp"}}}, "unknown value 'rtp': did you mean 'rtop'"),
        (
            {"where": {"kind": "top", "shedule": None}},
            "where: unknown key 'shedule': did you mean 'schedule'",
        ),
        (
            {"on": {"settings": {"cosin": None}}},
            "on.settings: unknown key 'cosin': did you mean 'cosine'",
        ),
        ({"on": {"dataset": "yahoo-c14-set"}}, "did you mean 'yahoo-c14-set1'"),
        (
            {"each": [{"surrogate": []}]},
            "each.1.surrogate: a list without alternatives fits nothing",
        ),
        ({"each": [{"surogate": "kl"}]}, "each.1: unknown key 'surogate'"),
        ({"control": {"words": "none", "plays": "weight 0"}}, "unknown play 'weight 0'"),
        (
            {"control": {"words": "none", "on": {"generatr": None}}},
            "control: on: unknown key 'generatr'",
        ),
    ],
)
def test_a_selector_that_fits_nothing_is_refused(change, message):
    with pytest.raises(SettingError, match=re.escape(message)):
        check_selectors(
            PARTS["top-above-random"] | change, registry.load(ROOT / "config/datasets.yaml")
        )


# --- what the papers say


QUOTATIONS = read_yaml(ROOT / "tests/unit/quotations.yaml")
SOURCES = [(name, part["source"]) for name, claim in CLAIMS.items() for part in parts(claim)]
QUOTED = [(name, source) for name, source in SOURCES if source.get("document") in QUOTATIONS]
NEGATION = re.compile(r"(\b(not|no|cannot|never|neither|nor)|n't)\W*$", re.IGNORECASE)


@pytest.mark.parametrize(("name", "source"), QUOTED)
def test_words_are_said_there_and_not_denied(name, source):
    """Of the document, at the place.

    Words that are not in tests/unit/quotations.yaml have to be looked up first.
    """
    there = [
        said
        for said in QUOTATIONS[source["document"]].get(source["place"], [])
        if source["words"] in said
    ]
    assert there
    for said in there:
        assert not NEGATION.search(said.partition(source["words"])[0])


def test_only_our_own_questions_lack_words():
    """A document that has a title is none of those that the project tests, and words of it are not
    looked up.
    """
    for name, source in SOURCES:
        own = CLAIMS[name]["row"] == "question" and source.get("document") == "scant"
        assert own or "title" in source or source["words"], name
        assert "title" in source or source["document"] in {*QUOTATIONS, "pdgd", "scant"}


def test_each_quotation_is_short_and_of_a_row():
    sources = [source for _, source in QUOTED]
    for document, places in QUOTATIONS.items():
        for place, quotations in places.items():
            words = [
                source["words"]
                for source in sources
                if (source["document"], source["place"]) == (document, place)
            ]
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
    """The numbers of rounds, seeds, blocks and grades seen with which an experiment plays a part of
    a claim.
    """
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


def first_played(examiner, part: dict) -> set[tuple[str, int]] | None:
    """`played` of the first experiment that has all that a part of a claim is about; None if there
    is none.
    """
    for name, experiment in examiner.study["experiments"].items():
        fitting = examiner._fitting(part, name, experiment)
        if isinstance(fitting, claims._Fitting) and not examiner._lacks(
            part, fitting.involved, "", len(PARTS)
        ):
            return played(examiner.study, part, experiment, fitting.involved)
    return None


def test_numbers_of_a_statement_are_those_that_every_study_plays():
    """In the experiments of its first reading, under which its verdict is; those of all its parts
    together.
    """
    said = {
        name: numbers for name in OF_RUNS_WHOLE if (numbers := stated(CLAIMS[name]["statement"]))
    }
    checked = set()
    for path in (ROOT / "config/config.yaml", *sorted((ROOT / "config/studies").glob("*.yaml"))):
        plan = Plan(*studies.load(read_yaml(path), ROOT / "config/datasets.yaml"))
        played = dict.fromkeys(plan.study["experiments"])
        examiner = claims._Examiner(plan, played, None, {}, None, None)
        for name, numbers in said.items():
            of_parts = [first_played(examiner, part) for part in parts(CLAIMS[name])]
            if None not in of_parts:
                lacking = numbers - set().union(*of_parts)
                assert not lacking, f"{path.name}: {name} says {lacking}"
                checked |= {(of, name) for of, _ in numbers}
    assert {of for of, _ in checked} == STATED.keys() - {"seeds"} and len(checked) > 20


@pytest.mark.parametrize(
    ("statement", "numbers"),
    [
        (
            "After 10,000 rounds 200 blocks are better than 10 blocks.",
            {("rounds", 10000), ("blocks", 200), ("blocks", 10)},
        ),
        (
            "Up to round 1,000, in 12 seeds, from the top two.",
            {("round", 1000), ("seeds", 12), ("k", 2)},
        ),
        (
            "After 500 it is so, from ten grades; at T = 300,000.",
            {("round", 500), ("k", 10), ("rounds", 300000)},
        ),
    ],
)
def test_numbers_are_read_from_statements(statement, numbers):
    assert stated(statement) == numbers


# learners and losses as statements name them, by the value of `kind` or `surrogate` that they are
NAMED = {
    "PDGD": "pdgd", "DBGD": "dbgd", "ListNet": "listnet", "SLAM": "slam", "RankSVM": "ranksvm",
    "KL": "kl",
    "SmoothDCG": "smoothdcg", "OnlineRank": "online-rank", "Hedge": "hedge",
    "PermELearn": "permelearn",
    "CombBand": "comb-band",
}  # fmt: skip


@pytest.mark.parametrize("name", OF_RUNS_WHOLE)
def test_learners_that_a_statement_names_are_those_of_its_cells(name):
    keys = ("learner", "against", "each", "where", "other")
    of_parts = str([{key: part.get(key) for key in keys} for part in parts(CLAIMS[name])])
    named = {
        value
        for word, value in NAMED.items()
        if re.search(rf"\b{word}\b", CLAIMS[name]["statement"])
    }
    if CLAIMS[name]["quantity"] == "lead_share":  # of ListNet's
        named -= {"listnet"}
    assert all(f"'{value}" in of_parts for value in named)
