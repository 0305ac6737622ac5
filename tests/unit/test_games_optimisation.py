"""Exploration by optimisation: unbiased, optimal, certified; what it refuses; and its rate."""

import math

import numpy as np
import pytest
import yaml
from scipy import optimize

from scant.errors import SettingError
from scant.games import streams
from scant.games.cells import cell
from scant.games.optimisation import ACCURACY, TOLERANCE, problem
from scant.games.play import Game, build, play
from scant.kernels import optimisation
from scant.randomness import generator

CELLS = [("sum-loss", 3, 2), ("dcg", 3, 2), ("pairwise-loss", 3, 3), ("ndcg", 3, 3)]
CELLS += [("precision@1", 3, 1), ("precision@2", 3, 1), ("precision@2", 4, 2), ("dcg@1", 3, 1)]
CELLS += [("ap", 3, 3)]
KIND = "exploration-by-optimisation"
QS = [[1 / 3] * 3, [0.6, 0.3, 0.1]]  # weights
ENDS = [0.24989520, 0.19479769]  # of the solver


def noise(rounds, items, gap=0.0, seed=0):
    """Items that are relevant half of the time, the first of them by `gap` more often."""
    return (
        generator(seed, "noise").random((rounds, items)) < 0.5 + gap * (np.arange(items) == 0)
    ).astype(np.int8)


def played(loss, m, k, rounds=60):
    """A learner of the plain class after some rounds, with its weights off the uniform ones."""
    game = Game(noise(rounds, m, 0.2), loss)
    learner = build(game, {"kind": KIND, "k": k}, generator(1))
    for row in game.values:
        ranking = learner.rank()
        learner.learn(ranking, row[ranking[:k]].astype(float))
    learner.rank()
    return learner


def estimator(of, variables):
    """G (signals x classes) of the solver's variables, in NumPy."""
    classes = len(of.losses)
    z, u = np.split(variables[: -len(of.shown) - 1], [classes * of.null.shape[1]])
    return of.base + of.null @ z.reshape(classes, -1).T + (of.span @ u)[:, None]


def tops(of, p):
    """The probability of each top set, given that of each action."""
    return np.bincount(of.actions_top, p, len(of.signal))


def value(of, eta, q, p, G):
    """V: the largest over outcomes of what a round adds to the bound, in NumPy."""
    P = tops(of, p)
    exponents = eta * G / np.repeat(P, len(G) // len(P))[:, None]
    psi = np.where(
        np.abs(exponents) > 1e-4,
        np.expm1(-exponents) + exponents,
        exponents**2 * (0.5 - exponents / 6),
    )
    of_actions = p @ of.losses[of.actions_class] - q @ of.losses
    return float(np.max(of_actions / eta + P @ (psi @ q)[of.signal] / eta**2))


@pytest.mark.parametrize(("loss", "m", "k"), CELLS)
def test_a_round_is_as_described(loss, m, k):
    """Weights, the distribution that moves with them, when it is solved, the value: in NumPy."""
    game = Game(streams.draw("hard", generator(3), 300, items=m, k=k, loss=loss), loss)
    learner = build(game, {"kind": KIND, "k": k}, generator(1))
    of, solved_p, solved_q, reached, solved = learner.problem, None, None, None, 0
    for row in game.values:
        scale, estimates, spent = learner.scale, learner.estimates.copy(), learner.spent
        eta = math.sqrt(math.log(len(of.losses)) / (2 * spent))
        ranking = learner.rank()
        q = np.exp(-eta * (estimates - estimates.min()))
        q /= q.sum()
        np.testing.assert_allclose(learner.q, q, rtol=1e-9)
        if learner.solved[0] == solved:
            classes = of.actions_class
            p = (
                solved_p
                + solved_p / np.bincount(classes, solved_p)[classes] * (q - solved_q)[classes]
            )
            p = np.maximum(p, solved_p / 2)
            p /= p.sum()
            np.testing.assert_allclose(learner.p, p, rtol=1e-9)
            assert np.abs(q - solved_q).sum() / 2 <= TOLERANCE
            assert learner.reaches <= reached + TOLERANCE * max(reached, 0.01 * scale)
        else:
            solved_p, solved_q, reached, solved = learner.p.copy(), q, learner.reaches, solved + 1
            np.testing.assert_allclose(
                learner.G, estimator(of, learner.variables), rtol=1e-9, atol=1e-12
            )
        np.testing.assert_allclose(learner.P, tops(of, learner.p), rtol=1e-9)
        assert learner.reaches == pytest.approx(
            value(of, eta, q, learner.p, learner.G), rel=1e-7, abs=1e-9
        )
        learner.learn(ranking, row[ranking[:k]].astype(float))
        assert learner.spent == pytest.approx(spent + max(learner.reaches, 0))
    assert 1 < solved < 300


def test_no_action_loses_more_than_half_when_its_class_loses_weight():
    """Two classes of two actions; the first loses 0.5 of 0.6, its actions would keep a sixth."""
    of_class, of_top = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    p, P = np.empty(4), np.empty(2)
    found, before, after = (
        np.array([0.4, 0.2, 0.1, 0.3]),
        np.array([0.6, 0.4]),
        np.array([0.1, 0.9]),
    )
    assert optimisation.carry(found, before, after, of_class, of_top, p, P) == pytest.approx(0.5)
    expected = np.array([0.2, 0.1, 0.225, 0.675]) / 1.2
    np.testing.assert_allclose(p, expected)
    np.testing.assert_allclose(P, [expected[0] + expected[2], expected[1] + expected[3]])


@pytest.mark.parametrize(("loss", "m", "k"), CELLS)
def test_the_estimator_is_unbiased_for_whatever_it_has_optimised(loss, m, k):
    """Over all relevance vectors, and whatever its variables are."""
    learner, of = played(loss, m, k), problem(cell(loss, m, k))
    for variables in (learner.variables, generator(2).standard_normal(len(learner.variables))):
        G = estimator(of, variables)
        # P(s) times G / P(s), over top sets: classes x outcomes
        expected = G[of.signal].sum(axis=0).T
        truth = of.losses - of.losses.mean(axis=0)
        np.testing.assert_allclose(
            expected - expected.mean(axis=0), truth - truth.mean(axis=0), atol=1e-9
        )


@pytest.mark.parametrize(("loss", "m", "k"), CELLS)
def test_what_is_added_to_the_estimates_is_unbiased_by_enumeration(loss, m, k):
    """Over all relevance vectors and rankings, with the class's own account of what is shown."""
    learner = played(loss, m, k)
    p, before, its = learner.p.copy(), learner.estimates.copy(), learner.cell
    assert p.min() > 0
    assert p.sum() == pytest.approx(1)
    for x, vector in enumerate(its.relevances):
        mean = np.zeros(len(before))
        for action, probability in enumerate(p):
            learner.estimates[:], learner.action, learner.round = before, action, 0
            ranking = its.rankings[learner.problem.shown[action]]
            learner.learn(ranking, its.values[vector[ranking[:k]]])
            mean += probability * (learner.estimates - before)
        np.testing.assert_allclose(np.diff(mean), np.diff(learner.problem.losses[:, x]), atol=1e-9)


@pytest.mark.parametrize(("loss", "m", "k"), CELLS)
def test_actions_are_the_classes_with_the_top_sets_that_they_can_show(loss, m, k):
    of, its = problem(cell(loss, m, k)), cell(loss, m, k)
    np.testing.assert_allclose(its.losses[of.shown], of.losses[of.actions_class], atol=1e-9)
    np.testing.assert_array_equal(its.top_of[of.shown], of.actions_top)
    pairs = {
        (tuple(np.round(losses, 9)), top)
        for losses, top in zip(its.losses, its.top_of, strict=True)
    }
    assert len(pairs) == len(of.shown)


@pytest.mark.parametrize(
    ("loss", "m", "k"), [("precision@1", 3, 1), ("precision@2", 3, 1), ("pairwise-loss", 3, 3)]
)
@pytest.mark.parametrize("eta", [0.02, 0.3])
def test_the_value_is_the_least_that_a_general_solver_finds(loss, m, k, eta):
    """SLSQP, on the largest value as NumPy computes it."""
    learner = build(Game(noise(50, m), loss), {"kind": KIND, "k": k}, generator(0))
    of = learner.problem
    q = np.arange(1.0, len(of.losses) + 1) / np.arange(1, len(of.losses) + 1).sum()
    learner.spent = learner.logarithm / (2 * eta**2)
    assert learner.eta == pytest.approx(eta)
    reached, actions = learner._solve(q), len(of.shown)
    assert reached == pytest.approx(value(of, eta, q, learner.p, learner.G), rel=1e-9)

    @np.errstate(over="ignore")  # where the solver tries probabilities close to 0
    def objective(variables):
        return value(of, eta, q, shares(variables), estimator(of, variables))

    def shares(variables):
        return variables[-actions - 1 : -1]

    best = math.inf
    for start in (
        np.r_[np.zeros(of.variables - actions - 1), np.full(actions, 1 / actions), 0],
        learner.variables,
    ):
        found = optimize.minimize(
            objective,
            start,
            method="SLSQP",
            options={"maxiter": 400},
            constraints=[
                {"type": "eq", "fun": lambda v: shares(v).sum() - 1},
                {"type": "ineq", "fun": lambda v: shares(v) - 1e-6},
            ],
        )
        best = min(best, found.fun)
    assert reached <= best * (1 + ACCURACY) + 1e-3
    assert reached >= best - 1e-3


def test_the_value_by_hand():
    """Precision@1 of two items, uniform: each is shown half of the time, its estimate 2 R - 1."""
    of = problem(cell("precision@1", 2, 1))
    q = p = np.array([0.5, 0.5])
    G, values = np.zeros(of.base.shape), np.empty(of.losses.shape[1])
    for row, (top, seen) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        chooses = np.array(
            [of.actions_class[np.flatnonzero(of.actions_top == item)[0]] for item in (0, 1)]
        )
        G[row, chooses[top]] = -seen  # its loss is minus the relevance
    # If both are relevant: each class's loss is estimated as -1 / (1/2) when it is shown, else as
    # 0.
    for eta, by_hand in (
        (0.3, 0.5 * (math.exp(0.6) - 0.6 - 1) / 0.3**2),
        (2e-5, 1 + 2 / 3 * 2e-5),  # where psi is a series
    ):
        compiled = optimisation.value_of(q, eta, of, p, G, tops(of, p), values)
        assert compiled == pytest.approx(by_hand, rel=1e-9)
        assert value(of, eta, q, p, G) == pytest.approx(by_hand, rel=1e-9)


def test_the_compiled_loop_is_the_plain_class_in_the_smallest_cell():
    learner, game = {"kind": KIND, "k": 1}, Game(noise(150, 2, 0.2), "precision@1")
    compiled, plain = (
        play(game, learner, generator(0), compiled=compiled) for compiled in (True, False)
    )
    np.testing.assert_allclose(compiled.bound, plain.bound, rtol=1e-12)


def test_the_solver_ends_where_it_did():
    """It may end anywhere within its accuracy, but studies played again have the same results."""
    of = problem(cell("precision@2", 3, 1))
    arrays, zeros = of, np.zeros(of.variables)
    ends = [
        optimisation.optimise(np.array(q), 0.1, ACCURACY, 0.04, arrays, zeros.copy(), False)
        for q in QS
    ]
    assert ends == pytest.approx(ENDS, rel=1e-6)


@pytest.mark.parametrize(
    ("loss", "m", "k", "message"),
    yaml.safe_load(r"""
- [sum-loss, 3, 1, 'sum-loss at m = 3, k = 1 is not locally observable.*T\^\(2/3\).*''forecaster''']
- [ndcg, 3, 1, 'ndcg at m = 3, k = 1 cannot be learnt']
- [sum-loss, 5, 4, 'sum-loss at m = 5, k = 4 is a convex program of 6032 variables.*up to 500']
- [precision@2, 6, 1, up to 5 items]
- [position-loss, 3, 2, position-loss has no cell]
- [sum-loss, 3, 4, k is 4; with 3 items]
"""),
)
def test_what_it_refuses(loss, m, k, message):
    with pytest.raises(SettingError, match=message):
        build(Game(noise(50, m), loss), {"kind": KIND, "k": k}, generator(0))
