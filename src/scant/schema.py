"""Settings files: read YAML, check it by a JSON schema, and fill in the defaults of the schema."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache, reduce
from itertools import chain
from operator import getitem
from pathlib import Path

from scant.errors import UNSHOWN, SettingError, short, unknown

LEVELS = (
    100  # of a settings file; the largest of the project has 12, Python's recursion ends at 1,000
)
NODES = 200_000  # values of a settings file; the largest of the project has 7,000
TOO_MANY = f"more than {NODES:,} values, with all that aliases repeat, are no settings"
WHOLE = 2**63 - 1  # whole numbers have to fit 64 bits
LONGEST = 200  # characters of a number: to read 1:59:59..., one in YAML 1.1, takes quadratic time
WORDS = (":bool", ":int", ":float", ":str")  # ends of YAML's tags of what may be ambiguous
NUMBERS = {  # to YAML 1.2, by their form
    re.compile("[-+]?[0-9]+"): int,
    re.compile("0o[0-7]+|0x[0-9a-fA-F]+"): lambda word: int(word, 0),
    re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"): float,
}
QUOTED = 200  # characters of a message that are shown

# The workflow's own files (Snakefile, rules, registry, claims, schemas): in a clone its root; else
# beside the modules.
PACKAGE = Path(__file__).parent
PROJECT = (
    PACKAGE.parents[1] if (PACKAGE.parents[1] / "Snakefile").is_file() else PACKAGE / "project"
)


def of_project(path) -> Path:
    """A file or folder of the workflow itself, such as config/datasets.yaml.

    The working folder's, if it is there, so that a clone reads its own file and a study may have
    another; else the package's.
    """
    return Path(path) if Path(path).exists() or not (PROJECT / path).exists() else PROJECT / path


def read_yaml(path) -> dict:
    """Read a file of YAML, or of JSON, that holds a mapping.

    Raises
    ------
    SettingError : there is no such file, it is not YAML, or not a mapping; or as `parsed`
    """
    try:
        content = parsed(Path(path).read_bytes(), path)
    except FileNotFoundError:
        raise SettingError(
            f"{path}: there is no such file. Run from the folder of the study"
        ) from None
    except OSError as error:  # such as for a folder
        raise SettingError(f"{path}: it cannot be read ({error.strerror})") from None
    if not isinstance(content, dict):
        raise SettingError(f"{path}: a mapping is expected")
    return content


def parsed(text: str | bytes, where):
    """What a text says in JSON, or else in YAML, as Snakemake reads study files.

    where : what errors begin with, such as the file's path

    Raises
    ------
    SettingError : it is neither; it is too deep or too much, with all that aliases repeat; a key is
        there twice, or is no text; or a value means one thing in YAML 1.1, which is read here, and
        another in YAML 1.2 and to most people, as 012 and 1:30 do
    """

    def mapping(pairs: list[tuple]) -> dict:
        content = dict(pairs)
        if len(content) < len(pairs):
            ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
            raise SettingError(f"{where}: the key {short(twice)} is there twice")
        return content

    with suppress(ValueError, RecursionError):  # else it is YAML, or neither
        content = json.loads(text, object_pairs_hook=mapping)
        if any(number > NODES for number, _ in enumerate(_values(content), start=1)):
            raise SettingError(f"{where}: {TOO_MANY}")
        return content
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_size(where, yaml.parse(text, Loader=loader))
        document = loader(text)
        if (top := document.get_single_node()) is None:
            return None
        _check_scalars(where, top, document.construct_object, set())
        return document.construct_document(top)
    # such as an invalid date
    except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise SettingError(f"{where}: not YAML: {' '.join(str(error).split())}") from None


def _values(content) -> Iterator:
    """A value, and all that it holds."""
    yield content
    if isinstance(content, dict | list):
        for value in content.values() if isinstance(content, dict) else content:
            yield from _values(value)


def _check_size(where, events) -> None:
    """Raise a SettingError for a document that is too deep, or has too many values.

    An alias counts as all that it repeats. This works on the events of the parser, because building
    a document is recursive, and one that is too deep, or repeats too much, crashes it.
    """
    nodes, open_, sizes = 0, [], {}  # sizes: by anchor, the values and levels of what it names
    for event in events:
        kind, anchor, size, levels = type(event).__name__, getattr(event, "anchor", None), 1, 0
        if kind.endswith("EndEvent"):
            anchor, before, levels = open_.pop()
            size, sizes[anchor] = 0, (nodes - before, levels)
        elif kind == "AliasEvent":
            size, levels = sizes.get(anchor, (size, levels))
        nodes += size
        if kind.endswith("StartEvent"):
            open_.append([anchor, nodes - 1, 1])
            sizes[anchor] = math.inf, 0  # until it ends: an alias would make it a part of itself
        elif open_:
            open_[-1][2] = max(open_[-1][2], levels + 1)
        too_deep = len(open_) + levels > LEVELS
        if too_deep or nodes > NODES:
            much = f"{LEVELS} levels are no settings" if too_deep else TOO_MANY
            raise SettingError(f"{where}: line {event.start_mark.line + 1}: {much}")


def _check_scalars(path, node, construct: Callable, seen: set[int]) -> None:
    """Raise a SettingError for a key that is no text or there twice, or a word with two meanings,
    see `parsed`.

    The loader would take the last of two equal keys. All settings have names that are text, and no
    other kind can mean the same when it is written otherwise, as `1` and `1.0`, `true` and `True`,
    `~` and `null` do.

    node : a node of the parser
    construct : gives the value of a node
    seen : ids of the nodes checked so far, to which this one is added: an alias may name it again
    """
    if id(node) in seen:
        return
    seen.add(id(node))
    where = f"{path}: line {node.start_mark.line + 1}"
    if node.tag.endswith(WORDS[1:3]) and len(node.value) > LONGEST:
        raise SettingError(f"{where}: a number of more than {LONGEST} characters is no setting")
    plain = node.id == "scalar" and not node.style and node.tag.endswith(WORDS)
    value = construct(node) if plain and not node.tag.endswith(":str") else node.value
    if plain and _is_ambiguous(node.value, value):
        read = json.dumps(value)
        raise SettingError(
            f"{path}: line {node.start_mark.line + 1}: {node.value} is {read} in YAML 1.1 and "
            "something else in YAML 1.2. Write what is meant, in quotes if it is text"
        )
    children, keys = () if node.id == "scalar" else node.value, set()
    if node.id == "mapping":
        children = chain.from_iterable(node.value)
        for key in (key for key, _ in node.value if not key.tag.endswith(":merge")):
            text = key.tag.endswith(":str")
            if not text or key.value in keys:
                defect = "there twice" if text else "no text. Put it in quotes if it is meant"
                line = f"{path}: line {key.start_mark.line + 1}"
                raise SettingError(f"{line}: the key {short(str(key.value))} is {defect}")
            keys.add(key.value)
    for child in children:
        _check_scalars(path, child, construct, seen)


def _is_ambiguous(word: str, value) -> bool:
    """Whether an unquoted word, `value` in YAML 1.1, is another value in YAML 1.2."""
    if isinstance(value, bool):
        return word.lower() not in ("true", "false")
    if isinstance(value, float) and not math.isfinite(value):
        return False
    readers = (read for form, read in NUMBERS.items() if form.fullmatch(word))
    return next(readers, str)(word) != value


def check(content: dict, schema: dict, where: str, of_each: bool = False) -> None:
    """Raise a SettingError for the first of `_odd_values`, which cannot be meant; else for the
    worst defect of `content`: a missing key, or else the deepest one.

    of_each : whether to name the worst defect of each entry of `content`, not of all entries
        together
    """
    for path, reason in _odd_values(content):
        raise SettingError(f"{where}: {_place(path)}: {reason}")
    worst = {}
    for error in _validator()(schema).iter_errors(content):
        entry = error.absolute_path[0] if of_each and error.absolute_path else None
        worst[entry] = max(worst.get(entry, error), error, key=_badness)
    ordered = [worst[entry] for entry in (None, *(content if of_each else ())) if entry in worst]
    defects = [f"{_place(error.absolute_path)}: {_reason(error)}" for error in ordered]
    if len(defects) > 1:
        raise SettingError("\n  ".join([f"{where}:", *defects]))
    for defect in defects:
        raise SettingError(f"{where}: {defect}")


def _place(path) -> str:
    """The keys that lead to a value, in an error."""
    return ".".join(map(str, path)) or "top level"


def _badness(error) -> tuple[bool, int]:
    return error.validator == "required", len(error.absolute_path)


@cache
def _validator():
    """The validator of JSON schemas, with three differences.

    Whole numbers are to be written so. Numbers are finite, unless their rule has `infinite: true`.
    And `$` in a pattern is the very end of a text, not the place before its last line end.
    """
    import jsonschema

    def pattern(validator, rule, instance, schema):
        if isinstance(instance, str) and not re.search(re.sub(r"\$$", r"\\Z", rule), instance):
            yield jsonschema.ValidationError(f"{short(instance)} does not match {rule!r}")

    def of_type(validator, types, instance, schema):
        if isinstance(instance, float) and math.isinf(instance) and not schema.get("infinite"):
            yield jsonschema.ValidationError(f"{instance} is not a finite number")
        else:
            yield from base.VALIDATORS["type"](validator, types, instance, schema)

    def whole(checker, value) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)

    base = jsonschema.Draft202012Validator
    types = base.TYPE_CHECKER.redefine("integer", whole)
    return jsonschema.validators.extend(
        base, {"pattern": pattern, "type": of_type}, type_checker=types
    )


def _odd_values(content, path: tuple = ()) -> Iterator[tuple[tuple, str]]:
    """The place of each value in some settings that cannot be meant, and what is wrong with it.

    That is NaN, a whole number of too many digits, text that cannot be shown, what JSON cannot
    hold, and what lies too deep.
    """
    if len(path) > LEVELS:
        yield path[:3], f"{LEVELS} levels are no settings"
    elif isinstance(content, dict | list):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from _odd_values(key, path)
            yield from _odd_values(value, (*path, key))
    elif isinstance(content, int) and abs(content) > WHOLE:
        yield path, "a whole number of more than 63 bits"
    elif isinstance(content, float) and math.isnan(content):
        yield path, "nan is not a finite number"
    elif isinstance(content, str) and (odd := UNSHOWN.search(content)):
        yield path, f"{short(content)} has the character {odd[0]!r}, which cannot be shown"
    elif not isinstance(content, int | float | str | None):
        kind = type(content).__name__
        yield path, f"a value of type {kind!r} is no setting. Put it in quotes if it is text"


def _reason(error) -> str:
    """The message of a jsonschema error, with a suggestion where there is one."""
    message = error.message if len(error.message) <= QUOTED else f"{error.message[:QUOTED]}..."
    rule, asked, value = error.validator, error.validator_value, error.instance
    several = asked if isinstance(asked, list) else [asked]
    types = [one.get("type") if isinstance(one, dict) else one for one in several]
    if rule == "maximum" and isinstance(value, int):
        return f"{value:,} is above the limit of {asked:,}: lower it"
    for one in error.context:  # of the alternatives, the one that a whole number is too large for
        if one.validator == "maximum":
            return _reason(one)
    if rule in ("type", "oneOf", "anyOf") and "integer" in types and isinstance(value, float):
        hint = f": write {int(value)}" if value % 1 == 0 else ""
        return f"{value} is not written as a whole number{hint}"
    if rule == "type" and "string" in types and isinstance(value, int | float):
        return f"{message}. Put it in quotes if it is text"
    if rule == "additionalProperties":
        declared = error.schema.get("properties", {})
        return str(unknown("key", next(key for key in value if key not in declared), declared))
    if rule == "enum":
        return str(unknown("value", value, asked))
    if rule == "not":  # the schema says which keys a task or parser does not have
        return "this key does not apply to a data set of this task and parser"
    if rule in ("pattern", "oneOf") and "description" in error.schema:
        return f"{message}. {error.schema['description']}"
    return message


def with_defaults(content, schema: dict, root: dict | None = None):
    """A copy of checked `content` in which absent keys have their defaults, if the schema gives
    one.
    """
    root = root or schema
    schema = _resolved(schema, root)
    if not isinstance(content, dict):
        return deepcopy(content)
    properties, others = dict(schema.get("properties", {})), schema.get("additionalProperties")
    for clause in schema.get("allOf", ()):
        if _applies(clause.get("if", {}), content):
            properties = clause.get("then", {}).get("properties", {}) | properties
    others = others if isinstance(others, dict) else {}
    defaults = {key: part["default"] for key, part in properties.items() if "default" in part}
    return {
        key: with_defaults(value, properties.get(key, others), root)
        for key, value in (defaults | content).items()
    }


def _resolved(schema: dict, root: dict) -> dict:
    """A schema with the part of `root` that its $ref names, if it has one, merged in."""
    if "$ref" not in schema:
        return schema
    part = reduce(getitem, schema["$ref"].removeprefix("#/").split("/"), root)
    return {**part, **schema}


def _applies(condition: dict, content: dict) -> bool:
    """Whether a condition (`if`) is true of `content`: required keys are present, and constant ones
    equal theirs.
    """
    has_required = content.keys() >= {*condition.get("required", ())}
    rules = condition.get("properties", {}).items()
    constants = {key: rule["const"] for key, rule in rules if "const" in rule}
    equal = all(content.get(key, value) == value for key, value in constants.items())
    return bool(condition) and has_required and equal
