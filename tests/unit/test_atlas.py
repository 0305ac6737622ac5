"""The tables of partial monitoring as the thesis prints them, and the atlas as table and figure."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml

from scant.errors import SettingError
from scant.games import atlas, drawing_atlas, frames
from scant.present import figures, tables
from scant.theory import observability

VECTORS = ["000", "001", "010", "011", "100", "101", "110", "111"]
RANKINGS = ["123", "132", "213", "231", "312", "321"]
TABLE_3_1 = ["03251436", "02351346", "03142536", "01342356", "02133546", "01233456"]
TABLE_3_2 = ["00001111", "00001111", "00110011", "01010101", "00110011", "01010101"]


@pytest.fixture(scope="module")
def table():
    return atlas.atlas_table()


def slopes(**columns):
    one = yaml.safe_load("""
    {measure: dcg, grades: 2, m: 3, k: 1, slope: 0.664, low: 0.64, high: 0.69, verdict: agrees,
     n: 9}
    """)
    return pd.DataFrame([one | columns])


@pytest.fixture(scope="module")
def observed(table):
    """Two cells have slopes, one of them without an interval."""
    other = slopes(
        measure="ndcg", slope=0.8, low=np.nan, high=np.nan, verdict="undecided", grades=3
    )
    rows = pd.concat([slopes(), other])
    return table[[*frames.CELL, "rate"]].merge(rows, how="left", on=frames.CELL)


def cell(table, measure, m, k, grades=2):
    (one,) = table.query(
        "measure == @measure and grades == @grades and m == @m and k == @k"
    ).itertuples()
    return one


@pytest.mark.parametrize(
    ("made", "printed"), [(atlas.table_3_1, TABLE_3_1), (atlas.table_3_2, TABLE_3_2)]
)
def test_tables_3_1_and_3_2_are_laid_out_as_in_the_thesis(made, printed):
    made, vectors = made(), [f"R{i + 1} = {vector}" for i, vector in enumerate(VECTORS)]
    assert list(made) == ["sigma", "ranking", *vectors]
    assert made["sigma"].tolist() == [1, 2, 3, 4, 5, 6] and made["ranking"].tolist() == RANKINGS
    assert made[vectors].to_numpy().tolist() == [[*map(int, row)] for row in printed]
    assert (made.dtypes.iloc[2:] == "int64").all()


def test_table_b_1_has_all_numbers_of_the_thesis():
    made = atlas.table_b_1().set_index("row")
    vectors = [f"R{i}" for i in range(1, 9)]
    assert made[vectors].to_numpy().tolist() == yaml.safe_load("""
    [[0.0, 0.1, 0.15, 0.05, 0.2, 0.3, 0.2, 0.0], [0.0, 0.3, 0.0, 0.0, 0.15, 0.15, 0.4, 0.0],
     [0, 1, 1, 0, 1, 0, 0, 1], [0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 0, 1, 1]]
    """)
    items = made.loc[["item 1", "item 2", "item 3"]]
    assert items["E[R], p"].tolist() == items["E[R], p~"].tolist() == [0.45, 0.45, 0.4]
    assert items["E[G/Z], p"].round(4).tolist() == [0.3533, 0.3920, 0.3226]
    assert items["E[G/Z], p~"].round(4).tolist() == [0.3339, 0.3339, 0.4]
    assert made.loc["p", "best for NDCG"] == "2 1 3"
    assert made.loc["p~", "best for NDCG"] == "3 1 2 or 3 2 1"


@pytest.mark.parametrize(
    "maker", [atlas.table_3_1, atlas.table_3_2, atlas.table_b_1, atlas.atlas_table]
)
def test_tables_are_written_and_read_back(maker, tmp_path):
    made = maker()
    tables.write(made, tmp_path / "table")
    back = pd.read_csv(tmp_path / "table.csv", dtype={"ranking": str})
    pd.testing.assert_frame_equal(back, made, check_dtype=False, check_exact=True)
    body = (tmp_path / "table.tex").read_text(encoding="utf-8").split(r"\midrule")[1]
    assert body.count(r"\\") == len(made)


def test_the_atlas_has_every_game_with_its_rate(table):
    assert len(table) == len(observability.atlas()) == 246
    assert not table.duplicated(["measure", "grades", "m", "k"]).any()
    assert set(table["rate"]) == {"T^(1/2)", "T^(2/3)", "T"}
    both = table["globally_observable"], table["locally_observable"]
    assert (table["rate"] == "T").equals(~both[0])
    assert (table["rate"] == "T^(1/2)").equals(both[1])


STATED = """
sum-loss 3 1 2: T^(2/3), T^(2/3), thesis 3.2.3, Result 1: agrees
sum-loss 2 1 2: T^(1/2), T^(2/3), thesis 3.2.3, Result 1: not so here, proof has m = 3
dcg 5 1 3: T^(2/3), T^(2/3), thesis 3.2.3, Result 1: agrees
dcg 4 3 2: T^(1/2), at most T^(2/3), thesis 3.2.3, Result 2: agrees
pairwise-loss 4 4 2: T^(1/2), T^(1/2), thesis 3.2.6: agrees
ndcg 2 1 3: T, T, thesis 3.2.3, Result 3: agrees
ap 2 1 2: T^(1/2), T, thesis 3.2.3, Result 3: not so here, proof has m = 3
auc 3 1 2: T^(2/3), at most T^(2/3), thesis appendix B, Lemma 23: agrees
ndcg 4 2 2: T, open, thesis 3.5
ndcg 4 4 2: T^(1/2), nan, nan
err 3 1 2: T, nan, nan
"""


def test_what_the_thesis_states_stands_beside_the_rate(table):
    for line in STATED.split("\n")[1:-1]:
        game, _, said = line.partition(": ")
        measure, *sizes = game.split()
        m, k, grades = map(int, sizes)
        one = cell(table, measure, m, k, grades)
        assert f"{one.rate}, {one.stated}, {one.source}".replace("None", "nan") == said


@pytest.mark.parametrize(
    ("measure", "rate"), [("sum-loss", "T"), ("precision@1", "T"), ("ap", "T^(1/2)")]
)
def test_a_statement_that_fails_is_said_to(measure, rate):
    assert atlas._stated(measure, 4, 1, rate)[1].endswith("differs")


def drawn(figure):
    """What each panel writes: (label, m, k): texts from the top of the cell down; its colours."""
    first = figure.axes[0]
    labels = [label.get_text() for label in first.get_yticklabels()]
    rows = dict(zip(first.get_yticks(), labels, strict=True))
    panels, colours = {}, {}

    def place(axis, k, y):
        nearest = min(rows, key=lambda at: abs(at - y))
        return rows[nearest], int(axis.get_title().removeprefix("m = ")), round(k)

    for axis in figure.axes:
        for text in sorted(axis.texts, key=lambda text: text.get_position()[1]):
            panels.setdefault(place(axis, *text.get_position()), []).append(text.get_text())
        for patch in axis.patches:
            centre = patch.get_x() + patch.get_width() / 2, patch.get_y() + patch.get_height() / 2
            colours[place(axis, *centre)] = patch.get_facecolor()
    return panels, colours


def test_the_figure_has_a_cell_for_each_game(observed, tmp_path):
    figure = drawing_atlas.atlas(observed)
    texts, colours = drawn(figure)
    assert len(texts) == len(colours) == len(observed)
    assert {cell[0] for cell in texts.values()} == {"1/2", "2/3", "1"}
    assert texts["DCG, 3 grades", 3, 1] == ["2/3"]
    assert texts["NDCG, 3 grades", 2, 1] == ["1"]
    assert texts["Precision@4", 5, 1] == ["1/2"]
    (legend,) = figure.legends
    assert legend.get_title().get_text().startswith("how minimax regret grows")
    assert [text.get_text() for text in legend.get_texts()] == ["$T^{1/2}$", "$T^{2/3}$", "$T$"]
    assert figure.get_figwidth() <= 7.2
    figures.save(figure, observed, tmp_path / "atlas")
    assert (tmp_path / "atlas.png").stat().st_size > 10_000
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "atlas.csv"), observed, check_dtype=False)
    plt.close(figure)


def test_colours_differ_in_print_without_colours():
    colours = map(plt.cm.colors.to_rgb, drawing_atlas._colours().values())
    greys = [0.299 * r + 0.587 * g + 0.114 * b for r, g, b in colours]
    assert greys[0] - greys[1] > 0.15
    assert greys[1] - greys[2] > 0.15


def test_measured_slopes_are_written_below_the_exponents(observed):
    figure = drawing_atlas.atlas(observed)
    texts, colours = drawn(figure)
    assert texts["DCG", 3, 1] == ["2/3", "0.66", ".64-.69"]
    assert texts["NDCG, 3 grades", 3, 1] == ["1", "0.80"]
    assert sum(len(one) > 1 for one in texts.values()) == 2
    assert "slope" in figure.legends[0].get_title().get_text()
    # The colour of a rate is that of cells where it is measured; others are pale.
    of_rates = {plt.cm.colors.to_rgba(colour) for colour in drawing_atlas._colours().values()}
    assert {at for at, colour in colours.items() if colour in of_rates} == {("DCG", 3, 1)}
    framed = [patch for axis in figure.axes for patch in axis.patches if patch.get_linewidth()]
    assert len(framed) == 1
    plt.close(figure)


@pytest.mark.parametrize(
    ("exponent", "low", "high", "verdict"),
    [
        (2 / 3, 0.62, 0.71, "agrees"),
        (2 / 3, 0.5, 0.6, "agrees"),
        (2 / 3, 0.65, 0.73, "undecided"),
        (2 / 3, 0.72, 0.75, "faster"),
        (0.5, np.nan, np.nan, "undecided"),
        (1.0, 0.93, 1.2, "agrees"),
        (1.0, 0.85, 1.0, "undecided"),
        (1.0, 0.6, 0.7, "slower"),
    ],
)
def test_a_slope_agrees_with_a_rate_if_regret_grows_no_faster(exponent, low, high, verdict):
    assert atlas.compared(exponent, low, high) == verdict


def test_the_table_of_cells_has_the_best_learner_and_its_constant(monkeypatch):
    alike = yaml.safe_load(
        "{measure: ndcg, grades: 2, m: 3, k: 2, kind: x, stream: g, horizon: 1000, n: 9}"
    )
    learners = yaml.safe_load("""
    {learner: [worse, better], slope: [0.97, 0.66], low: [0.95, 0.65], high: [0.99, 0.68],
     regret: [700.0, 250.0]}
    """)
    rows = pd.DataFrame(alike | learners)
    monkeypatch.setattr(frames, "observed", lambda traces, details: rows)
    table = atlas.cells_table(None, {}).set_index("learner")
    assert set(table["rate"]) == {"T^(2/3)"}
    assert table["best"].to_dict() == {"worse": False, "better": True}
    assert table["verdict"].to_dict() == {"worse": "faster", "better": "agrees"}
    assert table["constant"].to_dict() == pytest.approx({"worse": 7.0, "better": 2.5})
    drawn = atlas.measured(None, {})  # of NDCG of three items alone
    assert drawn["k"].tolist() == [1, 2, 3] and set(drawn["m"]) == {3}
    assert drawn.dropna(subset="slope")["learner"].tolist() == ["better"]
    rows.loc[0, "m"] = 9
    absent = "in no cell of the atlas of m = 2 to 5: measure ndcg, grades 2, m 9, k 2"
    with pytest.raises(SettingError, match=absent):
        atlas.cells_table(None, {})
