"""What policies learn from a user's log: an encoder of its features, and a model of `scant.ads`."""

from dataclasses import dataclass

import numpy as np

from scant.ads import run
from scant.bandits import policies, scorers
from scant.bandits.learners import KINDS
from scant.data import logs
from scant.data.logs import Log
from scant.errors import SettingError
from scant.randomness import generator
from scant_ads.policies.encoding import Encoder
from scant_ads.reading.visits import Visits

LEARNT = tuple(kind for kind, learner in KINDS.items() if learner.learns)
# quick on millions of rows, and no worse than whole trees
FOREST = {"trees": 40, "tree_rows": 1 << 14, "leaf": 20}
# of gradient descent over an ad's rows: no worse than a million steps for each ad, and quick for
# many
PASSES = 20
SURE = 3  # standard errors by which a policy earns more than the refitted one
SMALL = 1e-6  # the least probability of a click, in a log loss
TIME_SHARE = 0.7  # the training part of a log that is split by time


@dataclass(frozen=True)
class Learnt:
    """What a policy has learnt.

    encoder : turns a log's features into the model's
    fitted : the model, and how it was chosen
    lists : the column of lists of eligible ads that it was learnt with; "" for none
    """

    encoder: Encoder
    fitted: run.Fit
    lists: str = ""

    @property
    def actions(self) -> tuple[str, ...]:
        """The ids of the ads that the policy knows."""
        return self.fitted.model.actions

    def choice(self, visits: Visits, epsilon: float = 0.0) -> policies.Choice:
        """The policy on the contexts of a log."""
        visits = logs.align_features(visits, self.encoder.names)
        return self.fitted.choice(
            self.encoder.transform(visits).features, epsilon, self.eligible(visits)
        )

    def eligible(self, visits: Visits) -> np.ndarray | None:
        """Which of its ads each visit can get, bool (rows x ads); None without lists of eligible
        ads.
        """
        if visits.eligible is None:
            return None
        place = {ad: index for index, ad in enumerate(visits.actions)}
        return np.column_stack(
            [
                visits.eligible[:, place[ad]] if ad in place else np.zeros(len(visits), bool)
                for ad in self.actions
            ]
        )


def log_loss(model: scorers.Model, log: Log) -> float:
    """The log loss of the clicks on the ads shown; 0 for a learner without scores. Scores are taken
    for log odds, a ranker's after its threshold is subtracted; a regression's for probabilities.
    """
    from scipy import special

    if model.kind == "filter-tree":
        return 0.0
    scores = model.scores(log.features) - model.thresholds.get("f1", 0.0)
    score = scores[np.arange(len(log)), log.action].astype(float)
    chance = np.clip(score if model.whole else special.expit(score), SMALL, 1 - SMALL)
    return -float(log.reward @ np.log(chance) + (1 - log.reward) @ np.log1p(-chance))


def kept_fit(fits: list[run.Fit], held_out: Log) -> run.Fit:
    """The last of some fits, made on all rows; or the fit with the same lambda that was made on a
    part of them, if it earns more, beyond chance, on the rows held out.
    """
    *grid, refitted = fits
    validated = next(fit for fit in grid if fit.regularisation == refitted.regularisation)
    before, after = (
        fit.choice(held_out.features, 0, held_out.eligible).probability(held_out.action)
        for fit in (validated, refitted)
    )
    lost = held_out.reward / held_out.propensity * (before - after)
    return validated if lost.mean() > SURE * lost.std() / np.sqrt(len(lost)) else refitted


def probability(choice: policies.Choice, action: np.ndarray) -> np.ndarray:
    """A policy's probability of each logged ad, float64 (rows); 0 for an ad that it does not know.

    action : int (rows), the logged ad's index among the policy's ads; -1 for others
    """
    learnt = action >= 0
    return np.where(learnt, choice.probability(np.where(learnt, action, 0)), 0.0)


def split(
    rows: int,
    share: float,
    seed: int = 0,
    times: np.ndarray | None = None,
    together: np.ndarray | None = None,
) -> np.ndarray:
    """Split a log into a training part and a test part: which rows train, bool (rows).

    rows : how many rows the log has
    share : how many of them train, from 0 to 1
    seed : of the draw of rows, if there are no times
    times : (rows); the earliest rows train, and of equal times the first rows
    together : (rows), such as users, or ids of requests; rows with the same value are in one part.
        Without times, this share of the values is drawn; by time, if one row of a value trains, all
        rows of the value do
    """
    if together is not None and times is None:
        values, code = np.unique(together, return_inverse=True)
        return split(len(values), share, seed)[code]
    tested = round((1 - share) * rows) if times is None else rows - round(share * rows)
    trains = np.ones(rows, bool)
    if times is None:
        trains[
            generator(seed, "advice", "split").choice(rows, tested, replace=False, shuffle=False)
        ] = False
    else:
        trains[np.argsort(times, kind="stable")[rows - tested :]] = False
    if together is not None:
        trains |= np.isin(together, together[trains])
    if not trains.any() or trains.all():
        raise SettingError(
            f"a share of {share} of {rows} rows leaves the training or the test log without any"
        )
    return trains
