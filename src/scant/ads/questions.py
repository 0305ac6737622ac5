"""What studies of ads answer on their pages."""

from scant.declare.families import Answer, Question

ADS = (
    Question(
        "ads",
        "Which policy should choose the ads?",
        ("ads-*",),
        ("figure-5.1", "figure-5.2", "figure-ctr-by-rate", "figure-logs", "figure-coverage"),
        (
            Answer(
                "ads-ranker-over-logistic",
                "the linear ranker",
                "is ahead of logistic regression",
                "is behind logistic regression",
            ),
            Answer(
                "ads-classifiers-undersampled",
                "undersampling",
                "raises the CTR of logistic regression and the forest",
                "lowers a classifier's CTR",
            ),
            Answer(
                "ads-bank-ranker-better",
                "the ranker",
                "gains on the classifiers where clicks are extremely rare",
                "loses to the classifiers where clicks are extremely rare",
            ),
            Answer(
                "ads-campaigns-ranker-better",
                "the ranker",
                "gains on the classifiers on average over simulated campaigns",
                "loses to the classifiers on average over simulated campaigns",
            ),
        ),
    ),
)
