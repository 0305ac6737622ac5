"""What studies of online learners answer on their pages."""

from scant.families import Answer, Question

CONVEX = "the papers' learners from the top, squared, KL and RankSVM,"
WITH_LISTNET = ("keep up with ListNet", "fall behind ListNet")

PERCEPTRON = (
    Question(
        "perceptrons",
        "Do perceptrons keep up with ListNet?",
        ("perceptron-*", "steps-slam*", "steps-perceptron", "seen-average-*"),
        ("figure-2.2", "figure-2.1", "figure-2.ap", "figure-iterates", "figure-steps"),
        (
            Answer("perceptron-slam-competitive", "SLAM", "keeps up with ListNet", "falls behind ListNet"),
            Answer(
                "seen-average-near-listnet",
                "the perceptrons",
                *(f"{said} when they rank by the average of their weights" for said in WITH_LISTNET),
            ),
            Answer(
                "steps-slam-behind-listnet",
                "SLAM",
                "falls behind ListNet with steps that need no rate, too",
                "does not fall behind ListNet with some steps that need no rate",
            ),
            Answer("perceptron-converges", "the perceptrons", "come near 1", "do not come near 1"),
            Answer(
                "perceptron-over-listnet-separable",
                "the perceptrons",
                "are ahead of ListNet on separable data",
                "are not both ahead of ListNet on separable data",
            ),
        ),
    ),
)
TOP = (
    Question(
        "top",
        "What does it cost to see only the top?",
        ("top-*",),
        ("figure-3.4", "figure-aistats16.1", "figure-top-k", "figure-top-regret", "figure-smoothdcg"),
        (
            Answer(
                "top-feedback-cost",
                CONVEX,
                "come within 0.05 of what the same surrogate has with every grade seen",
                "do not all come within 0.05 of what the same surrogate has with every grade seen",
            ),
            Answer("top-competitive", CONVEX, *WITH_LISTNET),
            Answer(
                "top-above-random",
                "learners from the top",
                "rank better than at random",
                "do not all rank better than at random",
            ),
        ),
    ),
    Question(
        "clicks",
        "Which learner ranks best from clicks alone?",
        ("top-clicks-*", "seen-clicks-*"),
        ("figure-top-k",),
        (
            Answer("top-clicks-pdgd-above-dbgd", "PDGD", "ranks better than DBGD", "does not rank better than DBGD"),
            Answer(
                "seen-clicks-near-pdgd",
                "a loss of pairs of what was clicked and not, without weights,",
                "comes within 0.01 of PDGD",
                "stays behind PDGD with some users",
            ),
        ),
        alone=False,
    ),
    Question(
        "feedback",
        "Is it the feedback, or what is made of it?",
        ("seen-*", "steps-feedback-cost", "steps-exploration", "steps-adagrad"),
        ("figure-seen", "figure-steps-top", "figure-seen-worlds"),
        (
            Answer(
                "seen-ten-as-listnet",
                "a plain logistic loss of the ten documents shown",
                "comes within 0.01 of ListNet",
                "stays behind ListNet",
            ),
            Answer(
                "seen-two-near-listnet",
                "a plain logistic loss of two documents",
                "comes within 0.05 of ListNet",
                "stays behind ListNet",
            ),
            Answer(
                "seen-over-unbiased",
                "the loss of what was seen",
                "does better as it is than its unbiased estimate, with the same exploration,",
                "does not do better as it is than its unbiased estimate, with the same exploration,",
            ),
            Answer(
                "steps-feedback-cost",
                CONVEX,
                "do better with every grade than from the top, with the same steps,",
                "do not all do better with every grade than from the top, with the same steps,",
            ),
        ),
    ),
)
