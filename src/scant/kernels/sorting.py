"""The place of each number in descending order."""

from scant.kernels import compiled

COUNTING_LIMIT = 800  # up to this many numbers, comparing all pairs (on vectors) is quicker than a sort (measured)


@compiled()
def _merge_sort(scores, order, spare):
    """`order` by descending score, ties by index: runs by insertion, then merged."""
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


@compiled()
def place_by(scores, place, order, spare):
    """The place of each item by descending score, ties by index; `order` and `spare` are scratch."""
    m = scores.shape[0]
    if m > COUNTING_LIMIT:
        _merge_sort(scores, order, spare)
        for i in range(m):
            place[order[i]] = i
        return
    for u in range(m):
        score, above = scores[u], 0
        for v in range(u):
            first = scores[v] >= score
            above += first
            place[v] += not first
        place[u] = above
