"""The learners of bandits: each is made as `Class(arms=K, random=generator, **settings)`."""

from typing import ClassVar

import numpy as np

from scant.declare import declarations
from scant.declare.declarations import Look, Setting, own_class


class Learner(declarations.Learner):
    """What learners share: how often each arm was pulled, and what it paid in all."""

    def __init__(self, arms: int, random: np.random.Generator):
        self.random, self.pulls, self.paid = random, np.zeros(arms), np.zeros(arms)

    def pull(self) -> int:
        """The arm to pull."""
        raise NotImplementedError

    def learn(self, arm: int, reward: float) -> None:
        """Take what the arm has paid."""
        self.pulls[arm] += 1
        self.paid[arm] += reward

    @property
    def means(self) -> np.ndarray:
        return self.paid / np.maximum(self.pulls, 1)


class Random(Learner):
    """Any arm."""

    kind = "random"
    about = "A random arm in each round: a control, which learns nothing."
    looks: ClassVar = {"": Look("grey", "x", "--")}

    def pull(self) -> int:
        return int(self.random.integers(len(self.pulls)))


class EpsilonGreedy(Learner):
    """The arm that has paid best; with probability epsilon any arm."""

    kind = "epsilon-greedy"
    about = "The arm that has paid best, and with probability epsilon a random one."
    settings = (
        Setting(
            "epsilon",
            {"type": "number", "minimum": 0, "maximum": 1},
            "The share of rounds that explore (0.1 if absent).",
            absent=0.1,
        ),
    )
    looks: ClassVar = {"": Look("blue", "o")}

    def __init__(self, arms: int, random: np.random.Generator, epsilon: float = 0.1):
        super().__init__(arms, random)
        self.epsilon = epsilon

    def pull(self) -> int:
        if self.random.random() < self.epsilon:
            return int(self.random.integers(len(self.pulls)))
        return int(self.means.argmax())


class UCB1(Learner):
    """The arm of the largest upper confidence bound (Auer, Cesa-Bianchi, Fischer 2002)."""

    kind = "ucb1"
    about = "The arm of the largest upper confidence bound (Auer, Cesa-Bianchi, Fischer 2002)."
    looks: ClassVar = {"": Look("vermilion", "s")}

    def pull(self) -> int:
        if not self.pulls.all():
            return int(self.pulls.argmin())
        return int((self.means + np.sqrt(2 * np.log(self.pulls.sum()) / self.pulls)).argmax())


LEARNERS = {learner.kind: learner for learner in (Random, EpsilonGreedy, UCB1)}


def make(settings: dict, arms: int, random: np.random.Generator) -> Learner:
    """The learner that a study says, built in or one's own."""
    kind = settings["kind"]
    learner = own_class(kind) if ":" in kind else LEARNERS[kind]
    return learner(
        arms=arms,
        random=random,
        **{name: value for name, value in settings.items() if name != "kind"},
    )
