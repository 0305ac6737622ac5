"""Features that are something else by their values: the probabilities of a policy, lists of
eligible ads, or users who keep their ad.
"""

from collections.abc import Collection, Iterator
from operator import contains
from shlex import quote

import numpy as np

from scant.data import logs
from scant.randomness import generator
from scant_ads.reading import eligibility
from scant_ads.reading.visits import Problem, Visits

ROWS = 1000  # the first ones, by which lists of eligible ads are told
LEAST_VALUES = 20  # different ones of a column that may be of users

# visits of a value after the first, on average, and the share of them with its ad, at least
VISITS, MOSTLY = 2, 0.9
# of visits of one value with one ad as often as they are, at most, for all features together
CHANCE = 1e-6


def problems(head: Visits, reported: Collection[str]) -> Iterator[Problem]:
    """Warnings of features that look like something else: a policy's probabilities, lists of
    eligible ads, or users.

    head : the first rows of a log
    reported : features already warned of
    """
    yield from _distributions(head)
    yield from _candidates(head)
    if head.user is None:
        yield from _stay(head, reported)


def _distributions(head: Visits) -> Iterator[Problem]:
    """Warnings of features named after the ads, as pi_0 and pi_1, that are from 0 to 1 and sum to 1
    in each row.
    """
    numbers = {name for name in head.names if name not in head.categories}
    if len(head.actions) < 2:
        return
    for name in head.names:
        prefix, first_ad, rest = name.rpartition(head.actions[0])
        columns = [f"{prefix}{ad}" for ad in head.actions]
        if not first_ad or rest or not numbers.issuperset(columns):
            continue
        values = np.column_stack([*map(head.feature, columns)])
        is_share = (values >= 0) & (values <= 1)
        if is_share.all() and (np.abs(values.sum(axis=1) - 1) < logs.SLACK).all():
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
            yield Problem("distribution", reason, mend, column=name)


def _candidates(head: Visits) -> Iterator[Problem]:
    """Warnings of texts that are lists of two ads or more on average, among them the one shown."""
    ads = [head.actions[ad] for ad in head.action[:ROWS]]
    for name, texts in head.categories.items():
        lists = eligibility.parts_of([texts[code] for code in head.codes(name)[:ROWS]])
        others = sum(map(len, map({*ads}.intersection, lists))) - len(ads)
        if others >= len(ads) and all(map(contains, lists, ads)):
            reason = f"feature {name!r} has lists, in every row with the ad shown"
            mend = f"If they say which ads could be shown, --eligible {quote(name)}"
            yield Problem("candidates", reason, mend, column=name)


def _stay(head: Visits, reported: Collection[str]) -> Iterator[Problem]:
    """Warnings of features whose values look like users: visits with the same value nearly always
    have the same ad.

    Where ads are drawn by chance, visit by visit, another visit has this ad with a probability of
    at most the largest propensity: there are not more such visits than in as many tosses of a coin
    with it. Rows are taken in random order, since files may be sorted by ad. A visit that was
    logged twice has its ad twice, and is no user. Visits that could get one ad alone, with a
    propensity of 1, tell nothing.
    """
    from scipy import special

    drawn = head.propensity < 1
    if not drawn.any():
        return
    largest = float(head.propensity[drawn].max())
    names = [name for name in head.names if name not in reported]
    shuffled = generator(0, "advice", "stay").permutation(len(head))
    for name in names:
        code = np.unique(head.feature(name), return_inverse=True)[1]
        order = np.lexsort((shuffled, code))
        order = order[drawn[order]]
        again = np.diff(code[order]) == 0
        several, tests = int(np.count_nonzero(again)), int(code.max()) + 1
        same = int(np.count_nonzero(again & (np.diff(head.action[order]) == 0)))
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
            yield Problem("user", reason, mend, column=name)
