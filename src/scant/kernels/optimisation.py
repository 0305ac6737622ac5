"""Exploration by optimisation: the convex program of a round, and the loop over rounds.

A problem has C classes of rankings with equal losses, A actions (a class and a top set that one of its rankings shows),
S top sets with F feedbacks each, hence S F signals, and d outcomes. The variables, in one vector, are

    z (C x r0), u (r), p (A), t

where column c of the estimator is `G_c = base_c + null z_c + span u`, and p is a distribution over actions. `null`
spans what all top sets together estimate as 0, so that every z and u gives an unbiased estimator of the differences of
losses. What is minimised over them is the largest entry, t, of the values of the outcomes x,

    f_x = (p - q)'L_x / eta + sum_s P_s sum_c q_c psi(eta G(s, x)_c / P_s) / eta^2,   psi(a) = exp(-a) + a - 1,

P_s being the probability that top set s is shown: by Newton's method on `t / mu` with logarithmic barriers for t > f_x
and p > 0, whose minimiser is within mu (d + A) of the optimum.
"""

import math

import numpy as np

from scant.kernels import compiled

LEAST = (
    1e-30  # of a class's weight in the second term: this can only raise the value, and keeps Newton's matrix regular
)
STEPS = 60  # of Newton's method with one barrier; it takes some five
NEARLY = 0.05  # the squared Newton decrement at which a step is the last


@compiled()
def fill(v, base, null, span, actions_top, G, P):
    """The estimator G (signals x classes) and the probabilities P (top sets) that are in the variables."""
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
def value_of(q, eta, losses, actions_class, actions_top, signal, p, G, P, f):
    """The values f (outcomes) of a distribution p and an estimator G, and the largest, which bounds the regret.

    Returns infinity where they are not defined: a probability is not above 0, or an estimate is beyond exp().
    """
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
    """The lower Cholesky factor of H in place; whether there is one."""
    for j in range(n):
        for i in range(j):
            factor = H[j, i]
            if factor != 0.0:
                H[j, j] -= factor * factor
        if not H[j, j] > 0.0:
            return False
        H[j, j] = math.sqrt(H[j, j])
        for i in range(j + 1, n):
            total = H[i, j]
            for k in range(j):
                total -= H[i, k] * H[j, k]
            H[i, j] = total / H[j, j]
    return True


@compiled()
def _solve(H, b, n):
    """The solution of H x = b in place of b, given the Cholesky factor."""
    for i in range(n):
        for k in range(i):
            b[i] -= H[i, k] * b[k]
        b[i] /= H[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= H[k, i] * b[k]
        b[i] /= H[i, i]


@compiled()
def newton(q, eta, mu, losses, actions_class, actions_top, signal, base, null, span, v, G, P, f, H, J, step, border):
    """One damped step of Newton's method on the barrier; the squared decrement before it, or -1 where it fails.

    v : the variables, changed in place, with p > 0 summing to 1 and t above all f; H, J, step, border : scratch
    """
    C, d = losses.shape
    signals, free, rank = base.shape[0], null.shape[1], span.shape[1]
    A, sets = actions_class.shape[0], signal.shape[0]
    features = signals // sets
    at_u, at_p, at_t = C * free, C * free + rank, C * free + rank + A
    n = at_t + 1
    fill(v, base, null, span, actions_top, G, P)
    value_of(q, eta, losses, actions_class, actions_top, signal, v[at_p:at_t], G, P, f)
    H[:n, :n] = 0.0
    J[:, :n] = 0.0
    # The gradients of t - f_x, negative, and the Hessians of f_x times 1 / (t - f_x).
    for x in range(d):
        J[x, at_t] = -1.0
        for a in range(A):
            J[x, at_p + a] = losses[actions_class[a], x] / eta
    for s in range(sets):
        for g in range(features):
            row = s * features + g
            weight = 0.0
            for x in range(d):
                if signal[s, x] == row:
                    weight += 1.0 / (v[at_t] - f[x])
            if weight == 0.0:
                continue
            by_P, by_u, u_u, u_P, P_P = 0.0, 0.0, 0.0, 0.0, 0.0
            for c in range(C):
                w, entry = max(q[c], LEAST), G[row, c]
                a = eta * entry / P[s]
                e = math.exp(-a)
                # psi(a) - a psi'(a), without the loss of digits
                bend = (1.0 + a) * e - 1.0 if abs(a) > 1e-4 else a * a * (-0.5 + a / 3.0)
                by_P += w * bend / (eta * eta)
                slope = -w * math.expm1(-a) / eta
                by_u += slope
                G_G = weight * w * e / P[s]
                G_P = -G_G * entry / P[s]
                u_u += G_G
                u_P += G_P
                P_P -= G_P * entry / P[s]
                for x in range(d):
                    if signal[s, x] == row:
                        for j in range(free):
                            J[x, c * free + j] += slope * null[row, j]
                for i in range(free):
                    for j in range(i + 1):
                        H[c * free + i, c * free + j] += G_G * null[row, i] * null[row, j]
                    for j in range(rank):
                        H[at_u + j, c * free + i] += G_G * null[row, i] * span[row, j]
                    for b in range(A):
                        if actions_top[b] == s:
                            H[at_p + b, c * free + i] += G_P * null[row, i]
            for i in range(rank):
                for j in range(i + 1):
                    H[at_u + i, at_u + j] += u_u * span[row, i] * span[row, j]
                for b in range(A):
                    if actions_top[b] == s:
                        H[at_p + b, at_u + i] += u_P * span[row, i]
            for a_ in range(A):
                if actions_top[a_] == s:
                    for b in range(a_ + 1):
                        if actions_top[b] == s:
                            H[at_p + a_, at_p + b] += P_P
                    for x in range(d):
                        if signal[s, x] == row:
                            J[x, at_p + a_] += by_P
            for x in range(d):
                if signal[s, x] == row:
                    for j in range(rank):
                        J[x, at_u + j] += by_u * span[row, j]
    step[:n] = 0.0
    step[at_t] = -1.0 / mu
    for x in range(d):
        weight = 1.0 / (v[at_t] - f[x])
        for i in range(n):
            entry = weight * J[x, i]
            if entry != 0.0:
                step[i] -= entry
                for j in range(i + 1):
                    H[i, j] += entry * weight * J[x, j]
    for a in range(A):
        inverse = 1.0 / v[at_p + a]
        step[at_p + a] += inverse
        H[at_p + a, at_p + a] += inverse * inverse
    for i in range(n):
        H[i, i] += 1e-13 * H[i, i] + 1e-300
        border[i] = 1.0 if at_p <= i < at_t else 0.0
        J[0, i] = step[i]  # minus the gradient, for the decrement
    if not _cholesky(H, n):
        return -1.0
    _solve(H, step, n)
    _solve(H, border, n)
    along, across = 0.0, 0.0  # the step keeps the sum of p
    for i in range(at_p, at_t):
        along += step[i]
        across += border[i]
    decrement = 0.0
    for i in range(n):
        step[i] -= along / across * border[i]
        decrement += step[i] * J[0, i]
    if not decrement >= 0.0:
        return -1.0
    before = _barrier(v, mu, at_p, at_t, f)
    length = 1.0
    for i in range(n):
        border[i] = v[i]
    for _ in range(60):
        for i in range(n):
            v[i] = border[i] + length * step[i]
        fill(v, base, null, span, actions_top, G, P)
        largest = value_of(q, eta, losses, actions_class, actions_top, signal, v[at_p:at_t], G, P, f)
        if largest < v[at_t] and _barrier(v, mu, at_p, at_t, f) <= before - 0.2 * length * decrement + 1e-9:
            return decrement
        length *= 0.5
    for i in range(n):
        v[i] = border[i]
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
def optimise(q, eta, accuracy, scale, losses, actions_class, actions_top, signal, base, null, span, v, warm):
    """Minimise the largest value over estimators and distributions, to within `accuracy` of it (relative).

    q : float64 (classes), the weights of exponential weights; eta : their learning rate
    scale : a value below which accuracy is relative to it
    v : the variables, changed in place; started from if `warm`, else from the uniform distribution

    Returns
    -------
    value : the largest f_x of what is found, exactly; infinity where none was found
    """
    C, d = losses.shape
    A = actions_class.shape[0]
    at_p = C * null.shape[1] + span.shape[1]
    at_t = at_p + A
    G, P, f = np.empty(base.shape), np.empty(signal.shape[0]), np.empty(d)
    H, J = np.empty((at_t + 1, at_t + 1)), np.empty((d, at_t + 1))
    step, border = np.empty(at_t + 1), np.empty(at_t + 1)
    for attempt in range(2):
        if attempt == 1 or not warm:
            v[:] = 0.0
            v[at_p:at_t] = 1.0 / A
        fill(v, base, null, span, actions_top, G, P)
        largest = value_of(q, eta, losses, actions_class, actions_top, signal, v[at_p:at_t], G, P, f)
        if largest == math.inf:
            continue
        cold = attempt == 1 or not warm
        goal = accuracy * max(largest, scale) / (d + A)
        mu = max(goal, (abs(largest) + scale) / d) if cold else goal
        v[at_t] = largest + mu
        found = False
        while True:
            for _ in range(STEPS):
                decrement = newton(
                    q, eta, mu, losses, actions_class, actions_top, signal, base, null, span, v, G, P, f, H, J, step,
                    border,
                )  # fmt: skip
                if decrement < NEARLY:
                    break
            fill(v, base, null, span, actions_top, G, P)
            largest = value_of(q, eta, losses, actions_class, actions_top, signal, v[at_p:at_t], G, P, f)
            goal = accuracy * max(largest, scale) / (d + A)
            found = decrement >= 0.0 and decrement < NEARLY
            if mu <= goal * 1.5 or not found:
                break
            mu = max(goal, mu * 0.15)
        if found or attempt == 1:
            return largest
    return math.inf


@compiled()
def weigh(estimates, eta, q):
    """Exponential weights `q` (classes) of the sums of estimated losses."""
    least, total = math.inf, 0.0
    for c in range(q.shape[0]):
        least = min(least, estimates[c])
    for c in range(q.shape[0]):
        q[c] = math.exp(-eta * (estimates[c] - least))
        total += q[c]
    for c in range(q.shape[0]):
        q[c] /= total


@compiled()
def carry(solved_p, solved_q, q, actions_class, actions_top, p, P):
    """The distribution found for `solved_q`, moved to `q`: p (actions) and P (top sets). Returns how far q has moved.

    What a class has gained or lost is shared among its actions as they were; none loses more than half. The distance
    is that of total variation.
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
                p[a] = max(solved_p[a] + solved_p[a] / of_class * (q[c] - solved_q[c]), 0.5 * solved_p[a])
                total += p[a]
    P[:] = 0.0
    for a in range(A):
        p[a] /= total
        P[actions_top[a]] += p[a]
    return moved


@compiled()
def play_optimised(
    outcomes, all_losses, top_of, feedback, shown, losses, actions_class, actions_top, signal, base, null, span,
    accuracy, tolerance, scale, certificate, solved, random, kept, total, explored,
):  # fmt: skip
    """Play `scant.games.optimisation.ExplorationByOptimisation` on a cell.

    Parameters
    ----------
    outcomes : int64 (rounds), the number of each round's relevance vector; all_losses : (rankings x outcomes)
    shown : int64 (actions), the number of the ranking that an action shows
    losses, actions_class, actions_top, signal, base, null, span : the problem, see the module
    accuracy, tolerance, scale : see the class
    certificate : float64 (rounds), set to the bound on the expected regret at each round
    solved : int64 (1), set to how often the problem was solved
    kept, total : as in `scant.kernels.games.play_full`
    """
    C, A = losses.shape[0], shown.shape[0]
    at_p = C * null.shape[1] + span.shape[1]
    features = base.shape[0] // signal.shape[0]
    v = np.zeros(at_p + A + 1)
    G, P, f = np.empty(base.shape), np.empty(signal.shape[0]), np.empty(losses.shape[1])
    estimates, q, solved_q, p, solved_p = np.zeros(C), np.empty(C), np.empty(C), np.empty(A), np.empty(A)
    spent, value, reached, regret, at = scale, 0.0, math.inf, 0.0, 0
    logarithm = math.log(max(C, 2))
    eta = math.sqrt(logarithm / (2 * spent))
    for t in range(outcomes.shape[0]):
        weigh(estimates, eta, q)
        bound, moved = math.inf, math.inf
        if t > 0:
            moved = carry(solved_p, solved_q, q, actions_class, actions_top, p, P)
            bound = value_of(q, eta, losses, actions_class, actions_top, signal, p, G, P, f)
        if moved > tolerance or not bound <= reached + tolerance * max(reached, 0.01 * scale):
            anew = optimise(
                q, eta, accuracy, 0.01 * scale, losses, actions_class, actions_top, signal, base, null, span, v, t > 0
            )
            if anew == math.inf:
                raise ArithmeticError("exploration by optimisation: no estimator was found")
            solved[0] += 1
            solved_q[:], solved_p[:], reached, bound = q, v[at_p : at_p + A], anew, anew
            fill(v, base, null, span, actions_top, G, P)
            p[:] = solved_p
        x, u, a = outcomes[t], random.random(), 0
        while a < A - 1 and u >= p[a]:
            u -= p[a]
            a += 1
        value += all_losses[shown[a], x]
        if at < kept.shape[0] and kept[at] == t + 1:
            total[at] = value
            at += 1
        top = actions_top[a]
        for c in range(C):
            estimates[c] += G[top * features + feedback[top, x], c] / P[top]
        regret += eta * bound
        certificate[t] = logarithm / eta + regret
        spent += max(bound, 0.0)
        eta = math.sqrt(logarithm / (2 * spent))
