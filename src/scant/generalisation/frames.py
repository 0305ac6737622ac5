"""The frames of the tables and figures of generalisation.

In tables n, m and d are the sizes of a sample, as in the thesis; in figures these are `queries`,
`documents` and `features`, and n is the number of seeds.
"""

import numpy as np
import pandas as pd

from scant.errors import SettingError
from scant.present.intervals import cells, mean_cells
from scant.present.slopes import runs, slope, slope_columns
from scant.present.traces import GROUP, names
from scant.theory import generalisation as theory
from scant.theory import later_bounds

SIZES = ["n", "m", "d"]
ALONG = {"n": "queries", "m": "documents", "d": "features"}
POINTS = 3  # how many different n, m or d a slope needs
EXCESS_BOUNDS = {  # by the kind of learner: what bounds its excess risk
    "averaged-ogd": ("Theorem 35", theory.descent_excess),
    "regularised-erm": ("Theorem 36", theory.regularised_excess),
    "erm-l2": ("Theorem 38", theory.erm_excess_l2),
    "erm-l1": ("Theorem 40", theory.erm_excess_l1),
}
OPTIMISTIC = ("(4.8)", theory.optimistic_excess)  # of gradient descent with the step size of (4.7)

# by the norm of the ball: what bounds the largest gap between risk and mean loss
UNIFORM_BOUNDS = {
    "l2": {
        "Theorem 38": theory.uniform_gap_l2,
        "Chapelle and Wu": theory.chapelle_wu,
        "Maurer": later_bounds.maurer_gap,
    },
    "l1": {"Theorem 40": theory.uniform_gap_l1, "Maurer": later_bounds.maurer_gap_l1},
}


def bounded(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The traces with further columns.

    gap : risk less mean loss, at the learner's weights
    bound, bound_by : the bound on the excess risk, and its name; NaN and "" where no theorem
        applies: to other rates than theory's, to a user's own learners, and to n for which the
        theorem has not been proved
    uniform_bound, uniform_by : the least bound on the largest gap, and its name; NaN and "" if
        there is none
    """
    keys, rows = ["learner", "experiment", "stream", *SIZES], []
    for _, row in traces.drop_duplicates(keys).iterrows():
        name, value = excess_bound(row, details[row["experiment"]]["learners"][row["learner"]])
        uniform = {
            name: bound for name, bound in uniform_bounds(row).items() if not np.isnan(bound)
        }
        tightest = min(uniform, key=uniform.get, default="")
        rows.append(
            {key: row[key] for key in keys}
            | {"bound_by": name, "bound": value, "uniform_by": tightest}
            | {"uniform_bound": uniform.get(tightest, np.nan)}
        )
    gap = traces["risk"] - traces["train"]
    return traces.assign(gap=gap).merge(pd.DataFrame(rows), how="left", on=keys)


def problem(row: pd.Series) -> theory.Problem:
    """The sizes and constants that bounds depend on, for a row of the traces."""
    return theory.problem(
        row["surrogate"],
        int(row["m"]),
        int(row["d"]),
        int(row["largest_grade"]),
        row["W"],
        row["R"],
        row["sigma"],
        best_risk=max(row["best"], 0.0),
    )


def excess_bound(row: pd.Series, options: dict) -> tuple[str, float]:
    """The name and value of the bound on a learner's excess risk; "" and NaN if there is none.

    options : the learner's settings
    """
    rate = options.get("step", options.get("lambda", "theory"))
    if row["kind"] not in EXCESS_BOUNDS or rate not in ("theory", "optimistic"):
        return "", np.nan
    name, bound = OPTIMISTIC if rate == "optimistic" else EXCESS_BOUNDS[row["kind"]]
    value = float(bound(int(row["n"]), problem(row)))
    return name, value if np.isfinite(value) else np.nan


def uniform_bounds(row: pd.Series) -> dict[str, float]:
    """The bounds on the largest gap between risk and mean loss over the ball, by name."""
    return {
        name: float(bound(int(row["n"]), problem(row)))
        for name, bound in UNIFORM_BOUNDS[row["ball"]].items()
    }


def largest(frame: pd.DataFrame, but: str) -> pd.DataFrame:
    """The rows with the largest n, m and d of each experiment and population. The size named by
    `but` may have any value.
    """
    for size in SIZES:
        if size != but:
            frame = frame[
                frame[size] == frame.groupby(["experiment", "stream"])[size].transform("max")
            ]
    return frame


def resolved(group: pd.DataFrame, along: str, measured: str) -> pd.DataFrame:
    """A learner's rows at values of `along` where its mean excess risk is above its certificate, so
    that it can be told from 0.

    measured : as for `against`; only the excess risk has a certificate, other rows are all kept
    """
    # which does not minimise the mean loss
    if measured != "excess" or group["kind"].iloc[0] == "averaged-ogd":
        return group
    means = group.groupby(along)[["excess", "certificate"]].mean()
    return group[group[along].isin(means.index[~(means["excess"] <= means["certificate"])])]


def growth(group: pd.DataFrame, along: str, measured: str, bound: str) -> dict:
    """The slopes of the log of the means of two columns, `measured` and `bound`, on the log of
    `along`; as columns of a table.

    group : a learner's rows, of which only the `resolved` ones count
    """
    group = resolved(group, along, measured)
    means = group.groupby(along)[bound].mean()
    regret = runs(group.assign(regret=group[measured]), along)
    return slope_columns(regret, POINTS) | {"bound_slope": slope(means.index, means, POINTS)}


def against(
    traces: pd.DataFrame, details: dict, along: str, measured: str = "excess"
) -> pd.DataFrame:
    """Excess risk or largest gap against n, m or d, at the largest values of the other two: means
    over seeds, slopes and bounds.

    along : "n", "m" or "d"
    measured : "excess", the excess risk, or "uniform", the largest gap between risk and mean loss
        that ascent found

    Raises
    ------
    SettingError : the experiments did not measure this
    """
    frame, rows = largest(bounded(traces, details), along), []
    bound, by = {"excess": ("bound", "bound_by"), "uniform": ("uniform_bound", "uniform_by")}[
        measured
    ]
    for key, group in frame.dropna(subset=measured).groupby(GROUP, sort=False):
        slopes = growth(group, along, measured, bound)
        group = resolved(group, along, measured)
        for size, cell in group.groupby(along):
            first = cell.iloc[0]
            rows.append(
                dict(zip(GROUP, key, strict=True))
                | {ALONG[name]: size if name == along else first[name] for name in SIZES}
                | mean_cells(cell[measured])
                | {"bound": cell[bound].mean(), "bound_by": first[by]}
                | {"kind": first["kind"], "objective": first["surrogate"], "measured": measured}
                | slopes
                | names(key, details)
            )
    if not rows:
        raise SettingError(
            f"no experiment of this figure measured {measured}; set ascents to 1 or more"
        )
    return pd.DataFrame(rows)


def risks_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """The table of risks: one row for each experiment, population, learner, m and d, at the largest
    n.
    """
    frame, rows = bounded(traces, details), []
    frame = frame[frame["n"] == frame.groupby(["experiment", "stream"])["n"].transform("max")]
    for key, group in frame.groupby([*GROUP, *SIZES], sort=False):
        first = group.iloc[0]
        rows.append(
            dict(zip([*GROUP, *SIZES], key, strict=True))
            | {name: first[name] for name in ("kind", "surrogate", "ball", "W", "R")}
            | cells("risk", group["risk"])
            | {"risk_error": group["risk_error"].mean()}
            | {"best": group["best"].mean(), "best_error": group["best_error"].mean()}
            | cells("excess", group["excess"])
            | {"excess_error": group["excess_error"].mean()}
            | cells("gap", group["gap"])
            | cells("uniform", group["uniform"])
            | {"uniform_error": group["uniform_error"].mean()}
            | {name: group[name].mean() for name in ("norm", "rate", "certificate", "spread")}
            | {
                "not_certified": int((group["status"] == "not certified").sum()),
                "seeds": len(group),
            }
        )
    return pd.DataFrame(rows)
