"""The report of an evaluation: one file that says what the evaluation says."""

import re

import numpy as np
import pytest
from ads_logs import ads, rows_of
from test_ads_api import frame
from test_ads_arms import ab

import scant_ads as sa
from scant import files
from scant_ads.reading import formats


@pytest.fixture
def paths(tmp_path):
    found = [tmp_path / f"{name}.csv" for name in ("train", "test")]
    for seed, path in enumerate(found):
        frame(seed=seed).to_csv(path, index=False)
    return found


def test_a_report_needs_nothing_else_and_says_what_the_evaluation_says(paths, tmp_path, capsys):
    out, (train, test) = tmp_path / "out.html", paths
    asked = f"--policy logistic --policy forest --report {out}"
    assert ads(f"evaluate {test} --train {train} {asked}") == 0
    page, printed = out.read_text(), capsys.readouterr().out
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    assert "<script" not in page and "default-src 'none'" in page
    for line in printed.splitlines():
        if line.startswith(("logistic", "forest", "uniform", "logging")):
            assert all(f">{cell}<" in page for cell in line.split())
    decision = next(line for line in printed.splitlines() if line.startswith("Best of 2"))
    assert decision.replace("'", "&#39;") in page
    for path in paths:
        assert files.sha256(path) in page and str(path) in page
    assert page.count("<svg") == 1 and "<td>epsilon</td><td>0.0</td>" in page
    assert ads(f"evaluate {test} --train {train} {asked}") == 0
    assert out.read_text() == page


def test_texts_of_a_log_are_no_markup(tmp_path):
    made = frame(600).replace({"a": "<script>alert(1)</script>"})
    log = sa.Log.from_frame(made)
    train, test = log.split()
    policies = {"<b>": sa.Policy("logistic", steps=500)}
    found = sa.evaluate(policies, test, train=train)
    found.report(tmp_path / "out.html", log, settings={"<i>": "<u>"})
    page = (tmp_path / "out.html").read_text()
    assert not re.search("<script|<b>|<i>|<u>", page) and "&lt;script&gt;" in page


STEERS = "[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"


def test_no_text_of_a_log_steers_who_opens_the_report_or_the_table(tmp_path):
    names = {"a": "\x1b[31mred", "b": "bell\x07", "c": "\u202edlog"}
    log = sa.Log.from_frame(frame(600).replace({"action": names}))
    found = sa.evaluate(["each-ad"], log)
    found.report(tmp_path / "out.html", log, settings={"\x9b": "\u2066"})
    found.write(tmp_path / "out.csv")
    for name in ("out.html", "out.csv"):
        text = (tmp_path / name).read_text()
        assert not re.search(STEERS, text)
        for escaped in (r"ad:\x1b[31mred", r"ad:bell\x07", r"ad:\u202edlog"):
            assert escaped in text


NAMES = ("$$", "$x^{2}$", "\\frac{1}$", "a$b$", "<b>", "漢字", "two\nlines", "\x1b[0m", "x" * 500)


def test_any_name_is_drawn_as_it_is_written(tmp_path, recwarn):
    """As text, not as Matplotlib's mathematics: names of ads and policies, and the unit."""
    made = frame(600).replace({"action": dict(zip("abc", NAMES, strict=False))})
    made = made.assign(**{f"policy:{name}": 1 / 3 for name in NAMES})
    log = sa.Log.from_frame(made, reward_max=2, reward_unit="$x$")
    found = sa.evaluate([*(f"column:{name}" for name in NAMES), "each-ad"], log)
    found.report(tmp_path / "out.html", log)
    page = (tmp_path / "out.html").read_text()
    svg = page[page.index("<svg") : page.index("</svg>")]
    drawn = *NAMES[:4], "&lt;b&gt;", "漢字", r"two\nlines", r"\x1b[0m", f"{'x' * 30}..."
    for text in (*(f"column:{name}" for name in drawn), "ad:$$"):
        assert f">{text}</text>" in svg
    assert ">mean reward, $x$: estimate" in svg
    assert not [warning for warning in recwarn if warning.category is UserWarning]


def test_a_log_of_which_nothing_can_be_said_has_a_report(tmp_path):
    log = sa.Log.from_frame(frame(300).assign(reward=0))
    sa.evaluate([], log).report(tmp_path / "out.html", log)
    page = (tmp_path / "out.html").read_text()
    assert "No policy can be judged" in page and "rewards look missing" in page
    assert formats.read_frame(frame(3)).visits is not None


def test_the_report_begins_with_the_answer(paths, tmp_path):
    """Then what to worry about, and numbers after that."""
    train, test = map(sa.Log.read, paths)
    out = tmp_path / "out.html"
    found = sa.evaluate([sa.Policy("logistic", steps=2000)], test, train=train)
    found.report(out, test)
    page, choice, row = out.read_text(), found.choice, found.rows[-1]
    lift, least = f"{100 * choice['lift']:.0f}", int(100 * choice["lift_lower"])  # downwards
    title = f"policy: {lift} % more clicks by estimate, at least {least} % more</h1>"
    parts = title, '<dl class="key">', "Before you use this", "All numbers", "<h2>Words"
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert f'<td data-label="lift, %">{100 * row["lift"]:+.1f}</td>' in page
    sa.evaluate({"poor": "mine"}, frame().assign(**{"policy:mine": 1 / 3})).report(out)
    assert "<h1>No policy is known to be better than today&#39;s</h1>" in out.read_text()


def test_the_mix_of_the_chosen_policy_is_beside_todays(paths, tmp_path):
    train, test = map(sa.Log.read, paths)
    found = sa.evaluate([sa.Policy("logistic", steps=2000)], test, train=train)
    found.report(tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text()
    mix = page.partition('<table class="mix">')[2].partition("</table>")[0]
    for ad in "abc":
        assert f"<td>{ad}</td>" in mix and f"{100 * found.mix['logistic'][ad]:.1f} %" in mix
        assert f"{100 * found.mix['logging'][ad]:.1f} %" in mix


def test_the_plot_and_the_table_of_arms_are_of_what_is_compared(tmp_path):
    """The band is the baseline's, the estimator the numbers', and an arm's mix of ads no news."""
    made = ab(rates=(0.1, 0.2)).replace({"A": "control", "B": "new"})
    for baseline, grey in ((None, "ad:control"), ("logging", "today's policy")):
        found = sa.evaluate(["each-ad"], made, baseline=baseline)
        row = rows_of(found)[found.baseline]
        axes = found.plot()
        band = axes.patches[0].get_extents().transformed(axes.transData.inverted())
        assert (band.x0, band.x1) == pytest.approx((100 * row["low"], 100 * row["high"]))
        assert axes.get_xlabel().endswith(f"95 % interval\ngrey: {grey}")
        found.report(tmp_path / "out.html")
        page = (tmp_path / "out.html").read_text()
        assert "Which ads are shown" not in page and "delta method" not in page


def test_of_many_ads_ten_are_told_and_the_others_counted(tmp_path):
    shares = np.repeat([0.09, 0.02], [10, 5])
    made = frame(3000).assign(action=np.random.default_rng(0).choice(15, 3000, p=shares))
    report = sa.Log.from_frame(made.assign(propensity=1 / 15)).check()
    least = sorted(report["actions"], key=lambda ad: ad["impressions"])[:5]
    shown, clicks = (sum(ad[key] for ad in least) for key in ("impressions", "clicks"))
    lines = str(report).splitlines()
    rate = f"{100 * clicks / shown:.3f} %"
    assert lines[-1] == f"and 5 more: {shown:,} impressions, {clicks:.6g} clicks, {rate}"
    assert [line.split()[0] for line in lines[-11:-1]] == [str(ad) for ad in range(10)]
    assert len(report["actions"]) == 15
    eleven = made.assign(action=made["action"] % 11)  # a line for the one left would be no shorter
    assert str(sa.Log.from_frame(eleven).check()).splitlines()[-1].startswith("10 ")
    sa.evaluate([], sa.Log.from_frame(made)).report(tmp_path / "out.html", sa.Log.from_frame(made))
    page = (tmp_path / "out.html").read_text()
    assert f"<summary>{lines[-1]}</summary>" in page and page.count("<td>14</td>") == 1
