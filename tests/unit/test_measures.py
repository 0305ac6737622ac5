"""The measures: hand cases, agreement with trec_eval and scikit-learn, laws for every query."""

import doctest
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

from scant import measures
from scant.errors import SettingError
from scant.measures import (
    auc_loss,
    average_precision,
    dcg,
    err,
    linear_ndcg,
    ndcg,
    pairwise_loss,
    position_loss,
    positions,
    precision_at,
    rank,
    recall_at,
    reciprocal_rank,
    spearman_loss,
    sum_loss,
)

EXAMPLES = settings(deadline=None, derandomize=True, max_examples=60)


def cut(measure, k):
    """A measure at a cut-off."""
    return lambda ranking, grades: measure(ranking, grades, k)


GRADED = {"dcg": dcg, "dcg@3": cut(dcg, 3), "ndcg": cut(ndcg, None), "ndcg@3": cut(ndcg, 3)}
GRADED |= {"ap": average_precision, "precision@3": cut(precision_at, 3), "err": err}
GRADED |= {"mrr@3": cut(reciprocal_rank, 3), "recall@3": cut(recall_at, 3)}
GRADED |= {"linear_ndcg@3": cut(linear_ndcg, 3), "sum": sum_loss, "pairwise": pairwise_loss}
GRADED |= {"auc": auc_loss}
queries = st.integers(1, 8).flatmap(
    lambda m: st.tuples(
        st.permutations(range(m)), st.lists(st.integers(0, 4), min_size=m, max_size=m)
    )
)


def brute_pairwise(ranking, s):
    """The double sum: for each pair in wrong order, (how many, by how much)."""
    wrong = [s[v] - s[u] for p, u in enumerate(ranking) for v in ranking[p + 1 :] if s[u] < s[v]]
    return len(wrong), sum(wrong)


# Documents 0..3 of grades 0, 2, 1, 0 are shown as 1, 0, 2, 3: grades 2, 0, 1, 0 from the top.
RANKING, GRADES = [1, 0, 2, 3], [0, 2, 1, 0]


@pytest.mark.parametrize(
    "value, expected",
    [
        (err(RANKING, GRADES, max_grade=2), 3 / 4 + 1 / 4 * 1 / 4 / 3),
        (err(RANKING, GRADES, k=2), 3 / 16),
        (sum_loss(RANKING, GRADES), 2 * 1 + 1 * 3),
        (pairwise_loss(RANKING, GRADES), 1),
        (pairwise_loss([0, 2, 1, 3], GRADES), 3),
        (auc_loss(RANKING, GRADES), 1 / 4),
        (position_loss(RANKING, [0.5, -1, 0, 2]), 0.5 * 2 - 1 + 2 * 4),
        (spearman_loss([2, 0, 1], [2, 0, 1]), -14),
        (spearman_loss([0, 1, 2], [2, 1, 0]), -10),
    ],
)
def test_hand_cases(value, expected):
    assert value == pytest.approx(expected, rel=1e-15)


def test_ranks_break_ties_by_document_index_and_positions_invert_them():
    assert rank([1, 3, 1, 3, 2]).tolist() == [1, 3, 4, 0, 2]
    assert rank([0.0, -0.0, 0.0]).tolist() == [0, 1, 2]
    assert positions([1, 3, 4, 0, 2]).tolist() == [4, 1, 5, 2, 3]


# --- by name
def test_a_name_means_a_measure_and_a_cut():
    every = {"ndcg": ("NDCG", cut(ndcg, None)), "ndcg@2": ("NDCG@2", cut(ndcg, 2))}
    every |= {"ap": ("AP", average_precision), "dcg": ("DCG", dcg), "dcg@2": ("DCG@2", cut(dcg, 2))}
    every |= {"precision@3": ("Precision@3", cut(precision_at, 3)), "err": ("ERR", err)}
    every |= {"err@2": ("ERR@2", cut(err, 2)), "mrr@2": ("MRR@2", cut(reciprocal_rank, 2))}
    every |= {"recall@2": ("Recall@2", cut(recall_at, 2))}
    every |= {"linear_ndcg@2": ("Linear NDCG@2", cut(linear_ndcg, 2))}
    assert {name.partition("@")[0] for name in every} <= set(measures.RECORDABLE)
    for name, (title, measure) in every.items():
        assert measures.function_of(name)(RANKING, GRADES) == measure(RANKING, GRADES)
        assert measures.title_of(name) == title
    codes = [measures.RECORDABLE[name].code for name in ("err", "precision")]
    expected = [[codes[0], 0], [codes[1], 12]]
    assert measures.codes_of(["err", "precision@12"]).tolist() == expected
    assert (measures.codes_of([]).shape, measures.codes_of([]).dtype) == ((0, 2), np.int64)


@pytest.mark.parametrize(
    "name", ["ndcg", "linear_ndcg", "ap", "mrr", "dcg@2", "precision@2", "recall@2", "err"]
)
def test_only_what_can_be_1_is_so_without_a_relevant_document(name):
    """The others gain nothing there, whatever the reading `empty` says of NDCG, AP and MRR."""
    of = measures.function_of(name)
    assert of([1, 0], [0, 0]) == of([1, 0], [0, 0], 0.0) == 0
    assert of([1, 0], [0, 0], 1.0) == (name in ("ndcg", "linear_ndcg", "ap", "mrr"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndgc", "unknown measure 'ndgc': did you mean 'ndcg'"),
        ("NDCG", "Known: ap, dcg, dcg@k, err, err@k, "),
        ("precision", "'precision' needs a cut-off, as in 'precision@5'"),
        ("ap@5", "'ap' has no cut-off, since it is defined for whole lists; got 'ap@5'"),
        ("err@0", "a whole number from 1 to 999999, as in 'err@5'; got 'err@0'"),
        (5, "unknown measure '5'"),
    ],
)
def test_a_name_that_means_none_is_refused(name, message):
    with pytest.raises(SettingError, match=message):
        measures.named(name)


def test_doctests():
    assert doctest.testmod(measures).failed == 0


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_trec_eval_and_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 60))
    grades = rng.choice(5, size=m, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    grades[0], grades[-1] = 0, 1  # both classes occur
    scores = rng.permutation(m).astype(float)
    ranking, gains, relevant = rank(scores), 2.0**grades - 1, grades > 0

    def trec(measure, values):
        judged = {"q": {f"d{i}": int(value) for i, value in enumerate(values)}}
        evaluator = pytrec_eval.RelevanceEvaluator(judged, {measure.replace("@", ".")})
        result = evaluator.evaluate({"q": {f"d{i}": score for i, score in enumerate(scores)}})
        return result["q"][measure.replace("@", "_")]

    def agree(ours, *theirs):
        assert theirs == pytest.approx([ours(ranking, grades)] * len(theirs), abs=1e-12)

    scored, graded = ([gains], [scores]), ([grades], [scores])
    agree(cut(ndcg, None), trec("ndcg", gains), ndcg_score(*scored))
    agree(ndcg, trec("ndcg_cut@10", gains), ndcg_score(*scored, k=10))
    agree(dcg, dcg_score(*scored))
    agree(cut(dcg, 5), dcg_score(*scored, k=5))
    agree(average_precision, trec("map", grades), average_precision_score(relevant, scores))
    agree(linear_ndcg, trec("ndcg", grades), ndcg_score(*graded))
    agree(cut(linear_ndcg, 10), trec("ndcg_cut@10", grades), ndcg_score(*graded, k=10))
    agree(cut(precision_at, 5), 5 * trec("P@5", grades))
    agree(cut(recall_at, 5), trec("recall@5", grades))
    agree(reciprocal_rank, trec("recip_rank", grades))
    agree(auc_loss, 1 - roc_auc_score(relevant, scores))


@pytest.mark.parametrize("m", range(1, 6))
def test_gains_are_greatest_and_losses_least_exactly_on_sorted_rankings(m):
    rankings = [list(ranking) for ranking in permutations(range(m))]
    # All multisets of grades; which document has which does not matter (see the next test).
    for grades in combinations_with_replacement(range(3), m):
        grades = np.array(grades)
        ideal = sorted(grades, reverse=True)
        assert max(dcg(r, grades) for r in rankings) == dcg(rank(grades), grades)
        assert max(dcg(r, grades, k=2) for r in rankings) == dcg(rank(grades), grades, k=2)
        for ranking in rankings:
            shown = grades[ranking].tolist()
            assert (pairwise_loss(ranking, grades) == 0) == (shown == ideal)
            if not grades.any():
                continue
            assert (ndcg(ranking, grades, k=None) == 1) == (shown == ideal)
            assert (ndcg(ranking, grades, k=2) == 1) == (shown[:2] == ideal[:2])
            assert (linear_ndcg(ranking, grades, k=2) == 1) == (shown[:2] == ideal[:2])
            relevant = [grade > 0 for grade in shown]
            first = relevant == sorted(relevant, reverse=True)
            assert (average_precision(ranking, grades) == 1) == first


@pytest.mark.parametrize("name", GRADED)
@EXAMPLES
@given(queries, st.randoms())
def test_renumbering_the_documents_changes_nothing(name, query, random):
    ranking, grades = query
    new = list(range(len(grades)))  # the new number of each document
    random.shuffle(new)
    renumbered = [0] * len(grades)
    for old, number in enumerate(new):
        renumbered[number] = grades[old]
    assert GRADED[name]([new[u] for u in ranking], renumbered) == GRADED[name](ranking, grades)


@EXAMPLES
@given(queries)
def test_pairwise_losses_equal_their_double_sums(query):
    ranking, grades = query
    count, amount = brute_pairwise(ranking, grades)
    assert pairwise_loss(ranking, grades) == count
    # Ailon, Eq. 2.2
    assert position_loss(ranking, grades) - position_loss(rank(grades), grades) == amount
    turned = -np.array(grades) / 4
    excess = position_loss(ranking, turned) - position_loss(rank(turned), turned)
    assert excess == brute_pairwise(ranking[::-1], grades)[1] / 4


@EXAMPLES
@given(queries, st.randoms())
def test_pairwise_loss_less_sum_loss_depends_on_binary_grades_alone(query, random):
    ranking, binary = query[0], [min(grade, 1) for grade in query[1]]
    other = random.sample(ranking, len(ranking))
    difference = [pairwise_loss(r, binary) - sum_loss(r, binary) for r in (ranking, other)]
    assert difference[0] == difference[1]
    assert position_loss(ranking, binary) == sum_loss(ranking, binary)
    excess = sum_loss(ranking, binary) - sum_loss(rank(binary), binary)
    assert excess == pairwise_loss(ranking, binary)


@EXAMPLES
@given(st.permutations(range(5)), st.permutations(range(5)))
def test_spearman_loss_is_the_position_loss_of_minus_the_other_positions(ranking, other):
    loss = spearman_loss(ranking, other)
    assert loss == position_loss(ranking, -positions(other)) == spearman_loss(other, ranking)
