"""Settings files: read YAML, check it by a JSON schema, and fill in the defaults of the schema."""

from copy import deepcopy
from pathlib import Path

from scant.errors import SettingError, unknown

# Limits of a settings file; the largest of the project has 6,000 nodes in 12 levels, and 60 KB.
LARGEST = 4 << 20  # bytes
NODES, LEVELS = 200_000, 100  # with all aliases expanded; Python's recursion ends below 1,000 levels

# The workflow's own files (Snakefile, rules, registry, claims, schemas): in a clone its root; else beside the modules.
PACKAGE = Path(__file__).parent
PROJECT = PACKAGE.parents[1] if (PACKAGE.parents[1] / "Snakefile").is_file() else PACKAGE / "project"


def of_project(path) -> Path:
    """A file of the workflow itself, such as config/claims.yaml.

    It is that of the working folder if there is one, so that a clone reads its own and a study may have another; else
    the one that came with the package.
    """
    return Path(path) if Path(path).is_file() or not (PROJECT / path).is_file() else PROJECT / path


def read_yaml(path) -> dict:
    """Read a YAML file that holds a mapping.

    Raises
    ------
    SettingError : there is no such file, it is not YAML, not a mapping, or too large
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        with open(path, "rb") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise SettingError(f"{path}: more than {LARGEST:,} bytes are no settings")
        _check_size(path, yaml.parse(text, Loader=loader))
        content = yaml.load(text, Loader=loader)
    except FileNotFoundError:
        raise SettingError(f"{path}: there is no such file. Run from the folder of the study") from None
    except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError) as error:  # such as an invalid date
        raise SettingError(f"{path}: not YAML: {error}") from None
    if not isinstance(content, dict):
        raise SettingError(f"{path}: a mapping is expected")
    return content


def _check_size(path, events) -> None:
    """Raise a SettingError for a document that is too deep, or too large once its aliases are expanded.

    It works on the events of the parser, because building a document is recursive, and one that is too deep crashes it.
    """
    nodes, anchors, opened = (
        0,
        {},
        [],
    )  # so far; nodes of each anchor; anchor and nodes nodes_before each open collection
    for event in events:
        kind = type(event).__name__
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            opened.append((event.anchor, nodes))
            nodes += 1
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            anchor, nodes_before = opened.pop()
            anchors[anchor] = nodes - nodes_before
        elif kind == "ScalarEvent":
            anchors[event.anchor] = 1
            nodes += 1
        elif kind == "AliasEvent":
            if any(anchor == event.anchor for anchor, _ in opened):
                raise SettingError(f"{path}: line {event.start_mark.line + 1}: *{event.anchor} holds itself")
            nodes += anchors.get(event.anchor, 1)  # the loader refuses an unknown anchor
        if nodes > NODES or len(opened) > LEVELS:
            what = f"more than {NODES:,} nodes, its aliases written out," if nodes > NODES else f"{LEVELS} levels"
            raise SettingError(f"{path}: line {event.start_mark.line + 1}: {what} are no settings")


def check(content: dict, schema: dict, where: str) -> None:
    """Raise a SettingError for the worst defect of `content`: a missing key, else the deepest one."""
    import jsonschema

    errors = jsonschema.Draft202012Validator(schema).iter_errors(content)
    worst = max(errors, key=lambda error: (error.validator == "required", len(error.absolute_path)), default=None)
    if worst is not None:
        key = ".".join(map(str, worst.absolute_path)) or "top level"
        raise SettingError(f"{where}: {key}: {_reason(worst)}")


def _reason(error) -> str:
    """The message of a jsonschema error, with a suggestion where there is one."""
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
    """A copy of checked `content` in which absent keys have their defaults, if the schema gives one."""
    root = root or schema
    schema = _resolved(schema, root)
    if not isinstance(content, dict):
        return deepcopy(content)
    properties, others = dict(schema.get("properties", {})), schema.get("additionalProperties")
    for clause in schema.get("allOf", ()):
        if _applies(clause.get("if", {}), content):
            properties = clause.get("then", {}).get("properties", {}) | properties
    filled = {key: part["default"] for key, part in properties.items() if "default" in part} | content
    return {
        key: with_defaults(value, properties.get(key, others if isinstance(others, dict) else {}), root)
        for key, value in filled.items()
    }


def _resolved(schema: dict, root: dict) -> dict:
    """A schema with the definition that it refers to, if it does, merged in."""
    return {**root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], **schema} if "$ref" in schema else schema


def _applies(condition: dict, content: dict) -> bool:
    """Whether a condition (`if`) is true of `content`: required keys are present, and constant ones equal theirs."""
    has_required = all(key in content for key in condition.get("required", ()))
    constants = {key: rule["const"] for key, rule in condition.get("properties", {}).items() if "const" in rule}
    return (
        bool(condition) and has_required and all(content.get(key, value) == value for key, value in constants.items())
    )
