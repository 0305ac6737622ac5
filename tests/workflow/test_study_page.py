"""The page of the tiny study in a real browser: what a study writes is shown, and nothing is asked for."""

import pandas as pd
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_shows_the_study(tiny, browser, theme, width):
    claims = pd.read_parquet(tiny / "claims.parquet")
    context, said, asked = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=theme), [], []
    tab = context.new_page()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((tiny / "report.html").as_uri())
    rows = tab.locator("table.claims > tbody:visible")
    assert rows.count() == len(claims)
    tab.locator("#filter [name=verdict]").select_option("holds")
    assert rows.count() == (claims["verdict"] == "holds").sum() > 0
    assert tab.locator("figure").count() == len(list((tiny / "figures").glob("*.svg")))
    assert tab.evaluate("document.documentElement.scrollWidth") <= width, "the page is wider than the screen"
    assert said == []
    assert {url for url in asked if not url.startswith("data:")} == {(tiny / "report.html").as_uri()}
    context.close()


def test_a_study_file_of_190_kb_reaches_the_page(project):
    """A command line holds 128 KB: the settings go to jobs in a file."""
    play = {"kind": "listnet", "rates": [0.1]}
    settings = {
        "study": "large", "seed": 1, "claims": None, "together": "all",
        "streams": {
            f"stream-{number}": {"title": f"Stream {number} of many that could be played", "generator": "linear"}
            | {"settings": {"queries": 20, "documents": 5, "features": 4, "noise": 0.5 + number / 1000}}
            for number in range(800)
        },
        "learners": {f"listnet-{number}": play | {"title": f"ListNet, number {number}"} for number in range(800)},
        "experiments": {
            "first": {"streams": ["stream-7"], "learners": ["listnet-3"], "seeds": 2, "tuning_seeds": 1, "rounds": 20},
        },
    }  # fmt: skip
    project.write(settings, "large")
    assert (project.folder / "config/studies/large.yaml").stat().st_size > 190_000
    project.snakemake("results/large/report.html", "--cores", 2, study="large")
    html = (project.folder / "results/large/report.html").read_text()
    assert "Stream 7 of many" in html and "stream-799" in html and "listnet-799" in html
