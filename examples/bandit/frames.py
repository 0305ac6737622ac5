"""What the figure and the table of bandits hold, and what claims may be of."""

import pandas as pd

from scant.present.intervals import cells, t_interval
from scant.present.traces import GROUP, Played, names


def _last(traces: pd.DataFrame) -> pd.DataFrame:
    """The last round of each run."""
    return traces[traces["round"] == traces.groupby(GROUP)["round"].transform("max")]


def regret_by_round(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Regret at each kept round: means over seeds with 95 % t intervals."""
    rows = []
    for key, group in traces.groupby([*GROUP, "round"], sort=False):
        mean, low, high, n = t_interval(group["regret"])
        rows.append(
            dict(zip([*GROUP, "round"], key, strict=True))
            | {"mean": mean, "low": low, "high": high, "n": n, "kind": group["kind"].iloc[0]}
            | names(key, details)
        )
    return pd.DataFrame(rows)


def regret_at_the_end(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Regret at the horizon: a row for each experiment, bandit and learner."""
    rows = [
        dict(zip([*GROUP, "rounds"], key, strict=True))
        | cells("regret", group["regret"])
        | {"n": len(group)}
        for key, group in _last(traces).groupby([*GROUP, "round"], sort=False)
    ]
    return pd.DataFrame(rows)


def final_regret(played: Played) -> pd.DataFrame:
    """Regret at the horizon: a row for each bandit (`stream`), learner and seed."""
    return _last(played.traces).assign(value=lambda rows: rows["regret"])
