"""Rows that are places of one list, such as a page of results, and no visits of their own.

Chance that draws an ad for each row gives rows of one visit the same ad now and then; a list has none twice, nor a place.
If each of K ads, or places, is drawn for every row of a visit as for the others, its s rows differ with a probability of
at most (1 - 1/K) (1 - 2/K) ... (1 - (s - 1)/K), which uniform chance attains. Where the rows of a user may be drawn
otherwise, the least propensity stands in place of 1/K, if every ad can be shown to everyone. By these probabilities the
number of visits that have something twice is compared with what chance makes of it (Chernoff's bound).

What is drawn for a place of a list without replacement has one ad fewer to choose from than the place above. So the mean
of 1 / propensity falls by one from place to place if propensities are given what stands above, and is the same at all
places if they are of the place alone.
"""

from collections.abc import Iterable, Iterator
from shlex import quote
from typing import NamedTuple

import numpy as np

from scant_ads.diagnosis.shapes import ads_of, codes_of
from scant_ads.reading import hashing
from scant_ads.reading.names import is_called_a_place, is_called_a_visit, is_called_an_id
from scant_ads.reading.visits import Problem, Visits

LISTS, ABOVE = "lists", "given-above"  # the kinds of the problems
ALONE = "If each row is a visit of its own, "
MEND = (
    "What stands beside an ad may change its clicks, so that there is no yes or no, and numbers hold only if it does "
    "not. Keep the row of each list's first place. "
)
CHANCE = 1e-6  # of as few visits with something twice, at most, for all keys together
SELDOM = 0.1  # visits with something twice, as a share of those that chance makes, at most
LEAST_VISITS, SHARED = 20, 0.01  # values, and share of rows after the first of theirs, of a column called a visit
TO_EVERYONE = 0.6  # of all ads, about, that a visit can get if the least propensity is one of all of them
SURE, CLOSE = 4.4, 0.25  # standard errors; and how far falls may be from 1, through rounding
DAY = 86_400_000_000  # microseconds


class Key(NamedTuple):
    """What may tell lists apart.

    words : what it is called
    visit : int (rows), the number of its value in each row
    repeat : the probability that a row has the ad of a certain row before it, at least
    mend : what to say if each row is a visit of its own
    is_named : whether its name, or the user, says that its values are visits
    """

    words: str
    visit: np.ndarray
    repeat: float
    mend: str
    is_named: bool = False


def problems(head: Iterable[Visits]) -> Iterator[Problem]:
    """Rows that share a visit, and propensities given what stands above, by the first rows of a log."""
    head = list(head)
    if not head:
        return
    ad, place = ads_of(head), _place(head)
    keys = [key for key in _keys(head, ad) if key.repeat]
    for key in keys:
        why = _why(key, ad, place, len(keys))
        if why is None:
            continue
        several = np.bincount(key.visit)
        several = several[several > 1]
        reason = (f"{several.sum():,} rows look like places of {len(several):,} lists, by {key.words}: up to "
                  f"{several.max():,} rows each{why}")  # fmt: skip
        if not (key.is_named and head[0].id is not None):  # of ids `health.equal_rows` tells
            yield Problem(LISTS, "warning", reason, f"{MEND}{ALONE}{key.mend}", column=key.words.strip("'"))
        yield from _given_above(head, ad, place, key.visit)
        return


def _keys(head: list[Visits], ad: np.ndarray) -> Iterator[Key]:
    """All that may tell lists apart, the surest first."""
    first, uniform = head[0], 1 / (ad.max() + 1)
    if first.id is not None:
        yield Key("--id", _numbered(*np.concatenate([part.id for part in head]).T), uniform, "", True)
    for name in filter(is_called_a_visit, first.names):
        yield Key(f"{name!r}", codes_of(head, name), uniform, f"--ignore {quote(name)}", is_called_an_id(name))
    columns, words = [], []
    if first.user is not None:
        columns, words = [np.concatenate([part.user for part in head])], ["--user"]
    if first.timestamp is not None:
        time = np.concatenate([part.timestamp.astype(np.int64) for part in head])
        if (time % DAY).any():
            columns, words = [*columns, time], [*words, "time"]
    exactly = "write times more exactly" if "time" in words else "name its time by --time COLUMN"
    if columns:
        yield Key(" and ".join(words), _numbered(*columns), uniform if "time" in words else _least(head, ad), exactly)
    names = [name for name in first.names if not is_called_a_place(name) and not is_called_a_visit(name)]
    if names:
        columns += [codes_of(head, name) for name in names]
        yield Key(" and ".join([*words, "equal features"]), _numbered(*columns), uniform, exactly)
    place = _place(head)
    if place is not None and _follows(place):
        yield Key("places that follow each other", np.cumsum(place == place.min()), uniform,
                  "leave the column of places out with --ignore", True)  # fmt: skip


def _numbered(*columns: np.ndarray) -> np.ndarray:
    """The number of each row's values in some columns of whole numbers among those that there are, int (rows)."""
    sums = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        sums = hashing.mixed((sums + np.uint64(1)) * hashing.MIXERS[0] + hashing.mixed(column.astype(np.uint64)))
    return np.unique(sums, return_inverse=True)[1]


def _least(head: list[Visits], ad: np.ndarray) -> float:
    """The least propensity, if every ad can be shown to about everyone; else 0."""
    propensity = np.concatenate([part.propensity for part in head])
    return float(propensity.min()) if (1 / propensity).mean() >= TO_EVERYONE * (ad.max() + 1) else 0.0


def _place(head: list[Visits]) -> np.ndarray | None:
    """The place of each row, int (rows), by the first column that is called one; None without."""
    if head[0].position is not None:
        return np.concatenate([part.position for part in head]).astype(int)
    named = [name for name in head[0].names if is_called_a_place(name)]
    return codes_of(head, named[0]) if named else None


def _why(key: Key, ad: np.ndarray, place: np.ndarray | None, tests: int) -> str | None:
    """Why the rows with a key's value are of one list, as the end of a sentence; None if they may be visits."""
    size = np.bincount(key.visit)
    several = size[size > 1]
    blocks = not key.is_named and len(several) and (several == ad.max() + 1).all()  # as of matched pairs
    if not blocks and _hardly_twice(key.visit, ad, key.repeat, tests):
        return ", which hardly ever have an ad twice"
    if place is not None and place.any() and _hardly_twice(key.visit, place, 1 / len(np.unique(place)), tests):
        return ", which hardly ever have a place twice"
    if key.is_named and len(size) >= LEAST_VISITS and (size - 1).sum() >= SHARED * len(ad):
        return ""
    return None


def _hardly_twice(visit: np.ndarray, value: np.ndarray, repeat: float, tests: int) -> bool:
    """Whether rows of a visit have a value twice more seldom than chance explains; see the module."""
    from scipy.special import xlogy

    size = np.bincount(visit)
    order = np.lexsort((value, visit))
    again = (np.diff(visit[order]) == 0) & (np.diff(value[order]) == 0)
    twice = len(np.unique(visit[order][1:][again]))
    differ = np.cumprod(np.maximum(1 - repeat * np.arange(size.max()), 0))
    expected = float((1 - differ[size - 1]).sum())
    if twice > SELDOM * expected:
        return False
    return expected - twice + xlogy(twice, twice / expected) > np.log(tests / CHANCE) if expected else False


def _follows(place: np.ndarray) -> bool:
    """Whether each row has the first place, or the one after that of the row before, which chance hardly explains."""
    low = place.min()
    share = np.bincount(place - low) / len(place) if place.max() - low < len(place) else np.ones(1)
    by_chance = share[0] + share[:-1] @ share[1:]
    next_place = np.diff(place) == 1
    fits = next_place | (place[1:] == low)
    return bool(fits.all() and next_place.any() and len(fits) * -np.log(by_chance) > -np.log(CHANCE))


def _given_above(head: list[Visits], ad: np.ndarray, place: np.ndarray | None, visit: np.ndarray) -> Iterator[Problem]:
    """The error that propensities are given what stands above; without places rows of a visit are in order of them."""
    order = np.argsort(visit, kind="stable") if place is None else np.lexsort((place, visit))
    start = np.flatnonzero(np.diff(visit[order], prepend=-1))
    size = np.diff(start, append=len(order))
    whole = size == np.bincount(size).argmax()  # lists of the usual length
    places = int(size[whole][0])
    if places < 2:
        return
    rows = order[start[whole][:, None] + np.arange(places)]  # lists x places
    times = 1 / np.concatenate([part.propensity for part in head])[rows]
    falls = times[:, :1] - times[:, 1:]
    mean, error = falls.mean(axis=0), SURE * falls.std(axis=0) / np.sqrt(len(rows))
    number = np.arange(1, places)
    pooled = falls @ number / (number @ number)
    surely = pooled.mean() - SURE * pooled.std() / np.sqrt(len(rows))
    same_ads = all(len(np.unique(ad[column])) > average for column, average in zip(rows.T[1:], times.mean(axis=0)[1:] + 0.5,
                                                                                   strict=True))  # fmt: skip
    if surely > CLOSE and same_ads and (np.abs(mean - number) <= CLOSE + error).all():
        means = ", ".join(f"{average:.4g}" for average in times.mean(axis=0)[:3])
        reason = ("propensities are probabilities given what stands above, not those of an ad at its place: the mean "
                  f"of 1 / propensity falls by about one from place to place ({means})")  # fmt: skip
        mend = "Keep the row of each list's first place, where both are the same"
        yield Problem(ABOVE, "error", reason, mend)
