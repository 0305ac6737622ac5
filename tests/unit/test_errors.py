"""What errors and the terminal show of somebody's text."""

import pytest

from scant.errors import printable
from scant.files import FOLDER_MARK, anew


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b[1;31mholds", "\\x1b[2J\\x1b[1;31mholds"),
        ("a\r\nb\tc\x00\x07\x7f", "a\\r\\nb\\tc\\x00\\x07\\x7f"),
        ("abc\u202edef\u200b", "abc\\u202edef\\u200b"),
        ("name\udcff", "name\\udcff"),
        ("Übungen, 学习 ✓ 0.5 [0.4, 0.6] C:\\new", "Übungen, 学习 ✓ 0.5 [0.4, 0.6] C:\\new"),
        (7, "7"),
    ],
)
def test_what_could_steer_a_terminal_is_escaped(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize("folder", ["", "./", "/srv/results of mine/", "/srv/results/old/"])
def test_the_advice_names_a_file_as_the_workflow_does(folder):
    assert anew(f"{folder}results/s/runs/a.parquet").endswith(
        " --forcerun results/s/runs/a.parquet"
    )
    assert anew("results/s/a b.csv").endswith(" --forcerun 'results/s/a b.csv'")


def test_the_advice_names_the_folder_that_one_job_makes_whole(tmp_path):
    folder = tmp_path / "results/s/streams/a/0-4"
    folder.mkdir(parents=True)
    (folder / FOLDER_MARK).touch()
    assert anew(folder / "seed-0.arrow").endswith(" --forcerun results/s/streams/a/0-4")
