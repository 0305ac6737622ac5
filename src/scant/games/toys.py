"""What `scant compile` plays: a toy with each compiled loop, for the types that studies call it
with.
"""

from scant.games import streams
from scant.games.play import Game, play
from scant.randomness import generator

ROUNDS = 50


def play_all() -> None:
    """Play short games under several losses.

    Exploration by optimisation is left to the first study that plays it: its loop takes as long as
    all others together.
    """
    small = streams.draw("flip", generator(0, "toy"), ROUNDS, items=4, relevant=2)
    # its gains need float64
    large = streams.draw("graded", generator(0, "toy"), ROUNDS, items=4, grades=9)
    for relevances, loss in ((small, "dcg"), (small, "ap"), (large, "dcg")):
        for learner in ("ftpl", "rtopkf", "hedge", *(["pege"] if loss == "dcg" else [])):
            play(Game(relevances, loss), learner, generator(0, "noise"))
    play(Game(small, "dcg"), "permelearn", generator(0, "noise"))
    for learner in ("semi-bandit", "forecaster"):
        play(Game(small, "precision@1"), learner, generator(0, "noise"))
