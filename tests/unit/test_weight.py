"""The project's weight is held: what a change adds it has to say here, and what it takes away is
kept.

A number may fall; then it is to be lowered here. Who raises one writes the reason beside it.
"""

import functools
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SLACK = 1.03  # by how much a number may be above what there is, before it is to be lowered
# Tokens of code by room, a folder of scant or a package beside it: no comments, a docstring is one.
CODE = {
    "": 19_400,  # jobs are served; judged lists; what notebooks hold; characters of others
    "ads": 15_700,  # limits and checks of others' settings; what LaTeX prints
    "bandits": 17_700,  # intervals of more seeds; limits of others' settings and classes
    "clicklogs": 13_900,  # learning by how good the ranker is that logs, by DR and safely
    "data": 17_700,  # queries apart by use; a second judge's grades; forms told by name
    "declare": 4_550,  # settings of judges and starts; what a class of one's own breaks is said
    "finished": 12_080,  # what others wrote is checked; which code made a study; captions
    "games": 31_676,  # limits and checks of others' settings
    "generalisation": 16_859,
    "kernels": 35_000,  # ridge that remembers, starts from lists, clicks at place one
    "page": 15_240,  # ends are rounded outwards, others' characters escaped, short headings
    "present": 9_780,  # lower and upper ends, too, are rounded outwards; LaTeX that papers print
    "rankers": 58_460,  # memory, queries never visited, judges, starts, trees; what LaTeX prints
    "scant_ads": 98_095,  # narrower lists, forms by name, power of a test, counts cut off
    "starter": 521,
    "study": 15_460,  # what no machine can play is refused; captions are redone
    "theory": 12_900,
    "verdict": 18_750,  # worth of lists, of ranks and of starts
}
# params explained, what Snakemake hides has functions; claims on memory, judged lists
LINES = {"rules": 580, "claims": 3_150}
TOKENS = {"tests": 432_030}  # lists, logs, judges, starts, memory, wheels, LaTeX, headings
WORDS = {"documents": 33_000}  # README and docs, no marks; folders' names; judged.md, reviewers.md
SILENT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def tokens(path: Path) -> int:
    """How many tokens of code a module has: wide lines have no fewer, but for commas at ends."""
    text = io.StringIO(path.read_text(encoding="utf-8"))
    return sum(token.type not in SILENT for token in tokenize.generate_tokens(text.readline))


def room_of(path: Path) -> str:
    """The folder of src/scant that a module is in, "" if none; or the package beside it."""
    package, folder, *rest = path.relative_to(ROOT / "src").parts
    return package if package != "scant" else folder if rest else ""


@functools.cache
def weights() -> dict[str, dict[str, int]]:
    """What there is, by the table here that holds it."""
    code: dict[str, int] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        code[room_of(path)] = code.get(room_of(path), 0) + tokens(path)

    def lines(*patterns: str) -> int:
        paths = [path for pattern in patterns for path in ROOT.glob(pattern)]
        return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)

    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    read = [re.sub(r"<!--.*?-->", "", path.read_text(encoding="utf-8")) for path in documents]
    return {
        "code": code,
        "lines": {
            "rules": lines("Snakefile", "rules/*.smk"),
            "claims": lines("config/claims*.yaml", "config/claims/*.yaml"),
        },
        "tokens": {"tests": sum(map(tokens, (ROOT / "tests").rglob("*.py")))},
        "words": {"documents": sum(len(text.split()) for text in read)},
    }


HELD = {"code": CODE, "lines": LINES, "tokens": TOKENS, "words": WORDS}


@pytest.mark.parametrize("what", HELD)
def test_nothing_grows_without_a_reason_and_what_fell_is_lowered_here(what):
    counted = weights()[what]
    assert HELD[what].keys() == counted.keys()
    heavier = {
        name: (counted[name], most) for name, most in HELD[what].items() if counted[name] > most
    }
    assert not heavier, (
        f"{what}: what there is, and the most. Raise the most, with the reason beside it: {heavier}"
    )
    lighter = {
        name: (counted[name], most)
        for name, most in HELD[what].items()
        if most > SLACK * counted[name] + 10
    }
    assert not lighter, f"{what}: lower the most to what there is: {lighter}"
