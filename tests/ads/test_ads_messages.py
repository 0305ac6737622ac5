"""Messages name options on the command line, and arguments in Python."""

import ast
import pickle
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scant_ads as sa
from scant.errors import ARGUMENTS, DataError, ScantError, as_arguments

SOURCE = Path(sa.__file__).parent


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--least-propensity is needed", "`least_propensity` is needed"),
        ("--least-propensity unknown makes do", "least_propensity='unknown' makes do"),
        ("Then --columns reward=click", "Then columns={'reward': 'click'}"),
        ("--columns action=ad --columns reward=x", "columns={'action': 'ad', 'reward': 'x'}"),
        ("such as --columns or --ignore", "such as `columns` or `ignore`"),
        ("out with --ignore policy:a.b.", "out with ignore=['policy:a.b']."),
        ("--shared drop leaves; --shared", "shared='drop' leaves; `shared`"),
        ("--keep visit: another", "keep=['visit']: another"),
        ("with --train, or --split", "with `train`, or `Log.split`"),
        ("--baseline NAME, as --baseline 0", "baseline='NAME', as baseline='0'"),
        ("--user who takes visits together", "columns={'user': 'who'} takes visits together"),
        ("snakemake --keep-going --cores 2", "snakemake --keep-going --cores 2"),
        ("a--train, 3--ignore x", "a--train, 3--ignore x"),
    ],
)
def test_options_are_arguments_in_python(text, expected):
    assert as_arguments(text) == expected


@given(st.text(st.characters(codec="ascii", exclude_categories=("Cc",)), min_size=1))
def test_whatever_a_column_is_called_quoted_as_for_a_shell_it_is_itself_in_python(name):
    if shlex.quote(name) != name:
        written = as_arguments(f"Leave it out with --ignore {shlex.quote(name)}. Then go on")
        code = written.removeprefix("Leave it out with ignore=").removesuffix(". Then go on")
        assert ast.literal_eval(code) == [name]


def test_an_error_has_both_texts():
    error = DataError("log.csv", "it is odd", advice="Leave it out with --ignore x")
    assert str(error) == "log.csv: it is odd. Leave it out with ignore=['x']"
    assert error.text == "log.csv: it is odd. Leave it out with --ignore x"
    again = pickle.loads(pickle.dumps(error))
    assert (again.text, str(again)) == (error.text, str(error))
    assert str(ScantError("no option")) == ScantError("no option").text == "no option"


def test_every_option_that_a_message_names_has_its_argument():
    """In all modules that Python calls, too; `commands` speaks of options alone."""
    named = set()
    for path in SOURCE.glob("*.py"):
        if path.name != "commands.py":
            texts = [node.value for node in ast.walk(ast.parse(path.read_bytes()))
                     if isinstance(node, ast.Constant) and isinstance(node.value, str)]  # fmt: skip
            named |= {*re.findall(r"(?<![\\w-])--([a-z][a-z-]*)", "\n".join(texts))}
    # --output is of a whole command
    assert named - {"output"} <= {*ARGUMENTS}, "add these to scant.errors.ARGUMENTS"
