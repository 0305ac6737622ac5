"""Open Bandit Data: logs of a fashion shop's uniform (`random`) and Thompson sampling (`bts`)
policies.

Saito, Aihara, Matsutani and Narita, Open Bandit Dataset and Pipeline, 2021. The propensity is in
the column `propensity_score`; their manual calls it `action_prob`. The first column is an index
without a name. The hashes of user features agree between the two policies' files. Those of item
features do not, so that the item_context.csv beside each log is not read.
"""

import numpy as np

from scant import files
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
    """
    import pandas as pd

    cells = _cells(path)
    lines = cells.index.to_numpy() + 1
    propensity = next((name for name in PROPENSITIES if name in cells), PROPENSITIES[0])
    users = sorted(name for name in cells if name.startswith(USER)) or [USER + "0"]
    actions = logs.ordered(
        {name.removeprefix(AFFINITY) for name in cells if name.startswith(AFFINITY)}
    )
    affinities = [AFFINITY + action for action in actions] or [AFFINITY + "0"]
    if missing := [
        name for name in (*NEEDED, propensity, *users, *affinities) if name not in cells
    ]:
        advice = "Take the file as it is in the Open Bandit Dataset"
        raise DataError(path, f"there is no column {missing[0]!r}", 1, advice)

    def check_rows(bad: np.ndarray, name: str, reason: str) -> None:
        if bad.any():
            row = int(np.argmax(bad))
            value = cells[name].iloc[row]
            reason = f"{value!r} {reason}" if value else "is missing"
            raise DataError(path, f"{name} {reason}", int(lines[row]))

    def texts(name: str) -> np.ndarray:
        values = cells[name].to_numpy(object)
        check_rows(values == "", name, "")
        return values

    def numbers(name: str) -> np.ndarray:
        values = pd.to_numeric(cells[name], errors="coerce").to_numpy(float, na_value=np.nan)
        check_rows(np.isnan(values), name, "is not a number")
        return values

    features = {}
    for name in users:
        category = texts(name)
        features |= {f"{name}={value}": category == value for value in sorted({*category})}
    features |= {name: numbers(name) for name in affinities}
    with np.errstate(over="ignore"):  # too large is not finite, which the check finds
        matrix = np.stack(list(features.values()), axis=1, dtype=np.float32, casting="same_kind")
    items, click, position = texts("item_id"), numbers("click"), numbers("position")
    times = pd.to_datetime(texts("timestamp"), utc=True, errors="coerce", format="ISO8601")
    check_rows(~np.isin(items, actions), "item_id", f"is not among the {len(actions)} items")
    check_rows(~np.isin(click, (0, 1)), "click", "is not 0 or 1")
    check_rows(position != position.astype(np.int32), "position", "is not a whole number")
    check_rows(times.isna(), "timestamp", "is not a time")
    index_of = {action: index for index, action in enumerate(actions)}
    log = Log(
        features=matrix,
        action=np.array([index_of[item] for item in items], np.int32),
        reward=click,
        propensity=numbers(propensity),
        actions=actions,
        names=tuple(features),
        position=position.astype(np.int32),
        timestamp=times.tz_localize(None).to_numpy("datetime64[us]"),
    )
    return logs.check(log, path, lines)


def _cells(path):
    """The cells of a CSV file as texts: a pandas frame without blank lines, whose index is the line
    in the file, from 0.
    """
    import pandas as pd

    with files.foreign(path, "CSV file of the Open Bandit Dataset"):
        cells = pd.read_csv(
            path,
            header=None,
            dtype="string[pyarrow]",
            keep_default_na=False,
            skip_blank_lines=False,  # each counts as a line
            encoding="utf-8-sig",
            compression=None,  # not told by the name of the file
        ).fillna("")
    names = [name.strip() for name in cells.iloc[0]]
    if twice := logs.repeated(names):
        raise DataError(path, f"two columns are called {twice[0]!r}", 1)
    cells = cells.iloc[1:].set_axis(names, axis=1)
    return cells[(cells != "").any(axis=1)]
