"""The jobs of a study, for `scant job`: each function is the job of the rule with its name.

A job takes the settled study (`scant.study.settled`), the files to write, in the order of the rule,
and the ids in the names of what it makes; all else it finds by these ids. Packages are imported
where they are used, so that each job only loads what it needs. Jobs check that the files they read
are what their paths say (`scant.study.paths`).
"""

import json
from collections.abc import Mapping

from scant.errors import check_name
from scant.study import paths
from scant.study.plan import COVERAGE, DRAWS, ORIGINAL, Plan, spanned, untitled
from scant.study.settled import Settled


def fetch(settled: Settled, outputs, stored: str, part: str) -> None:
    """Fetch one file of a data set and check it.
    outputs : the file to write
    stored : the data set's name among the tables of all studies
    part : the id of the part to fetch
    """
    from scant.data import fetch

    fetch.fetch(settled.plan_of("").stored(stored), part, *outputs)


def convert(settled: Settled, outputs, stored: str, part: str) -> None:
    """Convert an original file to a parquet table.

    `stored` is the data set's name among the tables of all studies.
    """
    from scant.data import conversion

    original = ORIGINAL.format(dataset=stored, part=part)
    conversion.convert(settled.plan_of("").stored(stored), part, original, *outputs)


def make_stream(settled: Settled, outputs, stream: str) -> None:
    """Make a stream of the tables of a data set."""
    from scant.data import packing

    streams = settled.study["streams"]
    check_name("packed stream", stream, [id for id in streams if "dataset" in streams[id]])
    entry, tables = streams[stream], settled.plan_of("").stream_tables(stream)
    paths.check(tables)
    settings = untitled(entry) | {"normalised": settled.datasets[entry["dataset"]].normalised}
    packing.pack(stream, settings, tables, *outputs, settled.study["seed"])


def simulate(settled: Settled, outputs, stream: str, seeds: str) -> None:
    """Draw a simulated stream for some seeds: a folder with a file for each."""
    from scant.data import simulated

    settings, (folder,) = untitled(_of("stream", stream, settled.study["streams"])), outputs
    for seed in _drawn_seeds(settled, "streams", stream, seeds):
        file = folder / f"seed-{seed}.arrow"
        simulated.simulate(stream, settings, file, settled.study["seed"], seed)


def campaign(settled: Settled, outputs, log: str) -> None:
    """Make the simulated campaign of a log: JSON."""
    from scant.bandits import campaigns

    logs = settled.study["logs"]
    simulated = [name for name, entry in logs.items() if "campaign" in entry]
    check_name("log of a campaign", log, simulated)
    settings = logs[log]
    campaigns.save(campaigns.make(settings["campaign"], **settings["settings"]), *outputs)


def make_log(settled: Settled, outputs, log: str, seeds: str) -> None:
    """Draw a campaign's log, or make one from a classification set, for some seeds: a folder with
    a subfolder for each seed, which holds the training part and the test part.
    """
    from scant.ads import draw, family

    settings, (folder,) = untitled(_of("log", log, settled.study["logs"])), outputs
    inputs = family.drawn_from(settled.study, settled.datasets, log)
    paths.check(inputs)
    for seed in _drawn_seeds(settled, "bandit", log, seeds):
        files = [folder / f"seed-{seed}" / f"{part}.parquet" for part in draw.PARTS]
        draw.draw(log, settings, inputs, files, settled.study["seed"], seed)


def make_click_log(settled: Settled, outputs, log: str, seeds: str) -> None:
    """Draw a click log of rankings for some seeds: a folder with a file for each."""
    from scant.clicklogs import family, run

    settings, (folder,) = untitled(_of("click log", log, settled.study["click_logs"])), outputs
    stream = family.stream_file(settled.study, log)
    paths.check([stream])
    for seed in _drawn_seeds(settled, "clicks", log, seeds):
        file = folder / f"seed-{seed}.parquet"
        run.draw(log, settings, stream, file, settled.study["seed"], seed)


def run(settled: Settled, outputs, path: str) -> None:
    """Make a run file: one learner plays some seeds at one place, or all learners of the
    experiment do, in families whose learners share a job.

    path : the ids of the experiment, the place and, unless all learners play, of the learner; and
        the seeds
    """
    from scant.declare.declarations import called

    experiment = path.partition("/")[0]
    plan = settled.plan_of(experiment)
    job = _of("run", path, plan.runs)
    for files in job.inputs.values():
        paths.check(files, job.settings.get("stream_settings") or job.settings.get("log_settings"))
    identity = {"study": plan.study["study"], "code": settled.code_of(job)} | job.identity
    play = called(plan.families[experiment].engine)
    play(job.settings | identity, *outputs, job.seeds, job.inputs)


def best_weights(settled: Settled, outputs, path: str) -> None:
    """Find the best fixed weights for the queries that were played.

    path : the ids of the experiment, the place and the surrogate that judges; and the seeds
    """
    from scant.rankers import comparator
    from scant.study import code

    job = _of("file of best weights", path, settled.plan_of(path.partition("/")[0]).compared)
    streams = job.inputs.get("streams", ())
    paths.check(streams, job.settings.get("stream_settings"))
    made_by = {"study": settled.study["study"], "code": code.digest("scant.rankers.comparator")}
    comparator.compare(job.settings | made_by | job.identity, *outputs, job.seeds, streams)


def coverage(settled: Settled, outputs) -> None:
    """Study how often bounds on CTR hold."""
    from scant.ads import coverage

    coverage.run(settled.study["coverage"], *outputs, settled.study["seed"])


def show(settled: Settled, outputs, job: str) -> None:
    """Draw some figures (CSV, SVG, PNG) or make some tables (CSV, LaTeX) into the folder of the
    first output.

    job : a key of `scant.study.plan.Plan.shown_by`
    """
    from scant.present import making

    read = making.Inputs(settled.plan)
    for name, target in _of("job of figures or tables", job, settled.plan.shown_by).items():
        making.make(target.shown, outputs[0].parent / name, *read(target))


def judge(settled: Settled, outputs, kinds: str) -> None:
    """Judge some of the claims of the papers: JSON.

    kinds : the kinds of experiments that these claims can be read in, a name of one of
        `scant.verdict.selection.jobs`
    """
    from scant.present import traces
    from scant.study import settings
    from scant.verdict import claims, selection, tables

    plan, study, whole, coverage = settled.plan, settled.study, None, None
    if "left_out" in study:
        whole = Plan(*settings.load(settled.given | {"missing": "stop"}, checked=True))
    if study["coverage"]:
        coverage = traces.read_coverage(COVERAGE.format(study=study["study"]))
    experiments, names = _of("job of claims", kinds, selection.jobs(plan, settled.claims))
    played = {}
    for name in experiments:
        rows, details = traces.read([paths.runs(plan, name)])
        played[name] = rows, details[name]
    compared = traces.read_comparators(paths.checked(plan, plan.comparator_files(experiments)))
    stated, theory = {id: settled.claims[id] for id in names}, tables.read_theory(plan.theory)
    examined = claims.examine(stated, plan, played, compared, theory, coverage, whole)
    tables.save(examined, study, list(settled.claims), *outputs)


def claims(settled: Settled, outputs) -> None:
    """Gather the claims that were judged: CSV, parquet, LaTeX, and a CSV of all readings."""
    from scant.verdict import selection, tables

    folder = outputs[0].parent / "verdicts"
    judged = [folder / f"{part}.json" for part in selection.jobs(settled.plan, settled.claims)]
    tables.write(*tables.gathered(judged), settled.study["study"], outputs[0].with_suffix(""))


def boards(settled: Settled, outputs) -> None:
    """Rank the learners of each experiment, for the page: JSON."""
    from scant.page import boards

    boards.save((paths.runs(settled.plan, name) for name in settled.plan.stated), *outputs)


def report(settled: Settled, outputs, study_file: str) -> None:
    """Make the page of a study, its manifest, and a copy of its settings.

    study_file : the study's file, for the commands that the page shows
    """
    from scant.files import sha256, write_text
    from scant.finished import manifest, provenance
    from scant.page import about, page
    from scant.verdict import readings

    target, listed, copy = outputs
    plan, folder, config = settled.plan, target.parent, settled.given
    write_text(copy, json.dumps(config, indent=1, ensure_ascii=False) + "\n")
    ranked = json.loads((folder / "boards.json").read_text(encoding="utf-8"))
    facts = about.facts(plan, settled.claims, folder, study_file, ranked)
    made = provenance.made(study_file)
    facts["environment"] |= {"made": made["date"], "commit": provenance.commit(made)}
    hashed = {"study.json": sha256(copy), "lock file": made["lock"] or "none"}
    facts["environment"] |= {f"SHA-256 of the {name}": text[:16] for name, text in hashed.items()}
    claims = readings.claims(folder / "claims.parquet") if settled.claims else []
    cells = readings.cells(folder / "claims-readings.csv") if claims else []
    page.make(config, folder, target, claims, facts, cells)
    manifest.write(config, plan, settled.claims, folder, facts, made, listed, study_file)


def _of(what: str, name: str, entries: Mapping):
    """The entry of this name; an error that names the nearest if there is none."""
    check_name(what, name, entries)
    return entries[name]


def _drawn_seeds(settled: Settled, kind: str, place: str, seeds: str) -> list[int]:
    """The seeds that one job draws of a stream or log, or an error that names the nearest; `kind`
    is the folder of all that is drawn.
    """
    folder = DRAWS.format(study=settled.study["study"], kind=kind, stream=place)
    spans = settled.draws.get(folder, ())
    return _of(f"draw of {place}", seeds, {span: spanned(span) for span in spans})
