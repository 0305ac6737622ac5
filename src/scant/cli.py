"""The command line: a subcommand for each thing that people do, and `job` for what the workflow
does.

Packages are imported where they are used, so that each job only loads what it needs.
"""

import argparse
import gc
import inspect
import io
import shlex
import signal
import sys
from contextlib import nullcontext
from importlib.metadata import entry_points
from pathlib import Path

from scant import __version__
from scant.declare.declarations import looking
from scant.errors import ScantError, SettingError, check_name, printable, printable_lines

GROUPS = {
    "A study of your own": ("init", "datasets", "fetch", "convert", "schema", "compile"),
    "What a study found": ("show", "table", "compare"),
    "The files of a study": ("verify", "archive", "reference"),
    "Logs of your own": ("ads",),
    "For the workflow": ("job",),
}  # of the commands, in the help
LOOK = ("show", "table", "compare", "verify", "archive", "reference", "datasets")
# objects after which Python looks for garbage; by default so few that figures take a tenth longer
NEW = 50_000


def _fetch(arguments) -> None:
    from scant.data import fetch, registry

    dataset = registry.find(registry.load(arguments.registry), arguments.dataset)
    fetch.fetch(dataset, arguments.part, arguments.output)


def _datasets(arguments) -> None:
    from scant.data import registry

    for dataset in registry.load(arguments.registry).values():
        print(f"{dataset.id:20} {printable(dataset.title)}")


def _convert(arguments) -> None:
    from scant.data import conversion, registry

    dataset = registry.find(registry.load(arguments.registry), arguments.dataset)
    conversion.convert(dataset, arguments.part, arguments.input, arguments.output)


def _show(arguments) -> None:
    from scant.page import show

    names = ("folder", "name", "verdict", "family", "row", "claim", "cells", "brief")
    print(show.show(**{name: getattr(arguments, name) for name in names}), end="")


def _table(arguments) -> None:
    from scant.files import check_outputs
    from scant.finished import leaderboard
    from scant.finished.results import Results

    leaderboard.check(arguments.rows, arguments.output)
    check_outputs([arguments.output] if arguments.output else [], [arguments.folder])
    asked = arguments.experiment, arguments.measure, arguments.tuning
    frame = leaderboard.chosen(Results(arguments.folder).leaderboard(*asked), arguments.stream)
    if arguments.output:
        leaderboard.write(frame, arguments.output, arguments.rows, arguments.rank)
    print(leaderboard.text(frame, arguments.rows, arguments.rank), end="")


def _compare(arguments) -> int:
    from scant.files import check_outputs
    from scant.finished import differences, reading

    folders = reading.pair(arguments.a, arguments.b)
    if arguments.output:
        check_outputs([arguments.output], folders)
    comparison = differences.compare(*map(reading.read, folders))
    if arguments.output:
        differences.write(comparison, arguments.output)
    print(differences.describe(comparison), end="")
    return int(comparison.fails(arguments.fail_on))


def _reference(arguments) -> None:
    from scant.finished import reading

    print(reading.keep(arguments.folder))


def _verify(arguments) -> int:
    from scant.finished import verifying

    verified = verifying.verify(arguments.folder)
    print("\n".join(map(printable, verifying.describe(verified, arguments.folder))))
    return int(bool(verified.changed or verified.gone))


def _archive(arguments) -> None:
    from scant.finished import archive

    print(archive.write(arguments.folder, arguments.output, arguments.runs))


def _compile(arguments) -> None:
    from scant import compiling

    compiling.compile_all()


def _init(arguments) -> None:
    from scant import starting
    from scant.schema import read_yaml

    for path in starting.begin(arguments.folder, arguments.study):
        print(path)
    results = f"results/{read_yaml(arguments.folder / starting.STUDY)['study']}"
    print(
        f"cd {shlex.quote(str(arguments.folder))}\n"
        "snakemake --cores all                      # play it\n"
        f"{f'scant show {results}':<40}   # what came of it\n"
        "On Slurm: pip install snakemake-executor-plugin-slurm, then snakemake --workflow-profile "
        "profiles/slurm"
    )


def _schema(arguments) -> None:
    from scant.page import generated

    if arguments.print:
        print(generated.text(), end="")
    else:
        generated.write(arguments.root)


def _job(arguments) -> None:
    from scant import jobs
    from scant.study import settled

    names = [
        name
        for name, job in vars(jobs).items()
        if getattr(job, "__module__", "") == jobs.__name__ and not name.startswith("_")
    ]
    check_name("job", arguments.name, names)
    job, given = getattr(jobs, arguments.name), (arguments.output, *arguments.ids)
    study = settled.read(arguments.study)
    try:
        inspect.signature(job).bind(study, *given)
    except TypeError as error:
        raise SettingError(f"scant job {arguments.name}: {error}") from None
    job(study, *given)


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    top = argparse.ArgumentParser(
        prog="scant",
        description="Reproducible studies of learning to rank from scant feedback.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.set_defaults(only_looks=False)
    top.add_argument("--version", action="version", version=f"scant {__version__}")
    top.add_argument(
        "--traceback", action="store_true", help="show where an expected error came from"
    )
    commands = top.add_subparsers(
        required=True, metavar="COMMAND", help="see below; scant COMMAND --help tells more"
    )

    def command(name, function, help, *options):
        added = commands.add_parser(name, description=help)
        added.set_defaults(function=function, only_looks=name in LOOK)
        for names, settings in options:
            added.add_argument(*names, **settings)

    def option(*names, **settings):
        return names, settings

    required, flag = {"required": True}, {"action": "store_true"}
    output = option("--output", **required, type=Path, help="the file to write")
    registry = option("--registry", default="config/datasets.yaml", help="the data sets' registry")
    dataset = option("dataset", help="the data set's id"), option("part", help="the part's id")
    about = "Fetch one file of a data set and check it."
    command("fetch", _fetch, about, *dataset, registry, output)
    command("datasets", _datasets, "List the registry's data sets.", registry)
    original = option("--input", **required, type=Path, help="the original file")
    about = "Convert an original file to a parquet table."
    command("convert", _convert, about, *dataset, registry, original, output)
    about = "Do a job of a study, as its rule does: see scant.jobs."
    command(
        "job",
        _job,
        about,
        option("name", help="the name of the rule"),
        option("ids", nargs="*", help="the ids in the names of what it makes"),
        option("--study", **required, type=Path, help="the settled study, which Snakemake writes"),
        option("--output", nargs="+", **required, type=Path, help="the files to write"),
    )
    folder = option("folder", type=Path, help="the study's results, results/{study}")
    command(
        "show",
        _show,
        "Print the claims of a finished study, or one of its tables.",
        folder,
        option("name", nargs="?", help="a table; the claims if absent"),
        option("--verdict", help="only claims with this verdict"),
        option("--family", help="only claims of this family"),
        option("--row", help="only claims of this kind: reproduction, extension or theorem"),
        option("--claim", help="all that is known of the claim with this id"),
        option("--cells", **flag, help="with a line for each stream and pair of learners"),
        option("--summary", dest="brief", **flag, help="only what the claims came to"),
    )
    of_stream = "only this one, with the differences to the best in a column of their own"
    tuning = "how rates are chosen: held-out, or paper (default: the experiment's own)"
    turned = {"default": "learners", "help": "learners, or streams; the columns are the others"}
    command(
        "table",
        _table,
        "Print an experiment's final measures: learners by streams, and which are told apart.",
        folder,
        option("--experiment", help="which one; needed if the study has several"),
        option("--stream", help=of_stream),
        option("--rows", **turned),
        option("--rank", **flag, help="with mean ranks, over the streams that all learners played"),
        option("--measure", help="such as ndcg@10 (default: the experiment's own)"),
        option("--tuning", help=tuning),
        option("--output", type=Path, help="write it, too: FILE.csv, or FILE.tex for LaTeX"),
    )
    side = "the results of a study, results/{study}, or `reference` for the reference of the other"
    fails = (
        "which differences make it end with status 1: verdicts; or estimates that moved beyond "
        "their intervals, too; or any number (default: verdicts). Bad input ends with 2"
    )
    levels = {"choices": ("verdicts", "estimates", "numbers"), "default": "verdicts"}
    command(
        "compare",
        _compare,
        "Say what differs between two finished studies, and fail if verdicts do.",
        option("a", metavar="A", help=side),
        option("b", metavar="B", help=side),
        option("--fail-on", **levels, help=fails),
        option("--output", type=Path, metavar="FILE.csv", help="write all that differs as CSV"),
    )
    commands.choices["compare"].set_defaults(bad_input=2)
    about = "Make a finished study the reference that others are compared to."
    command("reference", _reference, about, folder)
    about = "Say whether all files of a finished study are still what was made."
    command("verify", _verify, about, folder)
    packed = "the file to write (default: STUDY.zip in the working folder)"
    command(
        "archive",
        _archive,
        "Pack a finished study into one zip: page, claims, tables, figures, settings, and what "
        "made them (RO-Crate).",
        folder,
        option("--output", type=Path, help=packed),
        option("--runs", **flag, help="with all run files and streams"),
    )
    about = "Compile the loops that most studies play now, so that jobs need not: a minute, once."
    command("compile", _compile, about)
    about = "Write the schema of study files, which is made of what families declare."
    root = option("--root", type=Path, default=".", help="the project's folder (default: this one)")
    printed = option("--print", **flag, help="print it instead")
    command("schema", _schema, about, root, printed)
    about = "begin with a study that comes with scant, such as clicks (default: a small one)"
    command(
        "init",
        _init,
        "Begin a study of your own in a folder: study file, code of your own, Snakefile, profiles.",
        option("folder", type=Path, help="the folder of the new study"),
        option("--from", dest="study", default="", metavar="STUDY", help=about),
    )
    for tool in entry_points(group="scant.commands"):
        tool.load()(commands.add_parser(tool.name))
    listed = (
        f"\n{group}:\n"
        + "".join(f"  {name:<11}{commands.choices[name].description}\n" for name in names)
        for group, names in GROUPS.items()
        if commands.choices.keys() >= {*names}
    )
    top.epilog = "".join(listed).strip()
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run one subcommand. Returns 0, or 1 after an expected error, whose message goes to standard
    error.

    `compare` returns 1 if the studies differ, and 2 after an error.
    """
    signal.signal(signal.SIGTERM, _end)
    gc.set_threshold(NEW)
    for stream in (sys.stdout, sys.stderr):
        # a locale without some letters shows others in their place
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    parsed = parser().parse_args(arguments)
    try:
        with looking() if parsed.only_looks else nullcontext():
            return parsed.function(parsed) or 0
    except (ScantError, OSError, MemoryError) as error:
        if parsed.traceback:
            raise
        print(f"scant: {_message(error, parsed)}", file=sys.stderr)
        return getattr(parsed, "bad_input", 1)


def _end(number: int, frame) -> None:
    """End as the signal asks, but after all that is to be done at an end: half-written files are
    removed.
    """
    raise SystemExit(128 + number)


def _message(error: Exception, parsed: argparse.Namespace) -> str:
    """The text of an expected error of a command, with advice."""
    if isinstance(error, MemoryError):
        # but for the settled study of a job, which is small
        given = (value for name, value in vars(parsed).items() if name != "study")
        read = [str(one) for one in given if isinstance(one, str | Path) and Path(one).is_file()]
        of = printable(f" for {' and '.join(read)}") if read else ""
        why = str(error) or "no more is known"
        return f"not enough memory{of} ({why}). Run it where there is more"
    if isinstance(error, OSError):
        advice = "Put that right and run the same command again: nothing half-written is left"
        return f"{printable(error)}. {advice}"
    return printable_lines(error.text)


if __name__ == "__main__":
    raise SystemExit(main())
