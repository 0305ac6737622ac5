"""The command line: one subcommand for each kind of job. It reads inputs, calls one function, writes outputs.

Packages are imported where they are used, so that every job pays for its own only.
"""

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path

from scant.errors import ScantError, unknown

PARTS = ("train", "test")  # of bandit logs


def _fetch(arguments) -> None:
    from scant.data import fetch, registry

    datasets = registry.load(arguments.registry, arguments.own)
    dataset = registry.find(datasets, arguments.dataset)
    fetch.fetch(dataset, arguments.part, arguments.output, arguments.mirror or None)


def _convert(arguments) -> None:
    from scant.data import registry, tables

    datasets = registry.load(arguments.registry, arguments.own)
    dataset = registry.find(datasets, arguments.dataset)
    tables.convert(dataset, arguments.part, arguments.input, arguments.output)


def _pack(arguments) -> None:
    from scant.data import packing

    packing.pack(arguments.stream, arguments.settings, arguments.inputs, arguments.output, arguments.study_seed)


def _simulate(arguments) -> None:
    from scant.data import packing

    packing.simulate(arguments.stream, arguments.settings, arguments.output, arguments.study_seed, arguments.seed)


def _run(arguments) -> None:
    from scant.online.run import run

    identity = {name: getattr(arguments, name) for name in ("study", "experiment", "stream", "learner")}
    run(arguments.settings | identity, arguments.output, arguments.seeds, arguments.input)


def _play(arguments) -> None:
    from scant.games.run import run

    identity = {name: getattr(arguments, name) for name in ("study", "experiment", "stream")}
    run(arguments.settings | identity, arguments.output, arguments.seeds)


def _time(arguments) -> None:
    from scant.games import run

    run.time(arguments.jobs, arguments.output, arguments.details)


def _campaign(arguments) -> None:
    from scant.ads import campaigns

    campaigns.save(campaigns.make(arguments.name, **arguments.settings), arguments.output)


def _draw(arguments) -> None:
    from scant.ads import draw

    files = arguments.inputs, arguments.outputs
    draw.draw(arguments.log, arguments.settings, *files, arguments.study_seed, arguments.seed)


def _learn(arguments) -> None:
    from scant.ads.run import run

    identity = {name: getattr(arguments, name) for name in ("study", "experiment", "stream", "learner")}
    files = arguments.train, arguments.test, arguments.campaign
    run(arguments.settings | identity, arguments.output, arguments.seeds, *files)


def _coverage(arguments) -> None:
    from scant.ads import coverage

    coverage.run(arguments.settings, arguments.output, arguments.study_seed)


def _compare(arguments) -> None:
    from scant.online import comparator

    identity = {name: getattr(arguments, name) for name in ("study", "experiment", "stream", "judge")}
    comparator.compare(arguments.settings | identity, arguments.output, arguments.seeds, arguments.input)


def _gather(arguments) -> None:
    from scant.present import traces

    traces.gather(arguments.inputs, arguments.output, arguments.details)


def _figure(arguments) -> None:
    from scant.present import figures, traces

    comparators = traces.read_comparators(arguments.comparators)
    figures.make(arguments.name, *traces.read(arguments.inputs), arguments.output, comparators)


def _table(arguments) -> None:
    from scant.present import tables, traces

    comparators = traces.read_comparators(arguments.comparators)
    tables.make(arguments.name, *traces.read(arguments.inputs), arguments.output, comparators)


def _claims(arguments) -> None:
    from scant.present import traces
    from scant.study import settings as study
    from scant.verdict import claims

    settings, _ = study.load(arguments.study)
    played = {Path(path).stem: traces.read([path]) for path in arguments.inputs}
    played = {name: (rows, details[name]) for name, (rows, details) in played.items()}
    given = traces.read_comparators(arguments.comparators), claims.read_tables(arguments.tables)
    stated = study.claims(settings["claims"])
    claims.write(claims.examine(stated, settings, played, *given), settings, arguments.output)


def _claims_figure(arguments) -> None:
    from scant.present import figures
    from scant.verdict import claims
    from scant.verdict import drawings as drawing_claims

    frame = claims.specification(claims.read_readings(arguments.readings), arguments.family)
    figures.save(drawing_claims.specification(frame), frame, arguments.output)


def _page(arguments) -> None:
    from scant.page import about, page

    study, folder = arguments.study, arguments.output.parent
    facts = about.facts(study, folder, arguments.study_file)
    page.make(study, folder, arguments.output, about.claims(arguments.claims), facts)


def _show(arguments) -> None:
    from scant.page import show

    print(show.show(arguments.folder, arguments.name, arguments.verdict, arguments.family, arguments.summary), end="")


def _status(arguments) -> None:
    from scant.page import status

    print(status.describe(status.status(arguments.folder)), end="")


def _theory(arguments) -> None:
    from scant.games import atlas
    from scant.online import variance
    from scant.present import tables

    makers = {
        "variance": partial(variance.variance_table, arguments.study_seed),
        "table-3.1": atlas.table_3_1,
        "table-3.2": atlas.table_3_2,
        "table-b.1": atlas.table_b_1,
        "observability": atlas.atlas_table,
    }
    if arguments.name not in makers:
        raise unknown("theory table", arguments.name, makers)
    tables.write(makers[arguments.name](), arguments.output)


def _logs(arguments) -> None:
    from scant.ads import frames as ads
    from scant.present import tables

    makers = {"table-5.1": ads.table_5_1, "table-5.2": ads.table_5_2}
    if arguments.name not in makers:
        raise unknown("table of logs", arguments.name, makers)
    tables.write(makers[arguments.name](arguments.inputs), arguments.output)


def _streams(arguments) -> None:
    from scant.present import tables

    tables.write(tables.streams_table(arguments.inputs), arguments.output)


def _ads_simulate(arguments) -> None:
    from scant.advice import advise as advice

    given = (arguments.campaign, arguments.settings, arguments.policy, arguments.rows, arguments.seed)
    advice.simulate(*given, arguments.output)


def _ads_check(arguments) -> None:
    from scant.advice import advise as advice

    facts = advice.check(arguments.log)
    print(json.dumps(facts, indent=1) if arguments.json else advice.describe(facts), end="\n" * arguments.json)


def _ads_evaluate(arguments) -> None:
    from scant.ads import scorers
    from scant.advice import advise as advice

    names = ("lambdas", "epsilon", "validation", "threshold", "select", "seed")
    learning = {name: getattr(arguments, name) for name in names}
    settings = {name: getattr(arguments, name) for name in ("steps", "trees", "undersample")}
    found = advice.advise(
        arguments.test, arguments.train, arguments.policy, arguments.level, arguments.least_propensity,
        settings=scorers.Settings(**settings), **learning,
    )  # fmt: skip
    if arguments.output:
        found.write(arguments.output)
    print(found.text(), end="")


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = argparse.ArgumentParser(prog="scant", description=__doc__.partition("\n")[0], fromfile_prefix_chars="@")
    top.add_argument("--traceback", action="store_true", help="show where an expected error came from")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name, function, help, *options, among=commands):
        one = among.add_parser(name, help=help, description=help)
        one.set_defaults(function=function)
        for names, settings in options:
            one.add_argument(*names, **settings)

    def option(*names, **settings):
        return names, settings

    output = option("--output", required=True, type=Path, help="the file to write")
    inputs = option("inputs", nargs="+", type=Path, help="the files to read")
    of_study = option("--study", type=_json, required=True, help="the study's settings as in its file, as JSON")
    study_seed = option("--study-seed", type=int, required=True, help="the seed of the study")
    settings = option("--settings", type=_json, required=True, help="the settings, as JSON")
    stream = option("stream", help="the stream's id")
    dataset = (
        option("dataset", help="the data set's id"),
        option("part", help="the part's id"),
        option("--registry", default="config/datasets.yaml", help="the registry of data sets"),
        option("--own", type=_json, default={}, help="data sets of your own, as JSON"),
    )
    name = option("name", help="its name")
    stem = option("--output", required=True, type=Path, help="the files to write, without their endings")

    mirror = option("--mirror", default=os.environ.get("SCANT_DATA") or None, help="a folder or address tried first")
    command("fetch", _fetch, "Fetch one file of a data set and check it.", *dataset, mirror, output)
    original = option("--input", required=True, type=Path, help="the original file")
    command("convert", _convert, "Convert an original file to a parquet table.", *dataset, original, output)
    command("pack", _pack, "Pack tables into a stream.", stream, inputs, settings, study_seed, output)
    seed = option("--seed", type=int, required=True, help="the seed of the run or draw")
    command("simulate", _simulate, "Draw a simulated stream.", stream, settings, study_seed, seed, output)
    played = (
        *(option(f"--{one}", required=True, help=f"the {one}'s id") for one in ("study", "experiment", "stream")),
        option("--seeds", type=int, nargs="+", required=True, help="the seeds"),
        settings,
        output,
    )
    files = option("--input", nargs="*", default=(), help="the stream's file for each seed, or one for all")
    learner = option("--learner", required=True, help="the learner's id")
    about = "Play one learner on one stream (without --input: against the adversary)."
    command("run", _run, about, learner, files, *played)
    command("play", _play, "Play a game on fixed items, whose id is --stream, with all its learners.", *played)
    command("campaign", _campaign, "Make a simulated campaign: JSON.", name, settings, output)
    log = option("log", help="the log's id")
    outputs = option("--outputs", nargs=2, required=True, type=Path, help="the logs that train and test")
    about = "Draw a campaign's logs, or make them of a classification set."
    command("draw", _draw, about, log, inputs, settings, study_seed, seed, outputs)
    logs = (
        *(option(f"--{part}", nargs="+", required=True, help=f"the log that {part}s, of each seed") for part in PARTS),
        option("--campaign", help="the campaign that the logs are of, if they are simulated"),
    )
    command("learn", _learn, "Learn from logs, whose id is --stream, and evaluate.", learner, *logs, *played)
    command("coverage", _coverage, "Study how often bounds on CTR hold.", settings, study_seed, output)
    jobs = option("--jobs", type=_json, required=True, help="what to play, as JSON")
    details = option("--details", type=_json, required=True, help="what reports need of the study, as JSON")
    command("time", _time, "Measure how long a round takes.", jobs, details, output)
    judge = option("--judge", required=True, help="the surrogate")
    command("compare", _compare, "Find the best fixed weights of what was played.", judge, files, *played)
    command("gather", _gather, "Gather an experiment's runs.", inputs, details, output)
    comparators = option("--comparators", nargs="*", default=(), help="files of the best fixed weights")
    command("figure", _figure, "Draw a figure: SVG, PNG, CSV.", name, inputs, comparators, stem)
    command("table", _table, "Make a table: CSV, LaTeX.", name, inputs, comparators, stem)
    command("theory", _theory, "Make a table that needs no run: CSV, LaTeX.", name, study_seed, stem)
    command("logs", _logs, "Make a table of bandit logs: CSV, LaTeX.", name, inputs, stem)
    made = option("--tables", nargs="*", default=(), help="the tables of theory, CSV")
    traces = option("inputs", nargs="*", type=Path, help="the traces of its experiments")
    about = "Judge the claims of the papers: CSV, parquet, LaTeX, and a CSV of all readings."
    command("claims", _claims, about, of_study, traces, comparators, made, stem)
    family = option("family", help="the family of claims")
    readings = option("readings", type=Path, help="the CSV of all readings")
    command("claims-figure", _claims_figure, "Draw the claims of a family: SVG, PNG, CSV.", family, readings, stem)
    judged = option("--claims", type=Path, help="the claims, parquet; none if the study judges none")
    file = option("--study-file", default="", help="the study's file, for the commands that the page shows")
    command("page", _page, "Make the page of a study.", of_study, judged, file, output)
    folder = option("folder", type=Path, help="the study's results, results/{study}")
    command("status", _status, "Say how far a study is, which jobs failed, and what the rest took.", folder)
    command(
        "show", _show, "Print the claims of a finished study, or one of its tables.",
        folder,
        option("name", nargs="?", help="a table; the claims if absent"),
        option("--verdict", help="only claims with this verdict"),
        option("--family", help="only claims of this family"),
        option("--summary", action="store_true", help="only what the claims came to"),
    )  # fmt: skip
    command("streams", _streams, "Make the table of streams: CSV, LaTeX.", inputs, stem)
    about = "For practitioners: which policy would have earned more clicks?"
    _ads(commands.add_parser("ads", help=about, description=about), command, option)
    return top


def _ads(ads: argparse.ArgumentParser, command, option) -> None:
    """The grammar of `scant ads`."""
    command = partial(command, among=ads.add_subparsers(required=True, metavar="COMMAND"))
    policies = ("targeted", "uniform")
    command(
        "simulate", _ads_simulate, "Write a log of a simulated campaign.",
        option("campaign", help="the campaign's name: hotel, bank-1, bank-2"),
        option("--policy", choices=policies, required=True, help="who shows the ads: the campaign, or chance"),
        option("--rows", type=int, required=True, help="how many visits"),
        option("--seed", type=int, default=0, help="the seed of the visits (default 0)"),
        option("--settings", type=_json, default={}, help="settings of the campaign, as JSON"),
        option("--output", type=Path, required=True, help="the log to write; CSV if it ends in .csv, else parquet"),
    )  # fmt: skip
    command(
        "check", _ads_check, "Say what a log holds, or what is wrong with it.",
        option("log", help="the log, CSV or parquet"),
        option("--json", action="store_true", help="print JSON"),
    )  # fmt: skip
    command(
        "evaluate", _ads_evaluate, "Learn policies from one log, compare them with today's on another.",
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
    )  # fmt: skip


def _csv_or_json(text: str) -> Path:
    if not text.lower().endswith((".csv", ".json")):
        raise argparse.ArgumentTypeError(f"{text!r} ends neither in .csv nor in .json")
    return Path(text)


def _json(text: str):
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from None


def main(arguments: list[str] | None = None) -> int:
    """Run one subcommand; 0, or 1 after an expected error, whose text goes to standard error."""
    parsed = parser().parse_args(arguments)
    try:
        parsed.function(parsed)
    except (ScantError, OSError, MemoryError) as error:
        if parsed.traceback:
            raise
        print(f"scant: {_said(error)}", file=sys.stderr)
        return 1
    return 0


def _said(error: Exception) -> str:
    """What went wrong, and what to do."""
    if isinstance(error, MemoryError):
        return f"not enough memory ({str(error) or 'no more is known'}). Run it where there is more"
    if isinstance(error, OSError):
        return f"{error}. Put that right and run the same command again: nothing half-written is left"
    return str(error)


if __name__ == "__main__":
    raise SystemExit(main())
