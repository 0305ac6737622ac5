"""The policies that are compared, by name: each a `Policy`, an `Always`, or a `Column`."""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, count
from shlex import quote

from scant.bandits.learners import Logging, Uniform
from scant.data import logs
from scant.errors import SettingError, unknown
from scant_ads.evaluation import arms
from scant_ads.evaluation.arms import AD, Always
from scant_ads.policies.learning import LEARNT
from scant_ads.policies.policy import Policy
from scant_ads.reading.log import Log
from scant_ads.reading.visits import Column

ALWAYS = (Logging.kind, Uniform.kind)  # policies that are in every table
COLUMN = "column:"  # before the NAME of a column policy:NAME, where it could be another policy's


def by_name(
    policies: Iterable | Mapping, test: Log, ads: Callable[[], Iterable[str]]
) -> dict[str, Policy | Always | Column]:
    """The policies asked for, without those that are always compared. Of several with one name,
    later ones are numbered.

    policies : see `compare.evaluate`
    ads : gives the ads that the test shows, for "each-ad"
    """
    if isinstance(policies, Mapping):
        pairs = [*policies.items()]
    else:
        listed = [policies] if isinstance(policies, str | Policy) else policies
        pairs = [(None, policy) for policy in listed]
    if any(arms.is_each(policy) for _, policy in pairs):
        pairs = arms.with_each(pairs, ads())
    named, seen = {}, []
    for name, policy in pairs:
        meant = policy
        # columns have such names in a tally
        clashes = isinstance(policy, Policy) and str(name).startswith(logs.POLICY)
        if isinstance(policy, str):
            check_meant(policy, test)
            if policy in ALWAYS and name in (None, policy):
                continue
            meant = policy if policy in LEARNT else COLUMN + policy.removeprefix(COLUMN)
            clashes = policy in ALWAYS
        if any(meant is other or (isinstance(meant, str) and meant == other) for other in seen):
            raise SettingError(f"{policy} is given twice: give each policy once")
        if name is None:
            base = policy.name if isinstance(policy, Policy) else str(policy)
            numbered = chain([base], (f"{base} {number}" for number in count(2)))
            name = next(name for name in numbered if name not in {*ALWAYS, *named})
        if clashes or not isinstance(name, str) or name in ("", *ALWAYS):
            raise SettingError(
                f"a policy cannot be called {name!r} here: {' and '.join(ALWAYS)} are always "
                f"compared, by these names, and {logs.POLICY} is of columns"
            )
        seen.append(meant)
        named[name] = _meant(policy, test.policies)
    return named


def check_meant(policy: str, test: Log) -> None:
    """Raise a SettingError for a name of a policy that a column of the test has, too, so that
    either could be meant; and for "uniform" on lists.
    """
    if policy == Uniform.kind and test.propensity_of:
        raise SettingError(
            "uniform is not for logs of lists: no column says which items could have stood at a "
            "place. Write a column policy:alike of its probabilities"
        )
    if policy in {*ALWAYS, *LEARNT} & {*test.policies}:
        raise SettingError(
            f"{policy} is a policy of this program, and policy:{policy} a column of the test: say "
            f"column:{policy}, or leave the column out with --ignore " + quote(f"policy:{policy}")
        )


def _meant(policy, columns: tuple[str, ...]) -> Policy | Always | Column:
    """What a policy asked for stands for.

    columns : NAMEs of the columns `policy:NAME` of the test
    """
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str):
        raise SettingError(
            f"{policy!r} is no policy: give a Policy, the kind of a learner, or the "
            "name of a column"
        )
    if policy in LEARNT:
        return Policy(policy)
    if policy.startswith(AD) and policy not in columns:
        return Always(policy.removeprefix(AD))
    column = Column(policy.removeprefix(COLUMN))
    if column.name not in columns:
        raise unknown(
            "policy", column.name, (*LEARNT, arms.EACH, *(f"{COLUMN}{name}" for name in columns))
        )
    return column


def with_baseline(named: Mapping, baseline: str | None, alone: bool) -> tuple[dict, str]:
    """The policies by name, with the baseline, which others are compared with, first; and the
    baseline's name.

    baseline : its name, or the id of an ad; None for the control of an A/B test, if there is one,
        else today's policy
    alone : whether there is no training log, so that today's policy logged the test
    """
    if baseline is None:
        baseline = (arms.control(named) if alone else None) or Logging.kind
    if baseline in ALWAYS:
        return dict(named), baseline
    name = baseline if baseline in named or baseline.startswith(AD) else f"{AD}{baseline}"
    return {name: named.get(name, Always(name.removeprefix(AD)))} | dict(named), name


def only_ads(named: Mapping) -> bool:
    """Whether there are policies, and all of them show one ad to everyone."""
    return bool(named) and all(isinstance(policy, Always) for policy in named.values())


def learnt(named: Mapping) -> dict[str, Policy]:
    """The policies that are learnt from logs."""
    return {name: policy for name, policy in named.items() if isinstance(policy, Policy)}


def unfitted(named: Mapping) -> dict[str, Policy]:
    """The policies that are to be learnt first."""
    return {name: policy for name, policy in learnt(named).items() if not policy.fitted}
