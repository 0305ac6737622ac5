"""The report of an evaluation in a real browser."""

import pytest

import scant.advice as sa
from scant.advice import simulated


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    simulated.simulate("hotel", {"dimensions": 6}, "uniform", 4000, 1, folder / "log.parquet")
    log = sa.Log.read(folder / "log.parquet")
    train, test = log.split()
    found = sa.evaluate([sa.Policy("logistic", steps=2000), sa.Policy("forest", trees=3)], test, train=train)
    found.report(folder / "out.html", log, settings={"seed": 0}, inputs=[folder / "log.parquet"])
    return folder / "out.html"


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
    assert page.locator(".decision").inner_text().startswith("Best of 3")
    page.close()
