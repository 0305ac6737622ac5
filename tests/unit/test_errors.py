"""What errors and the terminal show of somebody's text."""

import pytest

from scant.errors import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b[1;31mholds", "\\x1b[2J\\x1b[1;31mholds"),
        ("a\r\nb\tc\x00\x07\x7f", "a\\r\\nb\\tc\\x00\\x07\\x7f"),
        ("\x9b31m\x85\u2028", "\\x9b31m\\x85\\u2028"),
        ("abc\u202edef\u200b", "abc\\u202edef\\u200b"),
        ("name\udcff", "name\\udcff"),
        ("Übungen, 学习 ✓ 0.5 [0.4, 0.6] C:\\new", "Übungen, 学习 ✓ 0.5 [0.4, 0.6] C:\\new"),
        (7, "7"),
    ],
)
def test_what_could_steer_a_terminal_is_escaped(text, shown):
    assert printable(text) == shown
