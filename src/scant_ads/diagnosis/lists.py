"""Rows that are places of one list, such as a page of results, and no visits of their own.

Where chance draws an ad for each row, rows of one visit have the same ad now and then; a list has
none twice, nor a place. If the ads of a visit's s rows are independent draws of one distribution
over K ads, they all differ with a probability of at most (1 - 1/K) (1 - 2/K) ... (1 - (s - 1)/K),
which equal chances attain. The rows of a user may be drawn otherwise: then the least propensity
stands in place of 1/K, if every ad can be shown to everyone. The number of visits that have an ad,
or a place, twice is held against these probabilities (Chernoff's bound).

The place below has one ad fewer to choose from. So the mean of 1 / propensity falls by one from
place to place if propensities are given what stands above, and is the number of ads at each place
if they are of the place alone.
"""

from collections.abc import Iterator
from shlex import quote
from typing import NamedTuple

import numpy as np

from scant_ads.reading import hashing, totals
from scant_ads.reading.names import is_called_a_place, is_called_a_visit, words_of
from scant_ads.reading.visits import Problem, Visits
from scant_ads.severity import ABOVE, LISTS, PLACE

MEND = (
    "What stands beside an ad may change its clicks, which weights of single rows do not tell: "
    "policies have no numbers, and there is no yes or no. Name the column that tells lists apart "
    "by --list, and say by --propensity-of what propensities are of"
)
OWN = ". If each row is a visit of its own, {}"
OF_ONE_ARM = (
    "All rows of a list have the same action, as in an A/B test of two rankers: name the column "
    "that tells lists apart by --list, and each is judged as one visit"
)
CHANCE = 1e-6  # of as few visits with something twice, at most, for all keys together
SELDOM = 0.1  # visits with something twice, as a share of what chance makes, at most
SHARED = 0.01  # of rows that come after the first of their visit, at least: fewer change little
USUAL = 4  # rows of each value, on average, with which `visit` alone is no number of a user's visit
LONGEST = 20  # rows of each value, on average, at most, of a feature that may tell lists apart
LEAST_VISITS = 20  # values of a column whose name alone says that they are visits
TO_EVERYONE = 0.6  # mean of 1 / propensity, as a share of the ads, where each can be shown to all
SURE, CLOSE = 4.4, 0.25  # standard errors; how far falls may be from whole numbers, by rounding
DAY = 86_400_000_000  # microseconds


class Key(NamedTuple):
    """Columns whose values may tell which rows are places of one list.

    words : what messages call the columns
    visit : int (rows), the code of each row's values
    repeat : the least probability that two rows of a visit have the same ad; 0 if that is unknown
    mend : what to do if each row is a visit of its own
    is_named : whether a column is called a visit, or said to be one
    is_sure : whether the values can be nothing but visits; `visit` may count a user's visits
    """

    words: str
    visit: np.ndarray
    repeat: float
    mend: str
    is_named: bool = False
    is_sure: bool = False


def problems(head: Visits) -> Iterator[Problem]:
    """Problems that the first rows of a log show: rows that share a visit though no list is named,
    and propensities that are given what stands above.
    """
    if head.list is not None:
        yield from _of_kind(head)
        return
    place = _place(head)
    keys = list(_keys(head, place))
    for key in keys:
        why = _why(key, head.action, place, len(keys))
        if why is None:
            continue
        size = np.bincount(key.visit)
        size = size[size > 1]
        reason = (
            f"{size.sum():,} rows look like places of {len(size):,} lists, by {key.words}: "
            f"up to {size.max():,} rows each{why}"
        )
        if key.words != "--id":  # of which `health.equal_rows` tells
            seen = key.is_named and why  # to leave the column out would only hide it
            mend = MEND + OWN.format(key.mend) * (not seen)
            of_one_arm = totals.are_of_one_arm(key.visit, head.action)
            yield Problem(LISTS, reason, OF_ONE_ARM if of_one_arm else mend)
        mend = "Name the lists by --list COLUMN, and say --propensity-of above"
        yield from _given_above(head, place, key.visit, mend)
        return


def _of_kind(head: Visits) -> Iterator[Problem]:
    """The error that propensities are of another kind than the user says, `place` or `above`."""
    if not head.place.any():
        return
    visit = head.list.astype(np.int64)
    if head.propensity_of == "place":
        yield from _given_above(head, head.place, visit, "Say --propensity-of above")
    if head.propensity_of == "above":
        yield from _of_place(head, visit)


def _keys(head: Visits, place: np.ndarray | None) -> Iterator[Key]:
    """The keys that may tell lists apart, the surest first."""
    uniform = 1 / (head.action.max() + 1)
    if head.id is not None:
        yield Key("--id", codes(*head.id.T), uniform, "", True, True)
    for name in filter(is_called_a_visit, head.names):
        visit, mend = _codes(head, name), f"--ignore {quote(name)}"
        is_sure = words_of(name) != {"visit"} or USUAL * (visit.max() + 1) >= len(visit)
        yield Key(repr(name), visit, uniform, mend, True, is_sure)
    columns = {}
    if head.user is not None:
        columns["--user"] = head.user
    if head.timestamp is not None:
        time = head.timestamp.astype(np.int64)
        columns |= {"time": time} if (time % DAY).any() else {}  # days do not tell visits apart
    exactly = "write times more exactly" if "time" in columns else "name its time by --time COLUMN"
    if columns:
        repeat = uniform if "time" in columns else _least(head)
        yield Key(" and ".join(columns), codes(*columns.values()), repeat, exactly)
    features = {
        name: _codes(head, name)
        for name in head.names
        if not is_called_a_place(name) and not is_called_a_visit(name)
    }
    if features:
        words = " and ".join([*columns, "equal features"])
        yield Key(words, codes(*columns.values(), *features.values()), uniform, exactly)
    for name, visit in features.items():
        if LONGEST * (visit.max() + 1) >= len(visit):
            yield Key(repr(name), visit, _least(head), f"--ignore {quote(name)}")
    if place is not None and _follow(place):
        visit, mend = np.cumsum(place == place.min()), "--ignore the column of places"
        yield Key("places that follow each other", visit, uniform, mend, True, True)


def codes(*columns: np.ndarray) -> np.ndarray:
    """A code for each row of some columns of whole numbers, int (rows): equal rows have equal
    codes.
    """
    return np.unique(hashing.of_columns(*columns), return_inverse=True)[1]


def _codes(head: Visits, name: str) -> np.ndarray:
    """The code of each row's value of a feature, int (rows)."""
    return np.unique(head.feature(name), return_inverse=True)[1]


def _least(head: Visits) -> float:
    """The least propensity, if every ad can be shown to about everyone; else 0."""
    to_everyone = (1 / head.propensity).mean() >= TO_EVERYONE * (head.action.max() + 1)
    return float(head.propensity.min()) if to_everyone else 0.0


def _place(head: Visits) -> np.ndarray | None:
    """The place of each row, int (rows), by the first column that is called one, if any is."""
    if head.position is not None:
        return head.position.astype(int)
    name = next(filter(is_called_a_place, head.names), None)
    return None if name is None else _codes(head, name)


def _why(key: Key, ad: np.ndarray, place: np.ndarray | None, tests: int) -> str | None:
    """Why the rows with a key's value are of one list, as the end of a sentence.

    None if they may be visits of their own.
    """
    size = np.bincount(key.visit)
    if (size - 1).sum() < SHARED * len(ad):
        return None
    is_whole = (size[size > 1] == ad.max() + 1).all()  # with every ad once, as of matched pairs
    if (key.is_named or not is_whole) and _hardly_twice(key.visit, ad, key.repeat, tests):
        return ", which hardly ever have an ad twice"
    if place is not None and _hardly_twice(key.visit, place, 1 / len(np.unique(place)), tests):
        return ", which hardly ever have a place twice"
    return "" if key.is_sure and len(size) >= LEAST_VISITS else None


def _hardly_twice(visit: np.ndarray, value: np.ndarray, repeat: float, tests: int) -> bool:
    """Whether rows of a visit repeat a value more seldom than chance explains; see the module.

    repeat : the least probability that two rows of a visit have the same value
    """
    from scipy.special import xlogy

    size = np.bincount(visit)
    order = np.lexsort((value, visit))
    again = (np.diff(visit[order]) == 0) & (np.diff(value[order]) == 0)
    twice = len(np.unique(visit[order][1:][again]))
    differ = np.cumprod(np.maximum(1 - repeat * np.arange(size.max()), 0))
    expected = float((1 - differ[size - 1]).sum())
    if not expected or twice > SELDOM * expected:
        return False
    return bool(expected - twice + xlogy(twice, twice / expected) > np.log(tests / CHANCE))


def _follow(place: np.ndarray) -> bool:
    """Whether each row has the first place, or the place after the previous row's, in more rows
    than chance explains.
    """
    place = np.unique(place, return_inverse=True)[1]
    share = np.bincount(place) / len(place)
    fits = (np.diff(place) == 1) | (place[1:] == 0)
    by_chance = share[0] + share[:-1] @ share[1:]
    return bool(fits.all() and len(fits) * np.log(by_chance) < np.log(CHANCE))


def _whole_lists(
    head: Visits, place: np.ndarray | None, visit: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Lists of the most frequent length; without places the rows of a list are in the log's order.

    Returns
    -------
    rows : int (lists x places), the rows of these lists
    mean : float64 (places), the mean of 1 / propensity
    fall, error : float64 (places), the first place's mean - this mean, and `SURE` standard errors
        of the difference
    """
    order = np.lexsort((np.zeros(len(visit)) if place is None else place, visit))
    size = np.bincount(visit)
    places = int(np.bincount(size)[2:].argmax()) + 2
    starts = (np.cumsum(size) - size)[size == places]
    rows = order[starts[:, None] + np.arange(places)]  # lists x places
    times = 1 / head.propensity[rows]
    falls = times[:, :1] - times
    return (
        rows,
        times.mean(axis=0),
        falls.mean(axis=0),
        SURE * falls.std(axis=0) / np.sqrt(len(rows)),
    )


def _given_above(
    head: Visits, place: np.ndarray | None, visit: np.ndarray, mend: str
) -> Iterator[Problem]:
    """The error that propensities are probabilities given what stands above."""
    rows, mean, fall, error = _whole_lists(head, place, visit)
    is_whole = np.abs(fall - np.arange(len(fall))) <= CLOSE + error
    # Slots that have fewer ads each are no such lists: there no other ads are seen.
    seen = np.array([len(np.unique(of_place)) for of_place in head.action[rows].T])
    others = seen[1:] > mean[1:] + 0.5
    if fall[-1] - error[-1] > CLOSE and is_whole.all() and others.all():
        reason = (
            "propensities are probabilities given what stands above, not those of an ad at its "
            f"place: the mean of 1 / propensity falls by about one from place to place "
            f"({_first(mean)})"
        )
        yield Problem(ABOVE, reason, mend)


def _of_place(head: Visits, visit: np.ndarray) -> Iterator[Problem]:
    """The error that propensities are probabilities of an ad at its place, or that places are
    counted from below, for lists whose places have the same ads.
    """
    rows, mean, fall, error = _whole_lists(head, head.place, visit)
    ads = {*head.action[rows[:, 0]]}
    same = ads == {*head.action[rows[:, -1]]}
    rises = (np.abs(fall + np.arange(len(fall))) <= CLOSE + error).all()
    if same and rises and fall[-1] + error[-1] < -CLOSE:
        reason = (
            "places are counted from below: the mean of 1 / propensity rises by about one from "
            f"place to place ({_first(mean)})"
        )
        yield Problem(PLACE, reason, "Count them from the top, from 1")
    is_flat = (np.abs(fall) <= CLOSE + error).all()
    if same and is_flat and fall[-1] + error[-1] < len(fall) - 1 - CLOSE:
        reason = (
            "propensities are not probabilities given what stands above, but those of an item at "
            "its place, or of the list: the mean of 1 / propensity is about the same at all places "
            f"({_first(mean)})"
        )
        is_possible = (
            mean[0] <= len(ads) + CLOSE + error[-1]
        )  # as many as there are ads, on average, at most
        yield Problem(PLACE, reason, f"Say --propensity-of {'place' if is_possible else 'list'}")


def _first(means: np.ndarray) -> str:
    return ", ".join(f"{mean:.4g}" for mean in means[:3])
