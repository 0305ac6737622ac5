"""What `scant ads` says of messy logs whose truth is known: `check` and `evaluate` on one log of
each kind.

    python benchmarks/ads_messy_logs.py [--only NAME ...] [--seed 0]

Visits have three numbers, a city and an hour; p(x, ad), the probability of a click, is known, so
that each policy's true rate is computed on 200,000 further visits. A row is right if what had to be
said of the log was said (a refusal, a verdict withheld, a warning), and no verdict is false; exit
status 1 if one is not. What no log can show is `unseeable`, and may have a false verdict. Of
intervals, 95 % hold; `held` counts those that do. With --only, all that was said is printed, too.
"""

import argparse
import gzip
import io
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit, softmax

import scant_ads
from scant import cli
from scant.randomness import generator

ROWS, FRESH = 30_000, 200_000
CITIES = ("Ulm", "Bonn", "Köln", "Graz", "Oslo", "Turin")
FEATURES, NEEDED = ["x1", "x2", "x3", "city", "hour"], ["action", "reward", "propensity"]
NUMBERS, REFUSED, WITHHELD, WARNED = "numbers", "refused", "withheld", "warned"
UNSEEN = "unseeable"
AMOUNTS, OFTEN = np.array([5.0, 20, 40, 90, 500]), [0.3, 0.3, 0.2, 0.15, 0.05]
EUR = ["--reward-unit", "EUR", "--reward-max", 500]
MODEL = 'sklearn.ensemble:HistGradientBoostingClassifier={"max_iter": 20}'


class World:
    """Visits, and the probability that a visitor clicks on an ad; logs of them, written to a
    folder.
    """

    def __init__(self, ads: int, seed: int, name: str, folder: Path):
        self.random, self.folder = generator(seed, "messy", ads), folder
        self.ads = np.array([f"ad{at + 1}" for at in range(ads)])
        self.slopes, self.cities = (
            self.random.normal(0, 0.6, (3, ads)),
            self.random.normal(0, 0.4, (len(CITIES), ads)),
        )
        self.hours, self.base = (
            self.random.normal(0, 0.3, ads),
            logit(0.08) + self.random.normal(0, 0.3, ads),
        )
        self.fresh = self.visits(FRESH)
        self.random = generator(seed, "messy", name)

    def visits(self, rows: int = ROWS, cities=CITIES[:4]) -> pd.DataFrame:
        """Visits; `t` is when they happen, from 0 to 1, and is in no log."""
        numbers = {f"x{at + 1}": self.random.normal(size=rows) for at in range(3)}
        city, hour = self.random.choice(cities, rows), self.random.integers(0, 24, rows)
        return pd.DataFrame(numbers).assign(city=city, hour=hour, t=np.arange(rows) / rows)

    def days(self, frame) -> pd.Series:
        return pd.Timestamp("2026-03-01") + pd.to_timedelta(20 * frame["t"], unit="D")

    def rates(self, frame) -> np.ndarray:
        """The probability of a click, visits x ads."""
        city = self.cities[[CITIES.index(name) for name in frame["city"]]]
        wave = np.sin(frame["hour"].to_numpy() * np.pi / 12)[:, None] * self.hours
        return expit(self.base + frame[["x1", "x2", "x3"]].to_numpy() @ self.slopes + city + wave)

    def log(self, shares=None, rates=None, visits=None) -> pd.DataFrame:
        """A log; `shares` gives the probability of showing each ad, `rates` that of a click on
        it.
        """
        visits = self.visits() if visits is None else visits
        shares, rates = (shares or self.alike)(visits), (rates or self.rates)(visits)
        place = (shares.cumsum(axis=1) > self.random.random((len(visits), 1))).argmax(axis=1)
        reward = (self.random.random(len(visits)) < at(rates, place)).astype(int)
        return visits.assign(
            action=self.ads[place], reward=reward, propensity=at(shares, place), place=place
        )

    def alike(self, frame) -> np.ndarray:
        return np.full((len(frame), len(self.ads)), 1 / len(self.ads))

    def targeted(self, frame, chance: float = 0.3, strength: float = 4.0) -> np.ndarray:
        """Ads by a guess at what visitors like, and a share by chance, visits x ads."""
        guess = softmax(strength * frame[["x1", "x2"]].to_numpy() @ self.slopes[:2], axis=1)
        return (1 - chance) * guess + chance / len(self.ads)

    def written(self, frame, name: str = "log.csv", **options) -> Path:
        """Write a log; CSV, or parquet by the name."""
        frame, path = (
            frame.drop(columns=[name for name in ("t", "place") if name in frame]),
            self.folder / name,
        )
        path.parent.mkdir(exist_ok=True)
        frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(
            path, index=False, **options
        )
        return path

    def given(self, frame, words=None, reading=(), today=None, name="log.csv", **truth) -> "Given":
        """A log in a file; it is parted, and a policy learnt, unless `words` say otherwise."""
        return Given(
            self.written(frame, name), split() if words is None else words, reading, today, **truth
        )


@dataclass
class Given:
    """A log as written to files, and the truth of it.

    words, reading : of `evaluate`, and of `check`, too
    today, columns : shares of today's policy, and by `policy:NAME`; rates : of clicks (or mean
        rewards)
    seen : what a policy is given of visits
    """

    log: Path
    words: list
    reading: tuple | list = ()
    today: Callable | None = None
    rates: Callable | None = None
    columns: tuple | dict = ()
    seen: Callable = lambda visits: visits


def at(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The value of each row's own column."""
    return values[np.arange(len(values)), place]


def changed(log: pd.DataFrame, column: str, by: Callable) -> pd.DataFrame:
    """A log with one column written otherwise."""
    return log.assign(**{column: by(log[column])})


def split(*kinds: str) -> list[str]:
    return [
        "--split",
        "0.5",
        *(word for kind in kinds or ("logistic",) for word in ("--policy", kind)),
    ]


def constant(*shares: float) -> Callable:
    return lambda visits: np.tile(shares, (len(visits), 1))


def nested(frame) -> pd.DataFrame:
    return objects(frame).assign(context=lambda frame: frame["context"].map(json.dumps))


def objects(frame) -> pd.DataFrame:
    return pd.DataFrame({"context": frame[FEATURES].to_dict("records")})


def open_bandit(w):
    names, path = (
        {"action": "item_id", "reward": "click", "propensity": "propensity_score"},
        w.folder / "log.csv.gz",
    )
    log = (
        w.log()
        .assign(timestamp=w.days, position=w.random.integers(1, 4, ROWS))
        .drop(columns=["t", "place"])
    )
    path.write_bytes(gzip.compress(log.rename(columns=names).to_csv().encode()))
    return Given(path, split(), ["--columns", *(f"{role}={name}" for role, name in names.items())])


def dsjson(w):
    path, ads = w.folder / "log.json", [{"_tag": ad} for ad in w.ads]
    log = w.log().assign(_label_cost=lambda log: -log["reward"]).reset_index()
    log = log.rename(
        columns={"index": "EventId", "propensity": "_label_probability", "place": "_labelIndex"}
    )
    log = log.assign(c=[row | {"_multi": ads} for row in log[FEATURES].to_dict("records")])
    log.drop(columns=["t", *FEATURES, "action", "reward"]).to_json(
        path, orient="records", lines=True, double_precision=15, force_ascii=False
    )
    return Given(path, split(), seen=lambda visits: visits.add_prefix("c."))


def vw_text(w):
    def seen(visits):
        cities = {f"v.city={name}": 1.0 * (visits.city == name) for name in CITIES[:4]}
        return visits.drop(columns="city").add_prefix("v.").assign(**cities)

    path, w.ads = w.folder / "log.txt", np.arange(1, len(w.ads) + 1).astype(str)
    form = "{action}:-{reward}:{propensity} |v x1:{x1} x2:{x2} x3:{x3} city={city} hour:{hour}\n"
    path.write_text("".join(form.format(**row) for row in w.log().to_dict("records")))
    return Given(path, split(), seen=seen)


def folders(w):
    for part in ("train/0", "train/1", "test/0", "test/1"):
        w.written(w.log(w.alike if part < "train" else w.targeted), f"{part}.parquet")
    train, saved = w.folder / "train", w.folder / "saved.arrow"
    said("fit", train, "--policy", "forest", "--epsilon", 0.1, "--output", saved)
    return Given(
        w.folder / "test",
        ["--train", train, "--policy", saved, "--policy", "logistic"],
        today=w.targeted,
    )


def explored(w, least):
    shares = partial(w.targeted, chance=0.02, strength=1e4)
    return w.given(
        w.log(shares, visits=w.visits(4 * ROWS)),
        [*split(), "--least-propensity", least],
        today=shares,
    )


def eligible(w):
    def alike(visits):  # of six ads two are for some visits only
        may = (visits[["x1"]].to_numpy() > 0) | (np.arange(6) > 1)
        return may / may.sum(axis=1, keepdims=True)

    def mine(visits):
        return np.eye(6)[(w.rates(visits) * (alike(visits) > 0)).argmax(axis=1)]

    log, words = w.log(alike), ["--policy", "mine", "--least-propensity", 1 / 6]
    return w.given(
        log.assign(**{"policy:mine": at(mine(log), log.place)}),
        words,
        today=alike,
        columns={"mine": mine},
    )


def revenue(w, *reading):
    log = w.log().assign(reward=lambda log: log.reward * w.random.choice(AMOUNTS, ROWS, p=OFTEN))
    return w.given(
        log, split("forest"), reading, rates=lambda visits: AMOUNTS @ OFTEN * w.rates(visits)
    )


def users(w, *reading):  # of very different rates, each always with the same arm
    user = np.tile(np.arange(ROWS // 20), 20)
    arm, rate = w.random.integers(0, 2, ROWS)[user], w.random.beta(0.08, 0.92, ROWS)[user]
    reward = (w.random.random(ROWS) < rate).astype(int)
    log = pd.DataFrame({"user_id": user, "action": w.ads[arm], "reward": reward, "propensity": 0.5})
    return w.given(log, [], reading, rates=lambda visits: np.full((len(visits), 2), 0.08))


def lettered(w, letters: str = "AB"):
    w.ads = np.array([*letters])
    return w.given(w.log()[NEEDED], [])


def refunds(w, *reading):  # of 1 EUR; the second arm has half as many
    def rates(visits):
        return np.tile([0.10, 0.05], (len(visits), 1))

    columns = ["--columns", "reward=refund", *reading]
    log = w.log(rates=rates)[NEEDED].rename(columns={"reward": "refund"})
    return w.given(log, [], columns, rates=lambda visits: -rates(visits))


def zipped(w):  # towns by their codes, and hours as clocks have them
    codes = dict(zip(CITIES, ("01067", "1067", "1.10", "1.1", "1e3", "true"), strict=True))

    def seen(visits):
        return visits.assign(
            city=visits["city"].map(codes), hour=visits["hour"].map("{:02d}:00".format)
        )

    return w.given(seen(w.log()), reading=["--categorical", "city", "hour"], seen=seen)


def coarse(w, by):  # of what is told of visitors, many are alike
    return w.given(w.log()[[*NEEDED, "city"]].sort_values(by, kind="stable"))


def trained(w, train, test, **truth):
    return w.given(
        test, ["--train", w.written(train, "train.csv"), "--policy", "logistic"], **truth
    )


def new_cities(w):
    def rates(visits):  # twice as many click in the test's cities, whatever the ad is
        return np.repeat(np.where(visits[["city"]].isin(CITIES[4:]), 0.1, 0.05), 6, axis=1)

    w.fresh = w.visits(FRESH, CITIES[4:])  # on which today's policy would be no worse
    return trained(
        w, w.log(rates=rates), w.log(rates=rates, visits=w.visits(cities=CITIES[4:])), rates=rates
    )


def lists(w, *reading, above=False, first=False):
    """Three of nine ads in a list, whose users leave once they found one: the best first is
    worse.
    """
    grade, rows = np.arange(9) // 3, ROWS // 3
    shown = np.argsort(w.random.random((rows, 9)), axis=1)[:, :3]
    reward, stays = np.zeros((rows, 3), int), np.ones(rows, bool)
    for place, ad in enumerate(shown.T):
        reward[:, place] = stays & (w.random.random(rows) < 0.3 + 0.1 * grade[ad])
        stays &= ~((reward[:, place] == 1) & (grade[ad] == 2))
    place = np.tile(np.arange(3), rows)
    log = pd.DataFrame(
        {
            "visit": np.repeat(np.arange(rows), 3),
            "position": place + 1,
            "action": shown.ravel(),
            "reward": reward.ravel(),
            "propensity": 1 / (9 - place) if above else 1 / 9,
            "policy:best": (shown.ravel() == place + 6) * 1.0,
        }
    )
    log = log[log["position"] == 1] if first else log
    # of a row: all lists, and users, enumerated
    rates = (0.4, 0.5) if first else (0.338, 0.875 / 3)
    return w.given(
        log,
        ["--policy", "best"],
        reading,
        constant(1, 0),
        columns={"best": constant(0, 1)},
        rates=lambda visits: np.tile(rates, (len(visits), 1)),
    )


def applied(w):
    """Ads whose ids begin as formulas do, chosen by a policy in use."""
    w.ads = np.array([f"={ad}" for ad in w.ads])
    train, saved, shown = (
        w.written(w.log(), "train.csv"),
        w.folder / "saved.arrow",
        w.folder / "shown.csv",
    )
    visits = w.visits()
    said("fit", train, "--policy", "logistic", "--epsilon", 0.2, "--output", saved)
    said("apply", saved, w.written(visits, "new.csv"), "--seed", 1, "--output", shown)
    log = visits.assign(**pd.read_csv(shown))
    place = log["action"].map({ad: index for index, ad in enumerate(w.ads)}).to_numpy()
    clicked = w.random.random(ROWS) < at(w.rates(log), place)
    words = ["--train", train, "--policy", saved, "--least-propensity", 0.04]
    return w.given(log.assign(reward=clicked.astype(int)), words)


def sums(w):
    log = (
        w.log()
        .groupby("action", as_index=False)
        .agg(clicks=("reward", "sum"), visitors=("reward", "size"))
    )
    return w.given(log, ["--propensity", 0.5])


def slates(w):
    return w.given(
        pd.DataFrame(
            {"slate": ["|".join(w.random.permutation(w.ads)) for _ in range(ROWS)], "click": 1}
        )
    )


def suited(w, *reading, shown=None, kept=lambda log: log, **columns):
    """Of two ads each is for one kind of visitors, and hardly ever clicked by the others."""

    def rates(visits):
        first = visits["city"].isin(CITIES[:2]).to_numpy()
        return np.where(np.column_stack([first, ~first]), 0.06, 0.0005)

    return w.given(
        kept(w.log(shown, rates=rates).assign(**columns)), reading=reading, today=shown, rates=rates
    )


def robots(w, balanced):
    """600 rows of a rare browser, all with a click, of one ad; or of all ads, and of no known
    browser.
    """
    names = [*("Chrome", "Safari", "Edge", "Firefox"), *(f"rare {at}" for at in range(40))]
    log = w.log().assign(browser=w.random.choice(names, ROWS, p=[0.2] * 4 + [0.005] * 40))
    more = log.sample(600, random_state=0).assign(reward=1, browser=None if balanced else "rare 7")
    more = more if balanced else more.assign(action=w.ads[1])
    return w.given(pd.concat([log, more]).sort_values("t", kind="stable"), [])


def lost(w, ads, where=None, start=0.5):
    """Rewards of some ads, of all visits or in a city, that are no longer measured from some time
    on.
    """
    log = w.log(visits=w.visits(2 * ROWS))
    gone = (
        log["action"].isin(w.ads[:ads])
        & (log["t"] >= start)
        & ((log["city"] == where) if where else True)
    )
    return w.given(log.assign(reward=log["reward"].where(~gone, 0)), ["--policy", "each-ad"])


def novel(w):
    """An ad that is clicked more often by 57 % at first, and as often as the other one from the
    middle on.
    """

    def rates(visits):
        return np.column_stack([np.full(len(visits), 0.1), np.where(visits["t"] < 0.5, 0.157, 0.1)])

    return w.given(w.log(rates=rates)[NEEDED], [], rates=rates)


def clipped(w):
    """Revenue of an ad that is cut off at 90 EUR, beside an ad with one price."""
    amounts = np.exp(w.random.normal(3.5, 1, ROWS))
    log = w.log().assign(
        reward=lambda log: (
            log.reward * np.where(log.place == 0, 30, np.minimum(amounts, 90).round(2))
        )
    )
    whole = np.minimum(np.exp(w.random.normal(3.5, 1, FRESH)), 500).mean()
    return w.given(log, [], EUR, rates=lambda visits: w.rates(visits) * np.array([30, whole]))


def cut(w):
    """Revenue of two ads alike, of one of which no amount above 90 EUR is logged as it is."""
    amounts = np.minimum(np.exp(w.random.normal(3.5, 1, ROWS)), 500).round(2)
    log = w.log().assign(
        reward=lambda log: log.reward * np.where(log.place == 0, amounts, np.minimum(amounts, 90))
    )
    whole = np.minimum(np.exp(w.random.normal(3.5, 1, FRESH)), 500).mean()
    return w.given(log, [], EUR, rates=lambda visits: w.rates(visits) * whole)


def latencies(w):
    """Waits alike of two ads, one of which logs seconds."""
    log = w.log()[NEEDED]
    waits = np.exp(w.random.normal(6, 0.8, ROWS)).clip(max=30_000)
    log["reward"] = waits / np.where(log["action"] == w.ads[1], 1000, 1)
    mean = -np.exp(6 + 0.8**2 / 2)
    reading = ["--less", "--reward-max", 30_000]
    return w.given(log, [], reading, rates=lambda visits: np.full((len(visits), 2), mean))


def drifting(w):
    """Rates of each ad in each city change over the log, some to a fifth, some fivefold."""
    changes = w.random.normal(0, 1, w.cities.shape)

    def rates(visits):
        change = changes[[CITIES.index(name) for name in visits["city"]]]
        return expit(logit(w.rates(visits)) + change * (visits[["t"]].to_numpy() - 0.5) * 2)

    return w.given(w.log(rates=rates).assign(timestamp=w.days), split(*KINDS), rates=rates)


def headless(w):
    path = w.written(w.log())
    path.write_text(path.read_text().partition("\n")[2])
    return Given(path, [])


def scheduled(w):
    """Two ads that take turns, every 500 visits."""
    turns = np.arange(ROWS) // 500 % 2
    return w.given(w.log(lambda visits: np.eye(2)[turns]).assign(propensity=0.5)[NEEDED], [])


def minutes(w):
    """Minutes around 30, of a largest 60 and a least -1."""
    means = np.array([30.0, 33])
    log = w.log()[[*NEEDED, "place"]]
    log = log.assign(reward=lambda log: w.random.normal(means[log["place"]], 5).clip(0, 60))
    return w.given(
        log,
        [],
        ["--reward-max", 60, "--reward-min", -1],
        rates=lambda visits: np.tile(means, (len(visits), 1)),
    )


def tabled(w):
    """The probabilities of a policy for each ad, which a column policy:mine has, too."""
    log = w.log()
    shares = w.targeted(log)
    columns = {f"pi_{ad}": share for ad, share in zip(w.ads, shares.T, strict=True)}
    log = log.assign(**{"policy:mine": at(shares, log["place"])}, **columns)
    return w.given(log, ["--policy", "mine"], columns={"mine": w.targeted})


def joined(w):
    """Visits with one row for each item that was bought, as a join makes them."""
    log = w.log().assign(visit=range(ROWS))
    items = pd.DataFrame({"visit": w.random.integers(0, ROWS, ROWS // 2), "item": range(ROWS // 2)})
    return w.given(log.merge(items, how="left", on="visit"), [], ["--id", "visit"])


def dropped(w):
    """Visits of one ad that were filtered out if nobody clicked."""
    log = w.log()
    lost = (log["action"] == w.ads[0]) & (log["reward"] == 0) & (w.random.random(ROWS) < 0.3)
    return w.given(log[~lost], [])


def hidden(w):
    """Ads chosen by what the log does not have, as often as by chance."""
    log = w.log(lambda visits: np.eye(2)[(visits["x1"] > 0).astype(int)])
    return w.given(
        log.assign(propensity=0.5).drop(columns=["x1"]),
        ["--policy", "each-ad"],
        seen=lambda visits: visits.drop(columns="x1"),
    )


def hindsight(w):
    """A policy that shows by city and hour the ad that was clicked most often in this very log."""
    log = w.log(rates=(rates := lambda visits: np.full((len(visits), 6), 0.1)))
    rates_seen = log.pivot_table(index=["city", "hour"], columns="place", values="reward")
    best = rates_seen.idxmax(axis=1)

    def mine(visits):
        return np.eye(6)[best.loc[list(zip(visits["city"], visits["hour"], strict=True))]]

    log = log.assign(**{"policy:mine": at(mine(log), log["place"])})
    return w.given(log, ["--policy", "mine"], rates=rates, columns={"mine": mine})


def unseen(w, broken):
    """An A/B test of which some clicks of an ad are lost."""
    log = w.log()
    return w.given(log.assign(reward=log["reward"].where(~broken(log), 0)), ["--policy", "each-ad"])


KINDS = "logistic", "auc-ranker", "forest"
LEAST = [*split(), "--least-propensity", 0.05]
WRONG = WITHHELD, "propensities are not those"
# what is odd; what is to happen; what must be said; the log; how many ads, if not 6
CASES: dict[str, tuple] = {
    "clean": (
        "nothing: CSV, ads alike",
        NUMBERS,
        "no problems",
        lambda w: w.given(w.log(), split(*KINDS)),
    ),
    "percent": (
        "propensities in percent",
        NUMBERS,
        "",
        lambda w: w.given(
            changed(w.log(w.targeted), "propensity", lambda p: 100 * p),
            LEAST,
            ["--propensities", "percent"],
            w.targeted,
        ),
    ),
    "of-place": (
        "lists' propensities of places, said to be given what stands above",
        REFUSED,
        "Say --propensity-of place",
        lambda w: lists(w, "--list", "visit", "--propensity-of", "above"),
        2,
    ),
    "logarithms": (
        "natural logarithms of propensities",
        NUMBERS,
        "",
        lambda w: w.given(
            changed(w.log(w.targeted), "propensity", np.log),
            LEAST,
            ["--propensities", "log"],
            w.targeted,
        ),
    ),
    "decimal-commas": (
        "semicolons, decimal commas",
        NUMBERS,
        "with decimal commas",
        lambda w: Given(w.written(w.log(), sep=";", decimal=","), split()),
    ),
    "open-bandit": ("gzip, index column, other names", NUMBERS, "index", open_bandit),
    "dsjson": ("Vowpal Wabbit's dsjson", NUMBERS, "Vowpal Wabbit's dsjson", dsjson),
    "vw-text": ("Vowpal Wabbit's text", NUMBERS, "Vowpal Wabbit's text", vw_text),
    "json-column": (
        "a JSON context in CSV",
        NUMBERS,
        "",
        lambda w: w.given((log := w.log())[NEEDED].join(nested(log)), seen=nested),
    ),
    "struct": (
        "a struct in parquet",
        NUMBERS,
        "",
        lambda w: w.given(
            (log := w.log())[NEEDED].join(objects(log)), name="log.parquet", seen=objects
        ),
    ),
    "folders": ("train and test in folders; a saved policy", NUMBERS, "", folders),
    "latencies": (
        "waits of one arm in ms, of the other in s, --less",
        WITHHELD,
        "times those of other ads",
        latencies,
        2,
    ),
    "shares": (
        "shares of all rows as propensities, targeted",
        *WRONG,
        lambda w: w.given(
            w.log(w.targeted).assign(
                propensity=lambda log: log.groupby("action").t.transform("size") / ROWS
            )
        ),
    ),
    "cut": ("revenue of one arm cut off at 90 EUR", WITHHELD, "they look cut off", cut, 2),
    "explores-little": (
        "2 % exploration, its least propensity",
        NUMBERS,
        "",
        lambda w: explored(w, 0.02 / 6),
    ),
    "least-unknown": ("2 % exploration, unknown", NUMBERS, "", lambda w: explored(w, "unknown")),
    "eligible": (
        "not every ad for every visit; policy:mine",
        NUMBERS,
        "cannot be shown to everyone",
        eligible,
    ),
    "column-sum": (
        "policy:mine does not sum to 1",
        REFUSED,
        "policy:mine do not sum to 1",
        lambda w: w.given(
            (log := w.log()).assign(**{"policy:mine": at(w.targeted(log), log.place) ** 0.5}),
            ["--policy", "mine"],
        ),
    ),
    "revenue": ("revenue in EUR, at most 500", NUMBERS, "EUR", lambda w: revenue(w, *EUR)),
    "revenue-unsaid": ("revenue, no largest one said", REFUSED, "--reward-max", revenue),
    "graded": (
        "rewards between 0 and 1",
        NUMBERS,
        "mean reward",
        lambda w: w.given(
            w.log().assign(
                reward=lambda log: w.random.beta(rate := at(w.rates(log), log.place), 1 - rate)
            ),
            split("forest"),
        ),
    ),
    "no-clicks": (
        "no clicks",
        WITHHELD,
        "rewards look missing",
        lambda w: w.given(w.log().assign(reward=0), []),
    ),
    "late": (
        "clicks of the last two days are missing",
        NUMBERS,
        "not joined yet",
        lambda w: w.given(
            w.log().assign(reward=lambda log: log["reward"] * (log["t"] < 0.9), timestamp=w.days),
            rates=lambda v: 0.9 * w.rates(v),
        ),
    ),
    "drifting": (
        "rates triple over the log",
        NUMBERS,
        "drifts",
        lambda w: w.given(
            w.log(rates=(rates := lambda v: w.rates(v) * (0.5 + v[["t"]].to_numpy()))), rates=rates
        ),
    ),
    "ab-even": ("A/B 50:50, no features", NUMBERS, "", lambda w: w.given(w.log()[NEEDED], []), 2),
    "ab-uneven": (
        "A/B 90:10, no features",
        NUMBERS,
        "",
        lambda w: w.given(w.log(constant(0.9, 0.1))[NEEDED], [], today=constant(0.9, 0.1)),
        2,
    ),
    "aa": (
        "A/A, no features",
        NUMBERS,
        "",
        lambda w: w.given(
            w.log(rates=(rates := lambda v: w.rates(v)[:, [0, 0]]))[NEEDED], [], rates=rates
        ),
        2,
    ),
    "users": (
        "A/A, 20 visits of each user",
        NUMBERS,
        "1,500 users",
        lambda w: users(w, "--user", "user_id"),
        2,
    ),
    "users-unsaid": ("the same, without --user", WARNED, "--user user_id", users, 2),
    "twice": (
        "5 % of rows logged twice, --id",
        REFUSED,
        "logged twice",
        lambda w: w.given(
            pd.concat([log := w.log().assign(visit=range(ROWS)), log[::20]]),
            split(),
            ["--id", "visit"],
        ),
    ),
    "leak": (
        "a feature that is known after the click",
        WARNED,
        "--ignore dwell",
        lambda w: w.given(
            w.log().assign(dwell=lambda log: log.reward * (log.place + w.random.random(ROWS))),
            split("forest"),
            seen=lambda v: v.assign(dwell=0.0),
        ),
    ),
    "of-the-ad": (
        "a feature of the ad that was shown",
        WARNED,
        "--ignore topic",
        lambda w: w.given(
            w.log().assign(topic=lambda log: "topic " + (log.place // 2).astype(str)),
            split("forest"),
            seen=lambda v: v.assign(topic="topic 0"),
        ),
    ),
    "one-feature": (
        "one feature, continuous",
        NUMBERS,
        "",
        lambda w: w.given(w.log()[[*NEEDED, "x1"]]),
    ),
    "fewer-ads": (
        "a test without 8 of 20 ads",
        WITHHELD,
        "never shows 8 of the 20 ads",
        lambda w: trained(
            w, w.log(visits=w.visits(2 * ROWS)), w.log(constant(*[1 / 12] * 12, *[0] * 8))
        ),
        20,
    ),
    "many-ads": ("200 ads", NUMBERS, "", lambda w: w.given(w.log(visits=w.visits(2 * ROWS))), 200),
    "same-log": (
        "the test is the training log",
        REFUSED,
        "the same log",
        lambda w: Given(path := w.written(w.log()), ["--train", path, "--policy", "logistic"]),
    ),
    "new-cities": (
        "other cities in the test, clicking more",
        WARNED,
        "showing all ads alike earns",
        new_cities,
    ),
    "lists": (
        "places of lists, --user visit",
        WITHHELD,
        "places of 10,000 lists",
        lambda w: lists(w, "--user", "visit"),
        2,
    ),
    "lists-unsaid": ("the same, nothing said", WITHHELD, "places of 10,000 lists", lists, 2),
    "lists-by-id": (
        "the same, --id visit",
        WITHHELD,
        "share a visit",
        lambda w: lists(w, "--id", "visit"),
        2,
    ),
    "given-above": (
        "propensities given what stands above",
        REFUSED,
        "given what stands above",
        lambda w: lists(w, above=True),
        2,
    ),
    "first-places": (
        "of these lists the first places",
        NUMBERS,
        "",
        lambda w: lists(w, above=True, first=True),
        2,
    ),
    "a-place": (
        "a place in each row, one row a visit",
        NUMBERS,
        "no problems",
        lambda w: w.given(w.log().assign(position=w.random.integers(1, 4, ROWS))),
    ),
    "applied": ("ads that begin with =, chosen by `apply`", NUMBERS, "", applied),
    "sums": ("sums by ad", REFUSED, "each row is a sum", sums),
    "slates": ("lists in cells", REFUSED, "each row is a list", slates),
    "certain": (
        "every propensity is 1",
        REFUSED,
        "they were not logged",
        lambda w: w.given(w.log().assign(propensity=1.0)),
    ),
    "sorted-by-ad": (
        "rows sorted by ad",
        NUMBERS,
        "about as many as chance makes",
        lambda w: coarse(w, ["action"]),
    ),
    "sorted-by-city": (
        "rows sorted by city",
        NUMBERS,
        "about as many as chance",
        lambda w: coarse(w, ["city"]),
    ),
    "sorted-by-all": (
        "rows sorted by all columns",
        NUMBERS,
        "about as many as chance",
        lambda w: coarse(w, ["action", "city", "reward"]),
    ),
    "few-digits": (
        "0.17 for 1/6",
        NUMBERS,
        "1/6, written as 0.17",
        lambda w: w.given(w.log(visits=w.visits(4 * ROWS)).assign(propensity=0.17)),
    ),
    "codes": ("cities 01067, 1.10, 1e3; hours 08:00", NUMBERS, "no problems", zipped),
    "ab-letters": ("arms A and B", NUMBERS, "Better than ad:A, the baseline", lettered, 2),
    "costs-unsaid": ("rewards are refunds", WITHHELD, "--less", refunds, 2),
    "costs": (
        "the same, with --less",
        NUMBERS,
        "ad:ad2 is better",
        lambda w: refunds(w, "--less"),
        2,
    ),
    "unwanted": ("ads that half of the visitors do not want", NUMBERS, "logistic  +9", suited, 2),
    "unwanted-sorted": (
        "the same, rows sorted by ad",
        NUMBERS,
        "rows are sorted by ad",
        lambda w: suited(w, kept=lambda log: log.sort_values("action", kind="stable")),
        2,
    ),
    "unwanted-rounded": (
        "the same, .33 and .67 for thirds",
        NUMBERS,
        "",
        lambda w: suited(
            w,
            shown=constant(1 / 3, 2 / 3),
            kept=lambda log: log.assign(propensity=log["propensity"].round(2)),
        ),
        2,
    ),
    "unwanted-users": (
        "the same, of 300 users",
        NUMBERS,
        "users",
        lambda w: suited(w, "--user", "user_id", user_id=w.random.integers(0, 300, ROWS)),
        2,
    ),
    "drifting-apart": ("rates drift by ad and city", NUMBERS, "", drifting),
    "novel": (
        "an ad that is clicked more often while it is new",
        NUMBERS,
        "in the first half of the log",
        novel,
        2,
    ),
    "robots": (
        "robots of a rare browser click on one ad",
        WITHHELD,
        "where 'browser' is 'rare 7'",
        lambda w: robots(w, False),
        2,
    ),
    "clicks-alone": (
        "clicks without a visit, browser missing",
        WITHHELD,
        "where 'browser' is missing have a reward",
        lambda w: robots(w, True),
        2,
    ),
    "dead-later": (
        "no clicks of an ad in Ulm from the middle on",
        WITHHELD,
        "'ad1' lost its rewards where 'city'",
        lambda w: lost(w, 1, "Ulm"),
        3,
    ),
    "dead-several": (
        "no clicks of two of four ads in the last fifth",
        WITHHELD,
        "ads 'ad1', 'ad2' lost their rewards",
        lambda w: lost(w, 2, start=0.8),
        4,
    ),
    "clipped": (
        "revenue cut off, beside an ad with one price",
        NUMBERS,
        "they look cut off",
        clipped,
        2,
    ),
    "begins-late": (
        "no clicks of an ad until a third of the log",
        WITHHELD,
        "did not yet have its rewards",
        lambda w: (
            lambda log: w.given(
                log.assign(
                    reward=log["reward"].where((log["action"] != w.ads[0]) | (log["t"] > 0.33), 0)
                ),
                [],
            )
        )(w.log()),
        2,
    ),
    "lists-renamed": (
        "lists, called zz, with prices",
        WITHHELD,
        "by 'zz'",
        lambda w: (
            (given := lists(w))
            and Given(
                w.written(
                    pd.read_csv(given.log)
                    .rename(columns={"visit": "zz"})
                    .drop(columns="position")
                    .assign(price=lambda log: np.sin(log.index))
                ),
                given.words,
                (),
                given.today,
                given.rates,
                given.columns,
            )
        ),
        2,
    ),
    "no-header": ("no header", REFUSED, "header", headless),
    "schedule": ("two ads that take turns", WITHHELD, "ads follow a schedule", scheduled, 2),
    "dead-group": (
        "no clicks in Ulm at all",
        NUMBERS,
        "no visit where 'city' is 'Ulm' has a reward",
        lambda w: (
            lambda log: w.given(
                log.assign(reward=log["reward"].where(log["city"] != "Ulm", 0)),
                ["--policy", "each-ad"],
                rates=lambda visits: w.rates(visits) * np.array(visits["city"] != "Ulm")[:, None],
            )
        )(w.log()),
        2,
    ),
    "minutes": ("minutes around 30, of at least -1", NUMBERS, "It is better than", minutes, 2),
    "rare-ads": (
        "300 ads in 1,200 rows",
        WITHHELD,
        "an effective sample of",
        lambda w: w.given(w.log(visits=w.visits(1200)), ["--policy", "ad:ad1"]),
        300,
    ),
    "look-alikes": (
        "ids 1 and 1.0",
        WARNED,
        "ids of ads look alike",
        lambda w: lettered(w, ["1", "1.0"]),
        2,
    ),
    "yes-no": (
        "rewards yes and no",
        NUMBERS,
        "no problems",
        lambda w: w.given(
            changed(w.log(), "reward", lambda reward: np.where(reward > 0, "yes", "no"))
        ),
    ),
    "currency": (
        "rewards such as €1,234.50",
        NUMBERS,
        "",
        lambda w: w.given(
            changed(w.log(), "reward", lambda reward: np.where(reward > 0, "€1,234.50", "€0.00")),
            split("forest"),
            ["--reward-max", 1234.5],
            rates=lambda visits: 1234.5 * w.rates(visits),
        ),
    ),
    "signs": (
        "rewards -1 and 1",
        NUMBERS,
        "",
        lambda w: w.given(
            changed(w.log(), "reward", lambda reward: 2 * reward - 1),
            split("forest"),
            ["--reward-min", -1],
            rates=lambda visits: 2 * w.rates(visits) - 1,
        ),
    ),
    "probabilities": (
        "a policy's probabilities of all ads",
        NUMBERS,
        "sum to 1 in every row",
        tabled,
    ),
    "next-row's": (
        "propensities of the row before",
        WITHHELD,
        "propensities are not those",
        lambda w: w.given(
            w.log(w.targeted).assign(propensity=lambda log: np.roll(log["propensity"], 1)),
            LEAST,
            today=w.targeted,
        ),
    ),
    "joined": ("a row for each item bought", REFUSED, "logged twice", joined),
    "clicks-only": (
        "visits with a click alone",
        WITHHELD,
        "visits without a click look missing",
        lambda w: w.given(w.log().query("reward == 1"), []),
    ),
    "dropped": (
        "visits of an ad without a click are lost",
        WITHHELD,
        "propensities are not those",
        dropped,
        2,
    ),
    "robot": (
        "a robot among users",
        NUMBERS,
        "visits each",
        lambda w: w.given(
            pd.concat(
                [
                    log := w.log()[NEEDED].assign(user=lambda log: log.index % 5000),
                    log[:2000].assign(user=0),
                ]
            ),
            [],
            ["--user", "user"],
        ),
        2,
    ),
    "sorted-city-first": (
        "rows sorted by city, ad and reward",
        NUMBERS,
        "sorted by ad and reward",
        lambda w: coarse(w, ["city", "action", "reward"]),
    ),
    "sorted-by-reward": (
        "rows sorted by reward",
        NUMBERS,
        "rows are sorted by reward",
        lambda w: coarse(w, ["reward"]),
    ),
    "backwards": (
        "the latest rows first",
        NUMBERS,
        "no problems",
        lambda w: w.given(w.log().assign(timestamp=w.days)[::-1]),
    ),
    "split-time": (
        "the later rows judge",
        NUMBERS,
        "no problems",
        lambda w: w.given(
            w.log().assign(timestamp=w.days), ["--split", "time:0.5", "--policy", "logistic"]
        ),
    ),
    "tiny-arm": (
        "an arm of 1 %",
        NUMBERS,
        "",
        lambda w: w.given(w.log(constant(0.99, 0.01))[NEEDED], [], today=constant(0.99, 0.01)),
        2,
    ),
    "states-split": (
        "no propensities, a stated split",
        NUMBERS,
        "",
        lambda w: w.given(w.log()[NEEDED[:2]], [], ["--propensity", 0.5]),
        2,
    ),
    "losses": (
        "costs, 1 minus the reward",
        NUMBERS,
        "",
        lambda w: w.given(
            changed(w.log(), "reward", lambda reward: 1 - reward),
            reading=["--less"],
            rates=lambda visits: w.rates(visits) - 1,
        ),
    ),
    "costs-minus": (
        "costs, minus the reward",
        NUMBERS,
        "",
        lambda w: w.given(
            changed(w.log(), "reward", lambda reward: -reward),
            reading=["--less", "--reward-min", -1, "--reward-max", 0],
        ),
    ),
    "huge": (
        "rewards of 0 or 1e12",
        NUMBERS,
        "",
        lambda w: w.given(
            changed(w.log(), "reward", lambda reward: 1e12 * reward),
            split("forest"),
            ["--reward-max", 1e12],
            rates=lambda visits: 1e12 * w.rates(visits),
        ),
    ),
    "missing": (
        "40 % of a feature are missing",
        NUMBERS,
        "no problems",
        lambda w: w.given(changed(w.log(), "x1", lambda x: x.where(w.random.random(ROWS) > 0.4))),
    ),
    "truth-values": (
        "rewards true and false, in parquet",
        NUMBERS,
        "no problems",
        lambda w: w.given(
            changed(w.log(), "reward", lambda reward: reward > 0), name="log.parquet"
        ),
    ),
    "tabs": (
        "tabs, CRLF and a byte order mark",
        NUMBERS,
        "no problems",
        lambda w: Given(
            w.written(w.log(), sep="\t", lineterminator="\r\n", encoding="utf-8-sig"), split()
        ),
    ),
    "part-lost": (
        "a fifth of an ad's clicks are lost",
        UNSEEN,
        "",
        lambda w: unseen(
            w, lambda log: (log["action"] == w.ads[1]) & (w.random.random(ROWS) < 0.2)
        ),
        2,
    ),
    "pixel": (
        "clicks of an ad were never measured in Ulm",
        UNSEEN,
        "has no reward where",
        lambda w: unseen(w, lambda log: (log["action"] == w.ads[1]) & (log["city"] == "Ulm")),
        2,
    ),
    "hidden": ("ads chosen by what the log lacks", UNSEEN, "", hidden, 2),
    "hindsight": ("a policy made of the test itself", UNSEEN, "", hindsight),
    "scikit-learn": (
        "a model of scikit-learn",
        NUMBERS,
        "",
        lambda w: w.given(w.log(), split(MODEL)),
    ),
}


def said(*words) -> tuple[int, str]:
    """Run a command of `scant ads`: its exit status, and all that it printed."""
    heard = io.StringIO()
    with redirect_stdout(heard), redirect_stderr(heard):
        return cli.main(["ads", *map(str, words)]), heard.getvalue()


def true_rates(found, given: Given, world: World) -> Iterator[tuple[dict, float]]:
    """The rows of an evaluation, each with its policy's true rate."""
    rates = given.rates or world.rates
    shares = {"logging": given.today or world.alike, "uniform": world.alike, **dict(given.columns)}
    shares |= {f"ad:{ad}": constant(*(world.ads == ad)) for ad in world.ads}
    for row in found.rows:
        if policy := found.policies.get(row["policy"]):
            visits = given.seen(world.fresh.drop(columns="t"))
            shown = pd.DataFrame(policy.predict_proba(visits), columns=policy.classes_)
            shown = shown.reindex(columns=world.ads, fill_value=0.0).to_numpy()
        else:
            shown = shares[row["policy"]](world.fresh)
        yield row, float((rates(world.fresh) * shown).sum(axis=1).mean())


def judged(name: str, seed: int, folder: Path, loud: bool = False) -> list[str]:
    """A row of the table."""
    odd, expected, says, written, *ads = CASES[name]
    world, kept, evaluate = World(*ads or [6], seed, name, folder / name), [], scant_ads.evaluate
    world.folder.mkdir()
    given, start = written(world), time.perf_counter()
    scant_ads.evaluate = lambda *words, **settings: (
        kept.append(evaluate(*words, **settings)) or kept[0]
    )
    try:
        text = said("check", given.log, *given.reading)[1]
        code, more = said("evaluate", given.log, *given.reading, *given.words)
    finally:
        scant_ads.evaluate = evaluate
    text, seconds = f"{text}\n{more}", f"{time.perf_counter() - start:.1f}"
    answer, interval, truth, today, held, wrong = (
        more.strip().splitlines()[-1] * code,
        "",
        "",
        0.0,
        [],
        [],
    )
    happened = REFUSED if code else WITHHELD
    for row, rate in true_rates(kept[0], given, world) if kept else ():
        happened = NUMBERS if row["verdict"] in ("yes", "no", "cannot tell") else happened
        today = rate if row["policy"] == "logging" else today
        false = {"yes": rate <= today, "no": rate >= today}.get(
            row["verdict"], False
        ) and expected != WARNED
        wrong += [f"false: {row['policy']} {row['verdict']}"] * false
        answer += f"{row['policy']} {row['verdict']}; " * bool(row["verdict"])
        known, scale = row["low"] == row["low"], 100 if kept[0].unit.percent else 1
        held += [row["low"] <= rate and not rate > row["high"]] if known else []
        interval = f"{scale * row['low']:.2f} to {scale * row['high']:.2f}" if known else "-"
        truth = f"{scale * rate:.2f}"
    wrong += [f"{happened}, not {expected}"] * (expected not in (happened, WARNED, UNSEEN))
    wrong += [f"not said: {says}"] * (says not in text)
    print(text * loud, end="")
    cells = (
        name,
        odd,
        answer.replace(str(world.folder), "").removeprefix("scant: ").strip("; ")[:90],
        interval,
        truth,
    )
    right = ", ".join([UNSEEN] * (expected == UNSEEN) + wrong) or "yes"
    return [*cells, f"{sum(held)}/{len(held)}", right, seconds]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=CASES, help="the logs (default all)")
    parser.add_argument("--seed", type=int, default=0)
    arguments, failed = parser.parse_args(), 0
    warnings.simplefilter("ignore")
    print(
        "| log | what is odd | verdicts, or refusal | interval of the last | truth | held | "
        "right | s |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only or CASES:
            cells = judged(name, arguments.seed, Path(folder), bool(arguments.only))
            print(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |", flush=True)
            failed += cells[-2] != "yes" and not cells[-2].startswith(UNSEEN)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
