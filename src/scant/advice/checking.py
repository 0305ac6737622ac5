"""What a log holds, and all that is wrong with it."""

import math
from collections.abc import Mapping

from scant.advice import health, text
from scant.data import logs
from scant.data.visits import Reading


def facts(reading: Reading) -> dict:
    """Facts about a log, fit for JSON.

    Returns
    -------
    facts : form, what kind of file it is; problems, with kind, severity ("error" or "warning"), reason, mend, count (of
        rows) and place (of the first row). If there is no error, also those of `logs.facts`; features, their names;
        texts, by text feature the number of its texts; missing, by feature how many numbers it lacks; policies, the
        names of the user's own policies in it; timestamps, the first and the last, ISO 8601 in UTC, or None
    """
    log, problems = reading.visits, list(reading.problems)
    found = {"form": reading.form}
    if log is not None:
        problems += health.problems(log)
        times = None if log.timestamp is None else [f"{end}Z" for end in (log.timestamp.min(), log.timestamp.max())]
        found |= logs.facts(log) | {
            "features": list(log.names),
            "texts": {name: len(texts) for name, texts in log.categories.items()},
            "missing": log.missing,
            "policies": list(log.policies),
            "timestamps": times,
        }
    problems.sort(key=lambda problem: problem.severity)  # errors first
    listed = [
        {"kind": problem.kind, "severity": problem.severity, "reason": problem.reason, "mend": problem.mend,
         "count": problem.count, "place": reading.place(problem)}
        for problem in problems
    ]  # fmt: skip
    return found | {"problems": listed}


def describe(facts: Mapping) -> str:
    """Facts as text for a reader."""
    lines = [facts["form"]]
    if "rows" in facts:
        low, high = facts["propensity"]
        lines += [
            f"{facts['rows']:,} rows, {facts['duplicates']:,} of them equal to an earlier one",
            f"propensities: {low:g} in all rows" if low == high else f"propensities: from {low:g} to {high:g}",
            f"features: {len(facts['features'])}",
        ]
        if facts["texts"]:
            counts = ", ".join(f"{name} ({count:,})" for name, count in facts["texts"].items())
            lines.append(f"  of which these are text, with so many different ones: {counts}")
        if facts["missing"]:
            counts = ", ".join(f"{name} ({count:,})" for name, count in facts["missing"].items())
            lines.append(f"  of which these lack values, in so many rows: {counts}")
        if facts["timestamps"]:
            lines.append(f"timestamps: {' to '.join(facts['timestamps'])}")
        if facts["policies"]:
            lines.append(f"policies of one's own: {', '.join(facts['policies'])}")
    lines += ["", *_problems_listed(facts["problems"])]
    if "rows" in facts:
        cells = [("ad", "impressions", "clicks", "CTR, %")]
        for ad in facts["actions"]:
            rate = math.nan if ad["rate"] is None else ad["rate"]
            cells.append((ad["action"], f"{ad['impressions']:,}", f"{ad['clicks']:,.6g}", text.percent(rate)))
        lines += ["", *text.aligned(cells)]
    return text.joined(lines)


def _problems_listed(problems: list[Mapping]) -> list[str]:
    """The problems of a log as lines of text: where, what, in how many rows; and the mend below."""
    if not problems:
        return ["no problems found"]
    errors = sum(problem["severity"] == "error" for problem in problems)
    lines = [f"problems: {errors} that must be mended, {len(problems) - errors} to know of"]
    for problem in problems:
        place = f"{problem['place']}: " if problem["place"] else ""
        rows = f" ({problem['count']:,} rows)" if problem["place"] and problem["count"] > 1 else ""
        lines.append(f"  {problem['severity']:<7}  {place}{problem['reason']}{rows}")
        lines += [f"           {problem['mend']}"] if problem["mend"] else []
    return lines
