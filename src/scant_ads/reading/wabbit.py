"""Logs of Vowpal Wabbit: dsjson, which Azure Personalizer writes, too, and its text for contextual
bandits.

Sources: https://github.com/VowpalWabbit/vowpal_wabbit/wiki, pages DSJSON, JSON, Input-format and
Logged-Contextual-Bandit-Example. What they log is a cost, so that a reward is minus the cost.

dsjson has a JSON object a line. `_label_cost`, `_label_probability` (else the first of `p`) and
`_labelIndex` (else `_label_Action` - 1, else the first of `a` - 1) say what was chosen, at what
cost. What is in `c`, beside the list of ads `_multi`, is the context, whose values become features
`c.NAME`; as for Vowpal Wabbit, names that begin with an underscore are none, and lists of objects
count as one object. An ad is known by what all ads shown have of `_tag`, `id`, `i.id` or `name`, in
this order; else by its index. `EventId` is the id of the visit, if all have one.

Several decisions of a visit, `_outcomes` of CCB, are the places of a list: each has its cost, and
chose the first of `_a` with the first of `_p`, the probability given the decisions above. A key
`policy:NAME` of an outcome is the probability of one's own policy.

JSON, without ds, has the context itself, in which the ad shown has its `_label`,
action:cost:probability.

Text has lines `action:cost:probability | features`. Features of a namespace are called
`NAMESPACE.FEATURE`. One without a value is 1, one that is absent 0. Where a visit has a line for
each ad, after a line `shared | features` with the visit's own, ads are known by their tags, or else
by their places from 0.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute, types

from scant import files
from scant.data import logs
from scant.errors import DataError, short
from scant_ads.reading import arrays, layout
from scant_ads.reading.nested import MOST, Keys, list_problems, parsed
from scant_ads.reading.visits import ELIGIBLE, KEY, Problem, is_feature

DSJSON, JSON = "Vowpal Wabbit's dsjson", "Vowpal Wabbit's JSON"
TEXT, SHARED = "Vowpal Wabbit's text", "Vowpal Wabbit's text with a line for each ad"
ID = "EventId"
# keys that tell dsjson
MARKS = {"_label_cost", "_labelIndex", "_label_probability", "RewardValue", "_outcomes"}
LABEL = re.compile(r"\d+:[^\s:|]+:[^\s:|]+")
# of an event, with which lines are read one by one
UNUSUAL = {"_outcomes", "_skipLearn", "pdrop"}
SAMPLE = 1 << 16  # bytes, the first lines, that say what keys hold
IDENTITY = ("_tag", "id", "i.id", "name")  # of an ad, the best first


@dataclass
class Content:
    """What is in a file.

    table : Arrow
    lines : of the rows, int (rows)
    problems : of lines and of keys
    keys : of the context
    """

    table: object
    lines: np.ndarray
    problems: list[Problem]
    keys: Keys


def kind(path, head: bytes) -> str | None:
    """Which of VW's forms a text has, by its first lines; None for another text, such as CSV."""
    line = head.decode("utf-8-sig", errors="replace").lstrip().partition("\n")[0].strip()
    if LABEL.match(line) and "|" in line:
        return TEXT
    if re.match(r"shared\s[^|]*\|", line):
        return SHARED
    if line.startswith(("ccb ", "slates ")) and "|" in line:
        raise DataError(
            path,
            "it is Vowpal Wabbit's text of several decisions a visit",
            1,
            "Only one can be read; of dsjson several can be, if it is of CCB",
        )
    if not line.startswith(("{", "[")):
        return None
    try:
        thing = json.loads(line)
    except (ValueError, RecursionError):
        thing = None
    if any(f'"{mark}"' in line for mark in MARKS) or (
        isinstance(thing, dict) and {"c", "a"} <= thing.keys()
    ):
        return DSJSON
    if isinstance(thing, dict) and "_label_ca" in thing:
        advice = (
            "Only ads from a list can be judged: cut the actions into ranges, each with its "
            "probability"
        )
        raise DataError(
            path, "it is Vowpal Wabbit's JSON of continuous actions (_label_ca)", 1, advice
        )
    if isinstance(thing, dict) and "_multi" in thing:
        return JSON
    # nor the beginning of JSON that goes on
    if thing is None and not re.match(r'[{[]\s*[{"]', line):
        return None
    lines = ", lines=True" if isinstance(thing, dict) else ""
    reason = "it is JSON, but not Vowpal Wabbit's dsjson, whose lines have _label_cost"
    advice = (
        f"Write it as parquet, by pandas: read_json({str(path)!r}{lines}).to_parquet('log.parquet')"
    )
    raise DataError(path, reason, 1, advice)


def read(path, kind: str, stream, ignore: frozenset[str] = frozenset()) -> Content:
    """Read a log in one of VW's forms.

    path : the file's, for errors
    kind : the form, such as `DSJSON`
    stream : the file's bytes, unpacked
    ignore : names of features to leave out
    """
    of_form = {DSJSON: ("c", "c.", ignore), JSON: ("", "", ignore)}
    keys = Keys(*of_form.get(kind, ("", "", ignore, 0.0)))
    if kind == DSJSON:
        content = b"".join(iter(partial(stream.read, 1 << 20), b""))
        if alike := _alike(content, ignore):
            return alike
        stream = BytesIO(content)
    rows = _Rows(keys)
    lines = lines_of(path, stream)
    visits = _groups(lines) if kind == SHARED else (line for line in lines if line[1])
    add = {
        DSJSON: rows.add_event,
        JSON: rows.add_json,
        TEXT: rows.add_text,
        SHARED: rows.add_group,
    }[kind]
    for number, content in visits:
        try:
            add(number, content)
        except _Passed as passed:
            rows.passed[str(passed)] = rows.passed.get(str(passed), 0) + 1
        except (ValueError, RecursionError, AttributeError, TypeError, LookupError) as error:
            reason = str(error) if type(error) is ValueError else "is not as the form has it"
            rows.bad.append((number, reason))
    return rows.content(path)


# --- lines of dsjson that are all alike, by Arrow's reader


def _alike(content: bytes, ignore: frozenset[str]) -> Content | None:
    """What is in dsjson, read by Arrow, if all lines have the same keys, each with a value, and
    none that is unusual; else None. Reading line by line takes five times as long.
    """
    from pyarrow import json

    end = content.find(b"\n", SAMPLE) + 1 or len(content)
    try:
        first = json.read_json(pa.BufferReader(content[:end])).schema
        schema = pa.schema([(field.name, _untimed(field.type)) for field in first])
        table = json.read_json(
            pa.BufferReader(content),
            json.ReadOptions(use_threads=False, block_size=max(end, 1 << 22)),
            json.ParseOptions(schema, unexpected_field_behavior="error"),
        )
        # each line is one object
        _check_alike(content.count(b"}\n{") == table.num_rows - 1)
        return _content(table, Keys("c", "c.", ignore))
    except (pa.ArrowException, LookupError, ValueError):
        return None


def _check_alike(is_so: bool) -> None:
    """Raise a LookupError if lines are to be read one by one."""
    if not is_so:
        raise LookupError


def _untimed(kind):
    """An Arrow type with text in place of times, since Arrow takes some texts for times."""
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _untimed(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_untimed(kind.value_type))
    return pa.string() if pa.types.is_timestamp(kind) else kind


def _content(table, keys: Keys) -> Content:
    """The content of an Arrow table of dsjson events."""
    event = {name: logs.whole(table.column(name)) for name in table.column_names}
    context = _fields(event["c"])
    _check_alike(event.keys().isdisjoint(UNUSUAL) and "_slots" not in context)
    ads, place = context["_multi"], event["_labelIndex"].to_numpy()
    starts, count = ads.offsets.to_numpy()[:-1], ads.value_lengths().to_numpy()
    numbers = event["_label_cost"], event["_label_probability"]
    _check_alike(
        place.dtype.kind == "i" and not any(pa.types.is_boolean(of.type) for of in numbers)
    )
    _check_alike(((place >= 0) & (place < count)).all())
    ids, chosen = _ids(ads.flatten()), place + starts
    shown = {by: values.take(pa.array(chosen)) for by, values in ids.items()}
    key = next((by for by, values in shown.items() if not values.null_count), "")
    columns = {
        "action": shown[key] if key else event["_labelIndex"].cast(pa.string()),
        "reward": compute.subtract(0.0, numbers[0].cast(pa.float64())),
        "propensity": numbers[1].cast(pa.float64()),
    }
    for name, key_of_event in (("timestamp", "Timestamp"), (ID, ID)):
        if key_of_event in event:
            columns[name] = _texts(event[key_of_event])
    best = compute.coalesce(*ids.values())
    lists = pa.ListArray.from_arrays(ads.offsets, best)
    offered = compute.binary_join(lists, "\0").dictionary_encode().dictionary
    _check_alike(not best.null_count)
    if len({frozenset(texts.split("\0")) for texts in offered.to_pylist()}) > 1:
        columns[KEY + ELIGIBLE] = pa.ListArray.from_arrays(ads.offsets, ids[key])
        _check_alike(not ids[key].null_count)
    features: dict[str, object] = {}
    if "c" not in keys.ignore:
        _add_features(context, "c.", keys, features)
    for values in (*columns.values(), *features.values()):
        is_real = pa.types.is_floating(values.type)
        _check_alike(not values.null_count and not (is_real and np.isinf(values).any()))
    _check_alike(len(features) + len(keys.lists) <= MOST)
    keys.kinds = {
        name: "text" if pa.types.is_string(values.type) else "numbers"
        for name, values in features.items()
    }
    lines = np.arange(1, table.num_rows + 1)
    return Content(pa.table(columns | features), lines, list_problems(keys.lists), keys)


def _fields(struct) -> dict:
    """The arrays of a struct's fields, by name."""
    return dict(zip(struct.type.names, struct.flatten(), strict=True))


def _ids(ads) -> dict:
    """By name, as in `_identity`, Arrow texts that ads may be known by, null where one lacks it."""
    values = _fields(ads)
    inner = values.get("i")
    if inner is not None and types.is_struct(inner.type):
        values["i.id"] = _fields(inner).get("id")
    ids = {}
    for name in IDENTITY:
        column = values.get(name)
        if column is not None and not types.is_nested(column.type):
            texts = _texts(column)
            ids[name] = compute.if_else(compute.equal(texts, ""), None, texts)
    return ids


def _texts(column):
    """A column of texts, or of whole numbers, as texts."""
    _check_alike(pa.types.is_string(column.type) or pa.types.is_integer(column.type))
    return column.cast(pa.string())


def _add_features(fields: dict, prefix: str, keys: Keys, features: dict) -> None:
    """Add the arrays of a context to `features`, named as by `_shared` and `Keys.flat`; names of
    lists, and of what is ignored, to `keys`.
    """
    for key, values in fields.items():
        name = prefix + key
        if key.startswith("_"):
            continue
        if name in keys.ignore:
            keys.met.add(name)
        elif types.is_struct(values.type):
            _add_features(_fields(values), f"{name}.", keys, features)
        elif types.is_list(values.type) and types.is_struct(values.type.value_type):
            (length,) = compute.unique(values.value_lengths()).to_pylist()
            for place in range(length):
                part = _fields(compute.list_element(values, place))
                some = {inner: of for inner, of in part.items() if of.null_count < len(of)}
                _add_features(some, f"{name}.", keys, features)
        elif types.is_list(values.type):
            keys.lists.append(name)
        else:
            _check_alike(name not in features and name not in keys.lists)
            is_truth = types.is_boolean(values.type)
            features[name] = values.cast(pa.float64()) if is_truth else values


# --- lines one by one


class _Passed(Exception):
    """A line that tells nothing of a policy."""


class _Row(NamedTuple):
    """A decision that a line holds.

    identity : what the ad shown may be known by, see `_identity`
    offered : the identity of each ad that could be shown
    among : the ids of these ads, or, where one has none, the ads as they are
    dropped : with which probability such visits were dropped
    place, policies : of a list, the number of the place, and the probabilities under one's own
        policies
    """

    line: int
    identity: dict
    reward: float
    probability: float
    features: dict
    offered: list[dict] = ()
    among: object = None
    time: str | None = None
    event: str | None = None
    dropped: float = 0.0
    place: int = 0
    policies: dict | None = None


@dataclass
class _Rows:
    """What lines hold, gathered one after the other."""

    keys: Keys
    rows: list[_Row] = field(default_factory=list)
    passed: dict[str, int] = field(default_factory=dict)  # how many lines, by reason
    bad: list[tuple[int, str]] = field(default_factory=list)  # lines that cannot be read, and why

    def add(self, line: int, identity: dict, cost, probability, features: dict, **more) -> None:
        reward = 0.0 - _number(cost, "cost")  # without a negative zero
        probability = _number(probability, "probability")
        self.rows.append(_Row(line, identity, reward, probability, features, **more))

    def add_event(self, line: int, content: str) -> None:
        """Add a line of dsjson."""
        event = _parsed(content)
        if "RewardValue" in event and "c" not in event:
            raise _Passed("rewards of visits that are not there")
        if event.get("_skipLearn"):
            raise _Passed("visits that are not to be learnt from (_skipLearn)")
        context = event.get("c")
        if not isinstance(context, dict):
            raise ValueError("has no context c")
        if "_outcomes" in event or "_slots" in context:
            self.add_list(line, context, event)
            return
        place = event.get("_labelIndex")
        if place is None:
            place = (event["_label_Action"] if "_label_Action" in event else event["a"][0]) - 1
        probability = event.get("_label_probability")
        probability = event["p"][0] if probability is None else probability
        self.add_decision(line, context, place, event.get("_label_cost"), probability, event)

    def add_list(self, line: int, context: dict, event: dict) -> None:
        """Add the places of a list, the outcomes of CCB."""
        if not (outcomes := event.get("_outcomes")):
            raise ValueError("has several decisions, and no outcomes of them (_outcomes)")
        if not all("_label_cost" in outcome for outcome in outcomes):
            raise ValueError(
                "is of slates, with one cost for all decisions; only CCB, with a cost for each, "
                "can be read"
            )
        identities = [_identity(ad) | {"": str(n)} for n, ad in enumerate(context["_multi"])]
        features = {} if "c" in self.keys.ignore else self.keys.flat(_shared(context))
        for place, outcome in enumerate(outcomes, 1):
            chosen, chance = identities[outcome["_a"][0]], outcome["_p"][0]
            self.add(
                line,
                chosen,
                outcome["_label_cost"],
                chance,
                features,
                time=event.get("Timestamp"),
                event=event.get(ID),
                place=place,
                policies={k: v for k, v in outcome.items() if k.startswith(logs.POLICY)},
            )

    def add_decision(self, line: int, context: dict, place, cost, probability, event: dict) -> None:
        """Add the choice of a context's ad, by its place in `_multi`; `event` has time, id, and the
        probability with which such visits were dropped.
        """
        ads = context.get("_multi") or []
        if type(place) is not int or place < 0 or (ads and place >= len(ads)):
            raise ValueError(f"has the ad {short(place)}, where there are {len(ads)}")
        identities = [_identity(ad) for ad in ads]
        chosen = (identities[place] if ads else {}) | {"": str(place)}
        ids = frozenset(next(iter(identity.values()), "") for identity in identities)
        features = {} if "c" in self.keys.ignore else self.keys.flat(_shared(context))
        dropped = 0.0 if (value := event.get("pdrop")) is None else _number(value, "pdrop")
        if not 0 <= dropped < 1:
            raise ValueError(f"has the pdrop {dropped:g}, which is not in [0, 1)")
        self.add(
            line,
            chosen,
            cost,
            probability,
            features,
            offered=identities,
            among=ads if "" in ids else ids,
            time=event.get("Timestamp"),
            event=event.get(ID),
            dropped=dropped,
        )

    def add_json(self, line: int, content: str) -> None:
        """Add a line of Vowpal Wabbit's JSON, in which the ad shown has its label."""
        context = _parsed(content)
        labels = [
            (place, ad["_label"])
            for place, ad in enumerate(context.get("_multi") or [])
            if "_label" in ad
        ]
        if not labels:
            raise _Passed("lines without action:cost:probability")
        if len(labels) > 1:
            raise ValueError("has several known costs; only that of the action shown can be read")
        ((place, label),) = labels
        if not isinstance(label, str) or not LABEL.fullmatch(label):
            raise ValueError(f"has the label {short(label)}, which is not action:cost:probability")
        _, cost, probability = label.split(":")
        self.add_decision(line, context, place, cost, probability, {})

    def add_text(self, line: int, content: str) -> None:
        """Add a line of text."""
        label, _ = _labelled(content)
        if label is None:
            raise _Passed("lines without action:cost:probability")
        action, cost, probability = label.split(":")
        self.add(line, {"": action}, cost, probability, self.keys.flat(_features(content)))

    def add_group(self, line: int, content: list[str]) -> None:
        """Add a visit of text with a line for each ad."""
        first, *ads = content
        if not first.startswith("shared"):
            raise ValueError("does not begin a visit with shared |")
        labels = [(place, *_labelled(ad)) for place, ad in enumerate(ads)]
        chosen = [(place, label, tag) for place, label, tag in labels if label is not None]
        if not chosen:
            raise _Passed("visits without action:cost:probability")
        if len(chosen) > 1:
            raise ValueError("begins a visit with more than one action:cost:probability")
        ((place, label, tag),) = chosen
        _, cost, probability = label.split(":")
        identity = ({"_tag": tag} if tag else {}) | {"": str(place)}
        tags = [tag for *_, tag in labels]
        self.add(
            line,
            identity,
            cost,
            probability,
            self.keys.flat(_features(first)),
            offered=[{"_tag": tag} if tag else {} for tag in tags],
            among=frozenset(tags) if all(tags) else [_features(ad) for ad in ads],
        )

    def content(self, path) -> Content:
        """The lines that were added, as a table, and their problems."""
        rows = self.rows
        key = next((by for by in IDENTITY if all(by in row.identity for row in rows)), "")
        columns = {
            "action": pa.array([row.identity[key] for row in rows], pa.string()),
            "reward": pa.array([row.reward for row in rows], pa.float64()),
            "propensity": pa.array([row.probability for row in rows], pa.float64()),
        }
        other = sum(row.among != rows[0].among for row in rows)
        lists = [[ad.get(key) for ad in row.offered] for row in rows] if other and key else []
        if lists and all(ads and None not in ads for ads in lists):
            columns[KEY + ELIGIBLE] = pa.array(lists, pa.list_(pa.string()))
            other = 0
        if any(row.place for row in rows):
            if not all(row.place for row in rows):
                raise DataError(path, "some lines have one decision, and others several")
            columns["position"] = pa.array([row.place for row in rows])
            columns[KEY + "list"] = pa.array([row.line for row in rows])
            for name in dict.fromkeys(name for row in rows for name in row.policies):
                columns[name] = pa.array([row.policies.get(name) for row in rows])
        if any(row.time is not None for row in rows):
            times = [None if row.time is None else str(row.time) for row in rows]
            columns["timestamp"] = pa.array(times)
        if rows and all(row.event is not None for row in rows):
            columns[ID] = pa.array([str(row.event) for row in rows])
        objects = [row.features for row in rows]
        keys = self.keys.decide(objects[: layout.HEAD], path)
        features, late, odd = keys.columns(objects, len(rows))
        if clash := columns.keys() & features.keys():
            raise DataError(
                path, f"two columns are called {min(clash)!r}", advice="Rename the feature"
            )
        problems = [
            *self.problems(key, other),
            *list_problems(keys.lists),
            *keys.problems(late, odd, np.arange(len(rows))),
        ]
        lines = np.array([row.line for row in rows], int)
        return Content(pa.table(columns | features), lines, problems, keys)

    def problems(self, key: str, other: int) -> list[Problem]:
        """What is wrong with lines.

        key : what ads are known by
        other : how many visits could show other ads than the first
        """
        problems = []
        if self.bad:
            line, reason = self.bad[0]
            mend = "Mend such lines, or leave them out"
            problems.append(Problem("lines", f"line {line} {reason}", mend, len(self.bad)))
        for reason, count in self.passed.items():
            left_out = f"{count:,} lines are left out: {reason}"
            problems.append(Problem("passed", left_out, count=count, column=reason))
        if len(dropped := {row.dropped for row in self.rows}) > 1:
            reason = (
                "visits were dropped with different probabilities (pdrop): "
                f"{logs.listing(sorted(dropped))}"
            )
            problems.append(
                Problem(
                    "pdrop",
                    reason,
                    "Evaluate those of one pdrop; the others' share is too small",
                )
            )
        if other:
            reason = (
                f"{other:,} visits could show other ads than the first: a policy may show what "
                "there was not"
                if key
                else f"ads are known by their places alone, and {other:,} visits have others there "
                "than the first"
            )
            mend = "Evaluate visits with the same ads" if key else "Give each ad a _tag, id or name"
            problems.append(Problem("offered", reason, mend, other))
        return problems


def lines_of(path, stream) -> Iterator[tuple[int, str]]:
    """The lines of a text that are not blank, and their numbers."""
    number, rest = 0, b""
    while True:
        block = stream.read(1 << 20)
        *whole, rest = (rest + block).split(b"\n") if block else (rest, b"")
        if len(rest) > files.LONGEST:
            raise DataError(
                path, f"the line is longer than {files.LONGEST:,} bytes", number + 1, "It is no log"
            )
        for line in whole:
            number += 1
            yield number, (line.removeprefix(files.BOM) if number == 1 else line).decode().strip()
        if not block:
            return


def _groups(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Lines that follow one another without a blank one, and the number of the first."""
    group, first = [], 0
    for number, line in lines:
        if line:
            first = first if group else number
            group.append(line)
        elif group:
            yield first, group
            group = []
    if group:
        yield first, group


def _parsed(content: str) -> dict:
    """The object in a line."""
    try:
        return parsed(content)
    except (json.JSONDecodeError, UnicodeError, RecursionError):
        raise ValueError("is not JSON") from None


def _number(value, what: str) -> float:
    number = arrays.as_number(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ValueError(
            f"has no {what}"
            if value is None
            else f"has the {what} {short(value)}, which is not a number"
        )
    return float(number)


def _identity(ad: dict) -> dict[str, str]:
    """What an ad of dsjson may be known by, the best first."""
    inner = ad.get("i")
    values = {name: ad.get(name) for name in IDENTITY} | {
        "i.id": inner.get("id") if isinstance(inner, dict) else None
    }
    return {
        name: str(value)
        for name, value in values.items()
        if isinstance(value, str | int) and value != ""
    }


def _shared(context: dict) -> dict:
    """The features of a dsjson context; each list of objects is merged into one object."""
    features = {}
    for name, value in context.items():
        if name.startswith("_"):
            continue
        if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
            merged = {}
            for part in value:
                if twice := merged.keys() & part.keys():
                    raise ValueError(f"has two {min(twice)!r} in {name!r}")
                merged |= part
            value = merged
        features[name] = _shared(value) if isinstance(value, dict) else value
    return features


def _labelled(line: str) -> tuple[str | None, str | None]:
    """The label action:cost:probability of a line of text, and its tag; None where there is
    none.
    """
    head = line.partition("|")[0]
    words, tag = head.split(), None
    if (
        words
        and not LABEL.fullmatch(words[-1])
        and (words[-1].startswith("'") or not head[-1].isspace())
    ):
        tag = words.pop().removeprefix("'")
    labels = [word for word in words if LABEL.fullmatch(word)]
    if len(labels) == 1 and (
        others := [word for word in words if re.fullmatch(r"\d+:[^\s:]+", word)]
    ):
        raise ValueError(
            f"has several known costs, also {short(others[0])}; only that of the "
            "action shown can be read"
        )
    if len(labels) > 1 or any(not re.fullmatch(r"\d+(:\S*)?", word) for word in words):
        raise ValueError("does not begin with one action:cost:probability")
    return (labels[0] if labels else None), tag


def _features(line: str) -> dict[str, float | str]:
    """The features of a line of text, `|NAMESPACE:WEIGHT feature:value ...`, as numbers or texts.

    A feature without a value has the number 1. A number is multiplied by the weight of its
    namespace, and added to earlier numbers of the same feature.
    """
    features: dict[str, float | str] = {}
    for space in line.split("|")[1:]:
        words, name, scale = space.split(), "", 1.0
        if words and not space[0].isspace():
            name, _, weight = words.pop(0).partition(":")
            scale = _number(weight or 1.0, "weight")
        for word in words:
            feature, colon, value = word.partition(":")
            # so that a feature called "reward" is not taken for the reward
            if name or not is_feature(feature):
                feature = f"{name}.{feature}"
            number = arrays.as_number(value) if colon else 1.0
            has_text = number is None or isinstance(features.get(feature), str)
            if has_text and feature in features:
                raise ValueError(f"has two {feature!r}")
            features[feature] = value if has_text else features.get(feature, 0.0) + scale * number
    return features
