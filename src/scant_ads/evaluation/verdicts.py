"""The row of a policy, whether it can be used, and the notes on it."""

from collections.abc import Mapping

import numpy as np

from scant.bandits import evaluation
from scant_ads.diagnosis.leaks import LEAK
from scant_ads.diagnosis.lists import ABOVE, LISTS
from scant_ads.diagnosis.measurement import DEAD, FULL, HINDSIGHT, LATE, SCALE
from scant_ads.diagnosis.showings import SCHEDULE, WRONG
from scant_ads.evaluation import periods
from scant_ads.reading.names import COSTLY

# the training log, which tells today's rate, has other visits than the test
OTHER_VISITS = "other-visits"
# why there is no verdict, by the kind of a problem: a row is refused for it, or has it as a warning
DOUBTS = {
    WRONG: "propensities are wrong, see above",
    SCHEDULE: "ads follow a schedule, see above",
    "user": (
        "visits of one user depend on each other, see above. Say whose they are by --user, or "
        "--ignore the column"
    ),
    LISTS: "several rows are of one visit, see above",
    ABOVE: "propensities are given what stands above, see above",
    LEAK: "a feature seems to come after the click, see above. Leave it out with --ignore",
    COSTLY: "less may be better, see above. Say which by --less, or --no-less",
    OTHER_VISITS: "today's rate is of other visits, see above",
    DEAD: "rewards of an ad are missing, see above",
    FULL: "all visits of a kind have a reward, see above",
    LATE: "rewards of an ad look not joined yet, see above",
    SCALE: "rewards of an ad look as if in another unit, see above",
    HINDSIGHT: "it looks made from the rewards of this log, see below",
}
# texts that differ from those of `scant.bandits.evaluation`, since bounds here are exact
WARNINGS = {
    "few-clicks": "few {}: the bounds hold, but are wide",
    "no-clicks": "no {} on ads that it shows: only the upper end says something",
}


def row_of(name: str, evaluated: evaluation.Evaluation, level: float, **learnt) -> dict:
    """The row of a policy without its verdict.

    learnt : drift; and lambda, epsilon, untrained and new_ads, of a policy that was learnt
    """
    bounds = {(bound.estimator, bound.bound): bound for bound in evaluated.bounds}
    bound = bounds.get(("ips", "clopper-pearson")) or bounds["ips", "betting"]
    blank = {
        "lambda": np.nan,
        "epsilon": np.nan,
        "untrained": "",
        "new_ads": np.nan,
        "drift": np.nan,
    } | learnt
    return {
        "policy": name, "lambda": blank["lambda"], "epsilon": blank["epsilon"], "level": level,
        "bound": bound.bound,
        "estimate": np.minimum(bound.estimate, 1.0), "snips": bounds["snips", "delta"].estimate,
        "lower": bound.lower, "low": bound.low, "high": bound.high,
        "approx_low": np.nan, "approx_high": np.nan,
        "lift": np.nan, "lift_low": np.nan, "lift_high": np.nan, **periods.UNKNOWN,
        **vars(evaluated.diagnostics),
        **{key: blank[key] for key in ("untrained", "new_ads", "drift")},
        "verdict": "", "needed_test": np.nan, "needed_train": np.nan,
        "needed_users": np.nan,
        "refused": evaluated.refused.kind if evaluated.refused else "",
        "warnings": " ".join(notice.kind for notice in evaluated.warnings),
    }  # fmt: skip


def usable(row: Mapping, today: Mapping) -> bool:
    """Whether the numbers of a policy, and today's, say something about which is better."""
    warnings = row["warnings"] + today["warnings"]
    return not (row["refused"] or today["refused"] or "mean-weight" in warnings)


def noticed(name: str, evaluated: evaluation.Evaluation, events: str = "clicks") -> list[str]:
    """Notes on a policy's evaluation: why it was refused, and its warnings."""
    notices = (evaluated.refused, *evaluated.warnings)
    texts = {kind: words.format(events) for kind, words in WARNINGS.items()}
    notes = [f"{name}: {texts.get(notice.kind, notice.reason)}" for notice in notices if notice]
    mean = evaluated.diagnostics.mean_weight
    if mean < 1 and any(notice.kind == "mean-weight" for notice in evaluated.warnings):
        notes.append(
            f"{name}: if propensities are right, the log cannot show the ads that it chooses in "
            f"about {100 * (1 - mean):.2g} % of visits (deficient support): what these earn is not "
            "known, so that there is a lower bound alone"
        )
    return notes
