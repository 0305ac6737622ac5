"""What the family of bandits declares: in each round a learner pulls one of several arms, which
pays 1 or 0.
"""

from collections.abc import Mapping
from itertools import product
from typing import ClassVar

from scant.bandit.learners import LEARNERS

from scant.declare.declarations import Setting
from scant.declare.families import Family, Job, Place, Quantity, Shown
from scant.errors import SettingError
from scant.study.plan import batches, span, untitled

BANDIT = {
    "description": "A bandit.",
    "required": ["arms"],
    "properties": {
        "arms": {
            "description": "With what probability each arm pays.",
            "type": "array",
            "minItems": 2,
            "items": {"type": "number", "minimum": 0, "maximum": 1},
        },
    },
}


def _check_bandit(bandit: dict, datasets: dict) -> None:
    """Raise a SettingError for what the schema cannot see."""
    if min(bandit["arms"]) == max(bandit["arms"]):
        raise SettingError("all arms pay alike, so there is nothing to learn")


class Bandit(Family):
    """Bandits whose arms pay independently."""

    kind = "bandit"
    about = "pull one of several arms"
    place = Place(
        key="bandits",
        name="bandit",
        about="Bandits, by id.",
        keys=BANDIT,
        check=_check_bandit,
    )
    settings = (
        Setting(
            "rounds",
            {"type": "integer", "minimum": 1, "default": 1000},
            about="The horizon T.",
            reading=True,
        ),
    )
    learners = LEARNERS
    shown = (
        Shown(
            "figure-bandit",
            caption="Regret by round. Lines are means over seeds, bands 95 % t intervals.",
            frame="scant.bandit.frames:regret_by_round",
            draw="scant.bandit.drawings:curves",
            asked=True,
            heading="How fast does the regret of bandits grow?",
        ),
        Shown(
            "bandit",
            caption="Regret of bandits at the horizon, with 95 % t intervals over seeds.",
            frame="scant.bandit.frames:regret_at_the_end",
            heading="Regret of bandits",
        ),
    )
    quantities: ClassVar = {"bandit_regret": Quantity("regret", "scant.bandit.frames:final_regret")}
    engine = "scant.bandit.run:run"
    memory, minutes = 1000, 5

    def jobs(self, study: dict, datasets: Mapping, name: str) -> list[Job]:
        experiment, jobs = study["experiments"][name], []
        for bandit, learner in product(experiment["bandits"], experiment["learners"]):
            settings = {
                "study_seed": study["seed"],
                "kind": self.kind,
                "bandit_settings": untitled(study["bandits"][bandit]),
                "learner_settings": untitled(study["learners"][learner], "stands_for"),
                **self.played(experiment),
            }
            for seeds in batches(experiment["seeds"], experiment["batch"]):
                jobs.append(
                    Job(f"{name}/{bandit}/{learner}/seed-{span(seeds)}", settings, seeds, {})
                )
        return jobs

    def identity(self, run: dict) -> dict:
        names = {key: run[key] for key in ("experiment", "stream", "learner")}
        return names | {"kind": run["learner_settings"]["kind"]}
