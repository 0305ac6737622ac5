"""Sorting by descending score, ties by index."""

import math
from collections import namedtuple

import numpy as np

from scant.kernels import compiled

BLOCK = 16  # scores that are compared with as many others at a time, on vectors

# up to this many scores, comparing all pairs is quicker than sorting keys (measured)
COUNTING_LIMIT = 96
DIGIT = 256  # a key has two digits

# swaps of neighbours, as a multiple of the number of scores, after which a merge sort takes over
PATIENCE = 4

Sorter = namedtuple("Sorter", "padded above met keys spare counts")  # scratch of `sort_scores`


@compiled()
def sorter(scores):
    """The `Sorter` for scores of this type, and of at most this length."""
    most = scores.shape[0]
    blocks = (most + BLOCK - 1) // BLOCK * BLOCK
    return Sorter(
        np.empty(blocks, scores.dtype),
        np.empty(blocks, np.uint32),
        np.empty(most, np.uint32),
        np.empty(most, np.uint32),
        np.empty(most, np.uint32),
        np.empty((2, DIGIT), np.uint32),
    )


@compiled(inline="always")  # a call with so many arrays takes as long as sorting a list of twenty
def sort_scores(scores, order, sorter):
    """Fill `order`, uint32, with the indices of scores in descending order, ties by index.

    O(m), but O(m log m) where some scores are far closer to each other than the rest. No score may
    be NaN.
    """
    if scores.shape[0] <= COUNTING_LIMIT:
        _count(scores, order, sorter.padded, sorter.above, sorter.met)
    elif not _sort_keys(scores, order, sorter.keys, sorter.spare, sorter.counts):
        _merge_sort(scores, order, sorter.spare)


@compiled(inline="always")
def place_by(scores, place, order, sorter):
    """Write the place of each score in descending order, ties by index, into `place`; `order` gets
    the indices in this order.
    """
    sort_scores(scores, order, sorter)
    for i in range(order.shape[0]):
        place[order[i]] = i


@compiled()
def _count(scores, order, padded, above, met):
    """Sort by counting the scores above each one.

    Both loops over a block have a fixed length: they run on vectors.
    """
    m = scores.shape[0]
    length = (m + BLOCK - 1) // BLOCK * BLOCK
    for i in range(m):
        padded[i], order[i], met[i] = scores[i], i, 0
    for i in range(m, length):
        padded[i] = -math.inf  # above nothing
    for start in range(0, length, BLOCK):
        block, number = padded[start : start + BLOCK], above[start : start + BLOCK]
        for i in range(BLOCK):
            number[i] = 0
        for other in range(0, length, BLOCK):
            rivals = padded[other : other + BLOCK]
            for i in range(BLOCK):
                higher = np.uint32(0)
                for j in range(BLOCK):
                    higher += rivals[j] > block[i]
                number[i] += higher
    for i in range(m):  # of equal scores, as many have been met as are before this one
        place = above[i]
        order[place + met[place]] = i
        met[place] += np.uint32(1)


@compiled(fastmath={"nnan", "nsz"})
def _extremes(scores):
    """The lowest and the highest score."""
    low, high = scores[0], scores[0]
    for i in range(scores.shape[0]):
        low, high = min(low, scores[i]), max(high, scores[i])
    return np.float64(low), np.float64(high)


@compiled()
def _sort_keys(scores, order, keys, spare, counts):
    """Sort by keys of two digits, in which scores are spread evenly, then swap neighbours that are
    not in order.

    Returns whether that succeeded: not if there are infinite scores, or many swaps are needed.
    """
    m, swaps = scores.shape[0], 0
    low, high = _extremes(scores)
    if low == high:
        for i in range(m):
            order[i] = i
        return True
    scale = (DIGIT * DIGIT - 1) / (high - low)
    if not 0 < scale < math.inf:
        return False
    first, second = counts[0], counts[1]
    for i in range(m):
        keys[i] = np.uint32((high - scores[i]) * scale)
    for digit in range(DIGIT):
        first[digit], second[digit] = 0, 0
    for i in range(m):
        first[keys[i] % DIGIT] += np.uint32(1)
        second[keys[i] // DIGIT] += np.uint32(1)
    firsts, seconds = np.uint32(0), np.uint32(0)
    for digit in range(DIGIT):
        in_first, in_second = first[digit], second[digit]
        first[digit], second[digit] = firsts, seconds
        firsts += in_first
        seconds += in_second
    for i in range(m):
        digit = keys[i] % DIGIT
        spare[first[digit]] = i
        first[digit] += np.uint32(1)
    for i in range(m):
        digit = keys[spare[i]] // DIGIT
        order[second[digit]] = spare[i]
        second[digit] += np.uint32(1)
    for i in range(1, m):
        item = order[i]
        score, j = scores[item], i
        while j > 0 and scores[order[j - 1]] < score:
            order[j] = order[j - 1]
            j -= 1
        order[j] = item
        swaps += i - j
        if swaps > PATIENCE * m:
            return False
    return True


@compiled()
def _merge_sort(scores, order, spare):
    """Sort runs by insertion, then merge them."""
    m, run = scores.shape[0], 8
    for start in range(0, m, run):
        for i in range(start, min(m, start + run)):
            score, j = scores[i], i
            while j > start and scores[order[j - 1]] < score:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
    source, target = order, spare
    while run < m:
        for start in range(0, m, 2 * run):
            middle, stop = min(m, start + run), min(m, start + 2 * run)
            i, j = start, middle
            for out in range(start, stop):
                if j >= stop or (i < middle and scores[source[i]] >= scores[source[j]]):
                    target[out] = source[i]
                    i += 1
                else:
                    target[out] = source[j]
                    j += 1
        source, target = target, source
        run *= 2
    if source is not order:
        for i in range(m):
            order[i] = source[i]
