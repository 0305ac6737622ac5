"""The result of comparing policies with today's: numbers and answers, and how they are shown."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from scant import files
from scant.bandits.learners import Logging
from scant.errors import SettingError, as_arguments
from scant_ads import plotting, report, text
from scant_ads.evaluation import guards, pairs
from scant_ads.evaluation.lists import PLACE
from scant_ads.policies.policy import Policy
from scant_ads.severity import SORTED
from scant_ads.text import HOPELESS, because
from scant_ads.unit import CLICKS, Unit

PLACES = 10  # of a list that are printed
PAIRS = 10  # of policies that are printed, if they are not more

# means of a row in its table
SHOWN = ("estimate", "low", "high")


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The comparison of policies with today's.

    level : the confidence of each bound, interval and verdict
    about : sentences that describe the logs
    rows : one mapping for each policy, today's first; see `compare.evaluate`
    notes : sentences to read before the numbers are used
    seed : of the order of the rows for the betting bounds
    policies : the learnt policies, by name
    comparisons : one mapping for each pair of policies that can be compared; see `pairs.pairs`
    choice : which policy to choose, see `pairs.chosen`; None if no policy can be judged
    unit : what rewards are counted in; numbers of rows, comparisons and choice are in it, and
        shares for clicks
    mix : by policy, the share of visits in which it shows each ad, by its id; see `mixes`
    guards : one mapping for each guard rail and policy; see `guards.judged`
    baseline : the name of the policy with which others are compared
    inputs : the files and folders that it was made from, which `write` and `report` do not
        overwrite
    """

    level: float
    about: tuple[str, ...]
    rows: tuple[dict, ...]
    notes: tuple[str, ...]
    seed: int = 0
    policies: Mapping[str, Policy] = field(default_factory=dict)
    comparisons: tuple[dict, ...] = ()
    choice: dict | None = None
    mix: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    inputs: tuple = field(default=(), compare=False)
    unit: Unit = CLICKS
    guards: tuple[dict, ...] = ()
    baseline: str = Logging.kind

    @property
    def against(self) -> str:
        """What sentences call the policy with which others are compared."""
        return "today's policy" if self.baseline == Logging.kind else self.baseline

    @property
    def judged(self) -> list[dict]:
        """The rows of the policies that are compared with the baseline."""
        return [row for row in self.rows if row["verdict"]]

    def guarded(self, name: str, share: float, other: "Evaluation") -> "Evaluation":
        """This evaluation with a guard rail: the mean of another reward, which is not to fall by
        more than a share.

        name : of the guard rail
        share : such as 0.05
        other : the evaluation of the same policies on the same visits, by that reward

        Raises
        ------
        SettingError : no such share, another level, or other policies
        """
        if other.level != self.level:
            raise SettingError(
                f"guard rail {name} was evaluated with the level {other.level}, not {self.level}"
            )
        judged = guards.judged(name, share, (self.rows[0], *self.judged), other.rows)
        return replace(self, guards=(*self.guards, *judged))

    def text(self) -> str:
        """The table, the verdicts and the notes as the command line prints them."""
        share, ads = text.percent(self.level), "items" if self.premise else "ads"
        lines = [
            *self.about,
            "",
            f"{_rates(self.unit)}{self.premise}; each interval with {share} confidence",
            f"{self.unit.events.capitalize()} and rows are what the numbers rest on: those with "
            f"{ads} that the policy shows, and fewer where weights differ",
        ]
        if any(row["bound"].startswith("betting") for row in self.rows):
            by = {row["bound"].rpartition(" ")[2] for row in self.rows}
            units = next((f"{unit}s" for unit in ("list", "user") if unit in by), "rows")
            lines.append(
                f"Betting's bounds: for the average over the log, {units} in random order "
                f"(seed {self.seed})"
            )
        lines += text.aligned([self.headings(), *self.table()])
        judged = self.judged
        of = self.choice["of"] if self.choice else 1
        answers = f"All {of} answers together" if of > 1 else "The answer"
        more = f" ({self.baseline})" if self.baseline == Logging.kind else ", the baseline"
        lines += [
            "",
            f"Better than {self.against}{more}{self.premise}? {answers} with {share} confidence",
            (
                f"Lift: by {self.unit.how_much} the {self.unit.mean} is above {self.whose}, with "
                "its interval"
            ),
        ]
        cells = [(f"  {row['policy']}", *self._lift(row)) for row in judged]
        lines += [
            f"{line}  {row['verdict']}{because(row)}"
            for line, row in zip(text.aligned(cells), judged, strict=True)
        ]
        chosen = self.choice and next(
            row for row in self.rows if row["policy"] == self.choice["policy"]
        )
        is_clear = chosen and chosen["verdict"] != "cannot tell"
        if is_clear and (of_periods := text.of_periods(chosen, self.unit)):
            lines.append(f"{chosen['policy']}: {of_periods}")
        if self.guards:
            lines += [
                "",
                f"Guard rails: the lift of another reward over {self.whose}, which must "
                f"not be below minus the share; each answer with {share} confidence",
            ]
            lines += text.aligned(self.guard_table())
        lines += self._decisions()
        if self.notes:
            lines += ["", "Before you use this:", *(f"  - {note}" for note in self.notes)]
        return text.joined(lines)

    def __str__(self) -> str:
        return as_arguments(self.text())

    __repr__ = __str__

    def _lift(self, row: Mapping) -> tuple[str, str]:
        """The lift of a row, and its interval, as texts."""
        return text.signed(row["lift"], self.unit), text.interval(
            row["lift_low"], row["lift_high"], self.unit
        )

    @property
    def premise(self) -> str:
        """The premise of all numbers of lists, after a comma; "" without lists."""
        return f", {self.rows[0]['premise']}" if self.unit.places else ""

    @property
    def _places(self) -> list[str]:
        """The columns of the rows of lists that have what is earned at each place, as printed."""
        return [key for key in self.rows[0] if key.startswith(PLACE)][:PLACES]

    def headings(self) -> tuple[str, ...]:
        """The headings of the columns of `table`."""
        return text.headings(self.unit, len(self._places))

    def table(self) -> list[tuple[str, ...]]:
        """The rows as texts, below `headings`."""
        return [
            (
                row["policy"],
                *(self.unit.number(row[key], key) for key in (*SHOWN, *self._places)),
                f"{row['effective_clicks']:,.0f}",
                f"{row['effective']:,.0f}",
                f"{row['largest_weight']:.3g}",
            )
            for row in self.rows
        ]

    @property
    def whose(self) -> str:
        """Whose rate lifts are relative to, in words."""
        return "today's" if self.baseline == Logging.kind else f"that of {self.baseline}"

    def guard_table(self) -> list[tuple[str, ...]]:
        """The guard rails as texts."""
        return [
            (
                f"  {row['guard']} ({100 * row['share']:.3g} %), {row['policy']}",
                text.signed(row["lift"]),
                text.interval(row["lift_low"], row["lift_high"]),
                row["answer"],
            )
            for row in self.guards
        ]

    def report(self, path, *logs, settings: Mapping | None = None, inputs=()) -> None:
        """Write one self-contained HTML file.

        logs : each a `Log`, whose facts and problems are shown
        settings, inputs : see `report.write`
        """
        files.check_outputs([path], [*self.inputs, *inputs])
        health = {log.name: log.check() for log in logs}
        report.write(self, path, health, settings or {}, inputs)

    def decision(self) -> str:
        """Which policy to choose, in a sentence or two; empty where there is no choice."""
        choice = self.choice
        if choice is None:
            return ""
        share, lift = text.percent(self.level), choice["lift"]
        best, mean, much = choice["policy"], self.unit.mean, text.much(lift, self.unit)
        between = (
            f"{share} interval: "
            f"{text.interval(choice['lift_lower'], choice['lift_upper'], self.unit)}"
        )
        if choice["of"] > 1:
            best = (
                f"Best of {choice['of']} by its lower bound: {best}. "
                f"{'Even it' if choice['worse'] else 'It'}"
            )
        if choice["worse"]:
            answer = f"{best} is worse than {self.against}: its {mean} is {much} lower"
            answer += f" ({between})"
        elif choice["better"]:
            answer = f"{best} is better than {self.against}: its {mean} is {much} higher"
            answer += f" ({between})"
        elif lift != lift:
            answer = (
                f"{best} cannot be compared with {self.against}, of which nothing is known. "
                f"With {share} confidence its {mean} is at least "
                f"{self.unit.rate(choice['lower'], 'lower')}"
            )
        else:
            about = f"its {mean} is {much} {'higher' if lift >= 0 else 'lower'} ({between})"
            answer = f"{best} is not known to be better than {self.against}: by estimate "
            answer += about
        answer += (
            f". Careful: {self.careful}, see below" if choice["better"] and self.careful else ""
        )
        rails = [
            f". Its guard rail {row['guard']} {row['answer']}"
            for row in self.guards
            if row["policy"] == choice["policy"]
        ]
        return self.under_premise(answer) + "".join(rails) + self._seen

    def under_premise(self, answer: str) -> str:
        """A sentence with its premise first; as it is without lists."""
        premise = self.premise.removeprefix(", ")
        return f"{premise[:1].upper()}{premise[1:]}: {answer}" if premise else answer

    @property
    def _seen(self) -> str:
        """How often a log like this one would show that weights of places are wrong, in words."""
        power = self.rows[0].get("power", math.nan)
        if power != power:
            return ""
        return (
            f". A log of this size shows users who leave after a click in {20 * power:.0f} of 20 "
            "cases, and this one shows none"
        )

    @property
    def careful(self) -> str:
        """Why the choice may not stay better, in words: sorted rows, or rates that fall or drift;
        "" without a reason or a choice.
        """
        chosen = self.choice and self.choice["policy"]
        rows = [row for row in self.rows if chosen and row["policy"] in (chosen, self.baseline)]
        if any(SORTED in row["warnings"].split() for row in rows):
            return "rows are sorted"
        if any(map(text.falls, rows)):
            return next(text.of_periods(row, self.unit) for row in rows if text.falls(row))
        return "rates drift" if any(map(text.drifts, rows)) else ""

    def _decisions(self) -> list[str]:
        """Lines of text on the choice, and each pair of policies."""
        lines, number, share = [], self.unit.number, text.percent(self.level)
        if self.choice:
            lines += ["", self.decision()]
        if len(self.comparisons) > 1 or (self.comparisons and self.choice["of"] > 1):
            printed = self._pairs_printed()
            head = (
                f"Differences of {self.unit.words}, each with its {share} interval; answers "
                "hold together"
            )
            cells = [
                (
                    f"  {pair['policy']} - {pair['other']}",
                    number(pair["difference"]),
                    f"{number(pair['low'], 'low')} to {number(pair['high'], 'high')}",
                    _answer(pair),
                )
                for pair in printed
            ]
            aligned = text.aligned([cell[:-1] for cell in cells])
            lines += [
                head,
                *(f"{line}  {cell[-1]}" for line, cell in zip(aligned, cells, strict=True)),
            ]
            if more := len(self.comparisons) - len(printed):
                lines += [
                    f"  and {more} pairs without it: --output FILE.json and --report have all"
                ]
        return lines

    def _pairs_printed(self) -> list[dict]:
        """The pairs that are printed: all, or those with the chosen policy if they are more than
        `PAIRS`.
        """
        if len(self.comparisons) <= PAIRS:
            return [*self.comparisons]
        return [
            pair
            for pair in self.comparisons
            if self.choice["policy"] in (pair["policy"], pair["other"])
        ]

    def to_frame(self):
        """The rows as a frame of pandas, one for each policy, today's first."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    @property
    def pairs(self):
        """The comparisons as a frame of pandas, one row for each pair of policies; see
        `pairs.pairs`.
        """
        import pandas as pd

        return pd.DataFrame(self.comparisons, columns=pairs.COLUMNS)

    def plot(self, axes=None):
        """Draw the click rates of all policies, with intervals; returns Matplotlib's axes.

        axes : to draw on; None for a new figure
        """
        return plotting.intervals(self.rows, self.level, self.unit, self.baseline, axes)

    def write(self, path) -> None:
        """Write everything as JSON if the name ends in .json; else write the rows as CSV."""
        files.check_outputs([path], self.inputs)
        if Path(path).suffix.lower() == ".json":
            import json

            content = {
                "level": self.level,
                "seed": self.seed,
                "baseline": self.baseline,
                "about": self.about,
                "notes": self.notes,
                "unit": {
                    "reward_max": self.unit.largest,
                    "reward_unit": self.unit.name,
                    "reward_min": self.unit.least,
                },
                "policies": [_plain(row) for row in self.rows],
                "pairs": [_plain(pair) for pair in self.comparisons],
                "choice": self.choice and _plain(self.choice),
                "mix": self.mix,
                "guards": [_plain(row) for row in self.guards],
            }
            files.write_text(path, json.dumps(content, indent=1) + "\n")
        else:
            files.write_csv(self.to_frame(), path)


def _rates(unit: Unit) -> str:
    """What the table's means are, in words."""
    if unit.places:
        return f"{unit.events.capitalize()} a visit (lists of {unit.places:.3g})"
    if unit.clicks:
        return "Click rates (CTR) in %"
    minus = ", minus the costs" if unit.largest <= 0 else ""
    words = "% of the largest" if unit.percent else f"{unit.name or 'their own unit'}{minus}"
    return f"Mean rewards in {words}"


def _plain(row: Mapping) -> dict:
    """A mapping fit for JSON: None for NaN and infinity."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }


def _answer(pair: Mapping) -> str:
    """Which policy of a pair is better, or how many rows it would take."""
    if pair["better"]:
        return f"{pair['better']} is better"
    if not math.isfinite(pair["needed"]):
        return f"open: too close for {HOPELESS:,} times as many rows"
    return f"open: about {text.rounded(pair['needed'])} test rows would tell"
