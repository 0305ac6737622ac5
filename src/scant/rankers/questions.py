"""What studies of online learners answer on their pages."""

from scant.declare.families import Answer, Question

CONVEX = "squared, KL and RankSVM"

PERCEPTRON = (
    Question(
        "perceptrons",
        "Do perceptrons keep up with ListNet?",
        ("perceptron-*", "steps-perceptron", "steps-slam-*", "seen-average-near-listnet"),
        ("figure-2.2", "figure-2.1", "figure-2.ap", "figure-iterates", "figure-steps"),
        (
            Answer(
                "perceptron-slam-competitive",
                "SLAM",
                "is within 5 % of ListNet",
                "is more than 5 % behind ListNet",
            ),
            Answer(
                "seen-average-near-listnet",
                "averaged perceptrons",
                "are within 0.01 of ListNet",
                "are more than 0.01 behind ListNet",
            ),
            Answer(
                "steps-slam-behind-listnet",
                "SLAM without a rate",
                "is more than 5 % behind ListNet",
                "is within 5 % of ListNet",
            ),
            Answer(
                "perceptron-converges",
                "the perceptrons",
                "average more than 0.99",
                "average less than 0.99",
            ),
            Answer(
                "perceptron-over-listnet-separable",
                "the perceptrons",
                "are more than 0.005 ahead of ListNet",
                "are less than 0.005 ahead, or behind",
            ),
        ),
    ),
)
TOP = (
    Question(
        "top",
        "What does it cost to see only the top?",
        ("top-[!c]*", "top-competitive", "top-close-*"),  # top-clicks-* is the next question
        (
            "figure-3.4",
            "figure-aistats16.1",
            "figure-top-k",
            "figure-top-regret",
            "figure-smoothdcg",
        ),
        (
            Answer(
                "top-feedback-cost",
                "seeing only the top",
                "costs at most 0.05 of NDCG@10",
                "costs more than 0.05",
            ),
            Answer(
                "top-competitive",
                CONVEX,
                "are within 5 % of ListNet",
                "are more than 5 % behind ListNet",
            ),
            Answer(
                "top-above-random",
                CONVEX,
                "rank better than at random",
                "rank worse than at random",
            ),
        ),
    ),
    Question(
        "clicks",
        "Which learner ranks best from clicks alone?",
        ("top-clicks-*", "seen-clicks-*"),
        ("figure-clicks",),
        (
            Answer(
                "top-clicks-pdgd-above-dbgd",
                "PDGD",
                "ranks better than DBGD",
                "ranks worse than DBGD",
            ),
            Answer(
                "seen-clicks-near-pdgd",
                "pairs of clicks, without weights,",
                "are within 0.01 of PDGD",
                "are over 0.01 behind PDGD",
            ),
            Answer(
                "seen-clicks-unbiased",
                "weighting by inverse propensities",
                "raises NDCG@10 under position bias",
                "lowers NDCG@10 under position bias",
            ),
        ),
        alone=False,
    ),
    Question(
        "feedback",
        "What does each bit of feedback cost?",
        ("seen-*", "steps-adagrad"),
        ("figure-returns", "figure-feedback", "figure-steps-top", "figure-seen-worlds"),
        (
            Answer(
                "seen-one-near-best",
                "on new queries, one grade",
                "is within 5 % of all",
                "is over 5 % behind all",
            ),
            Answer(
                "seen-memory-overtakes",
                "where queries return, one remembered grade",
                "is better than all forgotten",
                "is worse than all forgotten",
            ),
            Answer(
                "seen-one-costs-memory",
                "with memory, one grade",
                "costs more than 0.1 of NDCG@10",
                "costs less than 0.1 of NDCG@10",
            ),
            Answer(
                "seen-least-squares",
                "from one grade, LinUCB",
                "ranks better than steps on losses",
                "ranks worse than steps on losses",
            ),
            Answer(
                "seen-two-near-listnet",
                "from two grades, ridge regression",
                "is within 0.02 of ListNet",
                "is more than 0.02 behind ListNet",
            ),
            Answer(
                "seen-papers-constant",
                "the papers' estimates at their constant",
                "are within 0.06 of ListNet",
                "are over 0.06 behind ListNet",
            ),
            Answer(
                "seen-falling",
                "exploration that falls",
                "costs at most 0.01",
                "costs more than 0.01",
            ),
            Answer(
                "seen-optimism",
                "where good documents hide, optimism",
                "gains more than 0.05",
                "gains less than 0.05",
            ),
        ),
    ),
    Question(
        "judged",
        "What is a judged list worth, and a single click?",
        ("judged-*",),
        ("figure-worth", "figure-one-click"),
        (
            Answer(
                "judged-ten-lists",
                "ten human lists",
                "are better than 100 single grades",
                "are worth less than 100 single grades",
            ),
            Answer(
                "judged-leaning",
                "lists whose judge leans",
                "are worth less than 100 single grades",
                "are better than 100 single grades",
            ),
            Answer(
                "judged-chosen-gains",
                "a chosen start from 30 lists",
                "gains more than 0.02",
                "gains less than 0.02",
            ),
            Answer(
                "judged-chosen-safe",
                "a chosen start",
                "costs under 0.03, where trust costs 0.05",
                "costs 0.03, or trust less than 0.05",
            ),
            Answer(
                "judged-click-near-pdgd",
                "LinUCB from the first click",
                "is within 5 % of PDGD",
                "is over 5 % behind PDGD",
            ),
        ),
    ),
)
