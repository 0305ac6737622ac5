"""The page is one file that asks for nothing, shows what it is given and no more."""

import base64
import csv
import hashlib
import re
import shutil
from html.parser import HTMLParser
from urllib.parse import unquote

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from rows import entries
from toys import EMPTY

from scant.errors import DataError
from scant.page import about, boards, numbers, page
from scant.page.inline import inline, size
from scant.present import figures, panels, style, tables
from scant.study import settings
from scant.verdict import words

NASTY = '<script>alert("1")</script> & <b onclick=x>'
FETCHING = {"src", "srcset", "poster", "action", "formaction", "data", "background", "ping"}


class Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, text: str):
        super().__init__()
        self.elements, self.text, self.scripts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        (self.scripts if self.elements and self.elements[-1][0] == "script" else self.text).append(
            data
        )

    def of(self, name: str) -> list:
        return [attributes[name] for _, attributes in self.elements if name in attributes]


def claim(number=1, verdict="holds", **more) -> dict:
    return CLAIM | {"id": f"c-{number}", "verdict": verdict} | more


CLAIM = yaml.safe_load("""
{source: thesis, statement: It learns., estimate: 0.123456, low: 0.1, high: 0.2, n: 5,
 readings_holding: 2, readings_total: 3, data: "", family: top, figure: figure-1, needed: null,
 matters: "", matters_share: null, row: extension, words: it learns, chosen: "",
 quantity: NDCG@10, test: t, cells_holding: 1, cells_failing: 0, cells_silent: 0, cells_total: 1,
 tightness: null, deciding: kl on Digits, note: "", says_from: null,
 refuted_by: a mean below -1, control: Random, control_verdict: fails, control_estimate: 0.0,
 control_low: -0.1, control_high: 0.05, premise: "", agreeing: 4.0, agreeing_least: 0.28,
 tipping: 0.04, worst: 0.01, mark: "", by_cell: "", named: ""}
""")
CELL = yaml.safe_load("""
{row: extension, first: true, experiment: top, stream: digits, learner: kl, against: "",
 estimate: 0.2, low: 0.1, high: 0.4, n: 7, from: 0.0, to: .inf, verdict: holds, agreeing: 6.0,
 tipping: 0.04, worst: 0.05, mark: ""}
""")


def cell(number=1, **more) -> dict:
    return CELL | {"claim": f"c-{number}"} | more


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Results with a figure of three curves, two of which look the same, its data, and a table."""
    style.apply()
    folder = tmp_path_factory.mktemp("drawn")
    for part in ("figures", "tables"):
        (folder / part).mkdir()
    figure, axes = plt.subplots(1, 2, layout="constrained")
    for axis in axes:
        for colour, label in (("#0173b2", "top"), ("#0173b2", "full"), ("#029e73", NASTY)):
            axis.fill_between([0, 1], [0, 1], [1, 2], color=colour, alpha=0.2, lw=0, label=label)
            axis.errorbar([0, 1], [1, 2], [1, 1], color=colour, marker="o", label=label)
        axis.plot([0, 1], [1, 2], color="#0173b2")  # is of no entry
    handles = {line.get_label(): line for line in axes[0].containers}
    handles["a band"] = axes[0].collections[0]
    figure.legend(handles.values(), handles.keys(), title="means")
    figures.save(figure, pd.DataFrame({"round": [1]}), folder / "figures/figure-1")
    (folder / "figures/figure-1.png").unlink()
    shutil.copy(folder / "figures/figure-1.svg", folder / "figures/figure-2.svg")
    (folder / "figures/figure-1.csv").write_text('round,mean\n1,"0,5"\n')
    with open(folder / "tables/finals.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [["learner", "mean", "n"], [NASTY, 0.123456789, 3], ["other", "", 12]]
        )
    return folder


@pytest.fixture
def folder(drawn, tmp_path):
    """A copy of these results."""
    return shutil.copytree(drawn, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def make(folder):
    def make(claims=(), about=None, study="small", cells=()):
        settings = {"study": study, "seed": 1, "note": NASTY}
        facts = EMPTY | (about or {})
        page.make(settings, folder, folder / "report.html", claims, facts, cells)
        return (folder / "report.html").read_text(encoding="utf-8")

    return make


def test_nothing_is_asked_for_and_every_id_is_one_elements(make):
    about = {"datasets": [{"home": "https://example.org/a?b=1"}]}
    about["captions"] = {"figure-1": "A caption."}
    text = make([claim(), claim(2, "fails")], about, cells=[cell(), cell(2)])
    assert text == make([claim(), claim(2, "fails")], about, cells=[cell(), cell(2)])
    seen = Page(text)
    named = {name for _, attributes in seen.elements for name in attributes}
    assert not named & FETCHING and not [name for name in named if name.startswith("on")]
    ids = seen.of("id")
    assert len(ids) == len(set(ids)) > 20
    for tag, attributes in seen.elements:
        address = attributes.get("href") or "#main"
        if address.startswith("#"):
            assert unquote(address[1:]) in ids
        elif address != "data:,":
            assert tag == "a" and address.startswith(("http", "figures/", "tables/"))
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(ids)
    assert not re.search(r"url\((?!#)|@import", text)
    [policy] = [one["content"] for _, one in seen.elements if "http-equiv" in one]
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    for part in ("default-src 'none'", f"script-src 'sha256-{digest}'", "base-uri 'none'"):
        assert part in policy
    assert "form-action 'none'" in policy and "unsafe-eval" not in policy


def test_what_is_given_is_escaped(make):
    about = {"captions": {"figure-1": NASTY}, "datasets": [{"title": NASTY}]}
    about |= {"environment": {NASTY: NASTY}, "citation": NASTY, "commands": {NASTY: NASTY}}
    about |= {"timings": [{"rule": NASTY}]}
    told = ("source", "statement", "family", "data", "figure", "words", "chosen", "quantity", "id")
    shown = dict.fromkeys(("claim", "stream", "learner", "against"), NASTY)
    text = make([claim(**dict.fromkeys(told, NASTY))], about, NASTY, [cell(**shown)])
    seen = Page(text)
    assert [tag for tag, _ in seen.elements].count("script") == 1
    assert "b" not in {tag for tag, attributes in seen.elements if "onclick" in attributes}
    assert "alert" not in "".join(seen.scripts)
    assert "".join(seen.text).count(NASTY) > 12


def test_data_are_beside_the_page_and_numbers_are_to_three_figures(make, folder):
    seen = Page(make())
    links = [a["href"] for _, a in seen.elements if "download" in a]
    assert all((folder / unquote(link)).is_file() for link in links)
    assert {"figures/figure-1.csv", "tables/finals.csv"} <= set(links)
    assert ("td", {"title": "0.123456789", "class": "number"}) in seen.elements
    assert "0.123" in seen.text and page.ABSENT in seen.text


@given(st.tuples(st.floats(-0.99, 0.99), st.floats(-0.99, 0.99)).map(sorted))
def test_ends_of_intervals_are_rounded_outwards(ends):
    """On the page, in the terminal and in LaTeX; to as many figures as any number."""
    low, high = ends
    assume(low < high)
    frame = pd.DataFrame([{"mean": 0.0, "mean_low": low, "mean_high": high}])
    texts = [numbers.interval(low, high), numbers.interval(low, high, numbers.signed)]
    texts += [boards._interval(low, high, 3), tables.latex(frame, "", "").splitlines()[8]]
    texts += [panels.slope({"slope": 0.0, "slope_low": low, "slope_high": high}).partition("[")[2]]
    for text, unit in zip(texts, (1e-2, 1e-2, 1e-3, max(high - low, 1e-6), 1e-2), strict=True):
        if not (read := [float(end) for end in re.findall(r"[-+]?\d[\d.e-]*", text)[-2:]]):
            assert f"{low:.4f}" == f"{high:.4f}"  # of a slope
            continue
        assert low - unit <= read[0] <= low + 1e-12 and high - 1e-12 <= read[1] <= high + unit
    shares = [words.agreeing(9, 10, share) for share in (0.7354, 0.57)]
    assert [text.partition("least ")[2] for text in shares] == ["73 % of all", "57 % of all"]
    assert (
        numbers.percent(0.7354, "low") == "73 %" and numbers.percent(1.2341, "high") == "1.24 times"
    )


def test_claims_lead_to_their_figures_and_back(make):
    undecided = [
        claim(at, "undecided", figure=figure)
        for at, figure in enumerate(("figure-1", "figure-9", ""), 1)
    ]
    seen = Page(make(undecided))
    links = seen.of("href")
    assert links.count("#figure-1") == 1 and "#figure-9" not in links
    assert links.count("#claim-c-1") == 1 and "#claim-c-2" not in links


def test_cells_are_drawn_to_the_scale_of_their_claim():
    open_end = {"low": None, "high": None}
    cells = [cell(), cell(estimate=-0.4, to=0.1, **open_end, **{"from": -0.1})]
    first, second = page._placed(cells, page.shown)
    assert first["claimed"] == "above 0" and second["claimed"] == "-0.1 to 0.1"
    one, other = first["place"], second["place"]
    assert one["to"] == 100 and one["low"] < one["estimate"] < one["high"]
    assert other["estimate"] < other["from"] < one["from"] < other["to"] < 100
    assert "low" not in other
    nothing = cell(estimate=None, **open_end, **{"from": -np.inf})
    [nothing] = page._placed([nothing], page.shown)
    assert nothing["place"] is None and nothing["claimed"] == "any"


def test_a_claim_has_the_cells_of_its_first_reading(make):
    cells = [cell(), cell(stream="letter", estimate=-0.3, low=None, high=None, verdict="fails")]
    cells.append(cell(stream="of another reading", first=False))
    text = make([claim(cells_total=2, cells_failing=1), claim(2)], cells=cells)
    seen = Page(text)
    assert "Holds in 1 of 2 cells, fails in 1" in seen.text and "of another reading" not in text
    said = {part.strip() for part in seen.text}
    assert {"digits", "letter", "[0.1, 0.4]", "6 of 7", "one in 25", "0.05"} <= said
    labels = [a["aria-label"] for tag, a in seen.elements if tag == "svg" and "aria-label" in a]
    assert labels == [
        "0.2, interval [0.1, 0.4]; claimed: above 0",
        "-0.3, no interval; claimed: above 0",
    ]
    assert sum(tag == "details" and a.get("class") == "cells" for tag, a in seen.elements) == 1


def test_kinds_of_rows_are_counted_apart():
    theorem = {"row": "theorem"}
    claims = [claim(1), claim(2, readings_holding=3), claim(3, "fails", row="reproduction")]
    claims += [claim(4, "not testable here", row="reproduction")]
    claims += [claim(5, "undecided", needed=40, **theorem)]
    claims += [claim(6, "undecided", needed=float("inf"), tightness=0.9, **theorem)]
    claims += [claim(7, tightness=0.00123, **theorem)]
    claims += [claim(8, tightness=0.4136, test="exact", **theorem)]
    claims += [claim(9, "fails", tightness=7.0, **theorem)]
    assert "\n".join(page.sentences(claims)) == SENTENCES
    no_paper, *_ = page.sentences([claim()])
    assert no_paper == "No claim is about what a paper measured on data like its own."
    assert len(page.sentences([])) == 3
    kinds = {kind["name"]: kind for kind in page._kinds(claims)}
    assert list(kinds) == ["reproduction", "extension", "theorem check"]
    assert kinds["reproduction"]["counts"] == {"fails": 1, "not testable here": 1}
    half = page.tightness([claim(row="theorem", tightness=0.5)])
    assert half == "what was measured is 50 % of the bounds that hold"
    assert page.tightness([claim(tightness=0.5)]) == ""
    families = [entries(one, "family kind claims") for one in page._families(claims)]
    counts = {"reproduction": 2, "extension": 2, "theorem check": 5}
    assert families == [("top", kind, count) for kind, count in counts.items()]


SENTENCES = """\
Of 2 statements that the papers measured, 1 does not reproduce; 1 could not be tested here.
Of 2 extensions to other data, 2 extend.
Of 5 theorem checks, 1 is checked exactly: 1 holds; 4 are measured: 1 holds, 1 fails, 2 are \
undecided; what was measured is 0.12 to 41 % of the bounds that hold.
Of the 4 claims that hold, 1 does under every reading, each way of doing what a paper leaves open; \
40 seeds or fewer would decide half of those that are undecided."""


def test_what_a_verdict_supposes_and_what_would_overturn_it_stand_beside_it(make):
    known = claim(1, premise="seeds near normal")
    marked = known | {"id": "c-2", "mark": "whatever seeds are like", "by_cell": "holds on a"}
    text = make([known, marked])
    so = "so in 4 of 5 seeds, hence in at least 28 % of all"
    for said in (
        f"{so}; to overturn it, one seed in 25 would have to be as far against it",
        "it supposes seeds near normal, but the verdict is so whatever seeds are like",
        "as a seed can be, and so many could hardly have been missed; ",
        "<dd>holds on a</dd>",
    ):
        assert said in text
    end = "1 of 1 verdicts supposes that no rare seed is far from those drawn; 0 of these are so "
    assert page.sentences([known])[-1] == f"{end}whatever seeds are like."


def test_it_says_in_a_sentence_what_it_is_by_whom_and_of_when():
    facts = {"studied": [{"seeds": "8"}, {"seeds": "10 to 250"}], "authors": "us"}
    facts["environment"] = {"scant": "1.0", "made": "2026-11-05T10:00:00+00:00"}
    verdicts = ("holds", "fails", "differs", "not testable here")
    of = [claim(at, verdict) for at, verdict in enumerate(verdicts)]
    assert page.headline([of[0] | {"test": "exact"}, *of[1:]], facts) == (
        "How well rankers learn from scant feedback: 2 families of learners on 8 to 250 seeds; 1 "
        "claim checked exactly (1 holds); 2 claims measured (1 fails, 1 differs), "
        "made with scant 1.0 by us on 5 November 2026."
    )
    assert page.headline([], EMPTY) == "How well rankers learn from scant feedback."


def test_what_fails_and_what_is_open_is_shown_and_the_rest_is_folded(make):
    of = [claim(at, verdict) for at, verdict in enumerate([*page.VERDICTS, "holds"])]
    ranked = [one | {"rank": list(page.VERDICTS).index(one["verdict"])} for one in of]
    shown, *folded = page._parts(ranked)
    assert [one["verdict"] for one in shown["claims"]] == list(page.VERDICTS)[1:6]
    assert [part["title"] for part in folded] == ["2 hold", "1 not testable here"]
    details = [a.get("class") for tag, a in Page(make(of)).elements if tag == "details"]
    assert [name for name in details if name in ("held", "absent")] == ["held", "absent"]


def test_large_data_stays_beside_the_page(make, folder):
    (folder / "tables" / "large.csv").write_text("name\n" + "x\n" * (page.ROWS + 1))
    seen = Page(make())
    assert any(part.startswith(f"{page.ROWS + 1} ") for part in seen.text) and "x" not in seen.text
    assert "tables/large.csv" in seen.of("href")


def test_figures_keep_their_shapes_and_mark_their_curves(drawn):
    path = drawn / "figures" / "figure-1.svg"
    svg, names = inline(path, "p-")
    assert names == ["top", "full", NASTY]
    assert len(svg) < 0.8 * path.stat().st_size
    box = re.search(r'viewBox="0 0 (\S+) (\S+)"', svg).groups()
    assert size(svg) == pytest.approx(tuple(map(float, box)))
    # In each of two panels each curve has its line, its bars and its band, although two look the
    # same.
    for curve in range(3):
        assert svg.count(f'data-entry="{curve}"') == 1 and svg.count(f'data-curve="{curve}"') == 6
    assert svg.count("data-curve=") == 18 and svg.count("data-entry=") == 3
    assert "<style" not in svg and "metadata" not in svg
    assert all(name.startswith("p-") for name in re.findall(r' id="([^"]*)"', svg))


@pytest.mark.parametrize("text", ["", "<svg"])
def test_what_is_not_svg_is_refused(tmp_path, text):
    path = tmp_path / "figure.svg"
    path.write_text(text)
    with pytest.raises(DataError, match=r"figure\.svg.*--forcerun .*figure"):
        inline(path, "p-")


def test_large_tables_tell_what_is_the_same_in_every_row_and_fold_intervals(tmp_path):
    path = tmp_path / "large.csv"
    head = "learner,source,mean,low,high,gain,gain_low,gain_high,empty,n"
    path.write_text(f"{head}\na,text,1,0.5,1.5,2,,,,3\nb,text,2,1,3,3,2,4,,3\n")
    table = page._table(path, EMPTY)
    assert table["same"] == {"source": "text", "empty": "", "n": "3"}
    assert [name for name, _ in table["columns"]] == ["learner", "mean", "gain"]
    cells = [[("a", "a"), ("1 [0.5, 1.5]", "1"), ("2", "2")]]
    cells += [[("b", "b"), ("2 [1, 3]", "2"), ("3 [2, 4]", "3")]]
    assert [[tuple(cell) for cell in row] for row in table["rows"]] == cells
    path.write_text("learner,n\na,3\nb,3\n")
    table = page._table(path, EMPTY)
    assert table["same"] == {} and len(table["columns"]) == 2


def test_it_opens_with_what_was_studied_and_whose_the_statements_are(make):
    study = yaml.safe_load("""
study: s
streams: {a: {generator: separable, title: "One, two"}, b: {generator: linear}}
learners: {slam: {kind: slam, title: "SLAM, NDCG"}, random: {kind: random}}
experiments: {e: {streams: [a, b], learners: [slam, random], seeds: [2, 3]}}
""")
    (row,) = about.studied(settings.load(study)[0])
    said = ("perceptron", "SLAM, NDCG; random", "One, two; b", "5")
    assert entries(row, "kind learners places seeds") == said
    sources = about.sources({"one": {"source": {"document": "thesis"}}})
    facts = {"studied": [row], "sources": sources}
    text = make([claim()], facts)
    assert "learners that see every grade of a query" in text and "One, two; b" in text
    assert "Nir Ailon" in text and "https://arxiv.org/abs/1308.6797" in text
    assert "Nir Ailon" not in make((), facts)


def test_captions_say_what_is_shown(tmp_path):
    (tmp_path / "figure.csv").write_text(
        'panel,label,rate,tuning,round,n\nA,SLAM,"0.1, exploring 0.3",held-out,10,8\n'
        '"B, b",SLAM,0.2,held-out,2000,10\nA,Random,none,held-out,1,8\n'
    )
    said = "Data: A; B, b. Rounds: up to 2,000. Learning rates: SLAM 0.1, exploring 0.3, 0.2."
    assert about.shown_in(tmp_path / "figure.csv") == f"{said} n = 8 to 10."
    assert about.shown_in(tmp_path / "none.csv") == ""
    (tmp_path / "claims.csv").write_text('claim,rounds,n\na,None,3\nb,200,3\nc,"[20, 100]",3\n')
    assert about.shown_in(tmp_path / "claims.csv") == "Rounds: up to 200. n = 3."
