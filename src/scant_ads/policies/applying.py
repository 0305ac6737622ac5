"""A policy in use: the ad that each new visit is shown, and its propensity, for the next log."""

import secrets
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import numpy as np
import pyarrow as pa

from scant import files
from scant.data import logs
from scant.errors import DataError, SettingError
from scant.randomness import generator
from scant_ads.policies.policy import Policy
from scant_ads.progress import silent
from scant_ads.reading import batches

ROWS = 1 << 16  # of a batch
CHOSEN = ("action", "propensity")  # the columns that are written of what was chosen


@dataclass(frozen=True)
class Applied:
    """What `apply` has done.

    rows : the number of visits
    epsilon, seed : of the exploration
    shown : by ad, the number of visits that get it
    """

    rows: int
    epsilon: float
    seed: int
    shown: dict[str, int]


def drawn(
    policy: Policy, contexts, u: np.ndarray, epsilon: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The ad to show on each visit, int32 (rows), and the probability with which it was chosen,
    float64 (rows).

    u : float64 (rows), one draw from the uniform distribution on [0, 1) for each visit, so that it
        does not matter how visits are put into batches; if it is below epsilon, it picks one of the
        other (eligible) ads
    epsilon : of the exploration; None for the policy's own
    """
    choice = policy.choice(contexts, epsilon)
    if not choice.epsilon:
        return choice.best, np.ones(len(u))
    if choice.eligible is None:
        others = np.minimum(
            (u / choice.epsilon * (choice.actions - 1)).astype(np.int32), choice.actions - 2
        )
        others += others >= choice.best
    else:
        among = choice.eligible.copy()
        among[np.arange(len(u)), choice.best] = False
        count = np.count_nonzero(among, axis=1)
        rank = np.minimum((u / choice.epsilon * count).astype(np.int32), count - 1)
        others = np.where(
            count > 0, (np.cumsum(among, axis=1) > rank[:, None]).argmax(axis=1), choice.best
        )
    action = np.where(u < choice.epsilon, others, choice.best).astype(np.int32)
    return action, choice.probability(action)


def apply(
    policy: Policy,
    path,
    target,
    epsilon: float | None = None,
    seed: int | None = None,
    keep=(),
    progress=silent,
    eligible: str = "",
) -> Applied:
    """Choose an ad for each visit in a file, batch by batch, and write the ads with their
    propensities.

    policy : a fitted one
    path : the visits: CSV, which may be packed, parquet or Arrow, with the features of the policy;
        other columns are passed over
    target : the file to write, CSV if its name ends in .csv, else parquet: the columns of `keep`,
        and then action and propensity, which make a log once rewards are known
    epsilon, seed : of the exploration; None for the policy's own epsilon, and for a seed that is
        drawn. Visits of another day need another seed
    keep : columns of the visits to write again, such as an id
    progress : called with a sentence on each step that begins
    eligible : the column of lists of eligible ads; "" for the one that the policy was learnt with,
        if there was one
    """
    files.check_outputs([target], [path, *policy.inputs])
    if clashing := [name for name in keep if name in CHOSEN or keep.count(name) > 1]:
        raise SettingError(
            f"--keep {quote(clashing[0])}: another column that is written has this name"
        )
    seed = secrets.randbits(32) if seed is None else seed
    epsilon = policy.epsilon if epsilon is None else epsilon
    if not 0 <= epsilon <= 1:
        raise SettingError(f"epsilon is {epsilon}; a probability is from 0 to 1")
    random, counts, rows = generator(seed, "advice", "apply"), np.zeros(len(policy.actions), int), 0
    names = policy.learnt.encoder.names
    texts = policy.learnt.encoder.texts
    lists = eligible or policy.learnt.lists
    # lists are one more column of texts
    read = ((*names, lists), (*texts, lists)) if lists else (names, texts)
    metadata = {
        "epsilon": epsilon,
        "seed": seed,
        "policy": policy.name,
        "input": files.sha256(path),
    }
    tables = []
    for table in batches.read(path, *read, keep, ROWS):
        contexts = batches.contexts(table, names, texts, path, rows, lists)
        _check_known(policy, contexts, path, rows)
        action, propensity = drawn(policy, contexts, random.random(len(contexts)), epsilon)
        ads = pa.array(policy.classes_[action], pa.string())
        kept = {name: table.column(name) for name in keep}
        tables.append(pa.table(kept | {"action": ads, "propensity": pa.array(propensity)}))
        counts += np.bincount(action, minlength=len(counts))
        rows += len(contexts)
        progress(f"chose ads for {rows:,} visits")
    _write(pa.concat_tables(tables), target, metadata)
    return Applied(rows, epsilon, seed, dict(zip(policy.actions, counts.tolist(), strict=True)))


def _check_known(policy: Policy, contexts, path, first: int) -> None:
    """Raise a DataError for a visit of whose eligible ads the policy knows none; `first` rows came
    before.
    """
    eligible = policy.learnt.eligible(contexts)
    if eligible is not None and not eligible.any(axis=1).all():
        row = int(np.argmin(eligible.any(axis=1)))
        ads = logs.listing([contexts.actions[ad] for ad in np.flatnonzero(contexts.eligible[row])])
        raise DataError(
            path,
            f"row {first + row + 1}: the policy knows none of the eligible ads: {ads}",
            advice="Leave such visits to chance, and learn again with a log of these ads",
        )


def _write(table, target, metadata: dict) -> None:
    """Write an Arrow table as CSV if the target's name ends in .csv, else as parquet."""
    from pyarrow import csv

    advice = "Leave columns of such types out of --keep, or write .parquet in place of .csv"
    with files.foreign(target, "file that can hold all columns that are to be kept", advice):
        if Path(target).suffix.lower() != ".csv":
            files.write_parquet(table, target, metadata)
            return
        # of views of texts, Arrow's writer of CSV knows nothing
        plain = [
            field.with_type(pa.string()) if field.type == pa.string_view() else field
            for field in table.schema
        ]
        with files.atomic(target) as path:
            csv.write_csv(table.cast(pa.schema(plain)), path)
