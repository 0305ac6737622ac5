"""Features that are something else by their values: the probabilities of a policy, or users who
keep their ad.
"""

from collections.abc import Iterable, Iterator
from shlex import quote

import numpy as np

from scant.data import logs
from scant.randomness import generator
from scant_ads.reading.visits import Problem, Visits

DISTRIBUTION, STAYS = "distribution", "user"  # the kinds of the problems
LEAST_VALUES = 20  # different ones of a column that may be of users
# visits of a value after the first, on average, and the share of them with its ad, at least
VISITS, MOSTLY = 2, 0.9
# of visits of one value with one ad as often as they are, at most, for all features together
CHANCE = 1e-6


def problems(head: Iterable[Visits], reported: Iterable[str] = ()) -> Iterator[Problem]:
    """Features that are something else, by the first rows of a log.

    reported : features of which this is said already
    """
    head = list(head)
    if head:
        yield from _distributions(head)
        if head[0].user is None:
            yield from _stay(head, {*reported})


def _distributions(head: list[Visits]) -> Iterator[Problem]:
    """Features called by the ads, as pi_0 and pi_1, that are from 0 to 1 and sum to 1 in each
    row.
    """
    ads, names = logs.ordered({ad for part in head for ad in part.actions}), head[0].names
    numbers = {name for name in names if name not in head[0].categories}
    if len(ads) < 2:
        return
    for name in names:
        prefix, first_ad, rest = name.rpartition(ads[0])
        columns = [f"{prefix}{ad}" for ad in ads]
        if not first_ad or rest or not numbers.issuperset(columns):
            continue
        places = [names.index(column) for column in columns]
        values = np.concatenate([part.features[:, places] for part in head])
        if np.all((values >= 0) & (values <= 1)) and np.all(
            np.abs(values.sum(axis=1) - 1) < logs.SLACK
        ):
            policy = prefix.strip("_-:. ") or "mine"
            reason = (
                f"features {logs.listing(columns)} sum to 1 in every row, as the "
                "probabilities of a policy do"
            )
            of_shown = f"[log.at[at, {prefix!r} + str(ad)] for at, ad in log['action'].items()]"
            mend = (
                "To judge it, write its probability of the ad shown, in pandas "
                f"log[{logs.POLICY + policy!r}] = {of_shown}, and evaluate it with --policy "
                f"{quote(policy)}, these features left out (--ignore)"
            )
            yield Problem(DISTRIBUTION, reason, mend, column=name)


def _stay(head: list[Visits], reported: set[str]) -> Iterator[Problem]:
    """Features whose values look like users: visits with the same value nearly always have the same
    ad.

    Where ads are drawn by chance, visit by visit, another visit has this ad with a probability of
    at most the largest propensity: there are not more such visits than in as many tosses of a coin
    with it. Rows are taken in random order, since files may be sorted by ad. A visit that was
    logged twice has its ad twice, and is no user. Visits that could get one ad alone, with a
    propensity of 1, tell nothing.
    """
    from scipy import special

    ad = ads_of(head)
    propensity = np.concatenate([part.propensity for part in head])
    drawn = propensity < 1
    if not drawn.any():
        return
    largest = float(propensity[drawn].max())
    names = [name for name in head[0].names if name not in reported]
    shuffled = generator(0, "advice", "stay").permutation(len(ad))
    for name in names:
        code = codes_of(head, name)
        order = np.lexsort((shuffled, code))
        order = order[drawn[order]]
        again = np.diff(code[order]) == 0
        several, tests = int(np.count_nonzero(again)), int(code.max()) + 1
        same = int(np.count_nonzero(again & (np.diff(ad[order]) == 0)))
        if tests < LEAST_VALUES or several < VISITS * tests or same < MOSTLY * several:
            continue
        if special.bdtrc(same - 1, several, largest) < CHANCE / len(names):
            reason = (
                f"feature {name!r} looks like users who keep their ad: of {several:,} visits "
                f"{same:,} have the "
            )
            reason += (
                "ad of another one with its value, where propensities allow "
                f"{largest * several:,.0f}"
            )
            word = quote(name)
            mend = (
                f"--user {word} takes visits of one together; --ignore {word} leaves it out if "
                "it is something else"
            )
            yield Problem(STAYS, reason, mend, column=name)


def ads_of(head: list[Visits]) -> np.ndarray:
    """The number of each row's ad among those that there are, int (rows)."""
    ids: dict[str, int] = {}
    return np.concatenate(
        [
            np.array([ids.setdefault(ad, len(ids)) for ad in part.actions])[part.action]
            for part in head
        ]
    )


def codes_of(head: list[Visits], name: str) -> np.ndarray:
    """The number of each row's value of a feature among those that there are, int (rows)."""
    if name not in head[0].categories:
        return np.unique(
            np.concatenate([part.features[:, part.names.index(name)] for part in head]),
            return_inverse=True,
        )[1]
    ids: dict[str, int] = {}
    return np.concatenate(
        [
            np.array([ids.setdefault(text, len(ids)) for text in part.categories[name]] or [0])[
                part.features[:, part.names.index(name)].astype(int)
            ]
            for part in head
        ]
    )
