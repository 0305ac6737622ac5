"""What the tables and figures of games on fixed items hold, as frames."""

import pandas as pd

from scant.errors import SettingError
from scant.present.intervals import cells, t_interval
from scant.present.slopes import late_rounds, slope, slope_columns
from scant.present.traces import GROUP, names

POINTS = 3  # how many rounds, horizons or numbers of items a slope needs
MEASURES = {"auc-loss": "auc"}  # what `scant.theory.observability` calls a loss, where it is not the same


def regrets(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The traces with `regret`, against the best fixed ranking that each experiment's reading `comparator` names."""
    prefix = traces["experiment"].map({name: one["comparator"] == "prefix" for name, one in details.items()})
    against = traces["best"].where(prefix, traces["best_at_horizon"])
    return traces.assign(regret=(against - traces["value"]).where(traces["gain"], traces["value"] - against))


def _ends(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["round"] == frame["horizon"]]


def _longest(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of each game's longest horizon."""
    return frame[frame["horizon"] == frame.groupby(["experiment", "stream"])["horizon"].transform("max")]


def growth(frame: pd.DataFrame, along: str) -> dict:
    """How regret grows with `along`, and how its bound does: the slopes of its seeds, as `slope_columns` shows them.

    A seed that lacks a point, or has one whose regret is not above 0, has no slope: without that point, the slope
    would be another.

    frame : seed, regret, bound and the column `along`, one row for each seed and point

    Returns
    -------
    slope, slope_low, slope_high, slopes, from, to, and bound_slope: the slope of the bound's mean over seeds
    """
    regret = frame.pivot_table(index=along, columns="seed", values="regret")
    bound = frame.groupby(along)["bound"].mean()
    slopes = [slope(regret.index, regret[seed], POINTS) for seed in regret]
    return slope_columns(slopes, regret.index) | {"bound_slope": slope(bound.index, bound, POINTS)}


def games_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Regret at each horizon, with 95 % t intervals over seeds, the bound beside it, and what exploring took.

    `difference` is the paired one to the experiment's baseline, if it has one, on the same seeds.
    """
    rows = []
    for experiment, part in _ends(regrets(traces, details)).groupby("experiment", sort=False):
        baseline = details[experiment]["baseline"]
        against = part[part["learner"] == baseline].set_index(["stream", "horizon", "seed"])["regret"]
        for key, group in part.groupby([*GROUP, "horizon"], sort=False):
            stream, learner, horizon = key[1:]
            own = group.set_index(["stream", "horizon", "seed"])["regret"]
            difference = (own - against).dropna() if learner != baseline else []
            one = group.iloc[0]
            rows.append(
                dict(zip([*GROUP, "rounds"], (experiment, stream, learner, horizon), strict=True))
                | {"kind": one["kind"], "items": one["items"], "loss": one["loss"], "k": one["k"]}
                | cells("regret", group["regret"])
                | {"per_round": (group["regret"] / horizon).mean()}
                | cells("difference", difference)
                | {"explored": group["explored"].mean()}
                | {"bound": group["bound"].mean(), "bound_share": (group["regret"] / group["bound"]).mean()}
                | {"comparator": details[experiment]["comparator"], "n": len(group)}
            )
    return pd.DataFrame(rows)


def slopes_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """How regret grows with the rounds of one game, with the horizon, and with the number of items.

    `along` says with what: "rounds" within the longest horizon, "horizon" over games of their own, or "items" over the
    experiment's games that differ in these. `bound_slope` is that of the bound.
    """
    frame, rows = regrets(traces, details), []

    def add(key, group, along, points):
        if points[along].nunique() >= POINTS:
            one = group.iloc[0]
            about = {"kind": one["kind"], "loss": one["loss"], "k": one["k"]}
            rows.append(
                dict(zip(GROUP, key, strict=True)) | {"along": along.replace("round", "rounds")} | about
                | growth(points, along) | {"n": group["seed"].nunique()}
            )  # fmt: skip

    for key, group in frame.groupby(GROUP, sort=False):
        add(key, group, "round", late_rounds(_longest(group), "horizon"))
        add(key, group, "horizon", _ends(group))
    for (experiment, _, _, learner), group in _ends(_longest(frame)).groupby(
        ["experiment", "game", "loss", "learner"], sort=False
    ):
        add((experiment, "all of the stream", learner), group, "items", group)
    if not rows:
        raise SettingError(f"no game of this study has {POINTS} rounds, horizons or numbers of items for a slope")
    return pd.DataFrame(rows)


def averages(traces: pd.DataFrame, details: dict, start: float = 0.0) -> pd.DataFrame:
    """Regret up to a round, over the round: its mean over seeds and 95 % t interval, at each kept round.

    start : the share of the horizon from which on it is shown
    """
    frame = _longest(regrets(traces, details))
    frame = frame[frame["round"] >= start * frame["horizon"]]
    return _summed(frame.assign(average=frame["regret"] / frame["round"]), details, "average", "round")


def against_horizon(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Regret at the horizon for each horizon, with its bound and slope."""
    return _grown(_ends(regrets(traces, details)), details, "horizon")


def against_items(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Regret at the longest horizon for each number of items, with its bound and slope: games of one stream and loss
    make one panel."""
    frame = _ends(_longest(regrets(traces, details)))
    title = frame["game"] + " stream, " + frame["loss"]
    grown = _grown(frame.assign(stream=title), details, "items")
    return grown.assign(panel=grown["stream"])


def _grown(frame: pd.DataFrame, details: dict, along: str) -> pd.DataFrame:
    shown = _summed(frame, details, "regret", along)
    bounds = frame.groupby([*GROUP, along])["bound"].mean().reset_index()
    slopes = [
        dict(zip(GROUP, key, strict=True)) | growth(group, along) for key, group in frame.groupby(GROUP, sort=False)
    ]
    return shown.merge(bounds, on=[*GROUP, along]).merge(pd.DataFrame(slopes), on=GROUP)


def _summed(frame: pd.DataFrame, details: dict, what: str, along: str) -> pd.DataFrame:
    rows = []
    for key, group in frame.groupby([*GROUP, along], sort=False):
        mean, low, high, n = t_interval(group[what])
        one = group.iloc[0]
        rows.append(
            dict(zip([*GROUP, along], key, strict=True))
            | {"mean": mean, "low": low, "high": high, "n": n}
            | {name: one[name] for name in ("kind", "k", "loss", "horizon")}
            | {"measure": one["loss"]}
            | (names(key[:3], details) if key[1] in details[key[0]]["titles"]["streams"] else _untitled(key, details))
        )
    return pd.DataFrame(rows)


def _untitled(key: tuple, details: dict) -> dict:
    about = details[key[0]]
    return {"panel": key[1], "label": about["titles"]["learners"][key[2]], "reading": about["title"]}


def observed(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Slopes of regret on the horizon by measure, number of items and k: of the stream and learner that learn slowest.

    Columns: measure, m, k, slope, low, high, stream, learner, and n, how many seeds have a slope
    """
    rows = []
    for key, group in _ends(regrets(traces, details)).groupby(GROUP, sort=False):
        one, grown = group.iloc[0], growth(group, "horizon")
        rows.append(
            {"measure": MEASURES.get(one["loss"], one["loss"]), "m": one["items"], "k": one["k"] or one["items"]}
            | {"slope": grown["slope"], "low": grown["slope_low"], "high": grown["slope_high"]}
            | {"stream": key[1], "learner": key[2], "n": grown["slopes"]}
        )
    frame = pd.DataFrame(rows).dropna(subset="slope").astype({"n": "Int64"})  # cells without a slope will have none
    if frame.empty:
        raise SettingError(f"no slope for the figure of observability: its experiments need {POINTS} horizons or more")
    return frame.loc[frame.groupby(["measure", "m", "k"])["slope"].idxmax()]


def times(rows: pd.DataFrame, details: dict) -> pd.DataFrame:
    """How long a round takes, by learner and number of items; games of one experiment make one panel."""
    about = [names((row.experiment, row.stream, row.learner), details) for row in rows.itertuples()]
    frame = pd.concat([rows, pd.DataFrame(about)], axis=1)
    return frame.assign(stream="all", panel=frame["reading"], n=3)
