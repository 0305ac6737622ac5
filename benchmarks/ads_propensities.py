"""How often `scant ads check` says that ads were not shown by their propensities: of right logs,
and of wrong ones.

    python benchmarks/ads_propensities.py [--repeats 1000] [--seed 0]

Each of 20 kinds of right logs is drawn `repeats` times, with 50, 500 and 2,000 rows in turn; at
most 1 % of them may raise an alarm. Logs whose ads follow a schedule have 4,000 rows, one every
half hour, and say 1 / 2 (1 / 5 of five ads); there are a fifth of `repeats` of each kind. Wrong
logs say that six ads are shown alike though one has more (by 2, 5 or 10 %), or give each ad's share
of all rows though users of two kinds see an ad more or less often by this much; a tenth of
`repeats`. `alarms` is the share of logs with an error, `schedule` of those that are said to follow
one.
"""

import argparse
from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from scant.randomness import generator
from scant_ads import Log

FEATURES = 5
ROWS = (50, 500, 2000)
SCHEDULED = 4000  # rows of a schedule
TIMED = {"timestamp": "time"}


def of_ads(action, propensity, random, **columns) -> pd.DataFrame:
    """A log that shows these ads, of which some are clicked more often than others."""
    reward = random.random(len(action)) < 0.05 + 0.1 * (np.asarray(action) % 3)
    return pd.DataFrame(
        {"action": action, "reward": reward * 1, "propensity": propensity} | columns
    )


def drawn(
    propensities: np.ndarray, features: np.ndarray, random, logged: np.ndarray | None = None
) -> pd.DataFrame:
    """A log by propensities, float64 (rows x ads); `logged` are those that it says, if they are
    others.
    """
    place = np.arange(len(propensities))
    sums = propensities.cumsum(axis=1)
    action = (sums > random.random((len(place), 1)) * sums[:, -1:]).argmax(axis=1)
    said = (propensities if logged is None else logged)[place, action]
    return of_ads(
        action, said, random, **{f"x{at}": column for at, column in enumerate(features.T)}
    )


def normal(rows: int, random) -> np.ndarray:
    """Features, float64 (rows x `FEATURES`)."""
    return random.standard_normal((rows, FEATURES))


def times(rows: int) -> np.ndarray:
    """A time every half hour, from a Monday on."""
    return np.datetime64("2026-03-02T00:00", "s") + np.arange(rows) * np.timedelta64(30, "m")


def softmax(features: np.ndarray, ads: int, random) -> np.ndarray:
    shares = np.exp(features @ random.standard_normal((FEATURES, ads)))
    return 0.9 * shares / shares.sum(axis=1, keepdims=True) + 0.1 / ads


# --- right logs


def alike(features, random):
    ads = int(random.choice((2, 6, 20)))
    return drawn(np.full((len(features), ads), 1 / ads), features, random)


def split(features, random):
    return drawn(np.tile([0.9, 0.1], (len(features), 1)), features, random)


def by_user(features, random):
    return drawn(softmax(features, 6, random), features, random)


def peaky(features, random):
    shares = np.full((len(features), 6), 0.02 / 5)
    shares[np.arange(len(features)), random.integers(6, size=len(features))] = 0.98
    return drawn(shares, features, random)


def not_every_ad(features, random):
    rows = len(features)
    shares = (random.random((rows, 6)) < 0.5) | (np.arange(6) == random.integers(6, size=(rows, 1)))
    return drawn(shares / shares.sum(axis=1, keepdims=True), features, random)


def learning(features, random):
    """Half of the time by chance, else the ad with the most clicks so far."""
    clicks, action, propensity = np.ones(4), [], []
    for ad, chance in zip(
        random.integers(4, size=len(features)), random.random(len(features)), strict=True
    ):
        best = int(np.argmax(clicks))
        action.append(int(ad) if chance < 0.5 else best)
        propensity.append(0.125 + 0.5 * (action[-1] == best))
        clicks[action[-1]] += random.random() < 0.05 + 0.02 * action[-1]
    return of_ads(np.array(action), propensity, random)


def changing(features, random):
    first = np.linspace(0.1, 0.9, len(features))
    return drawn(np.column_stack([first, 1 - first]), features, random)


def new_ads(features, random):
    """Two ads at first, and another after each quarter."""
    there = np.arange(5) <= 1 + 4 * np.arange(len(features))[:, None] // len(features)
    return drawn(there / there.sum(axis=1, keepdims=True), features, random)


def rounded(features, random, digits=3):
    """Shown alike, and logged as 0.333, 0.167 or 0.143."""
    ads = int(random.choice((3, 6, 7)))
    made = drawn(np.full((len(features), ads), 1 / ads), features, random)
    return made.assign(propensity=round(1 / ads, digits))


def two_digits(features, random):
    return rounded(features, random, 2)


def rounded_by_user(features, random):
    propensities = softmax(features, 6, random)
    return drawn(propensities, features, random, propensities.round(3))


def single_precision(features, random):
    made = drawn(np.full((len(features), 3), 1 / 3), features, random)
    return made.assign(propensity=made["propensity"].astype(np.float32))


def of_300(features, random):
    return of_ads(random.integers(300, size=len(features)), 1 / 300, random)


def of_a_million(features, random):
    return of_ads(random.integers(10**6, size=len(features)), 1e-6, random)


def rare_ads(features, random):
    shares = 1 / np.arange(1, 5001)
    shares /= shares.sum()
    action = random.choice(5000, len(features), p=shares)
    return of_ads(action, shares[action], random)


def kept_by_users(features, random):
    user = random.integers(max(len(features) // 5, 2), size=len(features))
    arm = random.integers(2, size=user.max() + 1)
    return of_ads(arm[user], 0.5, random, user=user), {"user": "user"}


def sorted_by_ad(features, random):
    return alike(features, random).sort_values("action")


def sorted_with_times(features, random):
    return alike(features, random).assign(time=times(len(features))).sort_values("action"), TIMED


def sorted_by_day_and_ad(features, random):
    made = alike(features, random).assign(
        time=times(len(features)).astype("datetime64[D]").astype("datetime64[s]")
    )
    return made.sort_values(["time", "action"]), TIMED


def sorted_by_reward(features, random):
    return alike(features, random).sort_values("reward", ascending=False)


RIGHT = {
    "2, 6 or 20 ads alike": alike,
    "90 to 10 %": split,
    "by user (softmax)": by_user,
    "98 % the best ad": peaky,
    "each visit half of the ads": not_every_ad,
    "learns from clicks": learning,
    "shares that change": changing,
    "new ads": new_ads,
    "alike, three digits": rounded,
    "alike, two digits": two_digits,
    "by user, three digits": rounded_by_user,
    "single precision": single_precision,
    "300 ads alike": of_300,
    "a million ads alike": of_a_million,
    "5,000 ads, most rare": rare_ads,
    "kept by users, --user": kept_by_users,
    "sorted by ad": sorted_by_ad,
    "sorted by ad, --time": sorted_with_times,
    "sorted by day and ad, --time": sorted_by_day_and_ad,
    "sorted by reward": sorted_by_reward,
}


def right(make, number: int, random) -> tuple[pd.DataFrame, dict]:
    """A right log, and which of its columns are what."""
    made = make(normal(ROWS[number % len(ROWS)], random), random)
    return made if isinstance(made, tuple) else (made, {})


# --- schedules: the ad of each of some rows, one every half hour


def scheduled(kind: str, _: int, random) -> tuple[pd.DataFrame, dict]:
    """A log that says that ads are drawn by chance, though they take turns."""
    hour = random.integers(24 * 14) + np.arange(SCHEDULED) // 2
    of_hour, day = hour % 24, hour // 24
    turns = {
        "by weekday": day % 7 >= 5,
        "by day": day % 2,
        "by week": day // 7 % 2,
        "by five hours": of_hour // 5,
        "before": day >= day.mean(),
        "blocks of 20 rows": np.repeat(random.integers(2, size=200), 20),
    }
    action = np.asarray(turns.get(kind.partition(",")[0], of_hour >= 12)).astype(int)
    if kind.endswith("%"):  # the share of visits that get the ad of the hour
        share = float(kind.split()[-2]) / 100
        action = np.where(random.random(SCHEDULED) < share, action, 1 - action)
    made = of_ads(action, 1 / (1 + action.max()), random)
    roles = {"timestamp": "time"} if "--time" in kind else {}
    made = made.assign(time=times(SCHEDULED)) if roles else made
    if "dates" in kind:
        made["time"] = made["time"].dt.floor("D")
    if "--user" in kind:
        made, roles = made.assign(user=random.permutation(SCHEDULED) // 2), roles | {"user": "user"}
    return made.sample(frac=1, random_state=random) if "shuffled" in kind else made, roles


SCHEDULES = (
    "by hour",
    "by weekday",
    "by day",
    "by week",
    "by five hours",
    "blocks of 20 rows",
    "by hour, 80 %",
    "by hour, 65 %",
    "by hour, shuffled, --time",
    "by day, dates alone, shuffled, --time",
    "by hour, two visits a user, --user",
    "before, after, --time",
)


# --- wrong propensities


def wrong(kind: str, by: float, rows: int, _: int, random) -> tuple[pd.DataFrame, dict]:
    """A log of six ads that says that all are shown alike."""
    features, logged = normal(rows, random), np.full((rows, 6), 1 / 6)
    truly = logged.copy()
    truly[:, 0] *= 1 + by * (1 if kind == "one more" else np.where(features[:, 0] > 0, 1, -1))
    truly[:, 1:] = ((1 - truly[:, 0]) / 5)[:, None]
    return drawn(truly, features, random, logged), {}


def kinds_of(made: pd.DataFrame, roles: dict) -> set[str]:
    """The kinds of the errors that `check` finds in a log."""
    problems = Log.from_frame(made.reset_index(drop=True), roles).check()["problems"]
    return {problem["kind"] for problem in problems if problem["severity"] == "error"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    # names, parts of repeats, logs
    cases = [(kind, 1, partial(right, make)) for kind, make in RIGHT.items()]
    cases += [(kind, 5, partial(scheduled, kind)) for kind in SCHEDULES]
    for kind, by, rows in product(("one more", "by kind"), (0.02, 0.05, 0.1), (10_000, 100_000)):
        cases.append((f"{kind}, {100 * by:g} %, {rows:,} rows", 10, partial(wrong, kind, by, rows)))
    print(f"{'logs':<38} {'number':>6}  {'alarms, %':>9}  {'schedule, %':>11}")
    for name, part, make in cases:
        number = max(1, arguments.repeats // part)
        randoms = (generator(arguments.seed, "benchmark", name, at) for at in range(number))
        found = [kinds_of(*make(at, random)) for at, random in enumerate(randoms)]
        alarms, schedules = sum(map(bool, found)), sum("schedule" in kinds for kinds in found)
        print(
            (
                f"{name:<38} {number:>6,}  {100 * alarms / number:>9.1f}  "
                f"{100 * schedules / number:>11.1f}"
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
