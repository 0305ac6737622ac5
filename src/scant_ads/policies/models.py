"""Models of scikit-learn's kind, as the command line names them: module:Class, and settings as JSON
after it.
"""

import inspect
import re

from scant.bandits import learners
from scant.declare.declarations import own_class
from scant.errors import SettingError, printable, unknown
from scant_ads.reading.nested import parsed

EXAMPLE = "sklearn.linear_model:Ridge"


def is_named(text: str) -> bool:
    """Whether a text names a model, as `sklearn.linear_model:Ridge={"alpha": 10}` does."""
    return re.fullmatch(r"[\w.]+:\w+", text.partition("=")[0]) is not None


def made(text: str):
    """Make the model, not fitted, that a text names; its module may be in the working folder."""
    named, equals, written = text.partition("=")
    settings = _settings(named, written) if equals else {}
    model_class = _class(named)
    try:
        model = model_class(**settings)
    except Exception as error:  # of any kind, as whoever wrote the class has it
        parameters = inspect.signature(model_class).parameters.values()
        by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        names = [parameter.name for parameter in parameters if parameter.kind in by_name]
        takes_more = any(
            parameter.kind == inspect.Parameter.VAR_KEYWORD for parameter in parameters
        )
        if not takes_more and (odd := [name for name in settings if name not in names]):
            raise unknown(f"setting of {named}", odd[0], names) from None
        raise SettingError(
            f"{named} cannot be made with {written or 'no settings'}: {printable(error)}"
        ) from error
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


def _class(named: str) -> type:
    """The class named as module:Class."""
    try:
        model_class = own_class(named)
    except SettingError as error:
        cause = error.__cause__
        if (
            isinstance(cause, ModuleNotFoundError)
            and cause.name == named.partition(":")[0].partition(".")[0]
        ):
            raise SettingError(
                f"{named}: there is no module {cause.name!r} in this environment. "
                f"Install the package that has it, or give the name of a module in this folder"
            ) from None
        raise
    if not isinstance(model_class, type):
        raise SettingError(
            f"{named} is no class. Name a classifier or a regressor as "
            f"module:Class, such as {EXAMPLE}"
        )
    return model_class
