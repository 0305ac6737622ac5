"""Time the games on fixed items: each learner's round, long lists, and the papers' figures.

    python benchmarks/games.py [--rounds 1000000]

One thread. Every round measures the ranking shown; reading off the best fixed rankings is not counted, and is said
apart. Targets: FTPL and RTop-kF at m = 20 0.6 us, OnlineRank at n = 20 1 us and in proportion to n log n up to
n = 10,000, the papers' figures with ten seeds 20 s on two cores. Times vary between machines and minutes.
"""

import argparse

import numpy as np
from rounds import best

from scant.games import streams
from scant.games.play import Game, play
from scant.randomness import generator

LEARNERS = {
    "Random": "random",
    "FTPL": "ftpl",
    "FPL, Gumbel": "fpl-gumbel",
    "OnlineRank, quick sort": "online-rank",
    "OnlineRank, Plackett-Luce": {"kind": "online-rank", "sort": "plackett-luce"},
    "RTop-kF, FTPL": "rtopkf",
    "RTop-kF, FTPL, top 10": {"kind": "rtopkf", "k": 10},
    "RTop-kF, OnlineRank": {"kind": "rtopkf", "black_box": "online-rank"},
    "RTop-kF, anytime": "rtopkf-anytime",
    "RTop-kF, adaptive": "rtopkf-adaptive",
}
SMALL = {  # of five items; all but the first two are plain Python
    "Hedge": "hedge",
    "Multiplicative weights": "multiplicative-weights",
    "PermELearn": "permelearn",
    "CombBand": "comb-band",
    "RTop-kF, Hedge": {"kind": "rtopkf", "black_box": "hedge"},
}
# Figures 3.1 to 3.3 of the thesis, and 1 and 2 of AISTATS'15: streams, the losses and learners shown on them.
FIGURES = {
    ("flip", "dcg", 10_000): [
        *({"kind": "rtopkf", "blocks": blocks} for blocks in (10, 200, 400)),
        *({"kind": "rtopkf", "blocks": 200, "k": k} for k in (5, 10)),
        "ftpl", "random", "rtopkf-anytime", "rtopkf-adaptive",
    ],
    ("gauss", "dcg", 10_000): ["rtopkf", "ftpl", "random", "rtopkf-anytime", "rtopkf-adaptive"],
    ("bernoulli", "dcg", 10_000): [
        {"kind": "rtopkf", "blocks": 100, "black_box": {"kind": "ftpl", "epsilon": 1 / 40}},
        {"kind": "ftpl", "epsilon": 1 / 40},
    ],
}  # fmt: skip


def us_a_round(game: Game, learner, repeats: int = 3) -> float:
    last = np.array([game.rounds])
    game.best(last)
    return best(lambda: play(game, learner, generator(0), last), repeats) / game.rounds * 1e6


def figures() -> None:
    for (stream, loss, rounds), learners in FIGURES.items():
        for seed in range(10):
            game = Game(streams.draw(stream, generator(0, stream, seed), rounds), loss)
            for learner in learners:
                play(game, learner, generator(0, "noise", seed))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--rounds", type=int, default=1_000_000, help="T of the games with m = 20")
    rounds = arguments.parse_args().rounds

    game = Game(streams.draw("flip", generator(0), rounds), "dcg")
    print(f"us a round, m = 20, T = {rounds}, flip, DCG")
    for name, learner in LEARNERS.items():
        print(f"  {name:26} {us_a_round(game, learner):8.3f}")
    kept = np.unique(np.geomspace(1, rounds, 130).astype(np.int64))
    seconds = best(lambda: Game(game.stream, "dcg").best(kept), 3)
    print(f"  {'best fixed rankings':26} {seconds / rounds * 1e6:8.3f}")

    print("us a round, single choice, position loss             ns / (n log2 n)")
    for n in (20, 100, 1000, 10_000):
        game = Game(streams.draw("zipf", generator(0), max(200, 2_000_000 // n), items=n), "position-loss")
        for name in ("OnlineRank, quick sort", "OnlineRank, Plackett-Luce", "FTPL"):
            us = us_a_round(game, LEARNERS[name])
            print(f"  {name:26} n = {n:6} {us:9.3f}    {us * 1e3 / (n * np.log2(n)):7.2f}")

    print("us a round, m = 5, plain Python")
    game = Game(streams.draw("flip", generator(0), 2000, items=5, relevant=2), "dcg")
    for name, learner in SMALL.items():
        print(f"  {name:26} {us_a_round(game, learner, 1):8.1f}")

    games = sum(10 * len(learners) for learners in FIGURES.values())
    print(f"the papers' figures, ten seeds, {games} games of 10,000 rounds: {best(figures, 1):.2f} s")


if __name__ == "__main__":
    main()
