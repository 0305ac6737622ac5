"""What Snakemake says of a study's latest run, kept as a line of JSON for each event: `scant
status` reads it.

The workflow adds the handler to Snakemake's logger, so it is there however Snakemake is started,
whatever it prints.
"""

import json
import logging
import time
from pathlib import Path

from scant.errors import DataError

RECORD = ".snakemake/scant/{study}.jsonl"
# The events that are kept, by their names in snakemake_interface_logger_plugins.common.LogEvent,
# and what of each.
PLANNED, BEGUN, FINISHED, FAILED, ENDED = (
    "run_info",
    "job_info",
    "job_finished",
    "job_error",
    "ended",
)
KEPT = {
    PLANNED: ["stats"],
    BEGUN: ["jobid", "rule_name"],
    FINISHED: ["job_id"],
    FAILED: ["jobid", "output", "log"],
}
VALUES = {  # whether a value of an event can be what it should
    "time": lambda value: isinstance(value, int | float),
    "stats": lambda value: (
        isinstance(value, dict) and all(isinstance(count, int) for count in value.values())
    ),
    "rule_name": lambda value: isinstance(value, str),
    **dict.fromkeys(("jobid", "job_id"), lambda value: isinstance(value, int)),
    **dict.fromkeys(
        ("output", "log"),
        lambda value: isinstance(value, list) and all(isinstance(path, str) for path in value),
    ),
}


class Events(logging.Handler):
    """Writes the events of a run that has jobs to do, in place of an earlier run's. A run that was
    killed has no end.

    path : of the record
    """

    def __init__(self, path):
        super().__init__()
        self.path, self.file = Path(path), None

    def emit(self, record):
        event = str(getattr(record, "event", ""))
        if event == PLANNED and self.file is None:
            # Line by line, so that `scant status` sees each event at once.
            self.file = open(self.path, "w", encoding="utf-8", buffering=1)  # noqa: SIM115 (until `close`)
        if self.file and event in KEPT:
            self._write(
                event, record.created, {name: getattr(record, name) for name in KEPT[event]}
            )

    def close(self):
        if self.file:
            self._write(ENDED, time.time(), {})
            self.file.close()
            self.file = None
        super().close()

    def _write(self, event: str, seconds: float, details: dict) -> None:
        self.file.write(json.dumps({"event": event, "time": seconds} | details) + "\n")


def read(path) -> list[dict]:
    """The events of a record, each with `event` and `time` (seconds of the epoch); none without a
    record.

    A last line that was cut short is left out.

    Raises
    ------
    DataError : a line is no event, the first one is not the plan, or a job is finished that has not
        begun
    """
    lines = Path(path).read_bytes().splitlines() if Path(path).is_file() else []
    events, begun = [], set()
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            if number == len(lines):
                break
            event = None
        if not _fits(event, begun) or (number == 1 and event["event"] != PLANNED):
            raise DataError(
                path,
                "is no event of a run",
                number,
                "Delete the file: the next run writes it anew",
            )
        events.append(event)
        begun.add(event.get("jobid"))
    return events


def _fits(event, begun: set) -> bool:
    """Whether a value is what `Events` writes, if these jobs have begun."""
    if not isinstance(event, dict) or event.get("event") not in (*KEPT, ENDED):
        return False
    whole = all(
        name in event and VALUES[name](event[name])
        for name in ("time", *KEPT.get(event["event"], ()))
    )
    return whole and ("job_id" not in event or event["job_id"] in begun)
