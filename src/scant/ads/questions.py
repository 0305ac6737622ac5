"""What studies of ads answer on their pages."""

from scant.families import Answer, Question

RANKER = ("the linear ranker", "is ahead of logistic regression", "is behind logistic regression")
UNDERSAMPLED = (
    "leaving out most of what was not clicked",
    "raises the CTR of logistic regression",
    "does not raise the CTR of logistic regression",
)

ADS = (
    Question(
        "ads",
        "Which policy should choose the ads?",
        ("ads-*",),
        ("figure-5.1", "figure-5.2", "figure-ctr-by-rate", "figure-logs", "figure-coverage"),
        (
            Answer("ads-ranker-over-logistic", *RANKER),
            Answer("ads-ranker-over-logistic-digits", *RANKER),
            Answer("ads-logistic-undersampled", *UNDERSAMPLED),
            Answer("ads-logistic-undersampled-digits", *UNDERSAMPLED),
            Answer(
                "ads-campaigns-ranker-better",
                "the ranker",
                "gains on the classifiers where clicks are rare",
                "loses to the classifiers where clicks are rare",
            ),
            Answer(
                "ads-real-campaigns",
                "the ranker",
                "has the greatest CTR on logs of real campaigns",
                "does not have the greatest CTR on logs of real campaigns",
            ),
        ),
    ),
)
