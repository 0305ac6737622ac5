"""Steps of descent as large as the gradients so far tell, compiled: `scant.rankers.steps` is the
same, plain.
"""

import math
from typing import NamedTuple

import numpy as np

from scant.kernels import compiled
from scant.kernels.pieces import SUMS, step

# in the order of scant.rankers.steps.CHOICES
SCHEDULE, ADAGRAD, DOG, COIN, COCOB = range(5)
# What the array `sums` holds: the squared norms of all gradients; DoG's largest distance, or of
# gradients' norms for coin betting the largest and the sum; and the reward of its bets.
SQUARES, LARGEST, LENGTHS, REWARD, KEPT = range(5)
ROWS = 5  # of the array `memory`
FIRST_DISTANCE, ALPHA = 1e-6, 100.0  # as in scant.rankers.steps (a test holds them equal)


class Past(NamedTuple):
    """What is kept of the gradients so far, for the sizes of steps; 0 at first.

    sums : float64 (KEPT); memory : float64 (ROWS, d)
    gradient : float64 (d), the last one, which may be of any content
    """

    sums: np.ndarray
    memory: np.ndarray
    gradient: np.ndarray


@compiled(fastmath=SUMS)
def dot(a, b):
    """The inner product of two vectors."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@compiled()
def move(features, g, share, coming, steps, scale, weights, past):
    """Take a step against `share` times features' g; `past` is a `Past`.

    `features`, `g` and `coming` are as in `pieces.step`, the other arguments as in `take`. It is a
    function of its own, since loops in which `pieces.step` stands twice are a tenth slower.
    """
    sums, memory, gradient = past
    gradient[:] = 0.0
    step(features, g, -share, gradient, coming)
    sums[SQUARES] += dot(gradient, gradient)
    take(steps, scale, gradient, weights, sums, memory)


@compiled()
def take(steps, scale, gradient, weights, sums, memory):
    """Move `weights` against `gradient`; both float64 (d). The caller projects them on a ball if
    there is one.

    Parameters
    ----------
    steps : one of the constants above but SCHEDULE; scale : the radius of the ball, for AdaGrad
    sums : float64 (KEPT), 0 at first; its first entry already has this gradient
    memory : float64 (ROWS, d), 0 at first
    """
    if steps == COIN:
        _bet(gradient, weights, sums, memory)
        return
    if steps == COCOB:
        _bet_by_coordinate(gradient, weights, memory)
        return
    if sums[SQUARES] == 0.0:
        return
    size = math.sqrt(2.0) * scale / math.sqrt(sums[SQUARES])
    if steps == DOG:
        sums[LARGEST] = max(sums[LARGEST], FIRST_DISTANCE, math.sqrt(dot(weights, weights)))
        size = sums[LARGEST] / math.sqrt(sums[SQUARES])
    for j in range(weights.shape[0]):
        weights[j] -= size * gradient[j]


@compiled()
def _inwards(gradient, weights, point):
    """Take from `gradient` what would draw a point outside the ball further out, as Cutkosky 2020
    has it.
    """
    outwards, distance = 0.0, 0.0
    for j in range(weights.shape[0]):
        beyond = point[j] - weights[j]
        outwards += gradient[j] * beyond
        distance += beyond * beyond
    if outwards < 0.0:
        for j in range(weights.shape[0]):
            gradient[j] -= outwards / distance * (point[j] - weights[j])


@compiled()
def _bet(gradient, weights, sums, memory):
    """The bet of Krichevsky and Trofimov in the direction of the sum of all gradients."""
    point, total = memory[0], memory[1]
    _inwards(gradient, weights, point)
    length = math.sqrt(dot(gradient, gradient))
    if length == 0.0:
        return
    if sums[LARGEST] == 0.0:
        sums[LARGEST] = length
    share = min(1.0, sums[LARGEST] / length)
    sums[LARGEST] = max(sums[LARGEST], length)
    sums[LENGTHS] += share * length
    sums[REWARD] -= share * dot(gradient, point)
    bet = (1.0 + sums[REWARD] / sums[LARGEST]) / (sums[LARGEST] + sums[LENGTHS])
    for j in range(weights.shape[0]):
        total[j] -= share * gradient[j]
        point[j] = total[j] * bet
        weights[j] = point[j]


@compiled()
def _bet_by_coordinate(gradient, weights, memory):
    """COCOB's bet in each coordinate."""
    point, total, largest, lengths, reward = memory[0], memory[1], memory[2], memory[3], memory[4]
    _inwards(gradient, weights, point)
    for j in range(weights.shape[0]):
        length = abs(gradient[j])
        largest[j] = max(largest[j], length)
        if largest[j] == 0.0:
            continue
        lengths[j] += length
        reward[j] = max(0.0, reward[j] - gradient[j] * point[j])
        total[j] -= gradient[j]
        point[j] = (
            total[j]
            / largest[j]
            * (largest[j] + reward[j])
            / max(lengths[j] + largest[j], ALPHA * largest[j])
        )
        weights[j] = point[j]
