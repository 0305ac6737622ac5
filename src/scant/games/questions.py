"""What studies of fixed items answer on their pages."""

from scant.declare.families import Answer, Question

CHANGED = ("lowers regret", "raises regret")
WITHIN = "by more than 0.05 of the exponent"

FIXED_ITEMS = (
    Question(
        "fixed-items",
        "How fast are fixed items put in order?",
        ("items-*", "atlas-*", "choice-*"),
        (
            "figure-3.2",
            "figure-3.3",
            "figure-aistats15.2",
            "figure-3.1",
            "figure-games-horizon",
            "figure-games-rounds",
            "figure-observability",
        ),
        (
            Answer("items-more-seen", "seeing more items", "lowers regret", "raises regret"),
            Answer("items-full-better", "seeing all items in place of the top one", *CHANGED),
            Answer(
                "items-rate",
                "top-1 regret",
                "grows as T^(2/3) or slower, within 0.05",
                "grows faster than T^(2/3), by over 0.05",
            ),
            Answer(
                "choice-rate",
                "OnlineRank's regret",
                "grows as T^(1/2) or slower, within 0.05",
                "grows faster than T^(1/2), by over 0.05",
            ),
        ),
    ),
)
