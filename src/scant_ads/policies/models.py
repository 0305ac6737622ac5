"""Models of scikit-learn's kind, as the command line names them: module:Class, and settings as JSON
after it.
"""

import re

from scant.bandits import learners
from scant.declare.declarations import own_class
from scant.declare.own import making
from scant.errors import SettingError, printable
from scant_ads.reading.nested import parsed

EXAMPLE = "sklearn.linear_model:Ridge"


def is_named(text: str) -> bool:
    """Whether a text names a model, as `sklearn.linear_model:Ridge={"alpha": 10}` does."""
    return re.fullmatch(r"[\w.]+:\w+", text.partition("=")[0]) is not None


def made(text: str):
    """Make the model, not fitted, that a text names; its module may be in the working folder."""
    named, equals, written = text.partition("=")
    settings = _settings(named, written) if equals else {}
    model_class = own_class(named)
    with making(f"{named} cannot be made with {written or 'no settings'}"):
        model = model_class(**settings)
    learners.of_model(model)
    return model


def _settings(named: str, written: str) -> dict:
    """The settings that are written after the equals sign."""
    try:
        settings = parsed(written)
    except (ValueError, RecursionError) as error:
        settings, reason = None, f" ({error})"
    else:
        reason = ""
    if not isinstance(settings, dict):
        raise SettingError(
            f"{named}: its settings {printable(written)!r} are no object of "
            f"JSON{reason}. Write them, in quotes of the shell, as in '{EXAMPLE}={{\"alpha\": 10}}'"
        )
    return settings
