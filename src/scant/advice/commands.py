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
            from scant.advice.advise import LEARNT

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
        "check", check, "Say what a log holds, or what is wrong with it.",
        option("log", help="the log, CSV or parquet"),
        option("--json", action="store_true", help="print JSON"),
    )  # fmt: skip
    command(
        "evaluate", evaluate, "Learn policies from one log, compare them with today's on another.",
        option("test", help="the log to evaluate on, CSV or parquet"),
        option("--train", help="the log to learn from, of today's policy and of other visits"),
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
        option("--trees", type=int, default=200, help="trees of a forest (default 200)"),
        option("--undersample", type=int, help="misses kept for each click, by classifiers (default all)"),
        option("--threshold", choices=("f1", "precision", "recall"), default="f1",
               help="what a ranker's thresholds maximise (default f1)"),
        option("--select", type=float, default=1.0, help="share of features kept, by information gain (default 1)"),
        option("--seed", type=int, default=0, help="the seed of learning (default 0)"),
        option("--output", type=_csv_or_json, help="the table to write, .csv or .json"),
        learns=True,
    )  # fmt: skip


def simulate(arguments) -> None:
    from scant.advice import advise

    draw = (arguments.campaign, arguments.settings, arguments.policy, arguments.rows, arguments.seed)
    advise.simulate(*draw, arguments.output)


def check(arguments) -> None:
    from scant.advice import advise

    facts = advise.check(arguments.log)
    print(json.dumps(facts, indent=1) if arguments.json else advise.describe(facts), end="\n" * arguments.json)


def evaluate(arguments) -> None:
    from scant.ads import scorers
    from scant.advice import advise

    names = ("lambdas", "epsilon", "validation", "threshold", "select", "seed")
    learning = {name: getattr(arguments, name) for name in names}
    options = {"steps": arguments.steps, "trees": arguments.trees}
    advice = advise.advise(
        arguments.test, arguments.train, arguments.policy, arguments.level, arguments.least_propensity,
        settings=scorers.Settings(undersample=arguments.undersample, options=options), **learning,
    )  # fmt: skip
    if arguments.output:
        advice.write(arguments.output)
    print(advice.text(), end="")


def _csv_or_json(text: str) -> Path:
    if not text.lower().endswith((".csv", ".json")):
        raise argparse.ArgumentTypeError(f"{text!r} ends neither in .csv nor in .json")
    return Path(text)


def _json(text: str):
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from None
