"""Settings files: read as YAML, checked by a JSON schema, completed by its defaults, with errors that help."""

from copy import deepcopy
from pathlib import Path

from scant.errors import SettingError, unknown


def read_yaml(path) -> dict:
    """The mapping that a YAML file holds.

    Raises
    ------
    SettingError : there is no such file, or it is not a mapping
    """
    import yaml

    try:
        content = yaml.load(Path(path).read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except FileNotFoundError:
        raise SettingError(f"{path}: there is no such file. Run from the folder of the study") from None
    except yaml.YAMLError as error:
        raise SettingError(f"{path}: not YAML: {error}") from None
    if not isinstance(content, dict):
        raise SettingError(f"{path}: a mapping is expected")
    return content


def check(content: dict, schema: dict, where: str) -> None:
    """Raise a SettingError for the worst defect of `content`: a missing key, else the deepest one."""
    import jsonschema

    errors = jsonschema.Draft202012Validator(schema).iter_errors(content)
    worst = max(errors, key=lambda error: (error.validator == "required", len(error.absolute_path)), default=None)
    if worst is not None:
        key = ".".join(map(str, worst.absolute_path)) or "top level"
        raise SettingError(f"{where}: {key}: {_reason(worst)}")


def _reason(error) -> str:
    """What a jsonschema error says, in words that suggest a remedy where they can."""
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        return str(unknown("key", next(key for key in error.instance if key not in known), known))
    if error.validator == "enum":
        return str(unknown("value", error.instance, error.validator_value))
    if error.validator == "not":  # the schema says which keys a task does not have
        return "this key does not apply to a data set of this task"
    if error.validator in ("pattern", "oneOf") and "description" in error.schema:
        return f"{error.message}. {error.schema['description']}"
    return error.message


def with_defaults(content, schema: dict, root: dict | None = None):
    """A copy of checked `content` in which every absent key that has a default has it."""
    root = root or schema
    if "$ref" in schema:
        schema = {**root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], **schema}
    if not isinstance(content, dict):
        return deepcopy(content)
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    filled = {key: part["default"] for key, part in properties.items() if "default" in part} | content
    return {
        key: with_defaults(value, properties.get(key, others if isinstance(others, dict) else {}), root)
        for key, value in filled.items()
    }
