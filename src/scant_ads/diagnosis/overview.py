"""What a log holds, and all that is wrong with it."""

import math
from collections.abc import Mapping
from dataclasses import asdict, replace

from scant.data import logs
from scant_ads import text
from scant_ads.diagnosis import health
from scant_ads.reading.visits import Problem
from scant_ads.unit import CLICKS, Unit

MOST = 10  # ads that are listed


def problems(log, summary) -> list[tuple[str, Problem, int]]:
    """All that is wrong with a log: tuples of the place of the first row at fault, the problem, and
    how many rows have it.

    log, summary : see `facts`
    """
    of_log = list(log.problems)
    if summary.readable:
        of_log += health.problems(summary, replace(log.unit, binary=summary.binary))
    return [*summary.problems.values(), *(("", problem, problem.count) for problem in of_log)]


def facts(log, summary) -> dict:
    """Facts about a log, fit for JSON.

    log, summary : a `Log`, and the `tally.Summary` of its rows

    Returns
    -------
    facts : form, what kind of file it is; problems, with kind, severity ("error" or "warning"),
        reason, mend, count (of rows) and place (of the first row). If all rows can be read, also
        rows; duplicates; propensity, the least and the largest; fraction, which one the only
        propensity rounds ("" if none); eligible, how many ads could be shown at a visit, on
        average (None without lists); rewards, what they are counted in, see `Unit`; actions, with
        for each ad its id, impressions, clicks (the sum of rewards) and rate (None if it was never
        shown); features, their names; texts, by text feature the number of its texts; missing, by
        feature how many numbers it lacks; policies, the names of the user's own policies in it;
        timestamps, the first and the last, ISO 8601 in UTC, or None; users, how many there are and
        the most visits of one, or None if they are not known; lists, how many there are and the
        longest, where rows are places of lists and users not known
    """
    content, listed = {"form": log.form}, problems(log, summary)
    if summary.readable:
        tally, unit, actions = summary.all(), replace(log.unit, binary=summary.binary), []
        twice = ("duplicates", "id-twice")
        duplicates = sum(count for _, problem, count in listed if problem.kind in twice)
        for ad in logs.ordered({*tally.ads}):
            impressions = int(tally.ads[ad][0].sum())
            clicks = unit.sum(tally.clicks(ad), impressions)
            rate = clicks / impressions if impressions else None
            actions.append(
                {"action": ad, "impressions": impressions, "clicks": clicks, "rate": rate}
            )
        propensity, features = tally.cells[""].first, summary.features
        content |= {
            "rows": tally.rows, "duplicates": duplicates,
            "propensity": [float(propensity[0]), float(propensity[-1])],
            "fraction": log.source.fraction,
            "eligible": sum(tally.eligible.values()) / tally.rows if tally.eligible else None,
            "rewards": asdict(unit), "actions": actions,
            "features": list(summary.names),
            "texts": {name: len(texts) for name, texts in features.texts.items()},
            "missing": {name: count for name, count in features.missing.items() if count},
            "policies": list(summary.policies),
            "timestamps": summary.period and [f"{time}Z" for time in summary.period],
            "users": None, "lists": None, log.clusters: tally.users.counts(),
        }  # fmt: skip
    listed.sort(key=lambda noted: noted[1].severity)  # errors first
    content["problems"] = [
        {"kind": problem.kind, "severity": problem.severity, "reason": problem.reason,
         "mend": problem.mend,
         "count": count, "place": place}
        for place, problem, count in listed
    ]  # fmt: skip
    return content


def describe(facts: Mapping) -> str:
    """Facts as text for a reader."""
    lines = [facts["form"]]
    if "rows" in facts:
        lines += [
            f"{facts['rows']:,} rows, {facts['duplicates']:,} of them equal to an earlier one",
            f"propensities: {propensities(facts)}",
            f"features: {len(facts['features'])}",
        ]
        if facts["texts"]:
            counts = ", ".join(f"{name} ({count:,})" for name, count in facts["texts"].items())
            lines.append(f"  of which these are text, with so many different ones: {counts}")
        if facts["missing"]:
            counts = ", ".join(f"{name} ({count:,})" for name, count in facts["missing"].items())
            lines.append(f"  of which these lack values, in so many rows: {counts}")
        if facts["users"]:
            lines.append("users: {:,}, with up to {:,} visits each".format(*facts["users"]))
        if facts["lists"]:
            lines.append("lists: {:,}, with up to {:,} places each".format(*facts["lists"]))
        if facts["timestamps"]:
            lines.append(f"timestamps: {' to '.join(facts['timestamps'])}")
        if facts["policies"]:
            lines.append(f"policies of one's own: {', '.join(facts['policies'])}")
    lines += ["", *_problems_listed(facts["problems"])]
    if "rows" in facts:
        most, others = most_shown(facts["actions"])
        unit = unit_of(facts)
        cells = [
            ("ad", "impressions", unit.total_heading, unit.heading),
            *(of_ad(ad, unit) for ad in most),
        ]
        lines += ["", *text.aligned(cells)]
        lines += [of_others(others, unit)] if others else []
    return text.joined(lines)


def propensities(facts: Mapping) -> str:
    """The range of the propensities of a log, and how many ads a visit could show, in words."""
    low, high = facts["propensity"]
    looks = ""
    if facts["eligible"]:
        ads = f"{facts['eligible']:.3g} of the {len(facts['actions']):,} ads"
        looks = f"; {ads} could be shown at a visit, on average"
    if low != high:
        return f"from {low:g} to {high:g}{looks}"
    return f"{facts['fraction'] or format(low, 'g')} in all rows{looks}"


def most_shown(ads: list[Mapping]) -> tuple[list[Mapping], Mapping | None]:
    """The ads with the most impressions, in the order of ids; and the sums of all others, with
    their number under `ads`, or None if there are no others.

    ads : the `actions` of `facts`
    """
    if len(ads) <= MOST + 1:
        return ads, None
    places = sorted(range(len(ads)), key=lambda index: (-ads[index]["impressions"], index))
    others = [ads[index] for index in places[MOST:]]
    impressions, clicks = (sum(ad[key] for ad in others) for key in ("impressions", "clicks"))
    sums = {"action": "", "ads": len(others), "impressions": impressions, "clicks": clicks,
            "rate": clicks / impressions if impressions else None}  # fmt: skip
    return [ads[index] for index in sorted(places[:MOST])], sums


def unit_of(facts: Mapping) -> Unit:
    """What the rewards of a log are counted in."""
    return Unit(**facts["rewards"]) if "rewards" in facts else CLICKS


def of_ad(ad: Mapping, unit: Unit) -> tuple[str, ...]:
    """An ad's facts as texts, one for each column of the report."""
    rate = math.nan if ad["rate"] is None else ad["rate"]
    return ad["action"], f"{ad['impressions']:,}", f"{ad['clicks']:,.6g}", unit.number(rate)


def of_others(others: Mapping, unit: Unit) -> str:
    """The sums of the ads that are not listed, in words; see `most_shown`."""
    _, impressions, rewards, _ = of_ad(others, unit)
    mean = unit.rate(math.nan if others["rate"] is None else others["rate"])
    return f"and {others['ads']:,} more: {impressions} impressions, {rewards} {unit.events}, {mean}"


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
