"""The results of a study from Python, as DataFrames: `scant.results("results/real")`."""

from functools import cached_property
from pathlib import Path

import pandas as pd

from scant.declare import families
from scant.errors import DataError, SettingError, check_name, errors_of
from scant.files import anew, check_unlinked, foreign, metadata_of, read_parquet
from scant.finished import manifest
from scant.finished.provenance import FINISH, STUDY
from scant.present import ranking, tables, traces
from scant.schema import check, read_yaml
from scant.study import settings
from scant.study.plan import Plan, Runs
from scant.study.schema import schema
from scant.verdict import readings


class Results:
    """The results of a study, or of as much of it as is made.

    All frames are read from the study's files when they are asked for. `docs/results.md` describes
    their columns.

    folder : results/{study}
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        if not self.folder.is_dir():
            advice = "Name the folder of a study's results, results/STUDY"
            raise DataError(self.folder, "is not there", advice=advice)
        check_unlinked(self.folder)

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r})"

    @cached_property
    def manifest(self) -> dict:
        """What made the study: its settings, versions of packages, data, date and commit; see
        docs/running.md.
        """
        return manifest.read(self._there(manifest.NAME).parent)

    @cached_property
    def claims(self) -> pd.DataFrame:
        """A row for each claim, indexed by its id: verdict, estimate, interval, how many readings
        agree.
        """
        claims = readings.claims(self._there("claims.parquet"))
        return readings.frame(claims, readings.Claim).set_index("id")

    @cached_property
    def readings(self) -> pd.DataFrame:
        """A row for each estimate behind the claims: under each reading, in each cell.

        Settings are texts.
        """
        return readings.read(self._there("claims-readings.csv"))

    @property
    def finals(self) -> pd.DataFrame:
        """The final measures of learners that see every grade: the table `finals`."""
        return self.table("finals")

    @property
    def tables(self) -> list[str]:
        """The names of the tables that are made."""
        return sorted(path.stem for path in self.folder.glob("tables/*.csv"))

    @property
    def figures(self) -> list[str]:
        """The names of the figures that are made."""
        return sorted(path.stem for path in self.folder.glob("figures/*.csv"))

    def table(self, name: str) -> pd.DataFrame:
        """The table with this name.

        Raises
        ------
        SettingError : there is none; names the nearest
        """
        check_name("table", name, self.tables)
        return tables.read(self.folder / f"tables/{name}.csv")

    def figure(self, name: str) -> pd.DataFrame:
        """Exactly the data that the figure with this name shows.

        Raises
        ------
        SettingError : there is none; names the nearest
        """
        check_name("figure", name, self.figures)
        return tables.read(self.folder / f"figures/{name}.csv")

    @property
    def experiments(self) -> list[str]:
        """The experiments that have runs."""
        return sorted(path.name for path in (self.folder / "runs").glob("*") if path.is_dir())

    def runs(
        self, experiment: str, stream: str | None = None, learner: str | None = None
    ) -> pd.DataFrame:
        """The rows of all run files of an experiment: see docs/results.md for their columns.

        Columns `experiment`, `stream` (or log, game, population) and `learner` tell them apart.

        stream, learner : only those of this stream (log, game, population) or learner

        Raises
        ------
        SettingError : there is no such experiment, stream or learner; names the nearest
        DataError : a file is damaged
        """
        check_name("experiment", experiment, self.experiments)
        folder = self.folder / "runs" / experiment
        if stream is not None:
            check_name("stream", stream, [path.name for path in folder.iterdir()])
            folder = folder / stream
        frames = map(_run, sorted(folder.rglob("*.parquet")))
        rows = pd.concat(frames, ignore_index=True)
        if learner is not None:
            check_name("learner", learner, rows["learner"].unique())
            rows = rows[rows["learner"] == learner].reset_index(drop=True)
        return rows

    def traces(self, experiment: str) -> pd.DataFrame:
        """The traces of an experiment, of which its figures and tables are made.

        Raises
        ------
        SettingError : there is no such experiment; names the nearest
        """
        return traces.read([self._runs(experiment)])[0]

    def leaderboard(
        self, experiment: str | None = None, measure: str | None = None, tuning: str | None = None
    ) -> pd.DataFrame:
        """The final measures of an experiment's learners, and which can be told apart from the best
        of each stream.

        experiment : may be left out if there is only one
        measure, tuning : see `scant.present.ranking.leaderboard`, and `ranked` there for the
            columns

        Raises
        ------
        SettingError : there is no such experiment, measure or reading; names the nearest
        DataError : there is nothing to show, or a single seed
        """
        experiments = list(self._plan.families)
        if not experiments:
            raise DataError(self.folder, "holds no runs", advice=FINISH)
        if experiment is None and len(experiments) > 1:
            raise SettingError(f"name one of the study's experiments: {', '.join(experiments)}")
        return ranking.leaderboard(self._runs(experiment or experiments[0]), measure, tuning)

    @cached_property
    def _plan(self) -> Plan:
        """The plan of the study, from the copy of its settings."""
        path = self._there(STUDY)
        config = read_yaml(path)
        with errors_of(str(path)), foreign(path, "study whose parts fit each other", FINISH):
            check(config, schema(), "study")
            plan = Plan(*settings.load(config, checked=True))
            list(plan.jobs)  # planned here, where an error has its place
        return plan

    def _runs(self, experiment: str) -> Runs:
        """The run files of an experiment of the study, in this folder, and its details."""
        check_name("experiment", experiment, self._plan.families)
        names = (
            Path(file).relative_to(f"results/{self._plan.study['study']}")
            for file in self._plan.run_files(experiment)
        )
        files = [str(self.folder / name) for name in names]
        if not files:
            raise DataError(self.folder, f"holds no runs of {experiment}", advice=FINISH)
        return Runs(experiment, files, self._plan.details(experiment))

    def _there(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise DataError(path, "is not there", advice=FINISH)
        return path


def _run(path: Path) -> pd.DataFrame:
    """The rows of a run file, with the ids that name the run."""
    with foreign(path, "whole run file", anew(path)):
        table = read_parquet(path)
        run = metadata_of(table.schema)
        identity = {name: run[name] for name in ("experiment", "stream", "learner") if name in run}
        rows = families.of(run).completed(table).to_pandas()
    return rows.assign(**{name: value for name, value in identity.items() if name not in rows})
