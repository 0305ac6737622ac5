"""What studies of online learners answer on their pages."""

from scant.declare.families import Answer, Question

CONVEX = "squared, KL and RankSVM from the top"

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
                "the perceptrons, ranking by the average of their weights,",
                "come within 0.01 of ListNet",
                "stay more than 0.01 behind ListNet",
            ),
            Answer(
                "steps-slam-behind-listnet",
                "SLAM with steps that need no rate",
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
                "are less than 0.005 ahead of ListNet, or behind it",
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
                "a loss of pairs of what was clicked and not, without weights,",
                "comes within 0.01 of PDGD",
                "stays more than 0.01 behind PDGD",
            ),
            Answer(
                "seen-clicks-unbiased",
                "weighting clicks by inverse propensities",
                "raises NDCG@10 where users look by position",
                "lowers NDCG@10 where users look by position",
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
                "on queries never visited LinUCB from one grade a round",
                "comes within 5 % of linear learners from every grade",
                "stays more than 5 % behind linear learners from every grade",
            ),
            Answer(
                "seen-memory-overtakes",
                "one grade a round, remembered where queries come back,",
                "ranks better than every grade forgotten",
                "ranks worse than every grade forgotten",
            ),
            Answer(
                "seen-one-costs-memory",
                "among learners that remember, one grade a round",
                "costs more than 0.1 of NDCG@10",
                "costs less than 0.1 of NDCG@10",
            ),
            Answer(
                "seen-least-squares",
                "from one grade LinUCB",
                "ranks better than steps on the loss of that grade",
                "ranks worse than steps on the loss of that grade",
            ),
            Answer(
                "seen-two-near-listnet",
                "from two grades ridge regression",
                "comes within 0.02 of ListNet",
                "stays more than 0.02 behind ListNet",
            ),
            Answer(
                "seen-papers-constant",
                "with their constant the papers' estimates",
                "come within 0.06 of ListNet",
                "stay more than 0.06 behind ListNet",
            ),
            Answer(
                "seen-falling",
                "with that constant exploration that falls",
                "costs at most 0.01",
                "costs more than 0.01",
            ),
            Answer(
                "seen-optimism",
                "where good documents are hidden LinUCB",
                "ranks more than 0.05 better than greedy learners",
                "does not rank more than 0.05 better than greedy learners",
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
                "ten lists that a human judged",
                "are better than 100 grades, one a round",
                "are worth less than 100 grades, one a round",
            ),
            Answer(
                "judged-leaning",
                "lists by a judge who leans by one standard deviation",
                "are worth less than 100 grades, one a round, however many",
                "are better than 100 grades, one a round, if they are many",
            ),
            Answer(
                "judged-chosen-safe",
                "a start that is kept only while it predicts",
                "costs less than 0.03, whoever judged, where a trusted one may cost 0.05",
                "may cost 0.03, or a trusted one costs less than 0.05",
            ),
            Answer(
                "judged-click-near-pdgd",
                "on MQ2008 LinUCB from the first click alone",
                "comes within 5 % of PDGD, from ten",
                "stays more than 5 % behind PDGD, from ten",
            ),
        ),
    ),
)
