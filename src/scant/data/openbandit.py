"""Open Bandit Data: logs of a fashion shop's uniform (`random`) and Thompson sampling (`bts`)
policies.

Saito, Aihara, Matsutani and Narita, Open Bandit Dataset and Pipeline, 2021. The propensity is in
the column `propensity_score`; their manual calls it `action_prob`. The first column is an index
without a name. The hashes of user features agree between the two policies' files, those of item
features do not (they are salted differently), so that the item_context.csv beside each log is not
read.
"""

import numpy as np

from scant.data import logs
from scant.data.logs import Log
from scant.errors import DataError

USER, AFFINITY = "user_feature_", "user-item_affinity_"
PROPENSITIES = ("propensity_score", "action_prob")
NEEDED = ("timestamp", "item_id", "position", "click")


def read(path) -> Log:
    """Read the log of one file, such as random/men/men.csv.

    Returns
    -------
    log : its actions are the items that have a column `user-item_affinity_ID`, shown or not, sorted
        by number. Its features are a 0/1 column for each category of each user feature in the file,
        "user_feature_0=..." and so on (`logs.align` fits them to another log), and the user's
        affinity to each item. Its propensity is that of showing the item at its position

    Raises
    ------
    DataError : with the line: a missing column or value, an item without a column of affinities, a
        click that is not 0 or 1, and what `logs.check` refuses
    """
    frame = logs.read_csv(path, ("item_id", USER), index=True)
    lines = np.arange(len(frame)) + 2
    propensity = next((name for name in PROPENSITIES if name in frame), PROPENSITIES[0])
    users = sorted(name for name in frame.columns if name.startswith(USER)) or [USER + "0"]
    actions = logs.ordered(
        {name.removeprefix(AFFINITY) for name in frame.columns if name.startswith(AFFINITY)}
    )
    affinities = [AFFINITY + action for action in actions] or [AFFINITY + "0"]
    if missing := [
        name for name in (*NEEDED, propensity, *users, *affinities) if name not in frame
    ]:
        advice = "Take the file as it is in the Open Bandit Dataset"
        raise DataError(path, f"there is no column {missing[0]!r}", 1, advice)

    features = {}
    for name in users:
        category = np.array(logs.text(path, frame[name], lines))
        features |= {f"{name}={value}": category == value for value in np.unique(category).tolist()}
    features |= {name: logs.numbers(path, frame, name, lines) for name in affinities}
    with np.errstate(over="ignore"):  # too large is not finite, which the check finds
        matrix = np.stack(list(features.values()), axis=1, dtype=np.float32, casting="same_kind")

    click = logs.numbers(path, frame, "click", lines)
    if (invalid := ~np.isin(click, (0, 1))).any():
        logs.refuse_row(
            path,
            int(np.argmax(invalid)),
            f"click is {click[np.argmax(invalid)]:g}, not 0 or 1",
            lines,
        )
    items = logs.text(path, frame["item_id"], lines)
    index_of = {action: index for index, action in enumerate(actions)}
    if unknown := [row for row, item in enumerate(items) if item not in index_of]:
        reason = (
            f"item_id {items[unknown[0]]!r} is not among the {len(actions)} items that have "
            "affinities"
        )
        logs.refuse_row(path, unknown[0], reason, lines)
    log = Log(
        features=matrix,
        action=np.array([index_of[item] for item in items], np.int32),
        reward=click,
        propensity=logs.numbers(path, frame, propensity, lines),
        actions=actions,
        names=tuple(features),
        position=logs.positions(path, frame, lines),
        timestamp=logs.times(path, frame, lines),
    )
    return logs.check(log, path, lines)
