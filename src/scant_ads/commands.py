"""The commands of `scant ads`, for practitioners: simulate a log, check one, evaluate policies on
one.
"""

import argparse
import json
from collections import Counter
from dataclasses import fields
from pathlib import Path
from shlex import quote

from scant.files import check_outputs


class Pairs(argparse.Action):
    """Options whose pairs, such as ROLE=COLUMN, become one mapping; an error for a name that is
    given twice.
    """

    def __call__(self, parser, namespace, values, option_string=None):
        pairs = dict(getattr(namespace, self.dest) or {})
        for name, value in values:
            if name in pairs:
                raise argparse.ArgumentError(
                    self, f"{name} is given twice, {pairs[name]!r} and {value!r}: give one"
                )
            pairs[name] = value
        setattr(namespace, self.dest, pairs)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the commands of `scant ads` to its parser: the entry point `ads` of `scant.commands`."""
    parser.description = "For practitioners: which policy would have earned more clicks?"
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name, function, help, *options):
        added = commands.add_parser(name, help=help, description=help)
        added.set_defaults(function=function)
        for names, settings in options:
            added.add_argument(*names, **settings)

    def option(*names, **settings):
        return names, settings

    kind = (
        "a kind of learner: logistic, forest, auc-ranker, cost-sensitive-oaa, filter-tree; or a "
        "scikit-learn classifier or regressor, as module:Class, if need be with settings as JSON, "
        "such as 'sklearn.linear_model:Ridge={\"alpha\": 10}'"
    )
    columns = {"nargs": "+", "default": [], "action": "extend", "metavar": "COLUMN"}
    reading = (
        option(
            "--columns",
            type=_column,
            nargs="+",
            action=Pairs,
            metavar="ROLE=COLUMN",
            help="what the log calls action, reward, propensity, timestamp, position, id, user, "
            "eligible or list, as reward=click",
        ),
        *(
            option(
                f"--{name}",
                dest="columns",
                nargs=1,
                action=Pairs,
                metavar="COLUMN",
                type=lambda column, role=role: (role, column),
                help=f"{text}; the same as --columns {role}=COLUMN",
            )
            for name, role, text in (
                ("id", "id", "the column that tells visits apart"),
                ("user", "user", "the column that says whose visit it was"),
                ("time", "timestamp", "the column with the time"),
                ("eligible", "eligible", "the column with the list of ads that could be shown"),
                ("list", "list", "the column that says which rows are places of one list"),
            )
        ),
        option(
            "--reward-max",
            type=float,
            default=1.0,
            help="the largest reward possible, such as 500, if it is not 1",
        ),
        option(
            "--reward-min",
            type=float,
            default=0.0,
            help="the least reward possible, such as -20, if it is not 0: lifts are then "
            "differences",
        ),
        option(
            "--less",
            action=argparse.BooleanOptionalAction,
            help="less is better, as of refunds: rewards are minus what is written; --no-less if "
            "more is better, though the column is called like costs",
        ),
        option(
            "--reward-unit",
            default="",
            help="what rewards are counted in, such as EUR, if they are no clicks",
        ),
        option("--ignore", **columns, help="columns to leave out"),
        option(
            "--categorical",
            **columns,
            help="features to take as text, as they are written, though they are numbers or "
            "times, such as 01067 or 08:30; columns of JSON to take as they are",
        ),
        option(
            "--propensities",
            choices=("percent", "log"),
            help="what propensities are written as, if not as probabilities; log are natural "
            "logarithms",
        ),
        option(
            "--propensity",
            type=_split_of,
            metavar="SHARE|AD=SHARE,...|uniform",
            help="the split of a log without propensities, by which chance showed its ads: the "
            "share of each, as control=0.5,treatment=0.5, or one share for all; uniform if it "
            "showed all eligible ads alike",
        ),
        option(
            "--propensity-of",
            choices=("above", "place", "list"),
            help="what propensities of lists, and columns policy:NAME, are of: the item given the "
            "items above it, the item at its place, or the whole list",
        ),
    )
    learning = (
        option(
            "--epsilon",
            type=float,
            default=0.0,
            help="share of visits in which to explore (default 0)",
        ),
        option("--seed", type=int, default=0, help="the seed of learning (default 0)"),
    )
    command(
        "simulate",
        simulate,
        "Write a log of a simulated campaign.",
        option("campaign", help="the campaign's name: hotel, bank-1, bank-2"),
        option(
            "--policy",
            choices=("targeted", "uniform"),
            required=True,
            help="who shows the ads: the campaign, or chance",
        ),
        option("--rows", type=int, required=True, help="how many visits"),
        option(
            "--places",
            type=int,
            choices=range(1, 6),
            default=1,
            help="how many places the list of each visit has (default 1)",
        ),
        option("--seed", type=int, default=0, help="the seed of the visits (default 0)"),
        option(
            "--output",
            type=Path,
            required=True,
            help="the log to write; CSV if it ends in .csv, else parquet",
        ),
    )
    command(
        "check",
        check,
        (
            "Say what a log holds, and all that is wrong with it; exit with 1 if that "
            "must be mended."
        ),
        option(
            "log",
            help="the log: CSV, also packed, parquet or Arrow, a folder of parquet "
            "files, or a log of Vowpal Wabbit's, dsjson or text",
        ),
        *reading,
        option("--json", action="store_true", help="print JSON"),
    )
    command(
        "evaluate",
        evaluate,
        "Learn policies from one log, compare them with today's on another.",
        option("test", help="the log to evaluate on: see `check`"),
        option("--train", help="the log to learn from, of today's policy and of other visits"),
        option(
            "--split",
            type=_split,
            metavar="SHARE|time[:SHARE]",
            help="instead of --train: learn from this share of the log, drawn at random, or its "
            "earliest rows (70 %% unless said)",
        ),
        option(
            "--shared",
            choices=("refuse", "drop"),
            default="refuse",
            help="whether to leave out rows of the test that the training log has, too (default "
            "refuse)",
        ),
        *reading,
        option(
            "--policy",
            action="append",
            default=[],
            help=f"{kind}; or the file of a saved policy, NAME of a column policy:NAME of the test "
            "log, ad:ID for one ad for everyone, or each-ad; may be repeated (default each-ad)",
        ),
        option(
            "--baseline",
            metavar="NAME",
            help="the policy, or the ad, that the others are compared with; `logging` is "
            "today's (default: the ad called control in a test of ads; else today's)",
        ),
        option(
            "--level",
            type=float,
            default=0.95,
            help="confidence of each bound and verdict (default 0.95)",
        ),
        option(
            "--looks",
            type=int,
            default=1,
            help="how often the test is looked at until it ends, as was planned, such as 14 "
            "days: all answers hold together (default 1)",
        ),
        option(
            "--covariate",
            metavar="COLUMN",
            help="a number from before the ad was chosen, such as revenue before the test: what "
            "it explains is taken out of rewards, and lifts are differences",
        ),
        option(
            "--least-propensity",
            type=number_or_unknown,
            help="least probability, by design, of any ad under the policy that logged the "
            "test, or 'unknown'",
        ),
        option(
            "--guard",
            type=_guard,
            nargs=1,
            action=Pairs,
            metavar="COLUMN=SHARE",
            help="another reward, from 0 to 1, whose mean must not be below today's by more "
            "than this share, as purchase=0.05; may be repeated",
        ),
        *learning,
        option("--output", type=Path, help="the table: JSON if its name ends in .json, else CSV"),
        option("--report", type=Path, help="the report to write, one HTML file"),
    )
    command(
        "fit",
        fit,
        "Learn a policy from a log, and save it.",
        option("log", help="the log to learn from: see `check`"),
        *reading,
        option("--policy", required=True, help=kind),
        *learning,
        option("--output", type=Path, required=True, help="the policy to write, an Arrow file"),
    )
    command(
        "apply",
        apply,
        "Choose an ad for each of some new visits by a saved policy.",
        option("policy", help="the saved policy"),
        option(
            "visits",
            help="the visits: CSV, also packed, parquet or Arrow, with the features of the policy",
        ),
        option(
            "--eligible",
            metavar="COLUMN",
            help="the column with the list of ads that can be shown (that of the training log, "
            "if it had one)",
        ),
        option(
            "--epsilon",
            type=float,
            help="share of visits in which to explore (the policy's own unless said)",
        ),
        option("--seed", type=int, help="the seed of exploration (drawn and printed unless given)"),
        option(
            "--keep",
            **columns,
            help="columns of the visits to write again, such as an id",
        ),
        option(
            "--output",
            type=Path,
            required=True,
            help="the file to write, with action and propensity; CSV if it ends in .csv, else "
            "parquet",
        ),
    )


def simulate(arguments) -> None:
    from scant_ads import simulated

    names = ("campaign", "policy", "rows", "seed", "output", "places")
    simulated.simulate(*(getattr(arguments, name) for name in names))


def check(arguments) -> int:
    from scant_ads.diagnosis.overview import describe
    from scant_ads.progress import Progress

    with Progress() as progress:
        (log,) = _logs(arguments, arguments.log, progress=progress)
        report = log.check(progress)
    print(
        json.dumps(dict(report), indent=1) if arguments.json else describe(report),
        end="\n" * arguments.json,
    )
    return int(not report.ok)


def evaluate(arguments) -> None:
    import scant_ads
    from scant.errors import DataError, SettingError
    from scant_ads.evaluation.arms import EACH
    from scant_ads.progress import Progress

    paths = (arguments.test, *([arguments.train] if arguments.train else []))
    outputs = [target for target in (arguments.output, arguments.report) if target]
    check_outputs(outputs, [*paths, *_saved(arguments.policy)])
    with Progress() as progress:
        if arguments.split and arguments.train:
            raise SettingError(
                "--split makes a training log of the test's: give either --split or --train"
            )
        test, train = _test_and_train(arguments, paths, progress)
        arguments.policy = arguments.policy or [*(test.policies if test.propensity_of else [EACH])]
        policies = _policies(arguments, test)
        names = ("level", "shared", "least_propensity", "seed", "baseline", "looks")
        settings = {name: getattr(arguments, name) for name in names}
        evaluation = scant_ads.evaluate(
            policies,
            test,
            train=train,
            progress=progress,
            covariate=arguments.covariate,
            **settings,
        )
        for column, share in (arguments.guard or {}).items():
            try:
                test2, train2 = _test_and_train(arguments, paths, progress, column)
                other = scant_ads.evaluate(
                    policies | evaluation.policies,
                    test2,
                    train=train2,
                    progress=progress,
                    **settings,
                )
            except DataError as error:  # of the column's values, for all others have been read
                reason = f"--guard {quote(column)}: {error.reason}"
                raise DataError(
                    error.file, reason, error.line, "A guard rail is from 0 to 1 in every row"
                ) from error
            evaluation = evaluation.guarded(column, share, other)
    if arguments.output:
        evaluation.write(arguments.output)
    if arguments.report:
        settings = {
            name: value
            for name, value in vars(arguments).items()
            if name not in ("function", "output", "report")
            and value is not None
            and value is not False
            and value != []
        }
        evaluation.report(
            arguments.report, *([train] if train else []), test, settings=settings, inputs=paths
        )
    print(evaluation.text(), end="")


def fit(arguments) -> None:
    from scant_ads import text
    from scant_ads.policies import saving
    from scant_ads.progress import Progress

    check_outputs([arguments.output], [arguments.log])
    policy = _learner(arguments.policy, arguments)
    saving.check_kind(policy)
    with Progress() as progress:
        (log,) = _logs(arguments, arguments.log, progress=progress)
        policy.fit(log, progress=progress).save(arguments.output)
        ads_shown = {*policy.predict(log.learnable)}
    value = policy.regularisation
    chosen = f"; lambda {value:g}" if value == value else ""
    drawn = "" if log.learnable is log else f"{len(log.learnable):,}, drawn at random, of "
    lines = [
        f"{policy.name}, learnt from {drawn}{len(log):,} rows of {log.name}{chosen}",
        f"{len(policy.actions)} ads, {len(policy.learnt.encoder.names)} features",
    ]
    lines += [f"careful: {remark}" for remark in policy.remarks]
    if len(ads_shown) == 1:
        lines.append(f"careful: it shows ad {ads_shown.pop()!r} to every visit of this log")
    print(text.joined(lines), end="")


def apply(arguments) -> None:
    from scant_ads import Policy, text
    from scant_ads.policies import applying
    from scant_ads.progress import Progress

    check_outputs([arguments.output], [arguments.policy, arguments.visits])
    policy = Policy.load(arguments.policy)
    with Progress() as progress:
        done = applying.apply(
            policy,
            arguments.visits,
            arguments.output,
            arguments.epsilon,
            arguments.seed,
            arguments.keep,
            progress,
            arguments.eligible or "",
        )
    shares = ", ".join(
        f"{ad} {100 * count / done.rows:.3g} %" for ad, count in done.shown.items() if count
    )
    print(text.joined([f"{done.rows:,} visits; ads shown: {shares}"]), end="")
    if done.epsilon:
        print(
            f"{100 * done.epsilon:.3g} % of them explore (seed {done.seed}); least propensity by "
            f"design: {done.epsilon / (len(policy.actions) - 1):.6g}"
        )
    else:
        print(
            "nothing is explored: from what is logged so, no other policy can be evaluated. See "
            "--epsilon"
        )


def _saved(policies: list[str]) -> list[str]:
    """The files among what --policy names."""
    from scant_ads.evaluation.arms import AD
    from scant_ads.evaluation.candidates import COLUMN

    return [
        name for name in policies if name.endswith(".arrow") and not name.startswith((AD, COLUMN))
    ]


def _policies(arguments, test) -> dict:
    """The policies that --policy asks for, by their names in tables.

    Each is a saved policy, a kind or a model to be learnt, or a column of the test log. A saved
    policy is named by its file without .arrow, a model by its class; policies that would have one
    name keep the texts by which they were asked for.
    """
    from scant.data.logs import repeated
    from scant.errors import SettingError
    from scant_ads import Policy
    from scant_ads.evaluation.arms import AD
    from scant_ads.evaluation.candidates import ALWAYS, COLUMN, check_meant
    from scant_ads.policies import models
    from scant_ads.policies.learning import LEARNT

    if twice := repeated(arguments.policy):
        raise SettingError(f"--policy {twice[0]} is given twice: give each policy once")
    saved, names, policies = _saved(arguments.policy), {}, {}
    for asked in arguments.policy:
        check_meant(asked, test)
        is_column = asked in test.policies or asked.startswith((AD, COLUMN))
        if asked in saved:
            names[asked], policies[asked] = Path(asked).stem, Policy.load(asked)
        elif not is_column and (asked in LEARNT or models.is_named(asked)):
            names[asked] = asked.partition("=")[0].rpartition(":")[2]
            policies[asked] = _learner(asked, arguments)
        else:
            names[asked] = policies[asked] = asked
    count = Counter([*ALWAYS, *names.values()])
    return {asked if count[name] > 1 else name: policies[asked] for asked, name in names.items()}


def _learner(asked: str, arguments):
    """The policy, not fitted, of the kind or by the model that is asked for."""
    from scant_ads import Policy
    from scant_ads.policies import models

    kind = models.made(asked) if models.is_named(asked) else asked
    return Policy(kind, **_given(arguments, Policy, "kind"))


def _given(arguments, made: type, *but: str) -> dict:
    """The options of a command that are fields of the dataclass `made`, without those in `but`."""
    names = {field.name for field in fields(made) if field.init} - {*but}
    return {name: value for name, value in vars(arguments).items() if name in names}


def _test_and_train(arguments, paths, progress, guard: str | None = None) -> tuple:
    """The log to evaluate on, and the log to learn from, None without one; for `guard` see
    `_logs`.
    """
    test, *trained = _logs(arguments, *paths, progress=progress, guard=guard)
    if not arguments.split:
        return test, trained[0] if trained else None
    by, share = arguments.split
    return test.split(share, by, arguments.seed)[::-1]


def _logs(arguments, *paths, progress, guard: str | None = None) -> list:
    """The logs of some files, read as the arguments say.

    guard : the column to take as the reward in place of the log's own; columns of guard rails are
        no features
    """
    from scant.data.logs import NEEDED, OPTIONAL
    from scant.errors import SettingError, unknown
    from scant_ads import Log
    from scant_ads.reading.amounts import Units

    logs, rails = [], getattr(arguments, "guard", None) or {}
    roles = {role: role for role in (*NEEDED, *OPTIONAL)} | (arguments.columns or {})
    if taken := [role for role, column in roles.items() if column in rails]:
        raise SettingError(
            f"--guard {quote(roles[taken[0]])}: it is the log's {taken[0]}; a guard rail is "
            "another reward"
        )
    for path in paths:
        progress(f"reads {path}")
        columns, guards = dict(arguments.columns or {}), [*rails]
        units = _given(arguments, Units)
        if guard:
            guards.append(roles["reward"])
            kept = ("propensities", "propensity", "propensity_of")
            units = {name: units[name] for name in kept} | {"less": False}
            columns |= {"reward": guard}
        ignored = {*arguments.ignore, *guards} - {guard}
        logs.append(Log.read(path, columns, ignored, arguments.categorical, **units))
    all_columns = {name for log in logs for name in log.column_names}
    for what, names in {
        "ignore": arguments.ignore,
        "categorical": arguments.categorical,
        "guard": rails,
    }.items():
        if absent := [name for name in names if name not in all_columns]:
            raise SettingError(f"--{what}: {unknown('column', absent[0], all_columns)}")
    return logs


def _column(text: str) -> tuple[str, str]:
    role, equals, column = text.partition("=")
    if not (role and equals and column):
        raise argparse.ArgumentTypeError(f"{text!r} is not ROLE=COLUMN, such as reward=click")
    return role, column


def _guard(text: str) -> tuple[str, float]:
    column, _, share = text.rpartition("=")
    try:
        value = float(share)
    except ValueError:
        value = -1.0
    if not (column and 0 <= value < 1):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not COLUMN=SHARE with a share below 1, such as purchase=0.05"
        )
    return column, value


def _split(text: str) -> tuple[str, float]:
    """How to split a log, "random" or "time", and the share that trains, 0.7 for "time" alone."""
    by, _, share = text.partition(":") if text.startswith("time") else ("random", "", text)
    try:
        value = float(share or 0.7)
    except ValueError:
        value = 0.0
    if by not in ("random", "time") or not 0 < value < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no share between 0 and 1, nor 'time' or 'time:SHARE'"
        )
    return by, value


def _split_of(text: str) -> float | str | dict[str, float]:
    """A stated split: one share for all ads, or one for each, or "uniform"."""
    if text == "uniform":
        return text
    shares = {}
    try:
        if "=" not in text:
            return float(text)
        for part in text.split(","):
            ad, _, share = part.rpartition("=")
            if not ad.strip() or ad.strip() in shares:
                raise ValueError(part)
            shares[ad.strip()] = float(share)
    except ValueError:
        reason = (
            f"{text!r} is neither a share, such as 0.5, nor shares of different ads, as "
            "control=0.5,treatment=0.5"
        )
        raise argparse.ArgumentTypeError(reason) from None
    return shares


def number_or_unknown(text: str) -> float | str:
    return text if text == "unknown" else float(text)
