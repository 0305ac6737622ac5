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
            Answer(
                "items-more-seen",
                "seeing five items in place of one, and ten in place of five,",
                *CHANGED,
            ),
            Answer("items-full-better", "seeing all items in place of the top one", *CHANGED),
            Answer(
                "items-rate",
                "regret from the top one",
                "grows as T^(2/3) or less, to within 0.05 of the exponent,",
                f"grows faster than T^(2/3), {WITHIN},",
            ),
            Answer(
                "choice-rate",
                "OnlineRank's regret",
                "grows as T^(1/2) or less, to within 0.05 of the exponent,",
                f"grows faster than T^(1/2), {WITHIN},",
            ),
        ),
    ),
)
