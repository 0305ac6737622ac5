"""Claims about tables, files of claims, and the tables and figures made of verdicts."""

import re

import numpy as np
import pandas as pd
import pytest
import yaml
from claimed import (
    AGAINST_ALL,
    B_IS_WORSE,
    CLAIM,
    CONTRACT,
    GAMES,
    ROOT,
    cells,
    changed,
    judge_study,
    judged,
    planned,
    played,
)
from toys import cells_table

from scant.errors import DataError, SettingError
from scant.study import settings as studies
from scant.verdict import claims, readings, selection, tables

TABLE = pd.DataFrame(
    yaml.safe_load("""
measure: [dcg, dcg, ndcg]
k: [1, 2, 1]
rate: [T^(2/3), T^(1/2), T]
bias: [3.0, 2.0, 5.0]
variance: [4.0, 1.0, 6.0]
source: ["3.2: agrees", "3.3: agrees", "3.4: differs"]
""")
)
OF_TABLE = CLAIM | {"quantity": "table", "table": "observability", "comparison": "exact"}


def of_table(**stated) -> pd.Series:
    """The verdict on a claim about TABLE."""
    one = {"one": OF_TABLE | stated}
    return judge_study(one, planned(GAMES), {}, tables={"observability": TABLE}).loc[0]


CELLS = yaml.safe_load("""
- [holds, {cell: {k: 1}, column: rate, expected: [T^(2/3), T]}]
- [fails, {cell: {k: 1}, column: rate, expected: T}]
- [holds, {cell: {measure: dcg}, column: source, expected: agrees}]
- [fails, {cell: {}, column: source, expected: agrees}]
- [holds, {cell: {k: 2}, column: [bias, variance], expected: [2.05, 1], margin: 0.1}]
- [fails, {cell: {k: 2}, column: [bias, variance], expected: [2.2, 1], margin: 0.1}]
- [holds, {cell: {measure: dcg, k: 2}, column: bias, against: {k: 1}, comparison: less}]
- [fails, {cell: {measure: ndcg}, column: bias, against: {measure: dcg, k: 1}, comparison: less}]
- [holds, {cell: {k: 2}, column: bias, against: 1.9, comparison: close, margin: {relative: 0.1}}]
- [holds, {cell: {measure: dcg}, column: bias, against: 2.9, comparison: slope, margin: 0.1}]
""")


@pytest.mark.parametrize(("verdict", "stated"), CELLS)
def test_cells_of_tables(verdict, stated):
    row = of_table(**stated)
    assert row["verdict"] == verdict and row["readings_total"] == 1


@pytest.mark.parametrize(
    ("comparison", "against", "estimate"),
    yaml.safe_load("""
[[slope, 9.0, 5.0], [greater, 1.0, 1.0], [less, 1.0, 4.0], [less, 9.0, -4.0], [close, 3.0, 2.0]]
"""),
)
def test_of_several_entries_the_one_furthest_from_what_is_said_is_reported(
    comparison, against, estimate
):
    row = of_table(cell={}, column="bias", margin=0.5, comparison=comparison, against=against)
    assert row[["estimate", "n"]].tolist() == [estimate, 3]


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"column": "rat"}, "claim one: unknown column of the table observability 'rat': did you"),
        ({"cell": {"k": 7}}, "no row with k 7"),
        ({"cell": {"measure": ["dcg", "ndgc"]}}, "unknown measure in the table observability"),
        ({"expected": ["T", "T", "T"]}, "not one value for each"),
        ({"table": "table-9"}, "unknown table"),
    ],
)
def test_defects_of_claims_about_tables(stated, said):
    with pytest.raises(SettingError, match=re.escape(said)):
        of_table(**{"cell": {"k": 1}, "column": "rate", "expected": "T"} | stated)


def test_theorys_tables_are_computed_if_they_are_not_given():
    made = {"table": "table-3.1", "cell": {"sigma": 1}, "column": "R1 = 000", "expected": 0}
    made = OF_TABLE | made | {"margin": 0.0}
    assert judge_study({"one": made}, planned(GAMES), {}).loc[0, "verdict"] == "holds"


def test_keys_of_a_group_are_those_of_its_claims(tmp_path):
    path = tmp_path / "grouped.yaml"
    claim = {key: CLAIM[key] for key in CLAIM if key not in ("source", "where")}
    group = {key: CLAIM[key] for key in ("source", "where", "family")}
    one = {"source": {"place": "3.4"}, "where": {"comparator": "horizon"}, "against": 1.0}
    of = {"one": claim | one, "two": claim | {"against": 2.0}}
    path.write_text(yaml.safe_dump({"some": group | {"claims": of}}))
    stated = studies.claims(path)
    assert stated["one"]["source"] == {"document": "thesis", "place": "3.4"}
    assert stated["one"]["where"] == {"kind": "fixed-items", "comparator": "horizon"}
    assert stated["two"]["where"] == {"kind": "fixed-items"} and stated["two"]["against"] == 2.0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cells": []}, "one.cells"),
        ({"cells": [{"statement": "Other."}]}, "one.cells.0"),
        ({"cells": [{}, {"quantity": "regrets"}]}, "one.cells.2.quantity"),
        ({"where": "here"}, "one.where"),
    ],
)
def test_what_cannot_be_put_together_is_refused(tmp_path, change, says):
    path = tmp_path / "wrong.yaml"
    path.write_text(yaml.safe_dump({"one": CLAIM | {"against": 1.0} | change}))
    with pytest.raises(SettingError, match=re.escape(says)):
        studies.claims(path)


def test_claims_of_one_s_own_stand_beside_those_of_the_project(tmp_path):
    mine, of_project = tmp_path / "mine.yaml", studies.claims_files(planned(GAMES).study)
    own = {key: value for key, value in CLAIM.items() if key != "source"} | {"against": 5.0}
    source = {"title": "A study", "url": "https://example.org", "place": "Table 1"}
    source["authors"] = "A. Author"
    mine.write_text(yaml.safe_dump({"mine": own | {"source": source}}))
    stated = studies.claims("config/claims/ads.yaml", mine)
    assert [*stated] == [*studies.claims("config/claims/ads.yaml"), "mine"]
    assert judged(mine=stated["mine"]).loc["mine", "source"] == "A study, Table 1"
    both = planned(GAMES | {"claims": ["config/claims", "mine.yaml"]})
    assert studies.claims_files(both.study) == [*of_project, "mine.yaml"]
    assert "config/claims/ads.yaml" in of_project
    assert studies.claims_files(planned(GAMES | {"claims": None}).study) == []
    with pytest.raises(SettingError, match=r"mine\.yaml: mine: another file of claims has this id"):
        studies.claims(mine, mine, schema_path=ROOT / studies.CLAIMS_SCHEMA)


def test_all_defects_of_a_file_of_claims_are_told_at_once(tmp_path):
    whole = CLAIM | {"against": 5.0, "source": {"title": "A study", "place": "1"}}
    defects = ({"source": {"place": "1"}}, {"source": {"title": "A study"}})
    defects += ({"comparison": "greatr"},)
    wrong = {name: whole | one for name, one in zip("abc", defects, strict=True)}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(wrong))
    with pytest.raises(SettingError) as caught:
        studies.claims(tmp_path / "mine.yaml", schema_path=ROOT / studies.CLAIMS_SCHEMA)
    _, *lines = str(caught.value).splitlines()
    says = ("a.source", "'place' is a required property", "did you mean 'greater'")
    assert all(one in line for one, line in zip(says, lines, strict=True))


def test_a_relative_margin_is_of_what_is_compared_with():
    traces, near = played(GAMES), CLAIM | AGAINST_ALL | {"margin": {"relative": 0.5}}
    frame = cells({"near": near}, planned(GAMES), traces)
    ends = traces["first"][0].query("learner == 'all' and horizon == 10000 and stream == 'a'")
    first = frame[frame["first"]]  # two games, and their mean
    assert first["from"].to_list() == pytest.approx([0.5 * ends["value"].mean()] * 3)
    assert np.isinf(first["to"]).all()


def test_readings_are_read_as_they_were_written(tmp_path):
    near = CLAIM | AGAINST_ALL | {"margin": {"relative": 0.5}}
    stated = {"near": near, "far": CLAIM | {"against": 100.0}}
    examined = claims.examine(stated, planned(GAMES), played(GAMES))
    rows = tables.claim_rows(examined, planned(GAMES).study), tables.cell_rows(examined)
    tables.write(*rows, "s", tmp_path / "claims")
    read, made = readings.read(tmp_path / "claims-readings.csv"), cells_table(examined)
    numbers = ["estimate", "low", "high", "n", "from", "to", *readings.BESIDE]
    np.testing.assert_allclose(read[numbers].astype(float), made[numbers].astype(float), rtol=1e-15)
    others = [name for name in made if name not in numbers]
    assert {"statement", "row", "test"} <= {*others} and {*made["row"]} == {"extension"}
    assert read[others].equals(made[others].astype(object).fillna("").astype(read[others].dtypes))
    table = pd.read_parquet(tmp_path / "claims.parquet")
    assert table["id"].tolist() == ["near", "far"] and list(table.columns[:11]) == CONTRACT
    assert pd.read_csv(tmp_path / "claims.csv")["verdict"].tolist() == table["verdict"].tolist()
    lines = (tmp_path / "claims-readings.csv").read_text().splitlines(keepends=True)
    # half a file, cut between two lines
    (tmp_path / "claims-readings.csv").write_text("".join(lines[:-1]))
    with pytest.raises(DataError, match="not the file of readings that was written"):
        readings.read(tmp_path / "claims-readings.csv")
    (tmp_path / "claims.csv").write_text("id,verdict\nnear,holds\n")
    with pytest.raises(DataError, match="not the table that was written"):
        tables.read_theory([tmp_path / "claims.csv"])
    (tmp_path / "claims.parquet").unlink()
    (tmp_path / "claims-readings.csv").write_text("claim,estimate\nnear,what\n")
    with pytest.raises(DataError, match="lacks the columns statement, family"):
        readings.read(tmp_path / "claims-readings.csv")


def test_claims_that_are_judged_apart_are_gathered_as_if_they_were_judged_at_once(tmp_path):
    stated = {
        "near": CLAIM | AGAINST_ALL | {"family": "one"},
        "far": CLAIM | {"against": 100.0, "family": "two"},
        "third": CLAIM | {"family": "one", "learner": {"kind": "fpl-gumbel"}},
    }
    plan, traces = planned(GAMES), played(GAMES)
    for family in ("two", "one"):
        chosen = {name: claim for name, claim in stated.items() if claim["family"] == family}
        examined = claims.examine(chosen, plan, traces)
        tables.save(examined, plan.study, list(stated), tmp_path / f"{family}.json")
    whole = claims.examine(stated, plan, traces)
    found = tables.gathered([tmp_path / "two.json", tmp_path / "one.json"])
    at_once = tables.claim_rows(whole, plan.study), tables.cell_rows(whole)
    for rows, folder in ((found, "apart"), (at_once, "whole")):
        (tmp_path / folder).mkdir()
        tables.write(*rows, "s", tmp_path / folder / "claims")
    for file in ("claims.csv", "claims.tex", "claims.parquet", "claims-readings.csv"):
        apart, together = ((tmp_path / folder / file).read_bytes() for folder in ("apart", "whole"))
        assert apart == together, file
    text = (tmp_path / "one.json").read_text()
    (tmp_path / "one.json").write_text(text.replace("near", "nigh"))
    with pytest.raises(DataError, match="whole file of judged claims"):
        tables.gathered([tmp_path / "one.json"])


def test_a_job_judges_whole_families_of_claims_on_the_experiments_that_they_can_be_read_in():
    plan = planned(yaml.safe_load((ROOT / "config/config.yaml").read_text()))
    stated = studies.claims(*studies.claims_files(plan.study))
    parts = selection.jobs(plan, stated)
    assert sorted(name for _, names in parts.values() for name in names) == sorted(stated)
    of_parts = [{stated[name]["family"] for name in names} for _, names in parts.values()]
    assert sum(map(len, of_parts)) == len(set().union(*of_parts)), "a family is in one part"
    for part, (experiments, _) in parts.items():
        kinds = {plan.families[name].kind for name in experiments}
        assert part == ("-".join(sorted(kinds)) or "theory")
        assert experiments == [name for name in plan.jobs if plan.families[name].kind in kinds]


def test_a_mean_over_streams_follows_the_cells_of_its_reading():
    one = CLAIM | AGAINST_ALL
    other = one | {"learner": {"kind": "rtopkf"}, "on": {"ids": "a"}}
    made = cells({"one": one, "other": other}, planned(GAMES), played(GAMES))
    # of two learners
    assert readings.OVERALL not in set(made.loc[made["claim"] == "other", "stream"])
    of_one = made[made["claim"] == "one"]
    assert of_one["stream"].tolist() == ["a", "b", readings.OVERALL, "a"]
    first, second, mean, _ = of_one["estimate"]
    assert mean == pytest.approx((first + second) / 2) and of_one["low"].iloc[2] < mean
    share = one | {"where": {"ids": "first"}, "comparison": "close", "margin": {"relative": 0.5}}
    made = cells({"share": share}, planned(GAMES), changed(*B_IS_WORSE))
    on_a, on_b, on_both = made[["from", "to"]].to_numpy()
    assert on_both == pytest.approx((on_a + on_b) / 2) and on_b[1] > 10 * on_a[1] > 0
