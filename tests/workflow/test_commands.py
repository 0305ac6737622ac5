"""Every command of README, CONTRIBUTING and docs runs as it stands there, and prints what stands
below it.

A command is a line of a block for a shell, or a code span that begins with a program. In blocks
that show what is printed commands begin with `$`, and `...` stands for any lines.
"""

import re
import runpy
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from projects import ROOT
from small_studies import shipped

from scant import cli
from scant.study.plan import Plan

DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md")),
    *sorted(ROOT.glob("docs/*.md")),
]
PROGRAMS = "scant|snakemake|python|make|pip|git|sbatch|squeue|docker|apptainer"
CODE = re.compile(
    rf"^ *```(?P<language>\w*)\n(?P<block>.*?)^ *```$|`(?P<span>(?:{PROGRAMS}) [^`]+)`",
    re.MULTILINE | re.DOTALL,
)
NOT_RUN = {  # what fits, and why it is not run
    r"scant( ads)?( \w+)?": "a name: the parser has it, see below",
    r"scant \w+ --output": "an option: likewise",
    r".*\b[A-Z]{4,}\b.*": "a form, in which FILE, FOLDER, NAME, STUDY, COMMAND stand for others",
    r"snakemake .*": "plays a study, see below; test_planning.py plans all, and tests play some",
    r"cd my-study && .*": "test_installed.py plays the study that `scant init` begins",
    r"mkdir .*|cp .*|python -c .*|scant show results/my-.*": "test_extending.py runs it",
    r"make .*|python3 -m venv .*|pip .*": "makes the environment that tests run in",
    r"(sbatch|squeue|sacct|scancel|name=).*": "needs Slurm: tests/cluster has one of its own",
    r"docker .*|apptainer .*": "needs an engine: test_container.py holds its files to the project",
    r"git add .*": "changes the clone",
    r"python (benchmarks|docs|tests)/.*": "takes minutes, or changes documents; its file is there",
}
# in place of studies that take minutes
STAND_IN = r"results/(default|readings|before|after)\b"
TARGETS = {"data", "streams", "runs", "figures", "tables", "claims", "report"}


class Command(NamedTuple):
    """A command of a document, and the lines below it, which it prints."""

    document: str
    text: str
    printed: list[str]


def of_block(document: str, block: str, begins: str) -> list[Command]:
    """The commands of a block; each ends where its quotes do."""
    found, text = [], ""
    for line in block.splitlines():
        line = line.strip() if begins == "" else line.rstrip()
        if text or line.startswith(begins):
            text += line.removeprefix(begins) + " "
            if text.endswith("\\ "):
                text = text[:-2]
                continue
            try:
                words = shlex.split(text, comments=True)
            except ValueError:  # an open quote
                continue
            if words:
                found.append(Command(document, re.sub(r" +(#.*)?$", "", text), []))
            text = ""
        elif found:
            found[-1].printed.append(line)
    return found


def commands() -> list[Command]:
    found = []
    for path in DOCUMENTS:
        for code in CODE.finditer(path.read_text(encoding="utf-8")):
            if code["span"]:
                found.append(Command(path.stem, " ".join(code["span"].split()), []))
            elif code["language"] in ("bash", "console", ""):
                begins = "" if code["language"] == "bash" else "$ "
                found += of_block(path.stem, code["block"], begins)
    return found


COMMANDS = commands()
RUN = [one for one in COMMANDS if not any(re.fullmatch(rule, one.text) for rule in NOT_RUN)]


def once(commands) -> list[Command]:
    """The commands, those that are alike once, with what any of them is said to print."""
    by_text = {}
    for one in commands:
        if one.printed or one.text not in by_text:
            by_text[one.text] = one
    return [*by_text.values()]


def test_what_is_not_run_has_a_reason_that_is_needed():
    assert len(COMMANDS) > 100 and len({one.text for one in RUN}) > 20
    assert all(one.text.startswith("scant ") for one in RUN)
    for rule in NOT_RUN:
        assert any(re.fullmatch(rule, one.text) for one in COMMANDS), rule


def test_names_and_forms_are_those_that_the_parser_takes(capsys):
    """And files that programs run are there."""
    for _, text, _ in COMMANDS:
        program, *words = shlex.split(text)
        if program == "scant" and "COMMAND" not in words:
            named = [word for word in words if re.fullmatch("[a-z]+", word)][: 1 + ("ads" in words)]
            with pytest.raises(SystemExit) as ended:
                cli.main([*named, "--help"])
            assert ended.value.code == 0, text
            taken = re.findall(r"--[\w-]+", capsys.readouterr().out)
            assert {word for word in words if word.startswith("--")} <= {*taken}, text
        if program == "python" and words[0] != "-c":
            assert (ROOT / words[0]).is_file(), text


def test_studies_and_targets_of_commands_are_there():
    for _, text, _ in COMMANDS:
        program, *words = shlex.split(text)
        if program not in ("snakemake", "sbatch") or "results/tiny/study.json" in words:
            continue
        study = "config/config.yaml"
        if "--configfile" in words:
            study = words[words.index("--configfile") + 1]
        assert (ROOT / study).is_file() or study == "src/scant/bandit/study.yaml", text
        for word in words:
            if found := re.match(r"results/([\w-]+)/(figures|tables)/([\w.-]+)\.\w+$", word):
                if found[1] != "my-study":
                    plan = Plan(*shipped(study))
                    assert plan.study["study"] == found[1], text
                    assert found[3] in (plan.figures if found[2] == "figures" else plan.tables)
            elif re.fullmatch("[a-z]+", word):
                assert word in {*TARGETS, "slurm", "science", "main"}, text


def logs(folder: Path) -> None:
    """The logs that documents have already: of an A/B test, of lists, of a folder, of another
    team's names.
    """
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"action": random.choice(["control", "new"], 2000), "propensity": 0.5})
    rows["reward"] = (random.random(2000) < 0.1 + 0.1 * (rows["action"] == "new")).astype(int)
    rows.to_csv(folder / "ab.csv", index=False)
    worlds = runpy.run_path(str(ROOT / "tests/ads/worlds_of_lists.py"))
    worlds["log_of"](10_000, "navigational", "above").to_csv(folder / "lists.csv", index=False)
    (folder / "folder").mkdir()
    simulate = "ads simulate hotel --policy uniform --rows 2000 --output"
    for file, of in (("folder/1.parquet", simulate), ("export.csv", simulate)):
        assert cli.main([*of.split(), str(folder / file)]) == 0
    fit = f"ads fit {folder}/folder --policy logistic --output {folder}/logistic.arrow"
    assert cli.main(fit.split()) == 0
    head, rest = (folder / "export.csv").read_text().split("\n", 1)
    for ours, theirs in {"action": "ad_id", "reward": "click", "propensity": "pscore"}.items():
        head = head.replace(ours, theirs)
    (folder / "export.csv").write_text(f"{head}\n{rest}")


def check(command: Command, code: int, out: str) -> None:
    """Hold what a command printed against the document."""
    faulty = any(line.startswith("  error ") for line in command.printed)
    assert code == faulty, f"{command.document}: {command.text} ends with {code}\n{out}"
    lines, anywhere = [line.rstrip() for line in out.splitlines()], False
    for expected in command.printed:
        if expected == "...":
            anywhere = True
            continue
        place = lines.index(expected) if expected in lines else None
        assert place == 0 or (anywhere and place), (
            f"{command.document}: {command.text} does not print\n{expected}\nbut\n{out}"
        )
        lines, anywhere = lines[place + 1 :], False
    assert anywhere or not lines or not command.printed


@pytest.mark.slow
def test_commands_of_logs_and_first_steps_print_what_documents_say(tmp_path, monkeypatch, capsys):
    """In this process, which starts once."""
    logs(tmp_path)
    monkeypatch.chdir(tmp_path)
    for command in once(one for one in RUN if "results/" not in one.text):
        capsys.readouterr()
        code = cli.main(shlex.split(command.text)[1:])
        check(command, code, capsys.readouterr().out)
    assert (tmp_path / "my-study/study.yaml").is_file() and (tmp_path / "shown.csv").is_file()


@pytest.mark.slow
def test_commands_of_results_print_what_documents_say(finished, monkeypatch, capsys):
    """Of the tiny study, in the place of longer ones; in this process, which starts once."""
    folder, results = finished.folder, [one for one in RUN if "results/" in one.text]
    for study in ("tiny", "real-top"):
        reference = f"results/reference/{study}"
        shutil.copytree(ROOT / reference, folder / reference)
    results = [one._replace(text=re.sub(STAND_IN, "results/tiny", one.text)) for one in results]
    monkeypatch.chdir(folder)
    for command in once(results):
        capsys.readouterr()
        code = cli.main(shlex.split(command.text)[1:])
        printed = capsys.readouterr()
        check(command, code, printed.out or printed.err)
    for made in ("tiny.zip", "diff.csv"):
        (folder / made).unlink()
