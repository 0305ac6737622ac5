"""How often `scant_ads.diagnosis.measurement` sees broken measurement in simulated logs, and accuses right ones.

    python benchmarks/ads_measurement.py [LOGS]

A log has 6,000 visits of three ads by chance, a text with three values, a number and times. About a tenth of visits
click, by ad, text and number; half of the logs have rewards in EUR, lognormal. Each defect is put into as many logs;
first come right ones with strong effects: some ads suit some visitors only, or rates rise or fall to a third.
Printed is in which share of them, in %, each kind of problem was found.
"""

import sys

import numpy as np
import pandas as pd

import scant_ads as sa

ROWS = 6000
KINDS = ("dead-segment", "dead", "unwanted", "all-rewarded", "late", "late-ad", "scale", "cut-off", "hindsight")


def right(random: np.random.Generator, money: bool, suited: float = 0.0, drift: float = 0.0) -> pd.DataFrame:
    """A log with nothing wrong.

    suited, drift : the standard deviation of an effect on log rates, of an ad and a text; of time on an ad and a text
    """
    shown, text, number = random.integers(0, 3, ROWS), random.integers(0, 3, ROWS), random.normal(size=ROWS)
    rate = 0.1 * np.exp(0.4 * random.normal(size=3))[shown] * np.exp(0.4 * random.normal(size=3))[text]
    of_both = suited * random.normal(size=(3, 3)), drift * random.normal(size=(3, 3))
    rate *= np.exp(of_both[0][shown, text] + of_both[1][shown, text] * (np.arange(ROWS) / ROWS - 0.5))
    clicked = random.random(ROWS) < np.minimum(rate * np.exp(0.3 * number), 1)
    worth = np.exp(random.normal(3, 0.8, ROWS)) * np.exp(random.normal(0, 0.5, 3))[shown] if money else 1.0
    times = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.sort(random.random(ROWS)) * 14, "D")
    return pd.DataFrame({
        "action": np.array(list("abc"))[shown], "reward": clicked * worth, "propensity": 1 / 3, "timestamp": times,
        "os": np.array(["ios", "android", "web"])[text], "x": number,
        "policy:mine": (random.random(ROWS) < 1 / 3) * 1.0,
    })  # fmt: skip


def zero(log: pd.DataFrame, rows) -> pd.DataFrame:
    return log.assign(reward=log["reward"].where(~rows, 0.0))


def cut_off(log: pd.DataFrame) -> pd.DataFrame:
    own = log["action"] == "b"
    limit = log["reward"][own & (log["reward"] > 0)].quantile(0.8)
    return log.assign(reward=log["reward"].where(~own, log["reward"].clip(upper=limit)))


STRONG = {"nothing": {}, "nothing: ads suit some visitors": {"suited": 2.0}, "nothing: rates drift": {"drift": 2.0}}
BROKEN = {
    **dict.fromkeys(STRONG, lambda log: log),
    "dead pixel: os is ios": lambda log: zero(log, log["os"] == "ios"),
    "dead pixel: ad b on ios": lambda log: zero(log, (log["os"] == "ios") & (log["action"] == "b")),
    "ad b on ios from the middle on": lambda log: zero(
        log, (log["os"] == "ios") & (log["action"] == "b") & (log.index >= 3000)
    ),
    "ads b and c from 80 % on": lambda log: zero(log, (log["action"] != "a") & (log.index >= 4800)),
    "5 % are clicks without a visit": lambda log: log.assign(
        x=log["x"].where(log.index % 20 > 0), reward=log["reward"].where(log.index % 20 > 0, log["reward"].max())
    ),
    "a fifth of the time without rewards": lambda log: zero(log, log.index.isin(range(2000, 3200))),
    "last 30 % of ad b not joined": lambda log: zero(log, (log.index >= 4200) & (log["action"] == "b")),
    "ad b in cents": lambda log: log.assign(reward=log["reward"] * np.where(log["action"] == "b", 100.0, 1.0)),
    "a fifth of ad b's rewards cut off": cut_off,
    "a policy made from the clicks": lambda log: log.assign(
        **{"policy:mine": np.where(log["reward"] > 0, 1.0, log["policy:mine"] * 0.5)}
    ),
}


def found(log: pd.DataFrame) -> set[str]:
    largest = max(float(log["reward"].max()), 1.0)
    return {problem["kind"] for problem in sa.Log.from_frame(log, reward_max=largest).check()["problems"]}


def main() -> None:
    logs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{'found in %':37}" + "".join(f"{kind:>14}" for kind in KINDS))
    for name, broken in BROKEN.items():
        for money in (False, True):
            random, counts = np.random.default_rng(0), dict.fromkeys(KINDS, 0)
            for _ in range(logs):
                for kind in found(broken(right(random, money, **STRONG.get(name, {})))) & {*KINDS}:
                    counts[kind] += 1
            of_what = f"{name}, {'EUR' if money else 'clicks'}"
            print(f"{of_what:37}" + "".join(f"{100 * counts[kind] / logs:14.1f}" for kind in KINDS), flush=True)


if __name__ == "__main__":
    main()
