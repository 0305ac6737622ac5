"""What tests share: a profile of Hypothesis, streams of queries, closed figures, a browser."""

import os
import platform
import shutil
from itertools import count

import hypothesis
import numpy as np
import pytest

from scant.data import stream

OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
OPTIONS += ("--disable-background-networking", "--disable-component-update", "--disable-sync")

# The same examples on every run, however long numba takes to compile before the first.
hypothesis.settings.register_profile(
    "scant", deadline=None, derandomize=True, max_examples=60, print_blob=False
)
hypothesis.settings.load_profile("scant")


def pytest_terminal_summary(terminalreporter):
    terminalreporter.line(f"Ran on Python {platform.python_version()}, {platform.platform()}")


@pytest.fixture(scope="session")
def packed(tmp_path_factory):
    """A function that writes queries, pairs of grades (m) and features (m x d), and maps them."""
    folder, number = tmp_path_factory.mktemp("streams"), count()

    def pack(queries, ranker=None):
        path = folder / f"{next(number)}.arrow"
        stream.write(
            path,
            ((q, np.asarray(r), np.asarray(x)) for q, (r, x) in enumerate(queries)),
            {},
            ranker,
        )
        return stream.read(path)

    return pack


@pytest.fixture
def no_figure_is_left_open():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium: SCANT_CHROMIUM's or one on the path; tests are skipped without."""
    found = os.environ.get("SCANT_CHROMIUM") or next(
        filter(None, map(shutil.which, ("chromium", "google-chrome"))), ""
    )
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        if os.environ.get("SCANT_CHROMIUM"):
            raise
        pytest.skip("no Playwright: install the extra `test`")
    if not found:
        pytest.skip("no Chromium: install Debian's package chromium, or name one in SCANT_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=OPTIONS)
        yield browser
        browser.close()
