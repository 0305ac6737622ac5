"""What `scant ads` says of messy logs whose truth is known: `check` and `evaluate` on one log of each kind.

    python benchmarks/ads_messy_logs.py [--only NAME ...] [--seed 0]

Visits have three numbers, a city and an hour; p(x, ad), the probability of a click, is known, so that each policy's
true rate is computed on 200,000 further visits. A row is right if what had to be said of the log was said (a refusal, a
verdict withheld, a warning), and no verdict is false; exit status 1 if one is not. Of intervals, 95 % hold; `held`
counts those that do. With --only, all that was said is printed, too.
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
AMOUNTS, OFTEN = np.array([5.0, 20, 40, 90, 500]), [0.3, 0.3, 0.2, 0.15, 0.05]
EUR = ["--reward-unit", "EUR", "--reward-max", 500]
MODEL = 'sklearn.ensemble:HistGradientBoostingClassifier={"max_iter": 20}'


class World:
    """Visits, and the probability that a visitor clicks on an ad; logs of them, written to a folder."""

    def __init__(self, ads: int, seed: int, name: str, folder: Path):
        self.random, self.folder = generator(seed, "messy", ads), folder
        self.ads = np.array([f"ad{at + 1}" for at in range(ads)])
        self.slopes, self.cities = self.random.normal(0, 0.6, (3, ads)), self.random.normal(0, 0.4, (len(CITIES), ads))
        self.hours, self.base = self.random.normal(0, 0.3, ads), logit(0.08) + self.random.normal(0, 0.3, ads)
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
        """A log; `shares` gives the probability of showing each ad, `rates` that of a click on it."""
        visits = self.visits() if visits is None else visits
        shares, rates = (shares or self.alike)(visits), (rates or self.rates)(visits)
        place = (shares.cumsum(axis=1) > self.random.random((len(visits), 1))).argmax(axis=1)
        reward = (self.random.random(len(visits)) < at(rates, place)).astype(int)
        return visits.assign(action=self.ads[place], reward=reward, propensity=at(shares, place), place=place)

    def alike(self, frame) -> np.ndarray:
        return np.full((len(frame), len(self.ads)), 1 / len(self.ads))

    def targeted(self, frame, chance: float = 0.3, strength: float = 4.0) -> np.ndarray:
        """Ads by a guess at what visitors like, and a share by chance, visits x ads."""
        guess = softmax(strength * frame[["x1", "x2"]].to_numpy() @ self.slopes[:2], axis=1)
        return (1 - chance) * guess + chance / len(self.ads)

    def written(self, frame, name: str = "log.csv", **options) -> Path:
        """Write a log; CSV, or parquet by the name."""
        frame, path = frame.drop(columns=[name for name in ("t", "place") if name in frame]), self.folder / name
        path.parent.mkdir(exist_ok=True)
        frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False, **options)
        return path

    def given(self, frame, words=None, reading=(), today=None, name="log.csv", **truth) -> "Given":
        """A log in a file; it is parted, and a policy learnt, unless `words` say otherwise."""
        return Given(self.written(frame, name), split() if words is None else words, reading, today, **truth)


@dataclass
class Given:
    """A log as written to files, and the truth of it.

    words, reading : of `evaluate`, and of `check`, too
    today, columns : shares of today's policy, and by `policy:NAME`; rates : of clicks (or mean rewards)
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
    return ["--split", "0.5", *(word for kind in kinds or ("logistic",) for word in ("--policy", kind))]


def constant(*shares: float) -> Callable:
    return lambda visits: np.tile(shares, (len(visits), 1))


def nested(frame) -> pd.DataFrame:
    return objects(frame).assign(context=lambda frame: frame["context"].map(json.dumps))


def objects(frame) -> pd.DataFrame:
    return pd.DataFrame({"context": frame[FEATURES].to_dict("records")})


def open_bandit(w):
    names, path = {"action": "item_id", "reward": "click", "propensity": "propensity_score"}, w.folder / "log.csv.gz"
    log = w.log().assign(timestamp=w.days, position=w.random.integers(1, 4, ROWS)).drop(columns=["t", "place"])
    path.write_bytes(gzip.compress(log.rename(columns=names).to_csv().encode()))
    return Given(path, split(), ["--columns", *(f"{role}={name}" for role, name in names.items())])


def dsjson(w):
    path, ads = w.folder / "log.json", [{"_tag": ad} for ad in w.ads]
    log = w.log().assign(_label_cost=lambda log: -log["reward"]).reset_index()
    log = log.rename(columns={"index": "EventId", "propensity": "_label_probability", "place": "_labelIndex"})
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
    return Given(w.folder / "test", ["--train", train, "--policy", saved, "--policy", "logistic"], today=w.targeted)


def explored(w, least):
    shares = partial(w.targeted, chance=0.02, strength=1e4)
    return w.given(w.log(shares, visits=w.visits(4 * ROWS)), [*split(), "--least-propensity", least], today=shares)


def eligible(w):
    def alike(visits):  # of six ads two are for some visits only
        may = (visits[["x1"]].to_numpy() > 0) | (np.arange(6) > 1)
        return may / may.sum(axis=1, keepdims=True)

    def mine(visits):
        return np.eye(6)[(w.rates(visits) * (alike(visits) > 0)).argmax(axis=1)]

    log, words = w.log(alike), ["--policy", "mine", "--least-propensity", 1 / 6]
    return w.given(log.assign(**{"policy:mine": at(mine(log), log.place)}), words, today=alike, columns={"mine": mine})


def revenue(w, *reading):
    log = w.log().assign(reward=lambda log: log.reward * w.random.choice(AMOUNTS, ROWS, p=OFTEN))
    return w.given(log, split("forest"), reading, rates=lambda visits: AMOUNTS @ OFTEN * w.rates(visits))


def users(w, *reading):  # of very different rates, each always with the same arm
    user = np.tile(np.arange(ROWS // 20), 20)
    arm, rate = w.random.integers(0, 2, ROWS)[user], w.random.beta(0.08, 0.92, ROWS)[user]
    reward = (w.random.random(ROWS) < rate).astype(int)
    log = pd.DataFrame({"user_id": user, "action": w.ads[arm], "reward": reward, "propensity": 0.5})
    return w.given(log, [], reading, rates=lambda visits: np.full((len(visits), 2), 0.08))


def trained(w, train, test, **truth):
    return w.given(test, ["--train", w.written(train, "train.csv"), "--policy", "logistic"], **truth)


def new_cities(w):
    def rates(visits):  # twice as many click in the test's cities, whatever the ad is
        return np.repeat(np.where(visits[["city"]].isin(CITIES[4:]), 0.1, 0.05), 6, axis=1)

    w.fresh = w.visits(FRESH, CITIES[4:])  # on which today's policy would be no worse
    return trained(w, w.log(rates=rates), w.log(rates=rates, visits=w.visits(cities=CITIES[4:])), rates=rates)


def lists(w, *reading, above=False, first=False):
    """Three of nine ads in a list, whose users leave once they found one: the best first is worse."""
    grade, rows = np.arange(9) // 3, ROWS // 3
    shown = np.argsort(w.random.random((rows, 9)), axis=1)[:, :3]
    reward, stays = np.zeros((rows, 3), int), np.ones(rows, bool)
    for place, ad in enumerate(shown.T):
        reward[:, place] = stays & (w.random.random(rows) < 0.3 + 0.1 * grade[ad])
        stays &= ~((reward[:, place] == 1) & (grade[ad] == 2))
    place = np.tile(np.arange(3), rows)
    log = pd.DataFrame({
        "visit": np.repeat(np.arange(rows), 3), "position": place + 1, "action": shown.ravel(),
        "reward": reward.ravel(), "propensity": 1 / (9 - place) if above else 1 / 9,
        "policy:best": (shown.ravel() == place + 6) * 1.0,
    })  # fmt: skip
    log = log[log["position"] == 1] if first else log
    rates = (0.4, 0.5) if first else (0.338, 0.875 / 3)  # of a row: all lists, and users, enumerated
    return w.given(log, ["--policy", "best"], reading, constant(1, 0), columns={"best": constant(0, 1)},
                   rates=lambda visits: np.tile(rates, (len(visits), 1)))  # fmt: skip


def applied(w):
    """Ads whose ids begin as formulas do, chosen by a policy in use."""
    w.ads = np.array([f"={ad}" for ad in w.ads])
    train, saved, shown = w.written(w.log(), "train.csv"), w.folder / "saved.arrow", w.folder / "shown.csv"
    visits = w.visits()
    said("fit", train, "--policy", "logistic", "--epsilon", 0.2, "--output", saved)
    said("apply", saved, w.written(visits, "new.csv"), "--seed", 1, "--output", shown)
    log = visits.assign(**pd.read_csv(shown))
    place = log["action"].map({ad: index for index, ad in enumerate(w.ads)}).to_numpy()
    clicked = w.random.random(ROWS) < at(w.rates(log), place)
    words = ["--train", train, "--policy", saved, "--least-propensity", 0.04]
    return w.given(log.assign(reward=clicked.astype(int)), words)


def sums(w):
    log = w.log().groupby("action", as_index=False).agg(clicks=("reward", "sum"), visitors=("reward", "size"))
    return w.given(log, ["--propensity", 0.5])


def slates(w):
    return w.given(pd.DataFrame({"slate": ["|".join(w.random.permutation(w.ads)) for _ in range(ROWS)], "click": 1}))


KINDS = "logistic", "auc-ranker", "forest"
LEAST = [*split(), "--least-propensity", 0.05]
WRONG = WITHHELD, "propensities are not those"
CASES: dict[str, tuple] = {  # what is odd; what is to happen; what must be said; the log; how many ads, if not 6
    "clean": ("nothing: CSV, ads alike", NUMBERS, "no problems", lambda w: w.given(w.log(), split(*KINDS))),
    "percent": ("propensities in percent", NUMBERS, "", lambda w: w.given(
        changed(w.log(w.targeted), "propensity", lambda p: 100 * p), LEAST, ["--propensities", "percent"], w.targeted)),
    "sign": ("16.67%", REFUSED, "--propensities percent", lambda w: w.given(w.log().assign(propensity="16.67%"))),
    "logarithms": ("natural logarithms of propensities", NUMBERS, "", lambda w: w.given(
        changed(w.log(w.targeted), "propensity", np.log), LEAST, ["--propensities", "log"], w.targeted)),
    "decimal-commas": ("semicolons, decimal commas", NUMBERS, "with decimal commas",
                       lambda w: Given(w.written(w.log(), sep=";", decimal=","), split())),
    "open-bandit": ("gzip, index column, other names", NUMBERS, "index", open_bandit),
    "dsjson": ("Vowpal Wabbit's dsjson", NUMBERS, "Vowpal Wabbit's dsjson", dsjson),
    "vw-text": ("Vowpal Wabbit's text", NUMBERS, "Vowpal Wabbit's text", vw_text),
    "json-column": ("a JSON context in CSV", NUMBERS, "taken apart",
                    lambda w: w.given((log := w.log())[NEEDED].join(nested(log)), seen=nested)),
    "struct": ("a struct in parquet", NUMBERS, "taken apart", lambda w: w.given(
        (log := w.log())[NEEDED].join(objects(log)), name="log.parquet", seen=objects)),
    "folders": ("train and test in folders; a saved policy", NUMBERS, "", folders),
    "not-alike": ("1/6 in every row, ads in 10 to 26 %", *WRONG, lambda w: w.given(
        w.log(constant(0.10, 0.12, 0.15, 0.17, 0.20, 0.26)).assign(propensity=1 / 6))),
    "shares": ("shares of all rows as propensities, targeted", *WRONG, lambda w: w.given(
        w.log(w.targeted).assign(propensity=lambda log: log.groupby("action").t.transform("size") / ROWS))),
    "changed": ("targeted from the middle on, propensities 1/6", *WRONG, lambda w: w.given(
        w.log(lambda v: np.where(v[["t"]] < 0.5, w.alike(v), w.targeted(v))).assign(propensity=1 / 6))),
    "explores-little": ("2 % exploration, its least propensity", NUMBERS, "", lambda w: explored(w, 0.02 / 6)),
    "least-unknown": ("2 % exploration, unknown", NUMBERS, "", lambda w: explored(w, "unknown")),
    "eligible": ("not every ad for every visit; policy:mine", NUMBERS, "cannot be shown to everyone", eligible),
    "column-sum": ("policy:mine does not sum to 1", REFUSED, "policy:mine do not sum to 1", lambda w: w.given(
        (log := w.log()).assign(**{"policy:mine": at(w.targeted(log), log.place) ** 0.5}), ["--policy", "mine"])),
    "revenue": ("revenue in EUR, at most 500", NUMBERS, "EUR", lambda w: revenue(w, *EUR)),
    "revenue-unsaid": ("revenue, no largest one said", REFUSED, "--reward-max", revenue),
    "graded": ("rewards between 0 and 1", NUMBERS, "mean reward", lambda w: w.given(w.log().assign(
        reward=lambda log: w.random.beta(rate := at(w.rates(log), log.place), 1 - rate)), split("forest"))),
    "no-clicks": ("no clicks", WITHHELD, "rewards look missing", lambda w: w.given(w.log().assign(reward=0), [])),
    "late": ("clicks of the last two days are missing", NUMBERS, "not joined yet", lambda w: w.given(
        w.log().assign(reward=lambda log: log["reward"] * (log["t"] < 0.9), timestamp=w.days),
        rates=lambda v: 0.9 * w.rates(v))),
    "drifting": ("rates triple over the log", NUMBERS, "drifts", lambda w: w.given(
        w.log(rates=(rates := lambda v: w.rates(v) * (0.5 + v[["t"]].to_numpy()))), rates=rates)),
    "ab-even": ("A/B 50:50, no features", NUMBERS, "", lambda w: w.given(w.log()[NEEDED], []), 2),
    "ab-uneven": ("A/B 90:10, no features", NUMBERS, "", lambda w: w.given(
        w.log(constant(0.9, 0.1))[NEEDED], [], today=constant(0.9, 0.1)), 2),
    "aa": ("A/A, no features", NUMBERS, "", lambda w: w.given(
        w.log(rates=(rates := lambda v: w.rates(v)[:, [0, 0]]))[NEEDED], [], rates=rates), 2),
    "users": ("A/A, 20 visits of each user", NUMBERS, "1,500 users", lambda w: users(w, "--user", "user_id"), 2),
    "users-unsaid": ("the same, without --user", WARNED, "--user user_id", users, 2),
    "twice": ("5 % of rows logged twice, --id", REFUSED, "logged twice", lambda w: w.given(
        pd.concat([log := w.log().assign(visit=range(ROWS)), log[::20]]), split(), ["--id", "visit"])),
    "leak": ("a feature that is known after the click", WARNED, "--ignore dwell", lambda w: w.given(
        w.log().assign(dwell=lambda log: log.reward * (log.place + w.random.random(ROWS))), split("forest"),
        seen=lambda v: v.assign(dwell=0.0))),
    "of-the-ad": ("a feature of the ad that was shown", WARNED, "--ignore topic", lambda w: w.given(
        w.log().assign(topic=lambda log: "topic " + (log.place // 2).astype(str)), split("forest"),
        seen=lambda v: v.assign(topic="topic 0"))),
    "one-feature": ("one feature, continuous", NUMBERS, "", lambda w: w.given(w.log()[[*NEEDED, "x1"]])),
    "fewer-ads": ("a test without 8 of 20 ads", WITHHELD, "never shows 8 of the 20 ads", lambda w: trained(
        w, w.log(visits=w.visits(2 * ROWS)), w.log(constant(*[1 / 12] * 12, *[0] * 8))), 20),
    "many-ads": ("200 ads", NUMBERS, "", lambda w: w.given(w.log(visits=w.visits(2 * ROWS))), 200),
    "same-log": ("the test is the training log", REFUSED, "the same log", lambda w: Given(
        path := w.written(w.log()), ["--train", path, "--policy", "logistic"])),
    "new-cities": ("other cities in the test, clicking more", WARNED, "showing all ads alike earns", new_cities),
    "lists": ("places of lists, --user visit", WITHHELD, "places of 10,000 lists",
              lambda w: lists(w, "--user", "visit"), 2),
    "lists-unsaid": ("the same, nothing said", WITHHELD, "places of 10,000 lists", lists, 2),
    "lists-by-id": ("the same, --id visit", WITHHELD, "share a visit", lambda w: lists(w, "--id", "visit"), 2),
    "given-above": ("propensities given what stands above", REFUSED, "given what stands above",
                    lambda w: lists(w, above=True), 2),
    "first-places": ("of these lists the first places", NUMBERS, "", lambda w: lists(w, above=True, first=True), 2),
    "a-place": ("a place in each row, one row a visit", NUMBERS, "no problems", lambda w: w.given(
        w.log().assign(position=w.random.integers(1, 4, ROWS)))),
    "applied": ("ads that begin with =, chosen by `apply`", NUMBERS, "", applied),
    "sums": ("sums by ad", REFUSED, "each row is a sum", sums),
    "slates": ("lists in cells", REFUSED, "each row is a list", slates),
    "certain": ("every propensity is 1", REFUSED, "they were not logged", lambda w: w.given(
        w.log().assign(propensity=1.0))),
    "scikit-learn": ("a model of scikit-learn", NUMBERS, "", lambda w: w.given(w.log(), split(MODEL))),
}  # fmt: skip


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
    scant_ads.evaluate = lambda *words, **settings: kept.append(evaluate(*words, **settings)) or kept[0]
    try:
        text = said("check", given.log, *given.reading)[1]
        code, more = said("evaluate", given.log, *given.reading, *given.words)
    finally:
        scant_ads.evaluate = evaluate
    text, seconds = f"{text}\n{more}", f"{time.perf_counter() - start:.1f}"
    answer, interval, truth, today, held, wrong = more.strip().splitlines()[-1] * code, "", "", 0.0, [], []
    happened = REFUSED if code else WITHHELD
    for row, rate in true_rates(kept[0], given, world) if kept else ():
        happened = NUMBERS if row["verdict"] in ("yes", "no", "cannot tell") else happened
        today = rate if row["policy"] == "logging" else today
        false = {"yes": rate <= today, "no": rate >= today}.get(row["verdict"], False) and expected != WARNED
        wrong += [f"false: {row['policy']} {row['verdict']}"] * false
        answer += f"{row['policy']} {row['verdict']}; " * bool(row["verdict"])
        known, scale = row["low"] == row["low"], 100 if kept[0].unit.percent else 1
        held += [row["low"] <= rate and not rate > row["high"]] if known else []
        interval = f"{scale * row['low']:.2f} to {scale * row['high']:.2f}" if known else "-"
        truth = f"{scale * rate:.2f}"
    wrong += [f"{happened}, not {expected}"] * (expected not in (happened, WARNED))
    wrong += [f"not said: {says}"] * (says not in text)
    print(text * loud, end="")
    cells = name, odd, answer.replace(str(world.folder), "").removeprefix("scant: ").strip("; ")[:90], interval, truth
    return [*cells, f"{sum(held)}/{len(held)}", "; ".join(wrong) or "yes", seconds]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES, help="the logs (default all)")
    parser.add_argument("--seed", type=int, default=0)
    arguments, failed = parser.parse_args(), 0
    warnings.simplefilter("ignore")
    print("| log | what is odd | verdicts, or refusal | interval of the last | truth | held | right | s |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only or CASES:
            cells = judged(name, arguments.seed, Path(folder), bool(arguments.only))
            print(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |", flush=True)
            failed += cells[-2] != "yes"
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
