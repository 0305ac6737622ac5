"""What studies of online learners answer on their pages."""

from scant.families import Answer, Question

CONVEX = "the papers' learners from the top, squared, KL and RankSVM,"
WITH_LISTNET = ("keep up with ListNet", "fall behind ListNet")
DBGD = ("ranks better than DBGD", "ranks worse than DBGD")
SLAM = ("SLAM", "keeps up with ListNet", "falls behind ListNet")

PERCEPTRON = (
    Question(
        "perceptrons",
        "Do perceptrons keep up with ListNet?",
        ("perceptron-*", "steps-slam*", "steps-listnet", "seen-average-slam", "seen-average-max-hinge"),
        ("figure-2.2", "figure-2.1", "figure-2.ap", "figure-iterates", "figure-steps"),
        (
            Answer("perceptron-slam-competitive", *SLAM),
            Answer("perceptron-slam-competitive-elsewhere", *SLAM),
            Answer(
                "seen-average-slam",
                "SLAM",
                *(f"{said} when it ranks by the average of its weights" for said in SLAM[1:]),
            ),
            Answer(
                "steps-slam-behind-listnet", "SLAM", "falls behind ListNet whatever its steps", "keeps up with ListNet"
            ),
            Answer("perceptron-slam-converges", "SLAM", "comes near 1", "does not come near 1"),
            Answer("perceptron-slam-over-listnet-separable", "SLAM", "is ahead of ListNet", "is behind ListNet"),
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
            Answer("top-competitive", CONVEX, *WITH_LISTNET),
            Answer("top-competitive-elsewhere", CONVEX, *WITH_LISTNET),
            Answer(
                "top-above-random-elsewhere",
                "learners from the top",
                "rank better than at random",
                "rank no better than at random",
            ),
            Answer(
                "top-aistats16-competitive-elsewhere", CONVEX, *(f"{said} with fixed steps" for said in WITH_LISTNET)
            ),
        ),
    ),
    Question(
        "clicks",
        "Which learner ranks best from clicks alone?",
        ("top-clicks-*", "seen-clicks-*"),
        ("figure-top-k",),
        (
            Answer(
                "top-clicks-pdgd-above-dbgd-perfect",
                "PDGD",
                *(f"{said} from the clicks of a perfect user" for said in DBGD),
            ),
            Answer("top-clicks-pdgd-above-dbgd-informational", "PDGD", *(f"{said} from noisy clicks" for said in DBGD)),
            Answer(
                "seen-clicks-perfect",
                "a loss of pairs of what was clicked and not, without weights,",
                "comes within 0.01 of PDGD",
                "stays behind PDGD",
            ),
        ),
        alone=False,
    ),
    Question(
        "feedback",
        "Is it the feedback, or what is made of it?",
        ("seen-*", "steps-variance-*", "steps-exploration", "steps-top", "steps-full"),
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
                "steps-variance-squared",
                "squared",
                "does better with every grade than from the top, with the same steps,",
                "does no better with every grade than from the top",
            ),
        ),
    ),
)
