"""What the tables and figures of games on fixed items hold, as frames."""

import pandas as pd

from scant.errors import SettingError
from scant.present.intervals import cells, t_interval
from scant.present.slopes import late_rounds, slope, slope_columns
from scant.present.traces import GROUP, names

POINTS = 3  # how many rounds, horizons or numbers of items a slope needs
MEASURES = {"auc-loss": "auc"}  # what `scant.theory.observability` calls a loss, where it is not the same


def regrets(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The traces with a column `regret`, against the best fixed ranking that each experiment's `comparator` names.

    That is the ranking that is best up to the row's round ("prefix") or over all rounds ("horizon").
    """
    prefix = traces["experiment"].map({name: told["comparator"] == "prefix" for name, told in details.items()})
    against = traces["best"].where(prefix, traces["best_at_horizon"])
    return traces.assign(regret=(against - traces["value"]).where(traces["gain"], traces["value"] - against))


def _ends(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the last round of each game."""
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
    """The table of regrets: one row for each experiment, game, learner and horizon.

    `regret` and `difference` are means over seeds with 95 % t intervals; `difference` is to the experiment's baseline,
    seed by seed, and NaN without one. `bound` is on the expected regret, `bound_share` the mean of regret over bound,
    and `explored` how many rounds were spent on exploring.
    """
    rows = []
    for experiment, part in _ends(regrets(traces, details)).groupby("experiment", sort=False):
        baseline = details[experiment]["baseline"]
        against = part[part["learner"] == baseline].set_index(["stream", "horizon", "seed"])["regret"]
        for key, group in part.groupby([*GROUP, "horizon"], sort=False):
            stream, learner, horizon = key[1:]
            regret = group.set_index(["stream", "horizon", "seed"])["regret"]
            difference = (regret - against).dropna() if learner != baseline else []
            first = group.iloc[0]
            rows.append(
                dict(zip([*GROUP, "rounds"], (experiment, stream, learner, horizon), strict=True))
                | {name: first[name] for name in ("kind", "items", "loss", "k")}
                | cells("regret", group["regret"])
                | {"per_round": (group["regret"] / horizon).mean()}
                | cells("difference", difference)
                | {"explored": group["explored"].mean()}
                | {"bound": group["bound"].mean(), "bound_share": (group["regret"] / group["bound"]).mean()}
                | {"comparator": details[experiment]["comparator"], "n": len(group)}
            )
    return pd.DataFrame(rows)


def slopes_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The table of slopes: one row for each experiment, game, learner, and what its regret grows along.

    `along` is "rounds", of the longest horizon; "horizon", each a game of its own; or "items", over the experiment's
    games of one stream and loss. `slope` is the mean over seeds, with its 95 % t interval, and `bound_slope` the slope
    of the bound.

    Raises
    ------
    SettingError : no game has enough rounds, horizons or numbers of items for a slope
    """
    frame, rows = regrets(traces, details), []

    def add(key, group, along, points):
        if points[along].nunique() >= POINTS:
            shared = {name: group.iloc[0][name] for name in ("kind", "loss", "k")}
            rows.append(
                dict(zip(GROUP, key, strict=True)) | {"along": along.replace("round", "rounds")} | shared
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
    """The regret up to each kept round, divided by the round: its mean over seeds and 95 % t interval.

    start : rounds before this share of the horizon are left out
    """
    frame = _longest(regrets(traces, details))
    frame = frame[frame["round"] >= start * frame["horizon"]]
    return _summed(frame.assign(average=frame["regret"] / frame["round"]), details, "average", "round")


def against_horizon(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Regret at the horizon for each horizon, with its bound and slope."""
    return _grown(_ends(regrets(traces, details)), details, "horizon")


def against_items(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Regret at the longest horizon for each number of items, with its bound and slope.

    Games of one stream and loss make one panel.
    """
    frame = _ends(_longest(regrets(traces, details)))
    title = frame["game"] + " stream, " + frame["loss"]
    grown = _grown(frame.assign(stream=title), details, "items")
    return grown.assign(panel=grown["stream"])


def _grown(frame: pd.DataFrame, details: dict, along: str) -> pd.DataFrame:
    """The mean regret at each value of the column `along`, with its bound, and its slope over all of them."""
    shown = _summed(frame, details, "regret", along)
    bounds = frame.groupby([*GROUP, along])["bound"].mean().reset_index()
    slopes = [
        dict(zip(GROUP, key, strict=True)) | growth(group, along) for key, group in frame.groupby(GROUP, sort=False)
    ]
    return shown.merge(bounds, on=[*GROUP, along]).merge(pd.DataFrame(slopes), on=GROUP)


def _summed(frame: pd.DataFrame, details: dict, what: str, along: str) -> pd.DataFrame:
    """The mean over seeds of the column `what`, and its 95 % t interval, at each value of the column `along`."""
    rows = []
    for key, group in frame.groupby([*GROUP, along], sort=False):
        mean, low, high, n = t_interval(group[what])
        first = group.iloc[0]
        rows.append(
            dict(zip([*GROUP, along], key, strict=True))
            | {"mean": mean, "low": low, "high": high, "n": n}
            | {name: first[name] for name in ("kind", "k", "loss", "horizon")}
            | {"measure": first["loss"]}
            | (names(key[:3], details) if key[1] in details[key[0]]["titles"]["streams"] else _untitled(key, details))
        )
    return pd.DataFrame(rows)


def _untitled(key: tuple, details: dict) -> dict:
    """As `names`, for a stream that stands for several games and so has no title."""
    experiment, stream, learner = key[:3]
    told = details[experiment]
    return {"panel": stream, "label": told["titles"]["learners"][learner], "reading": told["title"]}


def observed(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The largest slope of regret on the horizon, over games and learners, for each measure, number of items m, and k.

    Returns
    -------
    measure, m, k, slope, low, high (the 95 % t interval), stream and learner (whose slope it is), n (how many seeds
    have a slope)

    Raises
    ------
    SettingError : no game has enough horizons for a slope
    """
    rows = []
    for key, group in _ends(regrets(traces, details)).groupby(GROUP, sort=False):
        first, grown = group.iloc[0], growth(group, "horizon")
        measure, m = MEASURES.get(first["loss"], first["loss"]), first["items"]
        rows.append(
            {"measure": measure, "m": m, "k": first["k"] or m}
            | {"slope": grown["slope"], "low": grown["slope_low"], "high": grown["slope_high"]}
            | {"stream": key[1], "learner": key[2], "n": grown["slopes"]}
        )
    frame = pd.DataFrame(rows).dropna(subset="slope").astype({"n": "Int64"})  # cells without a slope will have none
    if frame.empty:
        raise SettingError(f"no slope for the figure of observability: its experiments need {POINTS} horizons or more")
    return frame.loc[frame.groupby(["measure", "m", "k"])["slope"].idxmax()]


def times(rows: pd.DataFrame, details: dict) -> pd.DataFrame:
    """How long a round takes, by learner and number of items; games of one experiment make one panel."""
    named = [names((row.experiment, row.stream, row.learner), details) for row in rows.itertuples()]
    frame = pd.concat([rows, pd.DataFrame(named)], axis=1)
    return frame.assign(stream="all", panel=frame["reading"], n=3)
