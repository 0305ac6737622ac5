"""What the examination of a claim gives: its readings in a study, and the cells of each."""

import math
from dataclasses import dataclass, field
from functools import partial

import pandas as pd

from scant.verdict import statistics as verdicts


@dataclass(frozen=True)
class Cell:
    """One learner of a claim on one stream, with what it is compared to.

    stream : the id of the stream, game or log
    learner, against : labels of the learner and of the one that it is compared to; `against` is ""
        if there is none
    differences : by seed, the learner's value minus the other's; if there is no other, the
        learner's value
    of : by seed, what a relative margin is a share of
    exact : whether the differences involve no chance
    drawn : whether each seed draws something anew; if not, all seeds are one observation
    within : the least and the largest that a difference can be, if that is known
    share : whether the quantity is a share, with the tests of shares
    sample : whether the stream is of a few queries that do not stand for their data set
    why : why there are no differences; "" if there are
    ceiling : the difference furthest on the side on which the claim fails that could have been
        measured; NaN if unknown
    says_from : the horizon or sample size from which on the ceiling would violate the claim; NaN if
        unknown
    local, edge : see `scant.verdict.claims.VALUES`
    claim : the part of its claim that the cell is of, see `scant.study.grouping.parts`
    experiment, tuning : the ones that the cell is from; "" and None for tables and for the study of
        bounds
    """

    stream: str
    learner: str
    against: str = ""
    differences: pd.Series = field(default_factory=partial(pd.Series, dtype=float))
    of: pd.Series | None = None
    exact: bool = False
    drawn: bool = True
    within: tuple[float, float] | None = None
    share: bool = False
    sample: bool = False
    why: str = ""
    ceiling: float = math.nan
    says_from: float = math.nan
    local: str = ""
    edge: str = ""
    claim: dict = field(default_factory=dict)
    experiment: str = ""
    tuning: str | None = None


@dataclass(frozen=True)
class Reading:
    """A claim under one reading: one experiment and one way of choosing learning rates, or one for
    each of its parts.

    levels : the value of each setting that may affect the claim's learners, by name
    cells : the pairs of learners that the claim compares
    single : the verdict on each cell alone, not corrected for the family of claims
    verdict : the verdict on all cells together, not corrected either
    summary : of a claim about several cells that involve chance, the verdict on their mean, which
        is taken for each seed, with its interval. It is about these streams and learners, not about
        others like them. None if seeds or streams leave no mean
    own : whether it is on the document's own data, where the claim says which these are
    lacks : what the statement names but the study lacks; such a reading can refute the claim, but
        not confirm it
    """

    experiment: str
    tuning: str | None
    levels: dict
    cells: list[Cell]
    single: list[verdicts.Verdict]
    verdict: verdicts.Verdict
    summary: verdicts.Verdict | None = None
    own: bool = True
    lacks: str = ""


@dataclass(frozen=True)
class Examined:
    """A claim, its readings in a study, and, if it has none, what the study lacks for one.

    control : the reading of the claim's control that goes with the first reading; None if there is
        none
    control_missing : what the study lacks for it
    """

    claim: dict
    readings: list[Reading] = field(default_factory=list)
    missing: str = ""
    control: Reading | None = None
    control_missing: str = ""
