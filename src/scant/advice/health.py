"""What is doubtful about a readable log: probabilities that do not sum to 1, rates that drift, rows logged twice.

Defects of single cells are found in reading (`scant.data.checks`).
"""

from dataclasses import dataclass, replace

import numpy as np

from scant.ads import evaluation, intervals
from scant.data import logs
from scant.data.visits import Problem, Visits
from scant.randomness import generator

BLOCKS = 20  # parts of a log whose rates are compared, at most
CLICKS = 10  # effective clicks that a part should have on average
DRIFTS = 0.01  # rates drift if the p-value is below this one


@dataclass(frozen=True)
class Drift:
    """How rates differ between successive parts of a log.

    p : the p-value of the chi-squared test that all parts have one rate; NaN with too few clicks for two parts
    rates : float64 (parts), the rate of each
    """

    p: float
    rates: np.ndarray

    @property
    def found(self) -> bool:
        return self.p < DRIFTS

    def __str__(self) -> str:
        low, high = 100 * self.rates.min(), 100 * self.rates.max()
        return f"from {low:.3g} to {high:.3g} % between {len(self.rates)} successive parts of the log, p = {self.p:.2g}"


def drift(terms: np.ndarray, order: np.ndarray | None = None) -> Drift:
    """Test whether the mean of terms changes over a log.

    The statistic is the sum over parts of n (mean - mean of all)^2 / variance, for 0/1 terms Pearson's. There are as
    many parts, of equal length, as leave ten effective clicks to each, and at most 20.

    terms : float64 (rows), such as rewards, or weights times rewards
    order : rows by time; None if they are in this order
    """
    squares = terms @ terms
    effective = terms.sum() ** 2 / squares if squares else 0.0
    parts = int(min(BLOCKS, effective // CLICKS, len(terms)))
    if parts < 2:
        return Drift(np.nan, np.array([terms.mean()]))
    part = np.arange(len(terms)) * parts // len(terms)
    return _tested(part, parts, terms if order is None else terms[order])


def _tested(part: np.ndarray, parts: int, terms: np.ndarray) -> Drift:
    counts, sums = np.bincount(part, minlength=parts), np.bincount(part, terms, parts)
    return tested_sums(counts, sums, terms.var(), terms.mean())


def tested_sums(counts: np.ndarray, sums: np.ndarray, variance: float, mean: float) -> Drift:
    """The test of `drift`, from the rows of each part, the sums of its terms, and the variance and mean of all."""
    from scipy import special

    counts, sums = counts[counts > 0], sums[counts > 0]
    if len(counts) < 2 or not variance > 0:
        return Drift(np.nan, np.array([mean]))
    statistic = (counts * (sums / counts - mean) ** 2).sum() / variance
    return Drift(float(special.chdtrc(len(counts) - 1, statistic)), sums / counts)


def by_time(visits: Visits) -> np.ndarray | None:
    """The rows of a log by time, int (rows); None if they are in this order, or have no times."""
    times = visits.timestamp
    if times is None or (times[1:] >= times[:-1]).all():
        return None
    return np.argsort(times, kind="stable")


def drifts(visits: Visits) -> list[tuple[str, Drift]]:
    """The tests of drift that a log allows: of all its rewards ("", first), and of those of each ad.

    An ad's rate may drift although that of all ads does not: rows sorted by what users like.
    """
    order = by_time(visits)
    reward, action = (column if order is None else column[order] for column in (visits.reward, visits.action))
    tests = [("", drift(reward))]
    parts = len(tests[0][1].rates)
    for ad, name in enumerate(visits.actions):
        rows = np.flatnonzero(action == ad)
        clicks = reward[rows].sum()
        of_ad = int(min(BLOCKS, clicks // CLICKS, parts)) if len(rows) else 0
        if of_ad >= 2:
            tests.append((name, _tested(rows * of_ad // len(reward), of_ad, reward[rows])))
    return tests


def drift_problem(visits: Visits) -> list[Problem]:
    """A warning if rates drift, by Bonferroni's correction of the tests of `drifts`."""
    tests = [(name, test) for name, test in drifts(visits) if test.p == test.p]
    if not tests:
        return []
    name, strongest = min(tests, key=lambda pair: pair[1].p)
    corrected = replace(strongest, p=min(1.0, strongest.p * len(tests)))
    if not corrected.found:
        return []
    whose = f"click rate of ad {name}" if name else "click rate"
    reason = f"the {whose} drifts: {corrected}" + (f" (the strongest of {len(tests)} tests, corrected)" if name else "")
    mend = "Rates are then averages over the log's period. Look for a change of the logging, or of the users"
    return [Problem("drift", "warning", reason, mend)]


def mean_weight(weights: np.ndarray, largest: float) -> tuple[float, float, float]:
    """The mean weight, and its betting interval at the confidence `evaluation.ALARM`. It is 1 in expectation.

    weights : float64 (rows)
    largest : the largest possible
    """
    weights = generator(0, "advice", "weights").permutation(weights)
    terms = intervals.counted(weights, max(largest, weights.max()))
    low, high = intervals.interval(intervals.betting, terms, evaluation.ALARM)
    return float(terms.moments()[1]), float(low), float(high)


def probabilities(visits: Visits, least: float | None = None) -> list[Problem]:
    """Problems of probabilities that do not sum to 1: the log's propensities, and those of each policy in it.

    The mean weight of a policy is the sum of its probabilities, on average over users, if the propensities are right
    and every ad can be shown to everyone. An interval that has no 1 in it has a chance of 0.1 %.

    least : the least propensity possible; the least seen if None
    """
    least, problems = least or float(visits.propensity.min()), []
    actions = len(visits.actions)
    mean, low, high = mean_weight(1 / (actions * visits.propensity), 1 / (actions * least))
    if not low <= 1 <= high:
        reason = (f"propensities do not fit the ads shown: for the policy that shows all {actions} ads alike the mean "
                  f"weight is {mean:.4g} ({low:.4g} to {high:.4g}), not 1")  # fmt: skip
        mend = ("They are too small: some are of another policy, or of several ads" if low > 1 else
                "They are too large, or some ads cannot be shown to everyone")  # fmt: skip
        return [Problem("propensity-sum", "warning", reason, mend)]
    for number, name in enumerate(visits.policies):
        weights = visits.given[:, number] / visits.propensity
        if not weights.any():  # no overlap, which the evaluation says
            continue
        mean, low, high = mean_weight(weights, 1 / least)
        if not low <= 1 <= high:
            problems.append(policy_sum(name, mean, low, high))
    return problems


def policy_sum(name: str, mean: float, low: float, high: float) -> Problem:
    """The problem of a policy whose mean weight, see `mean_weight`, is not 1."""
    reason = (f"the probabilities of policy:{name} do not sum to 1: over the ads of a visit they sum to "
              f"{mean:.4g} on average ({low:.4g} to {high:.4g})")  # fmt: skip
    mend = "Divide them by their sum over all ads"
    if high < 1:
        mend += ", or log with a policy that can show all that this one shows"
    return Problem("policy-sum", "error", reason, mend)


def duplicates(visits: Visits) -> list[Problem]:
    """A warning if rows of a log are equal."""
    return equal_rows(logs.duplicates(visits), len(visits))


def equal_rows(count: int, rows: int) -> list[Problem]:
    """A warning if some of the rows of a log equal an earlier one."""
    if not count:
        return []
    reason = f"{count:,} of {rows:,} rows equal an earlier one"
    return [Problem("duplicates", "warning", reason, "All are kept; if visits were logged twice, bounds are too good",
                    count)]  # fmt: skip


def problems(visits: Visits, least: float | None = None) -> list[Problem]:
    """All that is doubtful about a log."""
    found = [*probabilities(visits, least), *duplicates(visits), *drift_problem(visits)]
    constant = (visits.features == visits.features[0]).all(axis=0)
    if constant.any():
        names = logs.listing([name for name, is_one in zip(visits.names, constant, strict=True) if is_one])
        found.append(Problem("constant", "warning", f"features with one value only: {names}", "They tell nothing"))
    clicks = np.bincount(visits.action, visits.reward, minlength=len(visits.actions))
    if (clicks == 0).any() and clicks.any():
        names = logs.listing([name for name, count in zip(visits.actions, clicks, strict=True) if not count])
        found.append(Problem("ads-without-clicks", "warning", f"ads without a click: {names}",
                             "A policy learnt from this log never shows them"))  # fmt: skip
    return found


# --- rows of two logs


@dataclass(frozen=True)
class Shared:
    """Rows that two logs have in common.

    rows : bool (rows of the test log), whether a row is in the training log, too
    chance : about how many would be so by chance, if the logs were of different visits
    """

    rows: np.ndarray
    chance: float

    @property
    def count(self) -> int:
        return int(np.count_nonzero(self.rows))

    @property
    def beyond_chance(self) -> bool:
        return beyond_chance(self.count, self.chance)


def beyond_chance(count: int, chance: float) -> bool:
    """Whether so many shared rows are more than about `chance` of them by chance."""
    return count > 1.5 * chance + 5 * chance**0.5


def shared(test: Visits, train: Visits) -> Shared:
    """Which rows of a test log are in the training log, too.

    What is compared: features, ad, reward, propensity and, where both logs have them, time and position. Where users
    are told apart by little, rows of different visits are equal, too: about as often as rows of the second half of the
    training log are in its first half.

    test, train : logs of the same features and ads, in the same order
    """
    names = ["action", "reward", "propensity"]
    names += [name for name in ("position", "timestamp") if getattr(test, name) is not None is not getattr(train, name)]
    known = {name: {text: code for code, text in enumerate(texts)} for name, texts in train.categories.items()}
    features = test.features
    for name, texts in test.categories.items():
        moved = np.array([known.get(name, {}).get(text, -1) for text in texts], np.float32)
        if not np.array_equal(moved, np.arange(len(texts))):
            features = features.copy() if features is test.features else features
            column = test.names.index(name)
            features[:, column] = moved[features[:, column].astype(int)]
    columns = [features, *(getattr(test, name) for name in names)]
    of_test = logs.hashes(columns)
    of_train = logs.hashes([getattr(train, name) for name in ("features", *names)])
    half = len(of_train) // 2
    again = _within(of_train[half:], of_train[:half]).mean() if half else 0.0
    return Shared(_within(of_test, of_train), float(len(of_test) * min(1.0, 2 * again)))


def _within(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Whether each value is among the known ones, bool; quick where hardly any is."""
    known, ranked = np.sort(known), np.sort(values)
    places = np.minimum(np.searchsorted(known, ranked), len(known) - 1)
    found = np.unique(ranked[known[places] == ranked])
    if not len(found):
        return np.zeros(len(values), bool)
    return found[np.minimum(np.searchsorted(found, values), len(found) - 1)] == values
