"""What Snakemake says of a study's latest run, kept as a line of JSON for each event: `scant status` reads it.

The workflow adds the handler to Snakemake's logger, so it is there however Snakemake is started, whatever it prints.
"""

import json
import logging
import time
from pathlib import Path

RECORD = ".snakemake/scant/{study}.jsonl"
# The events that are kept, by their names in snakemake_interface_logger_plugins.common.LogEvent, and what of each.
PLANNED, BEGUN, FINISHED, FAILED, ENDED = "run_info", "job_info", "job_finished", "job_error", "ended"
KEPT = {PLANNED: ["stats"], BEGUN: ["jobid", "rule_name"], FINISHED: ["job_id"], FAILED: ["jobid", "output", "log"]}


class Events(logging.Handler):
    """Writes the events of a run that has jobs to do, in place of an earlier run's. A run that was killed has no end.

    path : of the record
    """

    def __init__(self, path):
        super().__init__()
        self.path, self.file = Path(path), None

    def emit(self, record):
        event = str(getattr(record, "event", ""))
        if event == PLANNED and self.file is None:
            self.file = open(self.path, "w", encoding="utf-8", buffering=1)  # noqa: SIM115 (until `close`)
        if self.file and event in KEPT:
            self._write(event, record.created, {name: getattr(record, name) for name in KEPT[event]})

    def close(self):
        if self.file:
            self._write(ENDED, time.time(), {})
            self.file.close()
            self.file = None
        super().close()

    def _write(self, event: str, seconds: float, told: dict) -> None:
        self.file.write(json.dumps({"event": event, "time": seconds} | told) + "\n")


def read(path) -> list[dict]:
    """The events of a record, each with `event` and `time` (seconds of the epoch); none without a record.

    A last line that was cut short is left out.
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines() if Path(path).is_file() else []
    try:
        return [json.loads(line) for line in lines]
    except ValueError:
        return [json.loads(line) for line in lines[:-1]]
