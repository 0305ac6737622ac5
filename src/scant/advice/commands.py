"""The commands of `scant ads`, for practitioners: simulate a log, check one, evaluate policies on one."""

import argparse
import json
from pathlib import Path


class Parser(argparse.ArgumentParser):
    """A parser whose help ends with the kinds of learners, if its command learns policies.

    The kinds are imported only for the help.

    learns : whether the command learns policies
    """

    def __init__(self, *arguments, learns: bool = False, **settings):
        super().__init__(*arguments, **settings)
        self.learns = learns

    def format_help(self) -> str:
        if self.learns:
            from scant.advice.learning import LEARNT

            self.epilog = f"Kinds of learners: {', '.join(LEARNT)}."
        return super().format_help()


def add(parser: argparse.ArgumentParser) -> None:
    """Add the commands to the parser of `scant ads`."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)

    def command(name, function, help, *options, learns=False):
        added = commands.add_parser(name, help=help, description=help, learns=learns)
        added.set_defaults(function=function)
        for names, settings in options:
            added.add_argument(*names, **settings)

    def option(*names, **settings):
        return names, settings

    policies = ("targeted", "uniform")
    reading = (
        option("--columns", type=_column, nargs="+", action="extend", metavar="ROLE=COLUMN",
               help="what the log calls action, reward, propensity, timestamp or position, as reward=click"),
        option("--ignore", nargs="+", default=[], action="extend", metavar="COLUMN", help="columns to leave out"),
        option("--categorical", nargs="+", default=[], action="extend", metavar="COLUMN",
               help="features to take as text though they are numbers"),
    )  # fmt: skip
    command(
        "simulate", simulate, "Write a log of a simulated campaign.",
        option("campaign", help="the campaign's name: hotel, bank-1, bank-2"),
        option("--policy", choices=policies, required=True, help="who shows the ads: the campaign, or chance"),
        option("--rows", type=int, required=True, help="how many visits"),
        option("--seed", type=int, default=0, help="the seed of the visits (default 0)"),
        option("--settings", type=_json, default={}, help="settings of the campaign, as JSON"),
        option("--output", type=Path, required=True, help="the log to write; CSV if it ends in .csv, else parquet"),
    )  # fmt: skip
    command(
        "check", check, "Say what a log holds, and all that is wrong with it; exit with 1 if that must be mended.",
        option("log", help="the log: CSV, also packed with gzip or zstd, parquet or Arrow"),
        *reading,
        option("--json", action="store_true", help="print JSON"),
    )  # fmt: skip
    command(
        "evaluate", evaluate, "Learn policies from one log, compare them with today's on another.",
        option("test", help="the log to evaluate on: CSV, also packed with gzip or zstd, parquet or Arrow"),
        option("--train", help="the log to learn from, of today's policy and of other visits"),
        option("--split", type=_split, metavar="SHARE|time[:SHARE]",
               help="instead of --train: learn from this share of the log, drawn at random, or its earliest rows "
               "(70 %% unless said)"),
        option("--shared", choices=("refuse", "drop", "keep"), default="refuse",
               help="what to do with rows of the test that the training log has, too (default refuse)"),
        *reading,
        option("--policy", action="append", required=True,
               help="a kind of learner, or NAME of a column policy:NAME of the test log; may be repeated"),
        option("--epsilon", type=float, default=0.0, help="share of visits in which to explore (default 0)"),
        option("--level", type=float, default=0.95, help="confidence of each bound and verdict (default 0.95)"),
        option("--least-propensity", type=float,
               help="least probability, by design, of any ad under the policy that logged the test"),
        option("--lambdas", type=float, nargs="+", default=[0.01, 0.1, 1.0, 10.0],
               help="regularisation, the best of which is chosen on a part of the training log"),
        option("--validation", type=float, default=0.2, help="the share of that part (default 0.2)"),
        option("--steps", type=int, default=1_000_000, help="steps of gradient descent (default 1000000)"),
        option("--trees", type=int, default=40, help="trees of a forest (default 40)"),
        option("--tree-rows", type=int, default=1 << 14,
               help="rows that each tree learns from, drawn at random (default 16384)"),
        option("--leaf", type=int, default=20, help="least rows of a leaf of a tree (default 20)"),
        option("--undersample", type=int, help="misses kept for each click, by classifiers (default all)"),
        option("--threshold", choices=("f1", "precision", "recall"), default="f1",
               help="what a ranker's thresholds maximise (default f1)"),
        option("--select", type=float, default=1.0, help="share of features kept, by information gain (default 1)"),
        option("--seed", type=int, default=0, help="the seed of learning (default 0)"),
        option("--output", type=_csv_or_json, help="the table to write, .csv or .json"),
        learns=True,
    )  # fmt: skip


def simulate(arguments) -> None:
    from scant.advice import simulated

    draw = (arguments.campaign, arguments.settings, arguments.policy, arguments.rows, arguments.seed)
    simulated.simulate(*draw, arguments.output)


def check(arguments) -> int:
    (log,) = _logs(arguments, arguments.log)
    report = log.check()
    print(json.dumps(dict(report), indent=1) if arguments.json else report, end="\n" * arguments.json)
    return int(not report.ok)


def evaluate(arguments) -> None:
    from scant import advice
    from scant.advice.learning import LEARNT
    from scant.advice.progress import Progress
    from scant.errors import SettingError

    with Progress() as progress:
        paths = (arguments.test, *([arguments.train] if arguments.train else []))
        test, *trained = _logs(arguments, *paths, progress=progress)
        train = trained[0] if trained else None
        if arguments.split:
            if train:
                raise SettingError("--split makes a training log of the test's: give either --split or --train")
            by, share = arguments.split
            train, test = test.split(share, by, arguments.seed)
        policies = {name: advice.Policy(name, **_settings(arguments)) if name in LEARNT else name
                    for name in arguments.policy}  # fmt: skip
        found = advice.evaluate(
            list(policies.values()), test, train=train, level=arguments.level, shared=arguments.shared,
            least_propensity=arguments.least_propensity, seed=arguments.seed, progress=progress,
        )  # fmt: skip
    if arguments.output:
        found.write(arguments.output)
    print(found.text(), end="")


def _settings(arguments) -> dict:
    """The settings of a policy."""
    names = ("epsilon", "lambdas", "validation", "threshold", "select", "undersample", "steps", "trees", "tree_rows",
             "leaf", "seed")  # fmt: skip
    return {name: getattr(arguments, name) for name in names}


def _logs(arguments, *paths, progress=lambda step: None) -> list:
    """The logs of some files, read as the arguments say.

    Raises
    ------
    SettingError : a column to leave out, or to take as text, that no file has
    """
    from scant.advice import Log
    from scant.errors import SettingError, unknown

    found = []
    for path in paths:
        progress(f"reads {path}")
        found.append(Log.read(path, dict(arguments.columns or ()), arguments.ignore, arguments.categorical))
    known = {name for log in found for name in log.reading.columns}
    for what in ("ignore", "categorical"):
        if absent := [name for name in getattr(arguments, what) if name not in known]:
            raise SettingError(f"--{what}: {unknown('column', absent[0], known)}")
    return found


def _column(text: str) -> tuple[str, str]:
    role, equals, column = text.partition("=")
    if not (role and equals and column):
        raise argparse.ArgumentTypeError(f"{text!r} is not ROLE=COLUMN, such as reward=click")
    return role, column


def _split(text: str) -> tuple[str, float]:
    """Ways to split a log: "0.7" at random, "time" or "time:0.7" by time."""
    by, _, share = text.partition(":") if text.startswith("time") else ("random", "", text)
    try:
        value = float(share or 0.7)
    except ValueError:
        value = 0.0
    if by not in ("random", "time") or not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share between 0 and 1, nor 'time' or 'time:SHARE'")
    return by, value


def _csv_or_json(text: str) -> Path:
    if not text.lower().endswith((".csv", ".json")):
        raise argparse.ArgumentTypeError(f"{text!r} ends neither in .csv nor in .json")
    return Path(text)


def _json(text: str):
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from None
