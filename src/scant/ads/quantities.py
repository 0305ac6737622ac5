"""The quantities that claims on ads are about: one number for each log, learner, epsilon and seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from scant.ads import frames

if TYPE_CHECKING:
    from scant.present.traces import Played

KEYS = [*frames.POLICY, "seed"]


def ctr(played: Played) -> pd.DataFrame:
    """The CTR of each policy: true, or by the best estimate that there is (`scant.ads.frames.ctrs`)."""
    fits = frames.ctrs(played.traces)
    chosen_on_test = played.tuning == "paper" and played.details["tuning"] != "paper"
    return (frames.best_on_test(fits) if chosen_on_test else fits[fits["chosen"]]).assign(
        value=lambda rows: rows["ctr"]
    )


def estimate_error(played: Played) -> pd.DataFrame:
    """How far the importance-weighted CTR is above the true one, in percent of the true one."""
    frame = _weighted(played).drop_duplicates(KEYS)
    return frame.assign(value=100 * (frame["estimate"] / frame["true"] - 1))


def estimate_held(played: Played, bound: str = "t") -> pd.DataFrame:
    """1 where the lower bound on the importance-weighted CTR holds (it is at most the true CTR), else 0."""
    frame = _weighted(played)
    frame = frame[frame["bound"] == bound].dropna(subset=["lower", "true"])
    return frame.assign(value=(frame["lower"] <= frame["true"]).astype(float))


def _weighted(played: Played) -> pd.DataFrame:
    """The importance-weighted CTRs whose true CTR is known, in the column `true`; a row for each bound."""
    chosen = played.traces[played.traces["chosen"]]
    true = chosen[chosen["estimator"] == "true"].rename(columns={"estimate": "true"}).drop_duplicates(KEYS)
    rows = chosen[(chosen["estimator"] == "ips") & (chosen["bound"] != "")]
    return rows.merge(true[[*KEYS, "true"]], on=KEYS)
