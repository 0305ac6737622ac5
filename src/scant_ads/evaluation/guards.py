"""Guard rails: another reward that a policy must not lower by more than a share, such as purchases
beside clicks.

A guard rail is the lift of that reward's mean over today's, or over the baseline's, from an
evaluation of the same policies on the same visits. It holds if the lift's interval is above minus
the share, it is broken if the interval is below, and else open.
"""

from collections.abc import Mapping, Sequence

from scant.errors import SettingError

HOLDS, BROKEN, OPEN = "holds", "is broken", "is open"
# of the rows of `judged`
COLUMNS = ("guard", "share", "policy", "lift", "lift_low", "lift_high", "answer")


def judged(
    name: str, share: float, rows: Sequence[Mapping], others: Sequence[Mapping]
) -> tuple[dict, ...]:
    """Whether each policy keeps a guard rail.

    Parameters
    ----------
    name : of the guard rail
    share : by which the mean of its reward may be below that of today's policy, or the baseline,
        such as 0.05
    rows, others : of the evaluation, and of the evaluation by the other reward

    Returns
    -------
    rows : one mapping for each policy with guard, share, policy; lift, lift_low and lift_high of
        the other reward (NaN where it is not known); answer, `HOLDS`, `BROKEN` or `OPEN`

    Raises
    ------
    SettingError : no share from 0 to below 1, or a policy that was not evaluated by the other
        reward
    """
    if not 0 <= share < 1:
        raise SettingError(
            f"guard rail {name}: {share} is no share from 0 to below 1 by which it may fall"
        )
    judgements, of_other = [], {row["policy"]: row for row in others}
    for row in rows[1:]:
        if row["policy"] not in of_other:
            raise SettingError(
                f"guard rail {name}: {row['policy']} was not evaluated by this reward"
            )
        low, high = (of_other[row["policy"]][end] for end in ("lift_low", "lift_high"))
        answer = HOLDS if low > -share else BROKEN if high < -share else OPEN
        values = (name, share, row["policy"], of_other[row["policy"]]["lift"], low, high, answer)
        judgements.append(dict(zip(COLUMNS, values, strict=True)))
    return tuple(judgements)
