"""The project's weight is held: what a change adds it has to say here, and what it takes away is
kept.

A number may fall; then it is to be lowered here. Who raises one writes the reason beside it.
"""

import ast
import functools
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SLACK = 1.03  # by how much a number may be above what there is, before it is to be lowered
# lines of code by room, a folder of scant or a package beside it: no blank lines, comments,
# docstrings
CODE = {
    # MRR, recall and NDCG of linear gain; what learners see; modules of one's own; names in place
    # of tuples
    "": 1365,
    # both ends of an interval of CTR, a near miss of the lower bound; choices among eligible ads
    "ads": 2925,
    # references know what their figures show; code of readers beside scant; archives that run
    # elsewhere
    "compare": 1092,
    # generators of one's own are checked as files are
    # registered sets as they are written; tables of one's own; long functions in named parts
    "data": 1979,
    # Ailon's factors and lower bound, exactly
    # exact checks of theorems that are new: degrees, the forecaster, blocks that explore
    "games": 2889,
    # |grad f|^2 <= 4 H f, and which bound a gap is held against; each learner says how it fits
    "generalisation": 1443,
    # what only looks imports no module of a study
    "learning": 431,  # what was in scant itself; figures and quantities of one's own, checked
    # a slot that explores, centred features, AdaGrad by feature, propensities of clicks, measures;
    # what belongs together has one name, in place of rows of arguments; long functions in named
    # parts, also elsewhere ridge regression with optimism, the policy gradient
    "kernels": 3131,
    # ridge, the policy gradient, an intercept, mismatches to choose from
    # exploration by slot, users who look by position, held-out rankers, what each feedback costs
    "online": 4301,
    # a leaderboard of every measure in texts that a paper may take, findings apart from their
    # numbers
    "page": 1418,
    # one job draws the figures of a family
    "present": 695,  # points of slopes evenly spaced on the log scale, differences to the best
    # what was "advice", and what only it used of "data"; baselines, stated splits, the sample
    # ratio; broken measurement; looks; rewards as they are written; features that are users, times
    # or a policy; approximate intervals; ads that not every visit can get, in reading, judging and
    # use; smaller modules, functions rows of a list, losses of rewards, lifts of periods, bets less
    # a constant, covariates, less is better
    "scant_ads": 7642,
    "starter": 46,  # one of each that a study may have of its own
    # keys and values of claims are checked as those of studies are
    # claims in groups and parts; code of readers beside scant; whose a study is; what it names
    "study": 1458,
    # v_max and the constants of Ailon's bounds
    "theory": 975,
    "verdict": 1517,  # what verdicts mean; the judging of cells in a module of its own
}
# claims: rows that readers look for are back, each says what its statement is called tests: of
# slots and propensities, of broken measurement, of rewards, words that people use, eligible ads;
# archives; parts of one's own
LINES = {"rules": 495, "claims": 2724, "tests": 42740}
WORDS = {"documents": 42986}  # marks of results that no document may have bare


def code_lines(text: str) -> int:
    """The lines of a module that hold code."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            docstrings.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    kinds = (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in kinds
    ]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - docstrings)


def room_of(path: Path) -> str:
    """The folder of src/scant that a module is in, "" if it is in none; or the package beside
    it.
    """
    package, folder, *rest = path.relative_to(ROOT / "src").parts
    return package if package != "scant" else folder if rest else ""


@functools.cache
def weights() -> dict[str, dict[str, int]]:
    """What there is, by the table here that holds it."""
    code: dict[str, int] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        code[room_of(path)] = code.get(room_of(path), 0) + code_lines(
            path.read_text(encoding="utf-8")
        )

    def lines(*patterns: str) -> int:
        paths = [path for pattern in patterns for path in ROOT.glob(pattern)]
        return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)

    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    return {
        "code": code,
        "lines": {
            "rules": lines("Snakefile", "rules/*.smk"),
            "claims": lines("config/claims*.yaml", "config/claims/*.yaml"),
            "tests": lines("tests/**/*.py"),
        },
        "words": {
            "documents": sum(len(path.read_text(encoding="utf-8").split()) for path in documents)
        },
    }


HELD = {"code": CODE, "lines": LINES, "words": WORDS}


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


def test_only_code_counts():
    function = ["def f():", '    """Nothing."""', "    return (", "        X", "    )"]
    lines = [
        '"""A module.',
        "",
        'Of two lines."""',
        "",
        "# why",
        'X = """',
        "",
        'a text"""  # why',
        *function,
    ]
    assert code_lines("\n".join(lines)) == 3 + 1 + 3
