"""What studies of fixed items answer on their pages."""

from scant.declare.families import Answer, Question

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
            Answer(
                "items-full-better",
                "seeing all items in place of the top one",
                "lowers regret",
                "raises regret",
            ),
            Answer(
                "items-rate",
                "top-1 regret",
                "grows as T^(2/3 + 0.05) at most",
                "grows faster than T^(2/3 + 0.05)",
            ),
            Answer(
                "choice-rate",
                "OnlineRank's regret",
                "grows as T^(1/2 + 0.05) at most",
                "grows faster than T^(1/2 + 0.05)",
            ),
        ),
    ),
)
