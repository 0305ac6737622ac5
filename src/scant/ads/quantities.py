"""What claims on ads are of: one number for each log, learner, epsilon and seed of an experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from scant.ads import frames

if TYPE_CHECKING:
    from scant.present.traces import Played

KEYS = [*frames.POLICY, "seed"]


def ctr(played: Played) -> pd.DataFrame:
    """The CTR of each policy, by the best knowledge there is of it (`scant.ads.frames.ctrs`)."""
    fits = frames.ctrs(played.traces)
    again = played.tuning == "paper" and played.details["tuning"] != "paper"
    return (frames.best_on_test(fits) if again else fits[fits["chosen"]]).assign(value=lambda rows: rows["ctr"])


def estimate_error(played: Played) -> pd.DataFrame:
    """By how much the importance-weighted CTR is above the true one, in percent of that."""
    frame = _weighted(played).drop_duplicates(KEYS)
    return frame.assign(value=100 * (frame["estimate"] / frame["true"] - 1))


def estimate_held(played: Played, bound: str = "t") -> pd.DataFrame:
    """1 where the lower bound on the importance-weighted CTR is at most the true one, 0 where it is above."""
    frame = _weighted(played)
    frame = frame[frame["bound"] == bound].dropna(subset=["lower", "true"])
    return frame.assign(value=(frame["lower"] <= frame["true"]).astype(float))


def _weighted(played: Played) -> pd.DataFrame:
    """The rows of importance-weighted CTR, one a bound, beside the true CTR; none where that is not known."""
    chosen = played.traces[played.traces["chosen"]]
    true = chosen[chosen["estimator"] == "true"].rename(columns={"estimate": "true"}).drop_duplicates(KEYS)
    rows = chosen[(chosen["estimator"] == "ips") & (chosen["bound"] != "")]
    return rows.merge(true[[*KEYS, "true"]], on=KEYS)
