"""One round in pieces: score, sort, measure, gradient, step. Nothing here allocates.

Scores are float32 (as the features are), sums of products are float64. A query's documents are the
rows of `features`; `order` holds document indices, best first, ties by index. `discounts[i]` is
D(i+1) and `gains[r]` is G(r). The readable counterparts, which tests hold these to, are
`scant.measures` and `scant.surrogates`.
"""

import math
from collections import namedtuple
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from scant.kernels import compiled

# Sums may be reassociated (that is what lets them use vector instructions); nan and inf keep their
# meaning.
SUMS = {"reassoc", "contract"}
EXP_CLIP = 300.0  # as in scant.surrogates (a test holds them equal)
LARGEST_EXPONENT = 709.782712893384  # exp() of anything larger overflows float64

# The codes of scant.measures.RECORDABLE (a test holds them equal).
NDCG, AP, DCG, PRECISION, ERR, MRR, RECALL, LINEAR_NDCG = range(8)
PLACE = -1  # the grade at a place, as in scant.measures
ERR_GRADE = 4  # as in scant.measures (a test holds them equal)

# What loops over rounds take. Rounds : a stream's arrays (see `scant.data.stream.Stream`), and the
#     query of each round.
# Tables : G(r), D(i) and exp(-r), float64. Measured : what is recorded of the rankings shown,
#     NDCG@10, NDCG, AP and any
# others; `measures`, `ideals` and `empty` as `measure_ranking` takes them; `values`, float64
# (rounds, n), to be filled. And the weights after some rounds: `kept`, int64 (k), ascending from 1,
#     and `weights`, float64 (k, features), to be filled.
Rounds = namedtuple("Rounds", "features offsets grades relevant queries")
Tables = namedtuple("Tables", "gains discounts exponentials")
Measured = namedtuple("Measured", "measures ideals empty values kept weights")


class Slam(NamedTuple):
    """Which SLAM surrogate it is; see `slam`.

    cut, uniform : documents weigh G(label) D(place) over the first `cut` places; if `uniform`, 1
        each if relevant
    margin, by_grade : the margin is `margin`, times the difference of the labels if `by_grade`
    averaged : the weights are averaged within each label
    """

    cut: int
    uniform: bool
    margin: float
    by_grade: bool
    averaged: bool


def _prefetch(typingctx, array, index):
    """Ask for `array[index]`'s cache line: queries come in random order, which no hardware
    foresees.
    """

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        word = ir.IntType(32)
        call = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, call, "llvm.prefetch.p0")
        # read, second-level cache, data
        builder.call(function, [pointer, word(0), word(2), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


# Plain Python, which Numba leaves where it is told not to compile, cannot ask.
prefetch = (lambda array, index: None) if config.DISABLE_JIT else intrinsic(_prefetch)


@compiled()
def prefetch_share(coming, i, m):
    """Prefetch the i-th of m equal shares of `coming`. Spread over a loop, this lets memory and
    arithmetic overlap.
    """
    share = (coming.size + m - 1) // m
    # sixteen float32 fill a cache line
    for p in range(i * share, min((i + 1) * share, coming.size), 16):
        prefetch(coming, p)


@compiled(fastmath=SUMS)
def score(features, weights, scores, coming):
    """Write `features @ weights` into `scores`; meanwhile `coming` (flat, may be empty) is
    prefetched.

    Returns whether all scores are finite.
    """
    m, d = features.shape
    trouble = np.float32(0)
    for i in range(m):
        total, x = 0.0, features[i]
        for j in range(d):
            total += np.float64(x[j]) * weights[j]
        scores[i] = total
        trouble += scores[i] * np.float32(0)  # stays 0, or becomes nan
        prefetch_share(coming, i, m)
    return trouble == 0


@compiled()
def keep(recorded, filled, t, weights):
    """Copy the weights after t rounds into the next row of `recorded.weights`, if round t is kept.
    Returns how many rows are then filled.
    """
    if filled < recorded.kept.shape[0] and recorded.kept[filled] == t:
        recorded.weights[filled] = weights[: recorded.weights.shape[1]]
        return filled + 1
    return filled


@compiled()
def centre(values):
    """Subtract the mean from `values`, in place."""
    total = 0.0
    for value in values:
        total += value
    for i in range(values.shape[0]):
        values[i] -= total / values.shape[0]


@compiled()
def longest(offsets):
    """The number of documents of the longest query."""
    most = 0
    for q in range(offsets.shape[0] - 1):
        most = max(most, offsets[q + 1] - offsets[q])
    return most


@compiled()
def dcg(ranked, cut, gains, discounts):
    """DCG of the first `cut` places of `ranked`, grades in ranked order."""
    total = 0.0
    for i in range(min(cut, ranked.shape[0])):
        # unsigned: a signed index is looked at for being below 0
        total += gains[np.uint16(ranked[i])] * discounts[i]
    return total


@compiled()
def ndcg(order, truth, cut, ideal, gains, discounts):
    """NDCG@cut of the ranking `order`; `truth` is the query's grades, and `ideal` its largest
    DCG@cut.
    """
    total = 0.0
    for i in range(min(cut, order.shape[0])):
        total += gains[truth[order[i]]] * discounts[i]
    return total / ideal


@compiled()
def ideal_dcg(grades, cut, gains, discounts, counts):
    """The largest DCG@cut.

    It adds the same numbers in the same order as `dcg` does on an ideal ranking, so that both are
    equal to the last bit exactly when a ranking's first `cut` places are ideal.

    counts : scratch, int (grades)
    """
    top = 0
    for grade in grades:
        top = max(top, grade)
    counts[: top + 1] = 0
    for grade in grades:
        counts[grade] += 1
    total, i = 0.0, 0
    for back in range(top + 1):
        grade = top - back
        for _ in range(counts[grade]):
            if i >= cut:
                return total
            total += gains[grade] * discounts[i]
            i += 1
    return total


@compiled()
def average_precision(ranked, relevant):
    """AP of `ranked`, grades in ranked order; a document is relevant if its grade is above 0.

    relevant : how many documents are relevant, above 0
    """
    total, relevant_so_far = 0.0, 0
    for i in range(ranked.shape[0]):
        hit = ranked[i] > 0  # no branch on it: it could not be foreseen
        relevant_so_far += hit
        total += hit * (relevant_so_far / (i + 1))
    return total / relevant


@compiled()
def precision(ranked, cut):
    """How many of the first `cut` grades of `ranked` are above 0."""
    relevant = 0
    for i in range(min(cut, ranked.shape[0])):
        relevant += ranked[i] > 0
    return relevant


@compiled()
def err(ranked, cut, gains):
    """Expected reciprocal rank over the first `cut` places; no grade of `ranked` may be above
    `ERR_GRADE`.
    """
    total, reading = 0.0, 1.0
    for i in range(min(cut, ranked.shape[0])):
        satisfied = gains[ranked[i]] / 2.0**ERR_GRADE
        total += reading * satisfied / (i + 1)
        reading *= 1.0 - satisfied
    return total


@compiled()
def reciprocal_rank(ranked, cut):
    """1 / the first place, up to `cut`, with a grade above 0; 0 if there is none."""
    for i in range(min(cut, ranked.shape[0])):
        if ranked[i] > 0:
            return 1.0 / (i + 1)
    return 0.0


@compiled()
def linear_dcg(ranked, cut, discounts):
    """DCG of the first `cut` places with grades as gains."""
    total = 0.0
    for i in range(min(cut, ranked.shape[0])):
        total += ranked[i] * discounts[i]
    return total


@compiled()
def ideal_dcgs(offsets, grades, cut, gains, discounts, out):
    """Write the largest DCG@cut of each query into `out`, float64 (queries)."""
    counts = np.empty(gains.shape[0], np.int64)
    for q in range(out.shape[0]):
        out[q] = ideal_dcg(grades[offsets[q] : offsets[q + 1]], cut, gains, discounts, counts)


@compiled(inline="always")  # a call with so many arrays takes as long as measuring a list of twenty
def measure_ranking(order, truth, ranked, relevant, ideals, empty, measures, gains, discounts, out):
    """Measures of the ranking `order`, into `out`.

    Without a relevant document NDCG, AP and MRR are `empty`, and all other measures are 0. The
    grade at a place beyond the last is -1.

    truth : the query's grades; ranked : scratch of the same kind
    measures : int64 (n, 2), the code of each measure and its cut, 0 for the whole list; or, for a
        grade at a place, the place
    ideals : float64 (n), the query's largest DCG of so many places, where the measure is NDCG of
        whichever gain
    out : float64 (n)
    """
    m = order.shape[0]
    for i in range(m):
        ranked[i] = truth[order[i]]
    for j in range(measures.shape[0]):
        code, cut = measures[j, 0], measures[j, 1]
        if cut == 0:
            cut = m
        if code == NDCG:
            out[j] = dcg(ranked, cut, gains, discounts) / ideals[j] if relevant > 0 else empty
        elif code == AP:
            out[j] = average_precision(ranked, relevant) if relevant > 0 else empty
        elif code == DCG:
            out[j] = dcg(ranked, cut, gains, discounts)
        elif code == PRECISION:
            out[j] = precision(ranked, cut)
        elif code == ERR:
            out[j] = err(ranked, cut, gains)
        elif code == MRR:
            out[j] = reciprocal_rank(ranked, cut) if relevant > 0 else empty
        elif code == RECALL:
            out[j] = precision(ranked, cut) / max(1, relevant)
        elif code == LINEAR_NDCG:
            out[j] = linear_dcg(ranked, cut, discounts) / ideals[j] if relevant > 0 else empty
        elif code == PLACE:
            out[j] = ranked[cut - 1] if cut <= m else -1.0


@compiled(inline="always")
def measure_both(
    shown, own, differs, truth, ranked, relevant, ideals, empty, measures, gains, discounts, out
):
    """Measure the ranking shown by `measure_ranking`; returns NDCG@10, the first measure, of the
    learner's own ranking.

    differs : whether the two rankings may differ
    shown, own : the two rankings
    """
    measure_ranking(shown, truth, ranked, relevant, ideals, empty, measures, gains, discounts, out)
    if differs and relevant > 0:
        return ndcg(own, truth, measures[0, 1], ideals[0], gains, discounts)
    return out[0]


@compiled()
def slam(scores, order, labels, choice, tables, scratch, by_label, g):
    """The SLAM surrogate's value; its subgradient in the scores goes into `g`. O(m + labels^2).

    The documents, ordered by label and then score, weigh G(label) D(place) over the first `cut`
    places (perceptron paper, Eq. 11 and 24), or, if `uniform`, 1 each if relevant (Eq. 10: the AP
    weights); all over their sum. Each with a positive hinge against the best-scored document of a
    lower label moves its weight to that one (Eq. 13).

    choice : a `Slam`; tables : `Tables`, whose gains and discounts count
    Scratch: scratch float64 (6, labels), by_label uint32 (m)
    """
    cut, uniform, margin, by_grade, averaged = choice
    gains, discounts, _ = tables
    m, labels_there = order.shape[0], scratch.shape[1]
    # whole numbers are counted as such, since one waits for the next
    whole = scratch.view(np.int64)
    count, place, best, rival = whole[0], whole[1], whole[2], whole[3]
    weights, moved = scratch[4], scratch[5]
    for label in range(labels_there):
        count[label], best[label], moved[label] = 0, -1, 0.0
    for i in range(m):
        count[labels[i]] += 1
        g[i] = 0.0
    total, start = 0.0, 0
    for label in range(labels_there - 1, 0, -1):
        place[label], weights[label] = start, 0.0
        for p in range(start, min(start + count[label], cut)):
            weights[label] += 1.0 if uniform else gains[label] * discounts[p]
        total += weights[label]
        start += count[label]
    place[0] = start
    if total == 0.0:
        return 0.0
    for document in order:
        label = labels[document]
        by_label[place[label]] = document
        place[label] += 1
    for label in range(labels_there):
        if count[label] > 0:
            # its best-scored document; `place` is past its last
            best[label] = by_label[place[label] - count[label]]
    value = 0.0
    for label in range(labels_there - 1, 0, -1):
        reach, rival[label] = -math.inf, -1
        for lower in range(label):
            if best[lower] >= 0:
                height = margin * (label - lower if by_grade else 1) + scores[best[lower]]
                if height > reach or (height == reach and best[lower] < rival[label]):
                    reach, rival[label] = height, best[lower]
        start, stop = place[label] - count[label], place[label]
        for p in range(start, stop if averaged else min(stop, cut)):
            document = by_label[p]
            if averaged:
                weight = weights[label] / (count[label] * total)
            else:
                weight = (1.0 if uniform else gains[label] * discounts[p]) / total
            hinge = max(0.0, reach - scores[document])
            weight = weight if hinge > 0 else 0.0  # no branch on it: it could not be foreseen
            value += weight * hinge
            g[document] -= weight
            moved[label] += weight
    for label in range(1, labels_there):
        if moved[label] > 0:
            g[rival[label]] += moved[label]
    return value


@compiled()
def max_hinge(scores, order, labels, scratch, g):
    """The largest pairwise hinge (perceptron paper, Eq. 27); its subgradient (Eq. 29) goes into
    `g`. O(m + labels).

    Of several pairs it takes the relevant document of the smallest index and the best-scored of the
    others. Pairs are compared by s_j - s_i, without the margin of 1, so that scores scaled by a
    power of two pick the same pair.

    It goes up the labels. The widest gap of a label is that of its worst-scored document below the
    best-scored one of all lower labels, whose place is `best_place`.

    scratch : float64 (2, labels), any content
    """
    m = order.shape[0]
    first, last = scratch[0], scratch[1]  # places of each label's best- and worst-scored document
    last[:] = -1.0
    for i in range(m):
        last[labels[order[i]]] = i
        first[labels[order[m - 1 - i]]] = m - 1 - i
        g[i] = 0.0
    best_place, largest, above, below = -1, -math.inf, -1, -1
    for label in range(scratch.shape[1]):
        if last[label] < 0:
            continue
        if best_place >= 0:
            place = int(last[label])
            i, j = order[place], order[best_place]
            gap = np.float64(scores[j]) - np.float64(scores[i])
            # of equals, the one of smallest index
            while place > 0 and scores[order[place - 1]] == scores[i]:
                place -= 1
                if labels[order[place]] == label:
                    i = order[place]
            if gap > largest or (gap == largest and i < below):
                largest, above, below = gap, j, i
        if best_place < 0 or first[label] < best_place:
            best_place = int(first[label])
    if 1.0 + largest <= 0:
        return 0.0
    g[above] += 1.0
    g[below] -= 1.0
    return 1.0 + largest


@compiled()
def exponentials_below(values, largest, out, bits):
    """`out = exp(values - largest)` to 3e-13, where no value exceeds `largest` by 700; `bits` is
    int64 scratch.

    `math.exp` is called once a value; this is plain arithmetic, which runs on vectors (four times
    as fast). With x = n log 2 + r: the Taylor series of exp(r), and 2^n by writing n into a float's
    exponent.
    """
    # 1.5 * 2^52: adding it leaves round(x) in the lowest bits
    m, shift = values.shape[0], 6755399441055744.0
    power = bits.view(np.float64)
    for i in range(m):
        x = max(np.float64(values[i]) - largest, -700.0)
        power[i] = x * 1.4426950408889634 + shift
        n = power[i] - shift
        r = (x - n * 0.6931471803691238) - n * 1.9082149292705877e-10  # log 2 in two parts
        tail = 1 / 120 + r * (
            1 / 720 + r * (1 / 5040 + r * (1 / 40320 + r * (1 / 362880 + r / 3628800)))
        )
        out[i] = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * tail))))
    for i in range(m):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(m):
        out[i] *= power[i]


@compiled()
def listnet(scores, labels, exponentials, bits, goals, g):
    """ListNet's cross entropy; softmax(scores) - softmax(labels) goes into `g`, 0 exactly where
    both are uniform.

    exponentials : exp(-r) for each label r; goals : scratch of its kind and length
    """
    m, largest, top = scores.shape[0], scores[0], labels[0]
    for i in range(m):
        largest, top = max(largest, scores[i]), max(top, labels[i])
    exponentials_below(scores, np.float64(largest), g, bits)
    total, target, aligned = 0.0, 0.0, 0.0
    for i in range(m):
        total += g[i]
        target += exponentials[top - labels[i]]
        aligned += exponentials[top - labels[i]] * (np.float64(scores[i]) - largest)
    for label in range(top + 1):
        goals[label] = exponentials[top - label] / target
    for i in range(m):
        g[i] = g[i] / total - goals[labels[i]]
    return math.log(total) - aligned / target


@compiled()
def squared(scores, target, g):
    """||scores - target||^2; its gradient goes into `g`."""
    value = 0.0
    for i in range(scores.shape[0]):
        gap = np.float64(scores[i]) - target[i]
        value += gap * gap
        g[i] = 2.0 * gap
    return value


@compiled()
def kl(scores, labels, exponentials, bits, g):
    """The unnormalised KL divergence, and how many exponents were clipped; its gradient e^s - e^R
    goes into `g`.

    `exponentials[r]` is exp(-r). Beyond `EXP_CLIP` the exponential is continued by its tangent.
    """
    m, clipped, value = scores.shape[0], 0, 0.0
    for i in range(m):
        clipped += scores[i] > EXP_CLIP
    if clipped:
        for i in range(m):
            g[i] = math.exp(min(np.float64(scores[i]), EXP_CLIP))
            value += g[i] * max(0.0, np.float64(scores[i]) - EXP_CLIP)
    else:
        exponentials_below(scores, 0.0, g, bits)
    for i in range(m):
        goal = 1.0 / exponentials[labels[i]]
        value += goal * (labels[i] - np.float64(scores[i])) - goal + g[i]
        g[i] -= goal
    return value, clipped


@compiled()
def softmax(scores, temperature, scaled, bits, p):
    """softmax(scores / temperature), into `p`; returns how many exponents overflow where none is
    shifted.

    scaled : float64 scratch of the scores' length
    """
    m, largest, total, over = scores.shape[0], scores[0], 0.0, 0
    for i in range(m):
        largest = max(largest, scores[i])
    for i in range(m):
        scaled[i] = (np.float64(scores[i]) - largest) / temperature
        over += scores[i] / temperature > LARGEST_EXPONENT
    exponentials_below(scaled, 0.0, p, bits)
    for i in range(m):
        total += p[i]
    for i in range(m):
        p[i] /= total
    return over


@compiled()
def ranksvm(scores, order, labels, counts, sums, g):
    """The sum of pairwise hinges among the documents in `order` (descending scores), and its
    subgradient in `g`.

    O(documents * labels): on the way down the scores, a document whose hinge has become active
    stays active. `g` is set for the documents of `order` alone.

    counts, sums : scratch, float64 (labels)
    """
    n, value = order.shape[0], 0.0
    counts[:], sums[:] = 0.0, 0.0
    reached = 0
    for place in range(n):
        i = order[place]
        s = np.float64(scores[i])
        while reached < n and 1.0 + (np.float64(scores[order[reached]]) - s) > 0:
            other = order[reached]
            counts[labels[other]] += 1.0
            sums[labels[other]] += np.float64(scores[other])
            reached += 1
        below = 0.0
        for label in range(labels[i]):
            below += counts[label]
            value += counts[label] * (1.0 - s) + sums[label]
        g[i] = -below
    counts[:] = 0.0
    reached = n - 1
    for place in range(n - 1, -1, -1):
        j = order[place]
        s = np.float64(scores[j])
        while reached >= 0 and 1.0 + (s - np.float64(scores[order[reached]])) > 0:
            counts[labels[order[reached]]] += 1.0
            reached -= 1
        for label in range(labels[j] + 1, counts.shape[0]):
            g[j] += counts[label]
    return value


@compiled(fastmath=SUMS)
def project(weights, radius):
    """Scale `weights`, in place, to length `radius` if they are longer."""
    square = 0.0
    for j in range(weights.shape[0]):
        square += weights[j] * weights[j]
    if square > radius * radius:
        shorter = radius / math.sqrt(square)
        for j in range(weights.shape[0]):
            weights[j] *= shorter


@compiled(fastmath=SUMS)
def step(features, g, rate, weights, coming):
    """`weights -= rate * features' g`, two documents at a time; documents whose `g` is 0 are
    skipped.

    Meanwhile `coming` (flat, may be empty) is prefetched.
    """
    first, m = -1, features.shape[0]
    for i in range(m):
        prefetch_share(coming, i, m)
        if g[i] == 0.0:
            continue
        if first < 0:
            first = i
            continue
        a, b = rate * g[first], rate * g[i]
        x, y = features[first], features[i]
        for j in range(features.shape[1]):
            weights[j] -= a * np.float64(x[j]) + b * np.float64(y[j])
        first = -1
    if first >= 0:
        a, x = rate * g[first], features[first]
        for j in range(features.shape[1]):
            weights[j] -= a * np.float64(x[j])
