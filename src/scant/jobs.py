"""The jobs of a study, for `scant job`: each function is the job of the rule with its name.

A job reads the files `inputs`, by their role, and writes the files `outputs`, in the order of the rule. Its further
parameters are the keys of `--settings`. Packages are imported where they are used, so that each job only loads what it
needs. Jobs check that the files they read are what their paths say (`scant.study.named`).
"""

import json
from contextlib import nullcontext
from pathlib import Path

from scant.errors import SettingError


def pack(inputs, outputs, *, stream: str, settings: dict, study_seed: int) -> None:
    """Pack tables into a stream."""
    from scant.data import packing
    from scant.study import named

    named.check(inputs["tables"])
    packing.pack(stream, settings, inputs["tables"], *outputs, study_seed)


def simulate(inputs, outputs, *, stream: str, settings: dict, study_seed: int, seeds: list[int]) -> None:
    """Draw a simulated stream for some seeds: a file each."""
    from scant.data import simulated

    for seed, (target,) in _by_seed(seeds, outputs, 1):
        simulated.simulate(stream, settings, target, study_seed, seed)


def campaign(inputs, outputs, *, name: str, settings: dict) -> None:
    """Make a simulated campaign: JSON."""
    from scant.ads import campaigns

    campaigns.save(campaigns.make(name, **settings), *outputs)


def draw(inputs, outputs, *, log: str, settings: dict, study_seed: int, seeds: list[int]) -> None:
    """Draw a campaign's logs, or make them from a classification set: for each seed one that trains, one that tests."""
    from scant.ads import draw
    from scant.study import named

    named.check(inputs["source"])
    for seed, targets in _by_seed(seeds, outputs, 2):
        draw.draw(log, settings, inputs["source"], targets, study_seed, seed)


def _by_seed(seeds: list[int], files: list[Path], each: int) -> list[tuple[int, list[Path]]]:
    """Each seed and its files."""
    if len(files) != each * len(seeds):
        raise SettingError(f"{len(files)} files to write for {len(seeds)} seeds: each seed has {each}")
    return [(seed, files[each * at : each * (at + 1)]) for at, seed in enumerate(seeds)]


def run(
    inputs, outputs, *, engine: str, identity: dict, seeds: list[int], settings: dict, learners: list[dict]
) -> None:
    """Make run files: play learners, one after another, or all of a game, for some seeds.

    engine : what plays, module:function, see `scant.families.Family.engine`
    identity : the ids of study, experiment and place, and the digest of the code, for the metadata of the files
    settings : the settings that all learners share
    learners : for each file to write, its further settings: the learner's id, and settings of its own
    """
    from scant.declared import called
    from scant.files import read_once
    from scant.study import named

    if len(learners) != len(outputs):
        raise SettingError(f"{len(outputs)} files to write for {len(learners)} learners: each has one")
    for files in inputs.values():
        named.check(files, settings.get("stream_settings") or settings.get("log_settings"))
    with read_once() if len(learners) > 1 else nullcontext():  # else what is kept would only take memory
        for learner, target in zip(learners, outputs, strict=True):
            called(engine)(settings | identity | learner, target, seeds, inputs)


def comparator(inputs, outputs, *, identity: dict, seeds: list[int], settings: dict) -> None:
    """Find the best fixed weights for the queries that were played."""
    from scant.online import comparator
    from scant.study import named

    streams = inputs.get("streams", ())
    named.check(streams, settings.get("stream_settings"))
    comparator.compare(settings | identity, *outputs, seeds, streams)


def times(inputs, outputs, *, jobs: list, details: dict) -> None:
    """Measure how long a round takes.

    jobs : what to play
    details : what reports need to know about the study
    """
    from scant.games import run

    run.time(jobs, *outputs, details)


def coverage(inputs, outputs, *, settings: dict, study_seed: int) -> None:
    """Study how often bounds on CTR hold."""
    from scant.ads import coverage

    coverage.run(settings, *outputs, study_seed)


def traces(inputs, outputs, *, details: dict) -> None:
    """Gather an experiment's runs."""
    from scant.present import traces
    from scant.study import named

    named.check_runs(inputs["runs"], details)
    traces.gather(inputs["runs"], *outputs, details)


def figure(inputs, outputs, *, name: str, told: dict[str, str]) -> None:
    """Draw a figure: SVG, PNG, CSV; `outputs` names the CSV. See `_show`."""
    _show(name, True, inputs, outputs, told)


def table(inputs, outputs, *, name: str, told: dict[str, str], study_seed: int) -> None:
    """Make a table: CSV and LaTeX; `outputs` names the CSV. See `_show`."""
    _show(name, False, inputs, outputs, told, study_seed)


def _show(name: str, drawn: bool, inputs, outputs, told: dict[str, str], study_seed: int | None = None) -> None:
    """Make a figure (if `drawn`) or a table of `files` and `comparators` (files of best fixed weights).

    told : by experiment, a digest of what its traces carry
    """
    from scant.present import making
    from scant.study import named

    shown, files, comparators = making.find(name, drawn), inputs.get("files", []), inputs.get("comparators", [])
    named.check([*files, *comparators])
    read = making.read(shown, files, comparators, study_seed)
    for path in files:
        if path.stem in told:
            named.check_told(path, read[1].get(path.stem, {}), told[path.stem])
    making.make(shown, outputs[0].with_suffix(""), *read)


def judged(inputs, outputs, *, part: str) -> None:
    """Judge some of the claims of the papers: JSON.

    part : which, see `scant.verdict.selection.parts`
    """
    from scant.present import traces
    from scant.study import named, settings
    from scant.study.plan import COMPARATOR, Plan
    from scant.verdict import claims, selection, tables

    study = _study(inputs)
    plan = Plan(*settings.load(study, checked=True))
    whole = Plan(*settings.load(study | {"missing": "stop"}, checked=True)) if "left_out" in plan.study else None
    compared = [job for jobs in plan.comparators.values() for job in jobs]
    made = {COMPARATOR.format(study=plan.study["study"], run=job.path): job.settings for job in compared}
    files = inputs.get("traces", [])
    named.check(files)
    named.check(inputs.get("comparators", []), jobs=made)
    played = {}
    for path in files:
        rows, details = traces.read([path])
        named.check_told(path, details[path.stem], named.digest(named.told(plan, path.stem)))
        played[path.stem] = rows, details[path.stem]
    compared = traces.read_comparators(inputs.get("comparators", []))
    theory = tables.read_theory(inputs.get("tables", []))
    coverage = traces.read(inputs["coverage"])[0] if "coverage" in inputs else None
    stated = settings.claims(*settings.claims_files(plan.study), checked=True)
    _, names = selection.parts(plan, stated)[part]
    chosen = {name: stated[name] for name in names}
    examined = claims.examine(chosen, plan, played, compared, theory, coverage=coverage, whole=whole)
    tables.save(examined, plan.study, list(stated), *outputs)


def claims(inputs, outputs, *, study: str) -> None:
    """Gather the claims that were judged: CSV, parquet, LaTeX, and a CSV of all readings."""
    from scant.verdict import tables

    tables.write(*tables.gathered(inputs.get("judged", [])), study, outputs[0].with_suffix(""))


def claims_figures(inputs, outputs, *, figures: list[list[str]], titles: dict[str, str]) -> None:
    """Draw the claims: SVG, PNG, CSV.

    outputs, figures : the CSV of each figure, and the ids of its claims
    titles : of places and learners, by their ids
    """
    from scant.present.figures import literal, save
    from scant.study import code
    from scant.verdict import drawings, readings

    frame = readings.read(*inputs["readings"])
    digest = code.digest("scant.verdict.drawings", "scant.verdict.readings", "scant.present.figures")
    for claims, target in zip(figures, outputs, strict=True):
        shown = readings.specification(frame, claims, titles)
        save(drawings.specification(literal(shown)), shown, target.with_suffix(""), digest)


def report(inputs, outputs, *, study_file: str) -> None:
    """Make the page of a study, its manifest, and a copy of its settings.

    study_file : the study's file, for the commands that the page shows
    """
    from scant.compare import manifest, provenance
    from scant.files import sha256, write_text
    from scant.page import about, page
    from scant.study import settings
    from scant.study.plan import Plan
    from scant.verdict import readings

    target, listed, copy = outputs
    study, folder = _study(inputs), target.parent
    plan = Plan(*settings.load(study, checked=True))
    stated = settings.claims(*settings.claims_files(plan.study), checked=True)
    write_text(copy, json.dumps(study, indent=1, ensure_ascii=False) + "\n")
    facts = about.facts(plan, stated, folder, study_file, inputs.get("traces", []))
    made = provenance.made()
    facts["environment"] |= {"made": made["date"], "commit": provenance.commit(made)}
    hashed = {"study.json": sha256(copy), "lock file": made["lock"]}
    facts["environment"] |= {f"SHA-256 of the {name}": text[:16] for name, text in hashed.items() if text}
    judged = readings.claims(*inputs["claims"]) if "claims" in inputs else []
    page.make(study, folder, target, judged, facts, readings.cells(*inputs["readings"]) if judged else [])
    manifest.write(study, plan, stated, folder, facts, made, listed)


def _study(inputs) -> dict:
    """The settings of a study, from the JSON file that the workflow writes."""
    return json.loads(inputs["study"][0].read_text(encoding="utf-8"))
