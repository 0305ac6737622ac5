"""The page is one file that asks for nothing, shows what it is given and no more."""

import base64
import csv
import hashlib
import re
from contextlib import suppress
from html.parser import HTMLParser
from urllib.parse import unquote

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from scant.errors import DataError, SettingError
from scant.page import about, page, story
from scant.page.inline import inline, size
from scant.present import figures, style
from scant.study import settings

NASTY = '<script>alert("1")</script> & <b onclick=x>'
FETCHING = {"src", "srcset", "poster", "action", "formaction", "data", "background", "ping"}


LISTS = ("studied", "left_out", "sources", "datasets", "timings")
MAPPINGS = ("captions", "headings", "titles", "experiments", "compared", "links", "boards")
MAPPINGS += ("shows", "environment", "commands")
EMPTY = {  # of what the page shows besides results
    **{name: [] for name in ("studied", "left_out", "sources", "datasets", "timings")},
    **{name: {} for name in ("captions", "headings", "titles", "experiments", "compared", "links")},
    **{name: {} for name in ("boards", "shows", "environment", "commands")},
    "citation": "",
}


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
    return {
        "id": f"c-{number}",
        "source": "thesis",
        "statement": "It learns.",
        "verdict": verdict,
        "estimate": 0.123456,
        "low": 0.1,
        "high": 0.2,
        "n": 5,
        "readings_holding": 2,
        "readings_total": 3,
        "data": "",
        "family": "top",
        "figure": "figure-1",
        "needed": None,
        "matters": "",
        "matters_share": None,
        "row": "extension",
        "words": "it learns",
        "chosen": "",
        "quantity": "NDCG@10",
        "test": "t",
        "cells_holding": 1,
        "cells_failing": 0,
        "cells_silent": 0,
        "cells_total": 1,
        "tightness": None,
        "deciding": "kl on Digits",
        "note": "",
        "says_from": None,
        "refuted_by": "a mean below -1",
        "control": "Random",
        "control_verdict": "fails",
        "control_estimate": 0.0,
        "control_low": -0.1,
        "control_high": 0.05,
        "premise": "",
        "agreeing": 4.0,
        "agreeing_least": 0.28,
        "tipping": 0.04,
        "worst": 0.01,
        "mark": "",
        "by_cell": "",
        "named": "",
    } | more


def cell(number=1, **more) -> dict:
    return {
        "claim": f"c-{number}",
        "row": "extension",
        "first": True,
        "experiment": "top",
        "stream": "digits",
        "learner": "kl",
        "against": "",
        "estimate": 0.2,
        "low": 0.1,
        "high": 0.4,
        "n": 7,
        "from": 0.0,
        "to": np.inf,
        "verdict": "holds",
        "agreeing": 6.0,
        "tipping": 0.04,
        "worst": 0.05,
        "mark": "",
    } | more


@pytest.fixture
def folder(tmp_path):
    """Results with a figure of three curves, two of which look the same, its data, and a table."""
    style.apply()
    (tmp_path / "figures").mkdir()
    (tmp_path / "tables").mkdir()
    for name in ("figure-1", "figure-2"):
        figure, axes = plt.subplots(1, 2, layout="constrained")
        for axis in axes:
            for colour, label in (("#0173b2", "top"), ("#0173b2", "full"), ("#029e73", NASTY)):
                axis.fill_between(
                    [0, 1], [0, 1], [1, 2], color=colour, alpha=0.2, lw=0, label=label
                )
                axis.errorbar([0, 1], [1, 2], [1, 1], color=colour, marker="o", label=label)
            axis.plot([0, 1], [1, 2], color="#0173b2")  # is of no entry
        handles = {line.get_label(): line for line in axes[0].containers} | {
            "a band": axes[0].collections[0]
        }
        figure.legend(handles.values(), handles.keys(), title="means")
        figures.save(figure, pd.DataFrame({"round": [1]}), tmp_path / "figures" / name)
        for ending in (".csv", ".png"):
            (tmp_path / "figures" / f"{name}{ending}").unlink()
    (tmp_path / "figures" / "figure-1.csv").write_text('round,mean\n1,"0,5"\n')
    with open(tmp_path / "tables" / "finals.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [["learner", "mean", "n"], [NASTY, 0.123456789, 3], ["other", "", 12]]
        )
    return tmp_path


@pytest.fixture
def make(folder):
    def make(claims=(), about=None, study="small", cells=()):
        settings = {"study": study, "seed": 1, "note": NASTY}
        facts = EMPTY | (about or {})
        page.make(settings, folder, folder / "report.html", claims, facts, cells)
        return (folder / "report.html").read_text(encoding="utf-8")

    return make


def test_nothing_is_asked_for_and_every_id_is_one_elements(make):
    about = {
        "datasets": [{"home": "https://example.org/a?b=1"}],
        "captions": {"figure-1": "A caption."},
    }
    text = make([claim(), claim(2, "fails")], about, cells=[cell(), cell(2)])
    seen = Page(text)
    assert not any(name in FETCHING for _, attributes in seen.elements for name in attributes)
    assert not any(name.startswith("on") for _, attributes in seen.elements for name in attributes)
    ids = seen.of("id")
    assert len(ids) == len(set(ids)) > 20
    for tag, attributes in seen.elements:
        address = attributes.get("href") or "#main"
        if address.startswith("#"):
            assert unquote(address[1:]) in ids
        elif address.startswith("http"):
            assert tag == "a"
        else:
            assert address == "data:," or (
                tag == "a" and address.startswith(("figures/", "tables/"))
            )
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(ids)
    assert not re.search(r"url\((?!#)|@import", text)
    assert "default-src 'none'" in next(
        a["content"] for a in (x for _, x in seen.elements) if "http-equiv" in a
    )


def test_what_is_given_is_escaped(make):
    about = {
        "captions": {"figure-1": NASTY},
        "datasets": [{"title": NASTY}],
        "environment": {NASTY: NASTY},
        "citation": NASTY,
        "commands": {NASTY: NASTY},
        "timings": [{"rule": NASTY}],
    }
    told = dict.fromkeys(
        ("source", "statement", "family", "data", "figure", "words", "chosen", "quantity"), NASTY
    )
    shown = dict.fromkeys(("claim", "stream", "learner", "against"), NASTY)
    text = make([claim(**told, id=NASTY)], about, NASTY, [cell(**shown)])
    seen = Page(text)
    assert [tag for tag, _ in seen.elements].count("script") == 1
    assert "b" not in {tag for tag, attributes in seen.elements if "onclick" in attributes}
    assert "alert" not in "".join(seen.scripts)
    assert "".join(seen.text).count(NASTY) > 12


def test_the_policy_allows_the_pages_own_script_only(make):
    text = make()
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text and "unsafe-eval" not in text
    assert "base-uri 'none'; form-action 'none'" in text


def test_data_are_beside_the_page_and_numbers_are_to_three_figures(make, folder):
    seen = Page(make())
    links = [a["href"] for _, a in seen.elements if "download" in a]
    assert all((folder / unquote(link)).is_file() for link in links)
    assert {"figures/figure-1.csv", "tables/finals.csv"} <= set(links)
    cells = [
        attributes for tag, attributes in seen.elements if tag == "td" and "title" in attributes
    ]
    assert {"title": "0.123456789", "class": "number"} in cells
    assert "0.123" in seen.text and page.ABSENT in seen.text


def test_claims_lead_to_their_figures_and_back(make):
    undecided = [
        claim(at, "undecided", figure=figure)
        for at, figure in enumerate(("figure-1", "figure-9", ""), 1)
    ]
    seen = Page(make(undecided))
    links = seen.of("href")
    assert links.count("#figure-1") == 1 and "#figure-9" not in links
    assert links.count("#claim-c-1") == 1 and "#claim-c-2" not in links


def test_it_shows_what_the_study_has_and_no_more(make, folder):
    (folder / "tables/earlier.csv").write_text("a,b\n1,2\n")
    (folder / "figures/.figure-1.svg.x3k9.svg").write_text("<svg")  # a writer was killed
    text = make(about={"files": ["figure-1", "finals"]})
    assert (
        'href="tables/finals.csv"' in text and "earlier.csv" not in text and "figure-2" not in text
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<svg",
        '<svg viewBox="0 0 1"/>',
        '<svg viewBox="0 0 a b"/>',
        "\0",
        '<?xml version="1.0" encoding="x"?><svg/>',
        (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><g id="legend_1"><g '
            'id="text_1"/></g></svg>'
        ),
    ],
)
def test_a_figure_that_was_tampered_with_is_drawn_or_refused_in_words(make, folder, text):
    (folder / "figures/figure-1.svg").write_text(text)
    with suppress(DataError):
        make()


def test_headings_are_those_told_or_are_made_of_names(make):
    seen = Page(make(about={"headings": {"figure-1": NASTY, "finals": "What came out"}}))
    assert {NASTY, "Figure 2", "What came out"} <= {text.strip() for text in seen.text}
    assert "Figure 1" not in {text.strip() for text in seen.text}
    assert page.headed("table-5.1", EMPTY)["title"] == "Table 5.1"


def test_cells_are_drawn_to_the_scale_of_their_claim():
    first, second = page._placed(
        [cell(), cell(estimate=-0.4, low=None, high=None, to=0.1, **{"from": -0.1})], page.shown
    )
    assert first["claimed"] == "above 0" and second["claimed"] == "-0.1 to 0.1"
    assert (
        first["place"]["to"] == 100
        and first["place"]["low"] < first["place"]["estimate"] < first["place"]["high"]
    )
    assert (
        second["place"]["estimate"]
        < second["place"]["from"]
        < first["place"]["from"]
        < second["place"]["to"]
        < 100
    )
    assert "low" not in second["place"]
    (nothing,) = page._placed(
        [cell(estimate=None, low=None, high=None, **{"from": -np.inf})], page.shown
    )
    assert nothing["place"] is None and nothing["claimed"] == "any"


def test_a_claim_has_the_cells_of_its_first_reading(make):
    cells = [cell(), cell(stream="letter", estimate=-0.3, low=None, high=None, verdict="fails")]
    cells.append(cell(stream="of another reading", first=False))
    text = make([claim(cells_total=2, cells_failing=1), claim(2)], cells=cells)
    seen = Page(text)
    assert "Holds in 1 of 2 cells, fails in 1" in seen.text and "of another reading" not in text
    assert {"digits", "letter", "[0.1, 0.4]", "6 of 7", "one in 25", "0.05"} <= {
        part.strip() for part in seen.text
    }
    labels = [a["aria-label"] for tag, a in seen.elements if tag == "svg" and "aria-label" in a]
    assert labels == [
        "0.2, interval [0.1, 0.4]; claimed: above 0",
        "-0.3, no interval; claimed: above 0",
    ]
    assert sum(tag == "details" and a.get("class") == "cells" for tag, a in seen.elements) == 1


def test_kinds_of_rows_are_counted_apart():
    claims = [claim(1), claim(2, readings_holding=3), claim(3, "fails", row="reproduction")]
    claims += [
        claim(4, "not testable here", row="reproduction"),
        claim(5, "undecided", needed=40, row="theorem"),
    ]
    claims += [claim(6, "undecided", needed=float("inf"), row="theorem", tightness=0.9)]
    claims += [
        claim(7, row="theorem", tightness=0.00123),
        claim(8, row="theorem", tightness=0.4136, test="exact"),
    ]
    claims += [claim(9, "fails", row="theorem", tightness=7.0)]
    assert page.sentences(claims) == [
        (
            "Of 2 statements that the papers measured, 1 does not reproduce; 1 could not be tested "
            "here."
        ),
        "Of 2 extensions to other data, 2 extend.",
        "Of 5 theorem checks, 1 is checked exactly: 1 holds; 4 are measured: 1 holds, 1 fails, 2 "
        "are undecided; what was measured is 0.12 to 41 % of the bounds that hold.",
        (
            "Of all 4 that hold, 1 does under every reading tried; 40 seeds or fewer would decide "
            "half of the undecided."
        ),
    ]
    assert page.sentences([claim()])[0] == (
        "No claim is about what a paper measured on data like its own."
    )
    assert len(page.sentences([])) == 3
    kinds = {kind["name"]: kind for kind in page._kinds(claims)}
    assert list(kinds) == ["reproduction", "extension", "theorem check"]
    assert story.tightness([claim(row="theorem", tightness=0.5)]) == (
        "what was measured is 50 % of the bounds that hold"
    )
    assert story.tightness([claim(tightness=0.5)]) == ""
    assert kinds["reproduction"]["counts"] == {"fails": 1, "not testable here": 1}
    families = page._families(claims)
    assert [(one["family"], one["kind"], one["claims"]) for one in families] == [
        ("top", "reproduction", 2),
        ("top", "extension", 2),
        ("top", "theorem check", 5),
    ]


def test_what_a_verdict_supposes_and_what_would_overturn_it_stand_beside_it(make):
    known = claim(1, premise="seeds near normal")
    text = make(
        [
            known,
            claim(
                2, mark="whatever seeds are like", premise="seeds near normal", by_cell="holds on a"
            ),
        ]
    )
    so = "so in 4 of 5 seeds, in at least 28 % of all"
    assert (
        f"{so}; one seed in 25 at the far end of its range would move the mean to the margin"
        in text
    )
    assert "it supposes seeds near normal, but the verdict is so whatever seeds are like" in text
    assert (
        f"{so}; seeds that were not drawn would hardly overturn it" in text
        and "<dd>holds on a</dd>" in text
    )
    end = "1 of 1 verdicts supposes seeds near normal; 0 of these are so whatever seeds are like."
    assert page.sentences([known])[-1] == end


def test_it_says_in_a_sentence_what_it_is_by_whom_and_of_when():
    studied = [{"seeds": "8"}, {"seeds": "10 to 250"}]
    facts = {
        "studied": studied,
        "authors": "us",
        "environment": {"scant": "1.0", "made": "2026-11-05T10:00:00+00:00"},
    }
    of = [
        claim(1, test="exact"),
        claim(2, "fails"),
        claim(3, "differs"),
        claim(4, "not testable here"),
    ]
    assert page.headline(of, facts) == (
        "How well rankers learn from scant feedback: 2 families of learners on 8 to 250 seeds; 1 "
        "claim checked exactly "
        "(1 holds); 2 claims measured (1 fails, 1 differs), made with scant 1.0 by "
        "us on 5 November 2026."
    )
    assert page.headline([], EMPTY) == "How well rankers learn from scant feedback."


def test_what_fails_and_what_is_open_is_shown_and_the_rest_is_folded(make):
    of = [claim(at, verdict) for at, verdict in enumerate([*page.VERDICTS, "holds"])]
    parts = {
        part["title"]: [one["verdict"] for one in part["claims"]]
        for part in page._parts(
            [one | {"rank": list(page.VERDICTS).index(one["verdict"])} for one in of]
        )
    }
    first, held, absent = parts
    assert parts[first] == list(page.VERDICTS)[1:6] and (held, absent) == (
        "2 hold",
        "1 not testable here",
    )
    seen = Page(make(of))
    folded = [
        a["class"]
        for tag, a in seen.elements
        if tag == "details" and a.get("class") in ("held", "absent")
    ]
    assert folded == ["held", "absent"]


def test_large_data_stays_beside_the_page_and_a_larger_page_is_refused(make, folder, monkeypatch):
    (folder / "tables" / "large.csv").write_text("name\n" + "x\n" * (page.ROWS + 1))
    seen = Page(text := make())
    assert any(part.startswith(f"{page.ROWS + 1} ") for part in seen.text) and "x" not in seen.text
    assert "tables/large.csv" in seen.of("href")
    monkeypatch.setattr(page, "LIMIT", len(text.encode()) - 1000)
    smaller = make()
    assert (
        smaller.count("-drawn") == text.count("-drawn") - 1
        and "This figure is beside the page" in smaller
    )
    monkeypatch.setattr(page, "LIMIT", 20_000)
    with pytest.raises(SettingError, match="MB"):
        make()


def test_the_page_is_the_same_bytes_again(make):
    assert make([claim()]) == make([claim()])


def test_figures_keep_their_shapes_and_mark_their_curves(folder):
    path = folder / "figures" / "figure-1.svg"
    svg, names = inline(path, "p-")
    assert names == ["top", "full", NASTY]
    assert len(svg) < 0.8 * path.stat().st_size
    assert size(svg) == pytest.approx(
        tuple(map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', svg).groups()))
    )
    # In each of two panels each curve has its line, its bars and its band, although two look the
    # same.
    for curve in range(3):
        assert svg.count(f'data-entry="{curve}"') == 1 and svg.count(f'data-curve="{curve}"') == 6
    assert svg.count("data-curve=") == 18 and svg.count("data-entry=") == 3
    assert "<style" not in svg and "metadata" not in svg
    assert all(name.startswith("p-") for name in re.findall(r' id="([^"]*)"', svg))


def test_figures_lose_what_does_more_than_draw(tmp_path):
    path = tmp_path / "figure.svg"
    path.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        'viewBox="0 0 1 1">'
        '<script>1</script><foreignObject><p/></foreignObject><g onload="x()"><path d="M 0.123456 '
        '0"/></g><image xlink:href="https://example.org/a.png"/><path style="fill: '
        'url(https://example.org)" d="M 1 1"/>'
        "<text>a &lt; b</text></svg>"
    )
    svg, names = inline(path, "p-")
    assert names == []
    assert svg == (
        '<svg viewBox="0 0 1 1"><g><path d="M 0.12 0" /></g><image /><path d="M 1 1" /><text>a '
        "&lt; b</text></svg>"
    )


@pytest.mark.parametrize("text", ["", "<svg", "<p/>", "<svg/>"])
def test_what_is_not_svg_is_refused(tmp_path, text):
    path = tmp_path / "figure.svg"
    path.write_text(text)
    with pytest.raises(DataError, match=r"figure\.svg.*--forcerun .*figure"):
        inline(path, "p-")


@pytest.mark.parametrize("text", ["", "a,b\n1\n"])
def test_broken_tables_are_refused(make, folder, text):
    (folder / "tables" / "finals.csv").write_text(text)
    with pytest.raises(DataError, match="--forcerun"):
        make()


def test_large_tables_tell_what_is_the_same_in_every_row_and_fold_intervals(folder):
    names = [
        "learner",
        "source",
        "mean",
        "low",
        "high",
        "gain",
        "gain_low",
        "gain_high",
        "empty",
        "n",
    ]
    path = folder / "tables/large.csv"
    path.write_text(",".join(names) + "\na,text,1,0.5,1.5,2,,,,3\nb,text,2,1,3,3,2,4,,3\n")
    table = page._table(path, EMPTY)
    assert table["same"] == {"source": "text", "empty": "", "n": "3"}
    assert [name for name, _ in table["columns"]] == ["learner", "mean", "gain"]
    texts = [[text for text, _ in row] for row in table["rows"]]
    assert texts == [["a", "1 [0.5, 1.5]", "2"], ["b", "2 [1, 3]", "3 [2, 4]"]]
    assert [[full for _, full in row] for row in table["rows"]] == [
        ["a", "1", "2"],
        ["b", "2", "3"],
    ]
    path.write_text("learner,n\na,3\nb,3\n")
    table = page._table(path, EMPTY)
    assert table["same"] == {} and len(table["columns"]) == 2


def test_it_opens_with_what_was_studied_and_whose_the_statements_are(make):
    learners = {"slam": {"kind": "slam", "title": "SLAM, NDCG"}, "random": {"kind": "random"}}
    study = {
        "study": "s",
        "streams": {
            "a": {"generator": "separable", "title": "One, two"},
            "b": {"generator": "linear"},
        },
        "learners": learners,
        "experiments": {"e": {"streams": ["a", "b"], "learners": [*learners], "seeds": [2, 3]}},
    }
    (row,) = about.studied(settings.load(study)[0])
    expected = {
        "kind": "perceptron",
        "learners": "SLAM, NDCG; random",
        "places": "One, two; b",
        "seeds": "5",
    }
    assert expected.items() <= row.items()
    facts = {
        "studied": [row],
        "sources": about.sources({"one": {"source": {"document": "thesis"}}}),
    }
    text = make([claim()], facts)
    assert "learners that see every grade of a query" in text and "One, two; b" in text
    assert "Nir Ailon" in text and "https://arxiv.org/abs/1308.6797" in text
    assert "Nir Ailon" not in make((), facts)


def test_captions_say_what_is_shown(tmp_path):
    rows = [
        "panel,label,rate,tuning,round,n",
        'A,SLAM,"0.1, exploring 0.3",held-out,10,8',
        '"B, b",SLAM,0.2,held-out,2000,10',
        "A,Random,none,held-out,1,8",
    ]
    (tmp_path / "figure.csv").write_text("\n".join([*rows, ""]))
    said = (
        "Data: A; B, b. Rounds: up to 2,000. Learning rates: SLAM 0.1, exploring 0.3, 0.2. n = "
        "8 to 10."
    )
    assert about.shown_in(tmp_path / "figure.csv") == said
    assert about.shown_in(tmp_path / "none.csv") == ""
    (tmp_path / "claims.csv").write_text('claim,rounds,n\na,None,3\nb,200,3\nc,"[20, 100]",3\n')
    assert about.shown_in(tmp_path / "claims.csv") == "Rounds: up to 200. n = 3."
