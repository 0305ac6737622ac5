"""Open Bandit Data: logs of a fashion shop's uniform (`random`) and Thompson sampling (`bts`) policies.

Saito, Aihara, Matsutani and Narita, Open Bandit Dataset and Pipeline, 2021. Each log, such as random/men/men.csv, has
an item_context.csv beside it. The propensity is in the column `propensity_score`; their manual calls it `action_prob`.
The first column is an index without a name. The hashes of user features agree between the two policies' files, those
of item features do not (they are salted differently); nothing here uses item features.
"""

import numpy as np

from scant.data import logs
from scant.data.logs import Log
from scant.errors import DataError

USER, AFFINITY = "user_feature_", "user-item_affinity_"
PROPENSITIES = ("propensity_score", "action_prob")
NEEDED = ("timestamp", "item_id", "position", "click")

Vocabulary = dict[str, tuple[str, ...]]  # the categories of each user feature


def items(path) -> tuple[str, ...]:
    """The item ids of an item_context.csv, in its order."""
    frame = logs.read_csv(path, index=True, texts=("item_id", USER))
    _need(path, frame, ("item_id",))
    if frame.empty:
        raise DataError(path, "the file has no items")
    return tuple(logs.text(path, frame["item_id"], np.arange(len(frame)) + 2))


def vocabulary(paths) -> Vocabulary:
    """The categories of each user feature in all of some logs, sorted.

    Logs read with one vocabulary have the same features: make it of all logs of a study.

    Raises
    ------
    DataError : a log has not the user features of the first one, or lacks a category in a row
    """
    found: dict[str, set] = {}
    for path in paths:
        frame = logs.read_csv(path, index=True, texts=("item_id", USER))
        names = _user_features(path, frame)
        if found and set(names) != set(found):
            raise DataError(path, f"user features {names} beside {sorted(found)} in the first log")
        for name in names:
            found.setdefault(name, set()).update(logs.text(path, frame[name], np.arange(len(frame)) + 2))
    return {name: tuple(sorted(found[name])) for name in sorted(found)}


def read(path, item_context, known: Vocabulary | None = None) -> Log:
    """The log of one file.

    Parameters
    ----------
    path : the log
    item_context : the item_context.csv beside it; its items are the actions
    known : the `vocabulary` of all logs of the study; that of this file if None

    Returns
    -------
    A log whose features are a 0/1 column for each category of each user feature, "user_feature_0=..." and so on, and
    the affinities of the user to each item; its propensity is of the item at the position where it stands.

    Raises
    ------
    DataError : with the line: a missing column or value, affinities that are not those of the items, an item that is
        not among the items, a click that is not 0 or 1, a category outside the vocabulary, what `logs.check` refuses
    """
    actions = items(item_context)
    frame = logs.read_csv(path, index=True, texts=("item_id", USER))
    lines = np.arange(len(frame)) + 2
    _need(path, frame, NEEDED)
    propensity = next((name for name in PROPENSITIES if name in frame), None)
    if propensity is None:
        raise DataError(path, f"there is no column {PROPENSITIES[0]!r}", 1)
    affinities = [name for name in frame.columns if name.startswith(AFFINITY)]
    if {name.removeprefix(AFFINITY) for name in affinities} != set(actions):
        reason = f"{len(affinities)} columns {AFFINITY}ID; their ids are not those of the {len(actions)} items"
        raise DataError(path, reason, 1, f"Give the item context of this log, not {item_context}")
    users = known or {name: tuple(sorted(set(frame[name].dropna()))) for name in _user_features(path, frame)}
    _need(path, frame, users)

    names = (*(f"{name}={category}" for name in users for category in users[name]), *affinities)
    features = np.zeros((len(frame), len(names)), np.float32)
    first = 0
    for name, categories in users.items():
        place = _places(path, frame[name], categories, name, lines)
        features[np.arange(len(frame)), first + place] = 1
        first += len(categories)
    for column, name in enumerate(affinities, start=first):
        with np.errstate(over="ignore"):  # too large is not finite, which the check finds
            features[:, column] = logs.numbers(path, frame, name, lines)
    click = logs.numbers(path, frame, "click", lines)
    if (odd := ~np.isin(click, (0, 1))).any():
        logs.refuse_row(path, int(np.argmax(odd)), f"click is {click[np.argmax(odd)]:g}, not 0 or 1", lines)
    log = Log(
        features=features,
        action=_places(path, frame["item_id"], actions, "item_id", lines).astype(np.int32),
        reward=click,
        propensity=logs.numbers(path, frame, propensity, lines),
        actions=actions,
        names=names,
        position=logs.positions(path, frame, lines),
        timestamp=logs.times(path, frame, lines),
    )
    return logs.check(log, path, lines)


def _need(path, frame, names) -> None:
    if missing := [name for name in names if name not in frame]:
        reason = f"there is no column {missing[0]!r}"
        raise DataError(path, reason, 1, "Take the file as it is in the Open Bandit Dataset")


def _user_features(path, frame) -> list[str]:
    if not (names := [name for name in frame.columns if name.startswith(USER)]):
        raise DataError(path, f"there is no column {USER + '0'!r}", 1)
    return names


def _places(path, column, known: tuple[str, ...], name: str, lines) -> np.ndarray:
    """The index of each entry among `known`; a DataError for the first that is missing or not among them."""
    place = column.map({value: index for index, value in enumerate(known)})
    if place.isna().any():
        row = int(np.argmax(place.isna()))
        value = column.iloc[row]
        reason = (
            f"{name} is missing"
            if isinstance(value, float)
            else f"{name} {value!r} is not among the {len(known)} known"
        )
        logs.refuse_row(path, row, reason, lines)
    return place.to_numpy(np.int64)
