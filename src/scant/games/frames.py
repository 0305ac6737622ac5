"""The frames of the tables and figures of games on fixed items."""

import pandas as pd

from scant.errors import SettingError
from scant.games.cells import MEASURES
from scant.present.intervals import cells, over_seeds
from scant.present.slopes import late_rounds, runs, slope, slope_columns
from scant.present.traces import GROUP, names

POINTS = 3  # how many rounds, horizons or numbers of items a slope needs
CELL = ["measure", "grades", "m", "k"]  # the columns that identify a cell of the atlas


def regrets(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The traces with columns `regret`, and `worst_regret`, the regret of the worst play.

    Both are against the best fixed ranking, as the experiment's `comparator` defines it: the best
    up to the round of the row ("prefix") or over all rounds ("horizon").
    """
    against_prefix = [
        name for name, experiment in details.items() if experiment["comparator"] == "prefix"
    ]
    best = traces["best"].where(
        traces["experiment"].isin(against_prefix), traces["best_at_horizon"]
    )
    lost = {"regret": traces["value"], "worst_regret": traces["worst"]}
    return traces.assign(
        **{name: (best - value).where(traces["gain"], value - best) for name, value in lost.items()}
    )


def ends(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the last round of each horizon."""
    return frame[frame["round"] == frame["horizon"]]


def longest(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of each game's longest horizon."""
    return frame[
        frame["horizon"] == frame.groupby(["experiment", "stream"])["horizon"].transform("max")
    ]


def growth(frame: pd.DataFrame, along: str) -> dict:
    """The slopes of the logs of the mean regret and of its bound on the log of `along`, as columns.

    frame : the columns seed, regret, bound and `along`, with a row for each seed and point

    Returns
    -------
    columns : those of `slope_columns`; bound_slope, the slope of the mean bound over seeds
    """
    bound = frame.groupby(along)["bound"].mean()
    return slope_columns(runs(frame, along), POINTS) | {
        "bound_slope": slope(bound.index, bound, POINTS)
    }


def games_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The table of regrets: one row for each experiment, game, learner and horizon.

    `regret` and `difference` are means over seeds with 95 % t intervals; `difference` is the regret
    less the baseline's, paired by seed, and NaN without a baseline. `bound` bounds the expected
    regret, `bound_share` is the mean of regret over bound, and `explored` is the number of rounds
    spent on exploring.
    """
    rows = []
    columns = [
        *GROUP,
        "horizon",
        "seed",
        "kind",
        "items",
        "loss",
        "k",
        "regret",
        "explored",
        "bound",
    ]
    for experiment, part in ends(regrets(traces, details))[columns].groupby(
        "experiment", sort=False
    ):
        is_baseline = part["learner"] == details[experiment]["baseline"]
        pairing = ["stream", "horizon", "seed"]
        of_baseline = part[is_baseline].set_index(pairing)["regret"]
        paired = of_baseline.reindex(pd.MultiIndex.from_frame(part[pairing])).to_numpy()
        part = part.assign(difference=(part["regret"] - paired).mask(is_baseline))
        for key, group in part.groupby([*GROUP, "horizon"], sort=False):
            stream, learner, horizon = key[1:]
            first = group.iloc[0]
            rows.append(
                dict(zip([*GROUP, "rounds"], (experiment, stream, learner, horizon), strict=True))
                | {name: first[name] for name in ("kind", "items", "loss", "k")}
                | cells("regret", group["regret"])
                | {"per_round": (group["regret"] / horizon).mean()}
                | cells("difference", group["difference"])
                | {"explored": group["explored"].mean()}
                | {
                    "bound": group["bound"].mean(),
                    "bound_share": (group["regret"] / group["bound"]).mean(),
                }
                | {"comparator": details[experiment]["comparator"], "n": len(group)}
            )
    return pd.DataFrame(rows)


def slopes_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The table of slopes: one row for each experiment, game, learner and `along`.

    `along` is what regret grows with: "rounds", over the rounds of the longest horizon; "horizon",
    over the final regrets of each horizon; or "items", over the experiment's games with the same
    stream and loss. `slope` is the slope of the mean regret over seeds, with a 95 % bootstrap
    interval, `bound_slope` the slope of the bound.

    Raises
    ------
    SettingError : no game has enough rounds, horizons or numbers of items for a slope
    """
    columns = [
        *GROUP,
        "game",
        "items",
        "horizon",
        "round",
        "seed",
        "kind",
        "loss",
        "k",
        "regret",
        "bound",
    ]
    frame, rows = regrets(traces, details)[columns], []

    def add(key, group, along, points):
        if points[along].nunique() >= POINTS:
            shared = {name: group.iloc[0][name] for name in ("kind", "loss", "k")}
            rows.append(
                dict(zip(GROUP, key, strict=True))
                | {"along": along.replace("round", "rounds")}
                | shared
                | growth(points, along)
                | {"n": group["seed"].nunique()}
            )

    for key, group in frame.groupby(GROUP, sort=False):
        add(key, group, "round", late_rounds(longest(group), "horizon"))
        add(key, group, "horizon", ends(group))
    for (experiment, _, _, learner), group in ends(longest(frame)).groupby(
        ["experiment", "game", "loss", "learner"], sort=False
    ):
        add((experiment, "all of the stream", learner), group, "items", group)
    if not rows:
        raise SettingError(
            f"no game of this study has {POINTS} rounds, horizons or numbers of items for a slope"
        )
    return pd.DataFrame(rows)


def averages(traces: pd.DataFrame, details: dict, start: float = 0.0) -> pd.DataFrame:
    """The regret up to each kept round, divided by the round: mean over seeds and 95 % t interval.

    start : rounds before this share of the horizon are left out
    """
    frame = longest(regrets(traces, details))
    frame = frame[frame["round"] >= start * frame["horizon"]]
    return _summed(
        frame.assign(average=frame["regret"] / frame["round"]), details, "average", "round"
    )


def against_horizon(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The final regret of each horizon, with its bound and slope."""
    return _growths(ends(regrets(traces, details)), details, "horizon")


def against_items(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The final regret of the longest horizon for each number of items, with its bound and slope.

    Games with the same stream and loss make one panel.
    """
    frame = ends(longest(regrets(traces, details)))
    title = (
        frame["game"].str.capitalize() + " stream, " + frame["loss"].str.replace("-loss", " loss")
    )
    growths = _growths(frame.assign(stream=title), details, "items")
    return growths.assign(panel=growths["stream"])


def _growths(frame: pd.DataFrame, details: dict, along: str) -> pd.DataFrame:
    """The mean regret and its bound at each value of the column `along`, and the slopes over all
    values.
    """
    means = _summed(frame, details, "regret", along)
    bounds = frame.groupby([*GROUP, along])["bound"].mean().reset_index()
    slopes = [
        dict(zip(GROUP, key, strict=True)) | growth(group, along)
        for key, group in frame.groupby(GROUP, sort=False)
    ]
    return means.merge(bounds, on=[*GROUP, along]).merge(pd.DataFrame(slopes), on=GROUP)


def _summed(frame: pd.DataFrame, details: dict, measured: str, along: str) -> pd.DataFrame:
    """The mean over seeds of the column `measured`, with 95 % t interval, at each value of the
    column `along`.
    """
    means = over_seeds(frame, [*GROUP, along], measured).assign(measure=lambda rows: rows["loss"])
    titles = [
        names(key, details)
        if key[1] in details[key[0]]["titles"]["streams"]
        else _untitled(key, details)
        for key in means[GROUP].itertuples(index=False, name=None)
    ]
    columns = [*GROUP, along, "mean", "low", "high", "n", "kind", "k", "loss"]
    columns += [name for name in ("horizon", "measure") if name not in columns]
    return means[columns].join(pd.DataFrame(titles))


def _untitled(key: tuple, details: dict) -> dict:
    """The columns of `names` for rows of several games, which have no title in common."""
    experiment, stream, learner = key[:3]
    experiment_details = details[experiment]
    return {
        "panel": stream,
        "label": experiment_details["titles"]["learners"][learner],
        "reading": experiment_details["title"],
    }


def observed(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """How fast each learner's regret grows with the horizon, in each cell of the atlas that it
    plays.

    A cell is a measure, a number of grades, a number m of items, and how many of them, k, the
    learner sees. If a learner plays several games in a cell, the one with the largest slope counts.
    Games and learners whose mean regret is not above 0 at some horizon have no slope, and are left
    out.

    Returns
    -------
    frame : with the columns measure, grades, m, k, learner, kind, stream, slope, low and high (its
        95 % bootstrap interval), horizon (the longest), regret (the mean at it), and n (how many
        seeds the mean regret is over)

    Raises
    ------
    SettingError : no game has enough horizons for a slope
    """
    rows = []
    for key, group in ends(regrets(traces, details)).groupby(GROUP, sort=False):
        first, slopes = group.iloc[0], growth(group, "horizon")
        measure, m, horizon = (
            MEASURES.get(first["loss"], first["loss"]),
            first["items"],
            group["horizon"].max(),
        )
        rows.append(
            {"measure": measure, "grades": first["grades"], "m": m, "k": first["k"] or m}
            | {"learner": key[2], "kind": first["kind"], "stream": key[1]}
            | {"slope": slopes["slope"], "low": slopes["slope_low"], "high": slopes["slope_high"]}
            | {
                "horizon": horizon,
                "regret": group.loc[group["horizon"] == horizon, "regret"].mean(),
            }
            | {"n": slopes["slopes"]}
        )
    frame = pd.DataFrame(rows).dropna(subset="slope")
    if frame.empty:
        raise SettingError(
            f"no slope for the figure of observability: its experiments need {POINTS} horizons or "
            "more"
        )
    return frame.loc[frame.groupby([*CELL, "learner"], sort=False)["slope"].idxmax()]
