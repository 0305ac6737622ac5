"""The page of a comparison in a real browser."""

from pathlib import Path

import pytest

from scant.compare import page
from scant.compare.differences import compare
from scant.compare.finished import Finished


def study(folder: str, **estimates) -> Finished:
    """A study with two claims."""
    rows = {
        name: {"id": name, "statement": f"{name} learns.", "verdict": "holds" if value > 0 else "fails"}
        | {"estimate": value, "low": value - 1, "high": value + 1, "n": 5}
        for name, value in estimates.items()
    }
    return Finished(Path(folder), "small", rows)


@pytest.mark.parametrize("width", [1280, 390])
def test_it_shows_what_differs_and_asks_for_nothing(browser, tmp_path, width):
    page.write(compare(study("before", first=1.0, second=2.0), study("after", first=-4.0, second=9.0)), tmp_path / "d")
    context = browser.new_context(viewport={"width": width, "height": 900})
    said, asked, tab = [], [], context.new_page()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((tmp_path / "d.html").as_uri())
    assert tab.title() == "small: A and B"
    assert tab.locator("#verdicts tbody tr").count() == 1 and tab.locator("#estimates tbody tr").count() == 1
    assert tab.locator("#verdicts td .verdict").all_inner_texts() == [
        "✓\N{NO-BREAK SPACE}holds",
        "✗\N{NO-BREAK SPACE}fails",
    ]
    circles = [circle.bounding_box()["x"] for circle in tab.locator("#verdicts circle").all()]
    assert circles[1] < circles[0], "B's estimate is below A's"
    assert tab.evaluate("document.documentElement.scrollWidth") <= width, "the page itself does not scroll sideways"
    with tab.expect_download() as download:
        tab.click("text=CSV of all that differs")
    assert download.value.suggested_filename == "d.csv"
    assert Path(download.value.path()).read_text() == (tmp_path / "d.csv").read_text()
    assert said == [] and [url for url in asked if not url.startswith("data:")] == [(tmp_path / "d.html").as_uri()]
    context.close()
