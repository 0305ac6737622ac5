"""The quantities that claims on click logs are about: one number for each click log, learner and
seed, from so many visits, or from the most that there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scant.clicklogs import frames
from scant.clicklogs.learners import Logging
from scant.errors import check_name

if TYPE_CHECKING:
    import pandas as pd

    from scant.present.traces import Played

HARM = 0.005  # of NDCG@10: less behind the ranker that logs does no harm
ROUNDING = 1e-9  # of clicks


def click_limit(played: Played) -> pd.DataFrame:
    """The relative bias of estimates: (their limit - true clicks) / true clicks."""
    rows = frames.estimates(played.traces).drop_duplicates(["stream", "learner"])
    return rows.assign(value=rows["limit"]).dropna(subset="value")


def click_error(played: Played, visits: int | None = None) -> pd.DataFrame:
    """How far the estimated clicks are from the true ones, as a share of these."""
    rows = _of_visits(frames.estimates(played.traces), visits)
    return rows.assign(value=rows["bias"].abs())


def click_near(played: Played, visits: int | None = None) -> pd.DataFrame:
    """Whether the estimated clicks are within 5 % of the true ones: 1 or 0."""
    rows = _of_visits(frames.estimates(played.traces), visits)
    return rows.assign(value=rows["near"])


def click_coverage(
    played: Played, visits: int | None = None, bound: str = "betting"
) -> pd.DataFrame:
    """Whether the 95 % interval has the true clicks: 1 or 0.

    bound : a key of `scant.clicklogs.frames.BOUNDS`
    """
    check_name("bound of click_coverage", bound, frames.BOUNDS)
    rows = _of_visits(frames.estimates(played.traces), visits)
    return rows.assign(value=frames.held(rows, bound)).dropna(subset="value")


def held_out_ndcg(played: Played, visits: int | None = None) -> pd.DataFrame:
    """NDCG@10 of the ranker on the queries that are held out."""
    rows = _of_visits(played.traces.dropna(subset="ndcg@10"), visits)
    return rows.assign(value=rows["ndcg@10"])


def no_fewer_clicks(played: Played, visits: int | None = None) -> pd.DataFrame:
    """Whether the ranker's true clicks in a visit of visited queries are no fewer than those of the
    ranker that logs without its exploration, which has to be played, too: 1 or 0.
    """
    return _no_less(held_out_ndcg(played, visits), "clicks", ROUNDING)


def no_harm(played: Played, visits: int | None = None) -> pd.DataFrame:
    """Whether the ranker's NDCG@10 on the queries that are held out is at most `HARM` below that of
    the ranker that logs, which has to be played, too: 1 or 0.
    """
    return _no_less(held_out_ndcg(played, visits), "ndcg@10", HARM)


def _no_less(rows: pd.DataFrame, column: str, slack: float) -> pd.DataFrame:
    """The rows of seeds with the ranker that logs; `value` is 1 if `column` is at most `slack`
    below that ranker's, else 0.
    """
    log = ["experiment", "stream", "seed"]
    logging = rows[rows["kind"] == Logging.kind].drop_duplicates(log).set_index(log)[column]
    least = rows[log].join(logging, on=log)[column] - slack
    return rows.assign(value=(rows[column] >= least).astype(float))[least.notna()]


def _of_visits(rows: pd.DataFrame, visits: int | None) -> pd.DataFrame:
    """The rows of so many visits; by default of the most."""
    return rows[rows["visits"] == (rows["visits"].max() if visits is None else visits)]
