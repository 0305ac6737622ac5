"""Tables of the perceptron study. Each is a frame; `write` makes CSV and LaTeX of it."""

from pathlib import Path

import numpy as np
import pandas as pd

from scant.data import stream
from scant.errors import unknown
from scant.files import atomic
from scant.report.intervals import t_interval
from scant.report.traces import GROUP, at_chosen_rates, chosen_rates, finals
from scant.theory.bounds import adversary_loss

MEASURES = ("ndcg@10", "ap")


def belongs(frame: pd.DataFrame, measure: str) -> pd.Series:
    """Whether a learner is to be shown under `measure`: AP's own learners under AP, those of no measure under both."""
    neutral = frame["kind"].isin(["listnet", "random", "ideal"]) | frame["kind"].str.contains(":")
    return neutral | ((frame["own_measure"] == "ap") == (measure == "ap"))


def finals_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Final time-averaged measure of each learner at its chosen rate, with 95 % t intervals over seeds.

    Both tuning readings; `difference` is the paired one to ListNet at its own chosen rate, on the same seeds.
    """
    last, rows = finals(traces), []
    for measure in MEASURES:
        shown = last[belongs(last, measure)]
        for tuning in ("held-out", "paper"):
            chosen = chosen_rates(shown, measure, tuning)
            chosen = chosen[chosen["tuning"] == tuning]
            best = at_chosen_rates(shown, chosen)
            for key, group in best.groupby(GROUP, sort=False):
                here = best[(best["experiment"] == key[0]) & (best["stream"] == key[1]) & (best["kind"] == "listnet")]
                baseline = here[here["learner"] == here["learner"].iloc[0]] if len(here) else here
                paired = group.set_index("seed")[measure] - baseline.set_index("seed")[measure]
                mean, low, high, n = t_interval(group[measure])
                difference = t_interval(paired) if group["kind"].iloc[0] != "listnet" else (np.nan,) * 3
                rows.append(
                    dict(zip(GROUP, key, strict=True))
                    | {
                        "source": group["source"].iloc[0],
                        "measure": measure,
                        "tuning": tuning,
                        "main": tuning == details[key[0]]["tuning"],
                        "rate": group["setting"].iloc[0],
                        "rounds": int(group["round"].max()),
                        "mean": mean,
                        "low": low,
                        "high": high,
                        "last_ten": group[f"{measure} last ten"].mean(),
                        "ok": n,
                        "n": len(group),
                        "difference": difference[0],
                        "difference_low": difference[1],
                        "difference_high": difference[2],
                        "updates": group["updates"].mean(),
                    }
                )
    return pd.DataFrame(rows)


def bounds_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Measured cumulative loss at the horizon beside the bounds, at each rate, over the reported seeds.

    `violations` counts kept rounds of any seed in which the loss exceeds the bound. Theory promises the separable
    bound at its own rate (max-hinge and the binary perceptron: at any rate), the general bound at its own rate.
    The adversary's rows also have the loss that no deterministic learner can avoid.
    """
    frame = traces[~traces["tuning_seed"]].copy()
    frame["over"] = frame["loss"] > frame["bound"]
    frame["over_general"] = frame["loss"] > frame["general_bound"]
    over = frame.groupby([*GROUP, "setting"])[["over", "over_general"]].sum()
    last = finals(frame)
    last = last[last["bound"].notna() | last["general_bound"].notna() | (last["generator"] == "adversary")]
    rows = []
    for key, group in last.groupby([*GROUP, "setting"], sort=False):
        one, rounds = group.iloc[0], int(group["round"].max())
        cornered = one["generator"] == "adversary" and one["kind"] not in ("random", "ideal")
        rows.append(
            dict(zip([*GROUP, "rate"], key, strict=True))
            | {
                "promised": bool(one["theory"]) or one["kind"] in ("max-hinge", "binary-perceptron"),
                "rounds": rounds,
                "seeds": len(group),
                "loss_mean": group["loss"].mean(),
                "loss_max": group["loss"].max(),
                "bound_min": group["bound"].min(),
                "largest_share": (group["loss"] / group["bound"]).max(),
                "violations": int(over.loc[key, "over"]),
                "general_bound_min": group["general_bound"].min(),
                "general_violations": int(over.loc[key, "over_general"]),
                "lower_bound": adversary_loss(rounds) if cornered and one["kind"] != "binary-perceptron" else np.nan,
            }
        )
    return pd.DataFrame(rows)


def rates_table(traces: pd.DataFrame, details: dict) -> pd.DataFrame:
    """Every rate tried, its final time-averaged measure on both sets of seeds, and where it was chosen."""
    last, rows = finals(traces), []
    for measure in MEASURES:
        shown = last[belongs(last, measure) & (last["setting"] != "none")]
        choices = [chosen_rates(shown, measure, tuning) for tuning in ("held-out", "paper")]
        chosen = set(pd.concat(choices).itertuples(index=False, name=None))
        for key, group in shown.groupby([*GROUP, "setting"], sort=False):
            aside = group["tuning_seed"]
            rows.append(
                dict(zip([*GROUP, "rate"], key, strict=True))
                | {
                    "rate_mean": group["rate"].mean(),
                    "measure": measure,
                    "held_out_mean": group.loc[aside, measure].mean(),
                    "reported_mean": group.loc[~aside, measure].mean(),
                    "failed": int((group["failed_in"] > 0).sum()),
                    "runs": len(group),
                    "chosen_held_out": (*key, "held-out") in chosen,
                    "chosen_paper": (*key, "paper") in chosen,
                }
            )
    return pd.DataFrame(rows)


def streams_table(paths) -> pd.DataFrame:
    """The stream files as they are: sizes, grades, empty queries, norms, margins. One row a file."""
    keys = ["stream", "seed", "queries", "documents", "features", "largest_query", "largest_grade"]
    keys += ["without_relevant", "radius", "margin"]
    facts = [stream.read(path).metadata for path in paths]
    rows = [{key: one.get(key) for key in keys} | {"v_max": one["weight_ratio"]["ndcg"]} for one in facts]
    return pd.DataFrame(rows).astype({"seed": "Int64"})  # data sets have none


MAKERS = {"finals": finals_table, "bounds": bounds_table, "rates": rates_table}


def make(name: str, traces: pd.DataFrame, details: dict, stem) -> None:
    """Write `stem`.csv and `stem`.tex of the table `name`; a SettingError if there is no such table."""
    if name not in MAKERS:
        raise unknown("table", name, MAKERS)
    write(MAKERS[name](traces, details), stem)


def write(frame: pd.DataFrame, stem) -> None:
    """Write `stem`.csv, in full precision, and `stem`.tex, to four digits with LaTeX's booktabs."""
    stem = Path(stem)
    with atomic(stem.with_name(f"{stem.name}.csv")) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
    with atomic(stem.with_name(f"{stem.name}.tex")) as temporary:
        temporary.write_text(latex(frame), encoding="utf-8")


def latex(frame: pd.DataFrame) -> str:
    """A booktabs tabular of the frame, with numbers to four significant digits."""
    special = {character: f"\\{character}" for character in "&%$#_{}"} | {"~": r"\textasciitilde{}"}
    special |= {"^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}

    def text(value) -> str:
        if pd.isna(value):
            return "--"
        if isinstance(value, (bool, np.bool_)):
            return "yes" if value else "no"
        if isinstance(value, (int, np.integer)):
            return str(value)
        if isinstance(value, float):
            return f"{value:.4g}" if abs(value) < 1e6 else f"{value:.3e}"
        return "".join(special.get(character, character) for character in str(value))

    kinds = "".join("r" if pd.api.types.is_numeric_dtype(kind) else "l" for kind in frame.dtypes)
    lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule"]
    lines += [" & ".join(map(text, frame.columns)) + r" \\", r"\midrule"]
    lines += [" & ".join(map(text, row)) + r" \\" for row in frame.itertuples(index=False)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])
