"""The report of an evaluation in a real browser."""

import numpy as np
import pandas as pd
import pytest

import scant_ads as sa
from scant_ads import simulated


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    simulated.simulate("hotel", "uniform", 4000, 1, folder / "log.parquet")
    log = sa.Log.read(folder / "log.parquet")
    train, test = log.split()
    found = sa.evaluate(
        [sa.Policy("logistic", steps=2000), sa.Policy("forest", trees=3)], test, train=train
    )
    found.report(folder / "out.html", log, settings={"seed": 0}, inputs=[folder / "log.parquet"])
    return folder / "out.html"


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Of 40 ads with long ids, and a policy with a long name."""
    random, path = np.random.default_rng(0), tmp_path_factory.mktemp("many") / "many.html"
    shown = random.integers(0, 40, 8000)
    columns = {"action": [f"{'x' * 40}-{ad}" for ad in shown], "reward": random.random(8000) < 0.1}
    columns |= {"propensity": 1 / 40, "policy:our_own_policy_of_this_week": (shown < 10) / 10}
    frame = pd.DataFrame(columns)
    log = sa.Log.from_frame(frame)
    sa.evaluate(["our_own_policy_of_this_week"], log).report(path, log)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_fits_its_window_and_asks_for_nothing(file, width, browser):
    page = browser.new_page(viewport={"width": width, "height": 900})
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(file.as_uri())
    assert asked == [file.as_uri()] and said == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    box = page.locator("figure svg").bounding_box()
    assert 250 < box["width"] <= width and box["height"] > 80
    assert page.locator("h1").bounding_box()["y"] < 100
    assert page.locator(".key").bounding_box()["y"] < 600
    assert page.locator(".decision").inner_text().startswith("Best of 2")
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_of_many_ads_ten_are_seen_and_the_others_unfold(many, width, browser):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(many.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator(".mix tbody tr").count() == 10
    rows = page.locator("h2:text('health') ~ .wide tbody tr")
    assert rows.count() == 10
    folded = page.locator("details", has_text="and 30 more:")
    assert not folded.locator("table").is_visible()
    folded.locator("summary").click()
    assert folded.locator("tbody tr").count() == 40 and folded.locator("table").is_visible()
    words = page.locator("details", has_text="What the words")
    words.locator("summary").click()
    cases = ("Clopper-Pearson", "Betting", "Propensity", "Support")
    cases += ("rows that a number rests on", "Lift")
    for word in cases:
        assert words.locator("dt", has_text=word).first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()


TORN = """() => [...document.querySelectorAll('td, th')].flatMap(cell => {
  const words = [...cell.textContent.matchAll(/\\S+/g)], text = cell.firstChild;
  return words.filter(word => {
    const range = document.createRange();
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1;
  }).map(word => word[0]);
})"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 700, 390])
def test_words_of_a_report_of_lists_are_whole(tmp_path, width, browser):
    random, place = np.random.default_rng(0), np.tile(np.arange(3), 1000)
    item = np.argsort(random.random((1000, 6)), axis=1)[:, :3].ravel()
    columns = {"visit": np.repeat(np.arange(1000), 3), "position": place + 1, "action": item}
    columns |= {"reward": random.random(3000) < 0.1 + 0.1 * item / 5, "propensity": 1 / (6 - place)}
    columns |= {"policy:best": 1.0 * (item == 5 - place)}
    log = sa.Log.from_frame(pd.DataFrame(columns), {"list": "visit"}, propensity_of="above")
    sa.evaluate(["best"], log).report(tmp_path / "lists.html", log)
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto((tmp_path / "lists.html").as_uri())
    assert page.evaluate(TORN) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator(".key").inner_text().endswith(" rows")
    page.close()
