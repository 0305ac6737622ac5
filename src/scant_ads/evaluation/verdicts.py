"""Why a log gives no verdict, in words."""

from scant_ads.diagnosis.leaks import LEAK
from scant_ads.diagnosis.lists import ABOVE, LISTS
from scant_ads.diagnosis.measurement import DEAD, FULL, HINDSIGHT, LATE, SCALE
from scant_ads.diagnosis.premise import MATTERS
from scant_ads.diagnosis.showings import SCHEDULE, WRONG
from scant_ads.reading.names import COSTLY

# the training log, which tells today's rate, has other visits than the test
OTHER_VISITS = "other-visits"
# why there is no verdict, by the kind of a problem: a row is refused for it, or has it as a warning
DOUBTS = {
    WRONG: "propensities are wrong, see above",
    SCHEDULE: "ads follow a schedule, see above",
    "user": (
        "visits of one user depend on each other, see above. Say whose they are by --user, or "
        "--ignore the column"
    ),
    LISTS: "several rows are of one visit, see above",
    ABOVE: "propensities are given what stands above, see above",
    MATTERS: (
        "clicks depend on what stands above. Log probabilities given that, and say "
        "--propensity-of above"
    ),
    LEAK: "a feature seems to come after the click, see above. Leave it out with --ignore",
    COSTLY: "less may be better, see above. Say which by --less, or --no-less",
    OTHER_VISITS: "today's rate is of other visits, see above",
    DEAD: "rewards of an ad are missing, see above",
    FULL: "all visits of a kind have a reward, see above",
    LATE: "rewards of an ad look not joined yet, see above",
    SCALE: "rewards of an ad look as if in another unit, see above",
    HINDSIGHT: "it looks made from the rewards of this log, see below",
}
