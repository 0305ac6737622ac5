"""The page of the tiny study in a real browser: what a study writes is shown, and nothing is asked
for.
"""

import pandas as pd
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_the_page_shows_the_study(tiny, browser, theme, width):
    claims = pd.read_parquet(tiny / "claims.parquet")
    viewport, said, asked = {"width": width, "height": 844}, [], []
    context = browser.new_context(viewport=viewport, color_scheme=theme)
    tab = context.new_page()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((tiny / "report.html").as_uri())
    rows = tab.locator("table.claims > tbody:visible")
    folded = claims["verdict"].isin(["holds", "not testable here"])
    assert rows.count() == len(claims) - folded.sum()
    tab.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert rows.count() == len(claims)
    tab.locator("#filter [name=verdict]").select_option("holds")
    assert rows.count() == (claims["verdict"] == "holds").sum() > 0
    assert tab.locator("figure").count() == len(list((tiny / "figures").glob("*.svg")))
    assert tab.evaluate("document.documentElement.scrollWidth") <= width, (
        "the page is wider than the screen"
    )
    assert said == []
    assert {url for url in asked if not url.startswith("data:")} == {
        (tiny / "report.html").as_uri()
    }
    context.close()
