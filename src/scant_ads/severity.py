"""What each kind of problem of a log does to answers: every kind is here, once."""

from scant_ads.reading.names import word_set

ABOVE, PLACE = "given-above", "of-place"  # propensities of lists are of another kind than is said
CERTAIN, WRONG, SCHEDULE = "certain", "wrong-propensities", "schedule"  # of how ads were shown
LISTS, MATTERS, NOTED = "lists", "above-matters", "above-noted"
DEAD, SEGMENT, HINDSIGHT, LEAK, SORTED = "dead", "dead-segment", "hindsight", "leak", "sorted"

# errors: nothing is learnt from such a log, and nothing is judged by it
REFUSED = word_set(
    f"column cut eligible fields full-differs full-eligible full-range full-sum id-twice "
    f"infinite interleaved item-twice json lines list-cells list-column list-long "
    f"list-propensity list-reward listed missing mixed no-chance pdrop percent place-gap "
    f"place-twice policy-sum propensity-of range ratio rows split sums text texts timestamp "
    f"type {ABOVE} {CERTAIN} {PLACE}"
)
# errors that leave a table without numbers, and why
WITHHELD = {
    WRONG: "propensities are wrong, see above",
    SCHEDULE: "ads follow a schedule, see above",
}
# warnings with which there is no yes or no, and why
DOUBTS = {
    "user": (
        "visits of one user depend on each other, see above. Say whose they are by --user, or "
        "--ignore the column"
    ),
    LISTS: "several rows are of one visit, see above",
    MATTERS: (
        "clicks depend on what stands above. Log probabilities given that, and say "
        "--propensity-of above"
    ),
    LEAK: "a feature seems to come after the click, see above. Leave it out with --ignore",
    "costs": "less may be better, see above. Say which by --less, or --no-less",
    "other-visits": "today's rate is of other visits, see above",
    DEAD: "rewards of an ad are missing, see above",
    "all-rewarded": "all visits of a kind have a reward, see above",
    "late-ad": "rewards of an ad look not joined yet, see above",
    "scale": "rewards of an ad look as if in another unit, see above",
    "clipped": "rewards of an ad look cut off, see above",
    HINDSIGHT: "it looks made from the rewards of this log, see below",
}
# warnings that an evaluation repeats, and those that `check` alone gives
REPEATED = word_set(
    f"all-clicks cut-off duplicates ids late left-out offered policy-low propensity-sum requests "
    f"unwanted distribution {NOTED} {SEGMENT} {SORTED}"
)
QUIET = word_set(
    "ads-without-clicks braces candidates constant drift empty id index late-key list "
    "no-clicks no-features passed time"
)
SEVERITY = dict.fromkeys((*REFUSED, *WITHHELD), "error") | dict.fromkeys(
    (*DOUBTS, *REPEATED, *QUIET), "warning"
)
