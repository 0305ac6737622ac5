"""The command line: one subcommand for each kind of job. It reads inputs, calls one function, writes outputs.

Packages are imported where they are used, so that each job only loads what it needs.
"""

import argparse
import gc
import io
import json
import os
import shlex
import signal
import sys
from contextlib import nullcontext
from functools import partial
from itertools import groupby
from pathlib import Path

from scant import __version__
from scant.errors import DataError, ScantError, SettingError, printable

THEN = "--then"  # between subcommands that one process runs
NEW = 50_000  # objects after which Python looks for garbage; by default so few that figures take a tenth longer


def _fetch(arguments) -> None:
    from scant.data import fetch, registry

    datasets = registry.load(arguments.registry, arguments.own)
    dataset = registry.find(datasets, arguments.dataset)
    fetch.fetch(dataset, arguments.part, arguments.output, arguments.mirror or None)


def _datasets(arguments) -> None:
    from scant.data import croissant, registry

    datasets = registry.load(arguments.registry)
    if arguments.croissant:
        for path in croissant.write(datasets, arguments.croissant):
            print(path)
        return
    for dataset in datasets.values():
        print(f"{dataset.id:20} {dataset.title}")


def _convert(arguments) -> None:
    from scant.data import fetch, registry, tables

    datasets = registry.load(arguments.registry, arguments.own)
    dataset = registry.find(datasets, arguments.dataset)
    if arguments.input.is_file():
        fetch.check_copy(dataset, arguments.part, arguments.input)
    try:
        tables.convert(dataset, arguments.part, arguments.input, arguments.output)
    except DataError as error:
        if not dataset.own or error.file != str(arguments.input):
            raise
        file = dataset.part(arguments.part).file  # a person edits this one, not its copy
        raise DataError(file, error.reason, error.line, error.advice) from error


def _pack(arguments) -> None:
    from scant.data import packing
    from scant.study import named

    named.check(arguments.inputs)
    packing.pack(arguments.stream, arguments.settings, arguments.inputs, arguments.output, arguments.study_seed)


def _simulate(arguments) -> None:
    from scant.data import simulated

    for seed, target in _files_of(arguments.seed, arguments.output, 1):
        simulated.simulate(arguments.stream, arguments.settings, *target, arguments.study_seed, seed)


def _run(arguments) -> None:
    from scant.declared import called
    from scant.files import read_once
    from scant.study import named

    engine = called(arguments.engine)
    identity = {name: getattr(arguments, name) for name in ("study", "experiment", "stream")} | _code(arguments)
    learners = [{"learner": learner} for learner in arguments.learner] or [{}]
    settings = arguments.own or [{}] * len(learners)
    if not len(learners) == len(settings) == len(arguments.output):
        raise SettingError("run: as many items of --own and files of --output are needed as learners")
    for files in arguments.input.values():
        named.check(files, arguments.settings.get("stream_settings") or arguments.settings.get("log_settings"))
    with read_once() if len(learners) > 1 else nullcontext():  # else what is kept would only take memory
        for learner, own, target in zip(learners, settings, arguments.output, strict=True):
            engine(arguments.settings | own | identity | learner, target, arguments.seeds, arguments.input)


def _code(arguments) -> dict:
    """The digest of a job's code, for the metadata of the file that it makes; empty if it was not given."""
    return {"code": arguments.code} if arguments.code else {}


def _time(arguments) -> None:
    from scant.games import run

    run.time(arguments.jobs, arguments.output, arguments.details)


def _campaign(arguments) -> None:
    from scant.ads import campaigns

    campaigns.save(campaigns.make(arguments.name, **arguments.settings), arguments.output)


def _draw(arguments) -> None:
    from scant.ads import draw
    from scant.study import named

    named.check(arguments.inputs)
    for seed, targets in _files_of(arguments.seed, arguments.outputs, 2):
        draw.draw(arguments.log, arguments.settings, arguments.inputs, targets, arguments.study_seed, seed)


def _files_of(seeds: list[int], files: list[Path], each: int) -> list[tuple[int, list[Path]]]:
    """Each seed and its files."""
    if len(files) != each * len(seeds):
        raise SettingError(f"{len(files)} files to write for {len(seeds)} seeds: each seed has {each}")
    return [(seed, files[each * at : each * (at + 1)]) for at, seed in enumerate(seeds)]


def _coverage(arguments) -> None:
    from scant.ads import coverage

    coverage.run(arguments.settings, arguments.output, arguments.study_seed)


def _comparator(arguments) -> None:
    from scant.online import comparator
    from scant.study import named

    identity = {name: getattr(arguments, name) for name in ("study", "experiment", "stream", "judge")}
    job, streams = arguments.settings | identity | _code(arguments), arguments.input.get("streams", ())
    named.check(streams, job.get("stream_settings"))
    comparator.compare(job, arguments.output, arguments.seeds, streams)


def _gather(arguments) -> None:
    from scant.present import traces
    from scant.study import named

    named.check_runs(arguments.inputs, arguments.details)
    traces.gather(arguments.inputs, arguments.output, arguments.details)


def _shown(drawn: bool, arguments) -> None:
    from scant.present import making
    from scant.study import named

    shown = making.find(arguments.name, drawn)
    seed = getattr(arguments, "study_seed", None)
    named.check([*arguments.inputs, *arguments.comparators])
    inputs = making.read(shown, arguments.inputs, arguments.comparators, seed)
    for path in map(Path, arguments.inputs):
        if path.stem in arguments.told:
            named.check_told(path, inputs[1].get(path.stem, {}), arguments.told[path.stem])
    making.make(shown, arguments.output, *inputs)


def _all_shown(drawn: bool, arguments) -> None:
    from scant.files import read_once

    with read_once():
        for name, read in arguments.made.items():
            _shown(
                drawn, argparse.Namespace(**vars(arguments) | read | {"name": name, "output": arguments.output / name})
            )


def _settings_of(path) -> dict:
    """The settings of a study, from the JSON file that the workflow writes."""
    return json.loads(path.read_text(encoding="utf-8"))


def _claims(arguments) -> None:
    from scant.present import traces
    from scant.study import named, settings
    from scant.study.plan import COMPARATOR, Plan
    from scant.verdict import claims, tables

    plan = Plan(*settings.load(_settings_of(arguments.study)))
    compared = [job for jobs in plan.comparators.values() for job in jobs]
    made = {COMPARATOR.format(study=plan.study["study"], run=job.path): job.settings for job in compared}
    named.check(arguments.inputs)
    named.check(arguments.comparators, jobs=made)
    played = {}
    for path in arguments.inputs:
        rows, details = traces.read([path])
        named.check_told(path, details[path.stem], named.digest(named.told(plan, path.stem)))
        played[path.stem] = rows, details[path.stem]
    compared, theory = traces.read_comparators(arguments.comparators), tables.read_theory(arguments.tables)
    coverage = traces.read([arguments.coverage])[0] if arguments.coverage else None
    stated = settings.claims(plan.study["claims"])
    examined = claims.examine(stated, plan, played, compared, theory, coverage=coverage)
    tables.write(examined, plan.study, arguments.output)


def _claims_figures(arguments) -> None:
    from scant.present import figures
    from scant.study import code
    from scant.study.plan import OF_CLAIMS
    from scant.verdict import drawings, readings

    frame = readings.read(arguments.readings)
    digest = code.digest("scant.verdict.drawings", "scant.verdict.readings", "scant.present.figures")
    for name, claims in arguments.figures.items():
        shown = readings.specification(frame, claims, arguments.titles)
        drawn = drawings.specification(figures.literal(shown))
        figures.save(drawn, shown, arguments.output / f"{OF_CLAIMS}{name}", digest)


def _page(arguments) -> None:
    from scant.compare import manifest, provenance
    from scant.files import sha256, write_text
    from scant.page import about, page
    from scant.study import settings
    from scant.study.plan import Plan

    study, folder = _settings_of(arguments.study), arguments.output.parent
    plan = Plan(*settings.load(study))
    stated = settings.claims(plan.study["claims"]) if plan.study["claims"] else {}
    if arguments.copy:
        write_text(arguments.copy, json.dumps(study, indent=1, ensure_ascii=False) + "\n")
    facts = about.facts(plan, stated, folder, arguments.study_file)
    made = provenance.made()
    facts["environment"] |= {"made": made["date"], "commit": provenance.commit(made)}
    hashed = {"study.json": arguments.copy and sha256(arguments.copy), "lock file": made["lock"]}
    facts["environment"] |= {f"SHA-256 of the {name}": text[:16] for name, text in hashed.items() if text}
    claims, cells = about.claims(arguments.claims), about.cells(arguments.readings)
    page.make(study, folder, arguments.output, claims, facts, cells)
    if arguments.manifest:
        manifest.write(study, plan, stated, folder, facts, made, arguments.manifest)


def _show(arguments) -> None:
    from scant.page import show

    wanted = {name: getattr(arguments, name) for name in ("verdict", "family", "row", "claim", "cells")}
    print(show.show(arguments.folder, arguments.name, **wanted, brief=arguments.summary), end="")


def _compare(arguments) -> int:
    from scant.compare import differences, finished, page, terminal
    from scant.files import check_outputs

    folders = finished.pair(arguments.a, arguments.b)
    if arguments.output:
        check_outputs(page.files(arguments.output), folders)
    found = differences.compare(*map(finished.read, folders))
    if arguments.output:
        page.write(found, arguments.output)
    print(terminal.describe(found), end="")
    return int(found.fails(arguments.fail_on))


def _reference(arguments) -> None:
    from scant.compare import finished

    print(finished.keep(arguments.folder))


def _verify(arguments) -> int:
    from scant.compare import provenance

    found = provenance.verify(arguments.folder)
    print("\n".join(map(printable, provenance.describe(found, arguments.folder))))
    return int(bool(found.changed or found.gone))


def _prune(arguments) -> None:
    from scant.compare import pruning

    found = pruning.prunable(arguments.folder, arguments.drawn)
    print("\n".join(pruning.describe(found, arguments.drawn, arguments.delete)), flush=True)
    if arguments.delete:
        pruning.delete(arguments.folder, found)


def _archive(arguments) -> None:
    from scant.compare import archive

    print(archive.write(arguments.folder, arguments.output, arguments.runs))


def _status(arguments) -> None:
    from scant.page import status

    print(status.describe(status.status(arguments.folder)), end="")


def _more(arguments) -> None:
    from scant.files import check_outputs, write_text
    from scant.page import status
    from scant.verdict import more

    study_file = arguments.study_file or status.study_file(arguments.folder)
    check_outputs([arguments.output] if arguments.output else [], [study_file, arguments.folder])
    found = more.more(arguments.folder, study_file, arguments.within)
    print(more.describe(found, arguments.within))
    if not found.steps:
        return
    if arguments.output is None:
        print("--output FILE writes the study file that asks for these seeds, --within SECONDS takes fewer.")
        return
    write_text(arguments.output, more.study_with(study_file, found))
    print(f"Only new seeds are played by: snakemake --cores all --configfile {arguments.output}")


def _compile(arguments) -> None:
    from scant import compiling

    compiling.compile_all()


def _init(arguments) -> None:
    from scant import starting

    for path in starting.begin(arguments.folder):
        print(path)
    print(f"Run it: cd {shlex.quote(str(arguments.folder))} && snakemake --cores all")


def _schema(arguments) -> None:
    from scant.page import generated

    if arguments.print:
        print(generated.texts()[generated.SCHEMA], end="")
    else:
        generated.write(arguments.root)


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    top = argparse.ArgumentParser(prog="scant", description=__doc__.partition("\n")[0], fromfile_prefix_chars="@")
    top.add_argument("--version", action="version", version=f"scant {__version__}")
    top.add_argument("--traceback", action="store_true", help="show where an expected error came from")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name, function, help, *options, among=commands):
        added = among.add_parser(name, help=help, description=help)
        added.set_defaults(function=function)
        for names, settings in options:
            added.add_argument(*names, **settings)

    def option(*names, **settings):
        return names, settings

    output = option("--output", required=True, type=Path, help="the file to write")
    inputs = option("inputs", nargs="+", type=Path, help="the files to read")
    of_study = option("--study", type=Path, required=True, help="the study's settings, JSON")
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
    about = "List the registry's data sets, or describe them in Croissant: a JSON-LD file for each."
    croissant = option("--croissant", type=Path, metavar="FOLDER", help="the folder to write the files to")
    command("datasets", _datasets, about, dataset[2], croissant)
    original = option("--input", required=True, type=Path, help="the original file")
    command("convert", _convert, "Convert an original file to a parquet table.", *dataset, original, output)
    command("pack", _pack, "Pack tables into a stream.", stream, inputs, settings, study_seed, output)
    drawn = option("--seed", type=int, nargs="+", required=True, help="the seeds of the draws")
    files = option("--output", nargs="+", required=True, type=Path, help="the files to write, one for each seed")
    command("simulate", _simulate, "Draw a simulated stream.", stream, settings, study_seed, drawn, files)
    played = (
        *(option(f"--{id}", required=True, help=f"the {id}'s id") for id in ("study", "experiment")),
        option("--stream", required=True, help="the id of the stream, game or log"),
        option("--seeds", type=int, nargs="+", required=True, help="the seeds"),
        option("--input", nargs="+", action=_Files, default={}, metavar=("NAME", "FILE"), help="files of one kind"),
        option("--code", default="", help="the digest of the code that makes the file, for its metadata"),
        settings,
    )
    engine = option("--engine", required=True, help="what plays, module:function: see scant.families.Family")
    learners = option("--learner", nargs="+", default=(), help="learners' ids; none if one file is of all of a game's")
    own = option("--own", type=_json, help="a list of further settings, one item for each learner, as JSON")
    files = option("--output", nargs="+", required=True, type=Path, help="the files to write, one for each learner")
    about = "Make run files: play learners, one after another, or all of a game, for some seeds."
    command("run", _run, about, engine, learners, own, *played, files)
    command("campaign", _campaign, "Make a simulated campaign: JSON.", name, settings, output)
    log = option("log", help="the log's id")
    outputs = option(
        "--outputs", nargs="+", required=True, type=Path, help="the logs that train and test, of each seed"
    )
    about = "Draw a campaign's logs, or make them of a classification set."
    command("draw", _draw, about, log, inputs, settings, study_seed, drawn, outputs)
    command("coverage", _coverage, "Study how often bounds on CTR hold.", settings, study_seed, output)
    jobs = option("--jobs", type=_json, required=True, help="what to play, as JSON")
    details = option("--details", type=_json, required=True, help="what reports need of the study, as JSON")
    command("time", _time, "Measure how long a round takes.", jobs, details, output)
    judge = option("--judge", required=True, help="the surrogate")
    command("comparator", _comparator, "Find the best fixed weights of what was played.", judge, *played, output)
    command("gather", _gather, "Gather an experiment's runs.", inputs, details, output)
    comparators = option("--comparators", nargs="*", default=(), help="files of the best fixed weights")
    read = option("inputs", nargs="*", type=Path, help="the files that it is made of")
    told = option(
        "--told", type=_json, default={}, help="a digest of what the traces of each experiment carry, as JSON"
    )
    command("figure", partial(_shown, True), "Draw a figure: SVG, PNG, CSV.", name, read, comparators, told, stem)
    about = "Make a table: CSV, LaTeX."
    command("table", partial(_shown, False), about, name, read, comparators, told, study_seed, stem)
    made = option("made", type=_json, help="inputs, comparators and what traces carry, of each by name, as JSON")
    folder = option("--output", type=Path, required=True, help="their folder")
    command("figures", partial(_all_shown, True), "Draw several figures.", made, folder)
    command("tables", partial(_all_shown, False), "Make several tables.", made, study_seed, folder)
    made = option("--tables", nargs="*", default=(), help="the tables of theory, CSV")
    traces = option("inputs", nargs="*", type=Path, help="the traces of its experiments")
    about = "Judge the claims of the papers: CSV, parquet, LaTeX, and a CSV of all readings."
    bounds = option("--coverage", type=Path, help="the study of bounds on CTR, parquet; none if the study has none")
    command("claims", _claims, about, of_study, traces, comparators, made, bounds, stem)
    readings = option("readings", type=Path, help="the CSV of all readings")
    drawn = option("--figures", type=_json, required=True, help="the ids of the claims of each figure, as JSON")
    figures = option("--output", type=Path, required=True, help="the folder of the figures")
    titles = option("--titles", type=_json, default={}, help="the titles of places and learners by their ids, as JSON")
    command("claims-figures", _claims_figures, "Draw the claims: SVG, PNG, CSV.", readings, drawn, titles, figures)
    judged = option("--claims", type=Path, help="the claims, parquet; none if the study judges none")
    of_cells = option("--readings", type=Path, help="the CSV of all readings, of these claims")
    file = option("--study-file", default="", help="the study's file, for the commands that the page shows")
    manifest = option("--manifest", type=Path, help="where to write what made the study: JSON")
    about = "Make the page of a study, and its manifest."
    copy = option("--copy", type=Path, help="where to write the settings, as a study file: JSON")
    command("page", _page, about, of_study, judged, of_cells, file, copy, manifest, output)
    folder = option("folder", type=Path, help="the study's results, results/{study}")
    delete = option("--delete", action="store_true", help="delete them; else they are only listed")
    about = "List the files of a finished study that its settings do not ask for any more."
    drawn = option("--drawn", action="store_true", help="also streams and logs, which can be made again")
    command("prune", _prune, about, folder, delete, drawn)
    command("status", _status, "Say how far a study is, which jobs failed, and what the rest took.", folder)
    command(
        "show", _show, "Print the claims of a finished study, or one of its tables.",
        folder,
        option("name", nargs="?", help="a table; the claims if absent"),
        option("--verdict", help="only claims with this verdict"),
        option("--family", help="only claims of this family"),
        option("--row", help="only claims of this kind: reproduction, extension or theorem"),
        option("--claim", help="all that is known of the claim with this id"),
        option("--cells", action="store_true", help="with a line for each stream and pair of learners"),
        option("--summary", action="store_true", help="only what the claims came to"),
    )  # fmt: skip
    side = "the results of a study, results/{study}, or `reference` for the reference of the other"
    command(
        "compare", _compare, "Say what differs between two finished studies, and fail if verdicts do.",
        option("a", metavar="A", help=side),
        option("b", metavar="B", help=side),
        option(
            "--fail-on", choices=("verdicts", "estimates", "numbers"), default="verdicts",
            help="which differences make it end with status 1: verdicts; or estimates that moved beyond their "
            "intervals, too; or any number (default: verdicts). Bad input ends with 2",
        ),
        option("--output", type=Path, metavar="STEM", help="write all that differs: STEM.csv, and a page, STEM.html"),
    )  # fmt: skip
    commands.choices["compare"].set_defaults(bad_input=2)
    command("reference", _reference, "Make a finished study the reference that others are compared to.", folder)
    command("verify", _verify, "Say whether all files of a finished study are still what was made.", folder)
    about = (
        "Pack a finished study into one zip: page, claims, tables, figures, settings, and what made them (RO-Crate)."
    )
    command(
        "archive", _archive, about,
        folder,
        option("--output", type=Path, help="the file to write (default: STUDY.zip in the working folder)"),
        option("--runs", action="store_true", help="with all run files, traces and streams"),
    )  # fmt: skip
    about = "Say how many more seeds would decide which claims of a finished study, and what they cost."
    command(
        "more", _more, about,
        folder,
        option("--within", type=float, metavar="SECONDS", help="take only what fits into so many seconds of one core"),
        option("--output", type=Path, help="the study file to write, which asks for these seeds"),
        option("--study-file", type=Path, help="the study's file; by default that of its latest run"),
    )  # fmt: skip
    command("compile", _compile, "Compile the loops now, so that no job has to: half a minute, once.")
    root = option("--root", type=Path, default=Path(), help="the project's folder (default: this one)")
    printed = option("--print", action="store_true", help="print the schema of study files instead")
    about = "Write the files that are made of what families declare: schema, captions."
    command("schema", _schema, about, root, printed)
    begun = option("folder", type=Path, help="the folder of the new study")
    command("init", _init, "Begin a study of your own in a folder: study file, Snakefile, profile.", begun)
    about = "For practitioners: which policy would have earned more clicks?"
    from scant.advice import commands as advice

    advice.add(commands.add_parser("ads", help=about, description=about))
    return top


class _Files(argparse.Action):
    """Input files by role: `--input train a.parquet --input test b.parquet`."""

    def __call__(self, parser, namespace, values, option_string=None):
        name, *files = values
        if not files:
            raise argparse.ArgumentError(self, f"expected a name and files, not {name!r} alone")
        setattr(namespace, self.dest, getattr(namespace, self.dest) | {name: files})


def _json(text: str):
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from None


def main(arguments: list[str] | None = None) -> int:
    """Run one subcommand. Returns 0, or 1 after an expected error, whose message goes to standard error.

    `compare` returns 1 if the studies differ, and 2 after an error. Several subcommands, with `--then` between, run
    one after another in one process, up to the first that fails.
    """
    signal.signal(signal.SIGTERM, _end)
    gc.set_threshold(NEW)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a locale without some letters shows others in their place
            stream.reconfigure(errors="backslashreplace")
    words, top = sys.argv[1:] if arguments is None else arguments, parser()
    commands = [list(command) for is_end, command in groupby(words, key=lambda word: word == THEN) if not is_end]
    parsed = [top.parse_args(command) for command in commands or [words]]  # all, before the first is run
    return next((code for code in map(_called, parsed) if code), 0)


def _called(parsed) -> int:
    """Run a subcommand, see `main`."""
    try:
        code = parsed.function(parsed) or 0
        if os.environ.get("SCANT_JOB"):
            print(_made(parsed))
        return code
    except (ScantError, OSError, MemoryError) as error:
        if parsed.traceback:
            raise
        print(f"scant: {_message(error)}", file=sys.stderr)
        return getattr(parsed, "bad_input", 1)


def _made(parsed) -> str:
    """What a job of a study has made, in a line: Snakemake tells its number alone."""
    made = getattr(parsed, "output", None) or parsed.outputs
    if isinstance(getattr(parsed, "made", None), dict):  # figures or tables in a folder
        made = [Path(made, name) for name in parsed.made]
    files = made if isinstance(made, list) else [made]
    return f"made {files[0]}" + (f" and {len(files) - 1} more like it" if len(files) > 1 else "")


def _end(number: int, frame) -> None:
    """End as the signal asks, but after all that is to be done at an end: half-written files are removed."""
    raise SystemExit(128 + number)


def _message(error: Exception) -> str:
    """The text of an expected error, with advice."""
    if isinstance(error, MemoryError):
        return f"not enough memory ({str(error) or 'no more is known'}). Run it where there is more"
    if isinstance(error, OSError):
        return f"{printable(error)}. Put that right and run the same command again: nothing half-written is left"
    return "\n".join(map(printable, str(error).split("\n")))


if __name__ == "__main__":
    raise SystemExit(main())
