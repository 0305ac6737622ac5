"""Exploration by optimisation: the convex program of a round, and the loop over rounds.

A problem (`scant.games.optimisation.Problem`, here `program`) has C classes of rankings with equal
losses, A actions (a class and a top set that one of its rankings shows), S top sets with F
feedbacks each, hence S F signals, and d outcomes. The variables, in one vector, are

    z (C x r0), u (r), p (A), t

where column c of the estimator is `G_c = base_c + null z_c + span u`, and p is a distribution over
actions. `null` spans what all top sets together estimate as 0, so that every z and u gives an
unbiased estimator of the differences of losses. What is minimised over them is the largest entry,
t, of the values of the outcomes x,

    f_x = (p - q)'L_x / eta + sum_s P_s sum_c q_c psi(eta G(s, x)_c / P_s) / eta^2,
    psi(a) = exp(-a) + a - 1,

P_s being the probability that top set s is shown: by Newton's method on `t / mu` with logarithmic
barriers for t > f_x and p > 0, whose minimiser is within mu (d + A) of the optimum.
"""

import math
from typing import NamedTuple

import numpy as np

from scant.kernels import compiled

# weight of a class in the second term: it can only raise the value, and keeps Newton's matrix
# regular
LEAST = 1e-30
STEPS = 60  # of Newton's method with one barrier; it takes some five
NEARLY = 0.05  # the squared Newton decrement at which a step is the last


class Derivatives(NamedTuple):
    """Scratch, float64: derivatives of the barriers, see `_differentiate`, and Newton's step.

    gradient, step : (variables); J : (outcomes x variables)
    blocks : (classes x r0 x r0); sides : (classes x r0 x border); corner : (border x border),
        border being r + A + 1
    """

    gradient: np.ndarray
    step: np.ndarray
    J: np.ndarray
    blocks: np.ndarray
    sides: np.ndarray
    corner: np.ndarray


@compiled()
def fill(v, program, G, P):
    """Read the variables `v`: write the estimator into G (signals x classes) and the probabilities
    into P (top sets).
    """
    base, null, span, actions_top = program.base, program.null, program.span, program.actions_top
    signals, C = base.shape
    free, rank = null.shape[1], span.shape[1]
    for s in range(signals):
        common = 0.0
        for j in range(rank):
            common += span[s, j] * v[C * free + j]
        for c in range(C):
            entry = base[s, c] + common
            for j in range(free):
                entry += null[s, j] * v[c * free + j]
            G[s, c] = entry
    P[:] = 0.0
    for a in range(actions_top.shape[0]):
        P[actions_top[a]] += v[C * free + rank + a]


@compiled()
def value_of(q, eta, program, p, G, P, f):
    """Write the values (outcomes) of a distribution p and an estimator G into f; returns the
    largest, which bounds the regret.

    Returns infinity if a value is undefined: a probability is not above 0, or exp() of an estimate
    overflows.
    """
    losses, actions_class, signal = program.losses, program.actions_class, program.signal
    C, d = losses.shape
    sets, features = signal.shape[0], G.shape[0] // signal.shape[0]
    for a in range(p.shape[0]):
        if not p[a] > 0.0:
            return math.inf
    for x in range(d):
        total = 0.0
        for a in range(p.shape[0]):
            total += p[a] * losses[actions_class[a], x]
        for c in range(C):
            total -= q[c] * losses[c, x]
        f[x] = total / eta
    for s in range(sets):
        for g in range(features):
            total = 0.0
            for c in range(C):
                a = eta * G[s * features + g, c] / P[s]
                if a < -600.0:
                    return math.inf
                # Where a is small, exp(-a) + a - 1 would lose its digits.
                psi = math.exp(-a) + a - 1.0 if abs(a) > 1e-4 else a * a * (0.5 - a / 6.0)
                total += max(q[c], LEAST) * psi
            for x in range(d):
                if signal[s, x] == s * features + g:
                    f[x] += P[s] * total / (eta * eta)
    largest = -math.inf
    for x in range(d):
        largest = max(largest, f[x])
    return largest


@compiled()
def _cholesky(H, n):
    """The lower Cholesky factor of the first n rows and columns of H, in place; whether there is
    one.
    """
    for j in range(n):
        for k in range(j):
            factor = H[j, k]
            for i in range(j, n):
                H[i, j] -= factor * H[i, k]
        if not H[j, j] > 0.0:
            return False
        root = math.sqrt(H[j, j])
        for i in range(j, n):
            H[i, j] /= root
    return True


@compiled()
def _forward(L, M, n):
    """The solution X of L X = M, in place of M: the first n rows, of as many columns as it has."""
    for i in range(n):
        for k in range(i):
            factor = L[i, k]
            for j in range(M.shape[1]):
                M[i, j] -= factor * M[k, j]
        for j in range(M.shape[1]):
            M[i, j] /= L[i, i]


@compiled()
def _backward(L, b, n):
    """The solution x of L'x = b, in place of b."""
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= L[k, i] * b[k]
        b[i] /= L[i, i]


@compiled()
def _differentiate(q, eta, program, v, G, P, f, derivatives):
    """The derivatives of the barriers of f (see `newton`), without the terms of p > 0 and t / mu.

    In `derivatives`, gradient becomes minus the gradient, and J the gradients of f_x - t over t -
    f_x; the Hessian is J'J and a matrix of the blocks, the sides and the corner.
    """
    _, losses, actions_class, actions_top, signal, _, null, span = program
    gradient, _, J, blocks, sides, corner = derivatives
    C, d = losses.shape
    free, rank, A, sets = null.shape[1], span.shape[1], actions_class.shape[0], signal.shape[0]
    features = null.shape[0] // sets
    at_u, at_p = C * free, C * free + rank
    at_t = at_p + A
    J[:] = 0.0
    blocks[:] = 0.0
    sides[:] = 0.0
    corner[:] = 0.0
    for x in range(d):
        J[x, at_t] = -1.0
        for a in range(A):
            J[x, at_p + a] = losses[actions_class[a], x] / eta
    for row in range(null.shape[0]):
        s, weight = row // features, 0.0
        for x in range(d):
            if signal[s, x] == row:
                weight += 1.0 / (v[at_t] - f[x])
        by_P, by_u, u_u, u_P, P_P = 0.0, 0.0, 0.0, 0.0, 0.0
        for c in range(C):
            w, entry = max(q[c], LEAST), G[row, c]
            a = eta * entry / P[s]
            e = math.exp(-a)
            slope = -w * math.expm1(-a) / eta
            G_G = weight * w * e / P[s]
            G_P = -G_G * entry / P[s]
            # psi(a) - a psi'(a), without the loss of digits
            by_P += (
                w
                * ((1.0 + a) * e - 1.0 if abs(a) > 1e-4 else a * a * (-0.5 + a / 3.0))
                / (eta * eta)
            )
            by_u += slope
            u_u += G_G
            u_P += G_P
            P_P -= G_P * entry / P[s]
            for x in range(d):
                if signal[s, x] == row:
                    for j in range(free):
                        J[x, c * free + j] += slope * null[row, j]
            for i in range(free):
                for j in range(free):
                    blocks[c, i, j] += G_G * null[row, i] * null[row, j]
                for j in range(rank):
                    sides[c, i, j] += G_G * null[row, i] * span[row, j]
                # for the actions of this top set, below
                sides[c, i, rank + A] += G_P * null[row, i]
        for c in range(C):
            for i in range(free):
                for a_ in range(A):
                    if actions_top[a_] == s:
                        sides[c, i, rank + a_] += sides[c, i, rank + A]
                sides[c, i, rank + A] = 0.0
        for i in range(rank):
            for j in range(rank):
                corner[i, j] += u_u * span[row, i] * span[row, j]
        for a_ in range(A):
            if actions_top[a_] == s:
                for j in range(rank):
                    corner[rank + a_, j] += u_P * span[row, j]
                    corner[j, rank + a_] += u_P * span[row, j]
                for b in range(A):
                    if actions_top[b] == s:
                        corner[rank + a_, rank + b] += P_P
        for x in range(d):
            if signal[s, x] == row:
                for j in range(rank):
                    J[x, at_u + j] += by_u * span[row, j]
                for a_ in range(A):
                    if actions_top[a_] == s:
                        J[x, at_p + a_] += by_P
    gradient[:] = 0.0
    for x in range(d):
        for i in range(at_t + 1):
            J[x, i] /= v[at_t] - f[x]
            gradient[i] -= J[x, i]


@compiled()
def _step(derivatives, rank, A):
    """Solve Newton's equations for a step that keeps the sum of p; False where there is none.

    The matrix is that of `_differentiate`. With y = J step as further unknowns, the variables of a
    class meet those of others in the border and y alone, so that they are eliminated class by
    class.
    """
    gradient, step, J, blocks, sides, corner = derivatives
    C, free, size = blocks.shape[0], blocks.shape[1], corner.shape[0]
    d = J.shape[0]
    start = C * free
    # Of border, y, right side: what is left of their products when the classes are eliminated.
    M, left = np.empty((free, size + d + 1)), np.zeros((size + d + 1, size + d + 1))
    reduced = np.empty((C, free, size + d + 1))
    for c in range(C):
        for i in range(free):
            for j in range(size):
                M[i, j] = sides[c, i, j]
            for x in range(d):
                M[i, size + x] = J[x, c * free + i]
            M[i, size + d] = gradient[c * free + i]
        if not _cholesky(blocks[c], free):
            return False
        _forward(blocks[c], M, free)
        for i in range(free):
            for j in range(size + d + 1):
                factor = M[i, j]
                for k in range(size + d + 1):
                    left[j, k] += factor * M[i, k]
        for i in range(free):
            for j in range(size + d + 1):
                reduced[c, i, j] = M[i, j]
    # S y = X border + what is left of the right side, with S = 1 + ..
    S, X = left[size : size + d, size : size + d].copy(), np.empty((d, size + 1))
    for x in range(d):
        S[x, x] += 1.0
        for j in range(size):
            X[x, j] = J[x, start + j] - left[size + x, j]
        X[x, size] = left[size + x, size + d]
    if not _cholesky(S, d):
        return False
    _forward(S, X, d)
    # The border's own equations; the second right side is the sum of p.
    B, right = np.empty((size, size)), np.zeros((size, 2))
    for i in range(size):
        for j in range(size):
            B[i, j] = corner[i, j] - left[i, j]
            for x in range(d):
                B[i, j] += X[x, i] * X[x, j]
        B[i, i] += 1e-13 * abs(corner[i, i])
        right[i, 0] = gradient[start + i] - left[i, size + d]
        for x in range(d):
            right[i, 0] -= X[x, i] * X[x, size]
        right[i, 1] = 1.0 if rank <= i < rank + A else 0.0
    if not _cholesky(B, size):
        return False
    _forward(B, right, size)
    first, second = right[:, 0].copy(), right[:, 1].copy()
    _backward(B, first, size)
    _backward(B, second, size)
    along, across = 0.0, 0.0
    for i in range(rank, rank + A):
        along += first[i]
        across += second[i]
    y = np.empty(d)
    for i in range(size):
        first[i] -= along / across * second[i]
        step[start + i] = first[i]
    for x in range(d):
        y[x] = X[x, size]
        for j in range(size):
            y[x] += X[x, j] * first[j]
    _backward(S, y, d)
    for c in range(C):
        border = step[c * free : (c + 1) * free]
        for i in range(free):
            border[i] = reduced[c, i, size + d]
            for j in range(size):
                border[i] -= reduced[c, i, j] * first[j]
            for x in range(d):
                border[i] -= reduced[c, i, size + x] * y[x]
        _backward(blocks[c], border, free)
    return True


@compiled()
def newton(q, eta, mu, program, v, G, P, f, derivatives):
    """Take one damped Newton step on the barrier. Returns the squared decrement before the step, or
    -1 if the step fails.

    v : the variables, changed in place, with p > 0 summing to 1 and t above all f; derivatives :
        scratch
    """
    C, free = program.losses.shape[0], program.null.shape[1]
    rank, A = program.span.shape[1], program.actions_class.shape[0]
    gradient, step, corner = derivatives.gradient, derivatives.step, derivatives.corner
    at_p, at_t = C * free + rank, C * free + rank + A
    fill(v, program, G, P)
    value_of(q, eta, program, v[at_p:at_t], G, P, f)
    _differentiate(q, eta, program, v, G, P, f, derivatives)
    gradient[at_t] -= 1.0 / mu
    for a in range(A):
        gradient[at_p + a] += 1.0 / v[at_p + a]
        corner[rank + a, rank + a] += 1.0 / v[at_p + a] ** 2
    if not _step(derivatives, rank, A):
        return -1.0
    decrement = 0.0
    for i in range(at_t + 1):
        decrement += step[i] * gradient[i]
    if not decrement >= 0.0:
        return -1.0
    before, length = _barrier(v, mu, at_p, at_t, f), 1.0
    for i in range(at_t + 1):
        gradient[i] = v[i]
    for _ in range(60):
        for i in range(at_t + 1):
            v[i] = gradient[i] + length * step[i]
        fill(v, program, G, P)
        largest = value_of(q, eta, program, v[at_p:at_t], G, P, f)
        if (
            largest < v[at_t]
            and _barrier(v, mu, at_p, at_t, f) <= before - 0.2 * length * decrement + 1e-9
        ):
            return decrement
        length *= 0.5
    for i in range(at_t + 1):
        v[i] = gradient[i]
    return -1.0


@compiled()
def _barrier(v, mu, at_p, at_t, f):
    total = v[at_t] / mu
    for x in range(f.shape[0]):
        total -= math.log(v[at_t] - f[x])
    for a in range(at_p, at_t):
        total -= math.log(v[a])
    return total


@compiled()
def optimise(q, eta, accuracy, scale, program, v, warm):
    """Minimise the largest value over estimators and distributions, to within `accuracy` of it
    (relative).

    q : float64 (classes), the weights of exponential weights; eta : their learning rate
    scale : a value below which accuracy is relative to it
    v : the variables, changed in place; started from if `warm`, else from the uniform distribution

    Returns
    -------
    value : the largest f_x of what is found, exactly; infinity where none was found
    """
    C, d = program.losses.shape
    A, free, rank = program.actions_class.shape[0], program.null.shape[1], program.span.shape[1]
    at_p, at_t = C * free + rank, C * free + rank + A
    G, P, f = np.empty(program.base.shape), np.empty(program.signal.shape[0]), np.empty(d)
    gradient, step, J = np.empty(at_t + 1), np.empty(at_t + 1), np.empty((d, at_t + 1))
    border = rank + A + 1
    blocks, sides, corner = (
        np.empty((C, free, free)),
        np.empty((C, free, border)),
        np.empty((border, border)),
    )
    derivatives = Derivatives(gradient, step, J, blocks, sides, corner)
    for attempt in range(2):
        if attempt == 1 or not warm:
            v[:] = 0.0
            v[at_p:at_t] = 1.0 / A
        fill(v, program, G, P)
        largest = value_of(q, eta, program, v[at_p:at_t], G, P, f)
        if largest == math.inf:
            continue
        cold = attempt == 1 or not warm
        goal = accuracy * max(largest, scale) / (d + A)
        mu = max(goal, (abs(largest) + scale) / d) if cold else goal
        v[at_t] = largest + mu
        solved = False
        while True:
            for _ in range(STEPS):
                decrement = newton(q, eta, mu, program, v, G, P, f, derivatives)
                if decrement < NEARLY:
                    break
            fill(v, program, G, P)
            largest = value_of(q, eta, program, v[at_p:at_t], G, P, f)
            goal = accuracy * max(largest, scale) / (d + A)
            solved = decrement >= 0.0 and decrement < NEARLY
            if mu <= goal * 1.5 or not solved:
                break
            mu = max(goal, mu * 0.15)
        if solved or attempt == 1:
            return largest
    return math.inf


@compiled()
def weigh(estimates, eta, q):
    """Write exponential weights, proportional to exp(-eta estimate) and with sum 1, into `q`
    (classes).

    estimates : the sums of estimated losses (classes)
    """
    smallest, total = math.inf, 0.0
    for c in range(q.shape[0]):
        smallest = min(smallest, estimates[c])
    for c in range(q.shape[0]):
        q[c] = math.exp(-eta * (estimates[c] - smallest))
        total += q[c]
    for c in range(q.shape[0]):
        q[c] /= total


@compiled()
def carry(solved_p, solved_q, q, actions_class, actions_top, p, P):
    """Move `solved_p`, the distribution found for `solved_q`, to `q`: into p (actions) and P (top
    sets). Returns the total variation between `solved_q` and `q`.

    What a class has gained or lost is shared in proportion among its actions; none loses more than
    half.
    """
    A, moved, total = p.shape[0], 0.0, 0.0
    for c in range(q.shape[0]):
        moved += 0.5 * abs(q[c] - solved_q[c])
        of_class = 0.0
        for a in range(A):
            if actions_class[a] == c:
                of_class += solved_p[a]
        for a in range(A):
            if actions_class[a] == c:
                p[a] = max(
                    solved_p[a] + solved_p[a] / of_class * (q[c] - solved_q[c]), 0.5 * solved_p[a]
                )
                total += p[a]
    P[:] = 0.0
    for a in range(A):
        p[a] /= total
        P[actions_top[a]] += p[a]
    return moved


@compiled()
def play_optimised(cell, program, accuracy, tolerance, scale, certificate, solved, random, record):
    """Play `scant.games.optimisation.ExplorationByOptimisation` on a cell.

    Parameters
    ----------
    cell : a `scant.kernels.cells.Cell`
    program : the cell's `scant.games.optimisation.Problem`
    accuracy, tolerance, scale : see the class
    certificate : float64 (rounds), set to the bound on the expected regret at each round
    solved : int64 (1), set to how often the problem was solved
    record : a `scant.kernels.games.Record`
    """
    outcomes, all_losses, _, feedback = cell
    kept, total, _ = record
    C, A = program.losses.shape[0], program.shown.shape[0]
    at_p = C * program.null.shape[1] + program.span.shape[1]
    features = program.base.shape[0] // program.signal.shape[0]
    v = np.zeros(at_p + A + 1)
    G, P, f = (
        np.empty(program.base.shape),
        np.empty(program.signal.shape[0]),
        np.empty(program.losses.shape[1]),
    )
    estimates, q, solved_q, p, solved_p = (
        np.zeros(C),
        np.empty(C),
        np.empty(C),
        np.empty(A),
        np.empty(A),
    )
    spent, value, reached, regret, report = scale, 0.0, math.inf, 0.0, 0
    logarithm = math.log(max(C, 2))
    eta = math.sqrt(logarithm / (2 * spent))
    for t in range(outcomes.shape[0]):
        weigh(estimates, eta, q)
        bound, moved = math.inf, math.inf
        if t > 0:
            moved = carry(solved_p, solved_q, q, program.actions_class, program.actions_top, p, P)
            bound = value_of(q, eta, program, p, G, P, f)
        if moved > tolerance or not bound <= reached + tolerance * max(reached, 0.01 * scale):
            anew = optimise(q, eta, accuracy, 0.01 * scale, program, v, t > 0)
            if anew == math.inf:
                raise ArithmeticError("exploration by optimisation: no estimator was found")
            solved[0] += 1
            reached, bound = anew, anew
            for c in range(C):
                solved_q[c] = q[c]
            for a in range(A):
                p[a] = solved_p[a] = v[at_p + a]
            fill(v, program, G, P)
        x, u, a = outcomes[t], random.random(), 0
        while a < A - 1 and u >= p[a]:
            u -= p[a]
            a += 1
        value += all_losses[program.shown[a], x]
        if report < kept.shape[0] and kept[report] == t + 1:
            total[report] = value
            report += 1
        top = program.actions_top[a]
        for c in range(C):
            estimates[c] += G[top * features + feedback[top, x], c] / P[top]
        regret += eta * bound
        certificate[t] = logarithm / eta + regret
        spent += max(bound, 0.0)
        eta = math.sqrt(logarithm / (2 * spent))
