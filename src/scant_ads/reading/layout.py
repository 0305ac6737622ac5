"""The columns of a log that a user brings: what each holds, and all that is wrong with it, each
with its mend.
"""

from dataclasses import replace
from shlex import quote

import numpy as np
import pyarrow as pa
from pyarrow import compute, types

from scant import files
from scant.data import logs
from scant.errors import SettingError, short
from scant_ads.reading import arrays, digests, eligibility, hashing, lists, tables, totals
from scant_ads.reading.amounts import NO_UNITS, SPLIT, UNIFORM, amounts, rounding, uniform_ads
from scant_ads.reading.names import (
    EPOCHS,
    is_called_a_user,
    is_called_a_visit,
    looks_like_times,
    proposed,
)
from scant_ads.reading.visits import ELIGIBLE, KEY, PLAIN, Problem, Reading, Visits, is_feature

# a column of text with this share of numbers, or more, is one of numbers with mistakes
MOSTLY = 0.9
LEAST_PROPENSITY = 1e-12  # with smaller ones, squares of weights could overflow
PERCENT = 1.01  # propensities that go further, and mostly exceed 1, look like percent
HEAD = 1 << 16  # the first rows of a log, by which it is decided what a feature holds
LEAST_ID = 100  # rows from which on a column of distinct values looks like an id
LEAST_USERS = 20  # values from which on a column looks like one of users, if it is called so
CODES = 1 << 24  # whole numbers up to this one are exact in single precision


class Columns:
    """Turns the columns of an Arrow table into a log, and gathers their problems.

    kinds : by feature, "text" or "numbers", for a table that is not the first of its log; "", or no
        entry, where the first `HEAD` rows of this one decide, which is then put in. With an entry,
        no row needs to have a value
    plan : a `nested.Plan`, by which columns of JSON objects are taken apart; None to take them as
        they are
    options : how the log is to be read; columns of the table have their roles already
    rounded_ads : what `rounded_ads` returns for the whole log; None if this table is all of it
    """

    def __init__(
        self,
        path,
        form,
        table,
        *,
        columns=(),
        lines=None,
        problems=(),
        options=PLAIN,
        kinds=None,
        plan=None,
        rounded_ads=None,
    ):
        self.rounded_ads, self.fraction = rounded_ads, ""
        self.path, self.form, self.columns, self.lines = path, form, columns, lines
        self.kinds, self.problems = {} if kinds is None else kinds, [*problems]
        self.units, self.categorical, self.rows = options.units, options.categorical, table.num_rows
        self.listing = (plan and plan.listing) or options.columns.get(ELIGIBLE, ELIGIBLE)
        if plan:
            with files.foreign(path, "readable log"):
                table, row_problems = plan.apply(table)
            self.columns = (*columns, *plan.names)
            self.problems = [*self.problems, *plan.problems, *row_problems]
        self.names = table.column_names
        # columns are dropped once they are read
        self.table = {name: table.column(name) for name in self.names}

    def reading(self) -> Reading:
        """The log with all problems; its `visits` are None if there is an error."""
        if self.rows:
            with files.foreign(self.path, "readable log"):
                is_stated = self.units.propensity is not None
                other = tables.problem(self.table, self.rows, is_stated)
                self.problems += [other] if other else []
                visits = None if other else self.visits()
            pa.default_memory_pool().release_unused()
        else:
            self.note_missing()
            self.add("rows", "the log has no rows")
            visits = None
        problems = sorted(self.problems, key=lambda problem: problem.severity)  # errors first
        visits = None if any(problem.severity == "error" for problem in problems) else visits
        return Reading(
            self.path,
            self.form,
            self.columns,
            tuple(problems),
            visits,
            self.lines,
            self.fraction,
        )

    def add(
        self,
        kind: str,
        reason: str,
        mend: str = "",
        bad: np.ndarray | None = None,
        column: str = "",
    ) -> None:
        """Note a problem; `bad`, bool (rows), marks the rows at fault."""
        count, row = (0, None) if bad is None else (int(np.count_nonzero(bad)), int(np.argmax(bad)))
        self.problems.append(Problem(kind, reason, mend, count, row, column))

    def note_missing(self) -> None:
        """Note the columns that a log needs and lacks."""
        stated = {"propensity"} if self.units.propensity is not None else set()
        lacking = [role for role in logs.NEEDED if role not in {*self.names, *stated}]
        names = [name for name in self.names if not name.startswith(KEY)]
        for role in lacking:
            near = proposed(role, names)
            mend = f"--columns {role}=COLUMN says which"
            mend = f"Is it {near!r}? Then --columns {role}={quote(near)}" if near else mend
            mend += f". {tables.STATED}" if role == "propensity" and not near else ""
            listed = logs.listing(names)
            self.add("column", f"there is no column {role!r}; columns: {listed}", mend, column=role)

    def visits(self) -> Visits | None:
        """The visits, with all problems of the columns noted; None if there is an error."""
        self.note_missing()
        beside = lists.BESIDE if KEY + lists.LIST in self.names else logs.POLICY
        names = [name for name in filter(is_feature, self.names) if not name.startswith(beside)]
        full = [name.removeprefix(logs.FULL) for name in self.names if name.startswith(logs.FULL)]
        policies = tuple(
            name.removeprefix(logs.POLICY) for name in self.names if name.startswith(logs.POLICY)
        )
        reward, propensity = self.reward(), self.propensity()
        listed, has = self.lists()
        action, actions = self.action([*full, *self.units.split, *listed])
        eligible = None if has is None else self.eligible(listed, has, action, actions)
        propensity = (
            propensity if self.units.propensity is None else self.stated(action, actions, eligible)
        )
        probabilities = [self.probability(logs.POLICY + name) for name in policies]
        self.distribution(full, actions, action, propensity, eligible)
        if propensity is not None:
            propensity = self.unrounded(propensity, probabilities, eligible, len(actions))
        timestamp = self.timestamp() if "timestamp" in self.table else None
        position = self.position() if "position" in self.table else None
        visit, user = self.key("id", "leave the rows out"), self.user()
        of_lists = self.of_lists(action, actions, reward, propensity, position, probabilities)
        features, names, categories, exact = self.features(names)
        if any(problem.severity == "error" for problem in self.problems):
            return None
        log = Visits(
            features,
            action,
            reward,
            propensity,
            actions,
            names,
            position,
            timestamp,
            eligible,
            categories,
            np.column_stack(probabilities) if probabilities else None,
            policies,
            exact,
            visit,
            user,
            "" if eligible is None else self.listing,
            **of_lists,
        )
        return replace(log, list=_by_content(log)) if log.propensity_of else log

    # numbers

    def numbers(self, name: str, mend: str = "") -> np.ndarray:
        """A column that needs a number in every row, float64 (rows); NaN where it has none, which
        is noted.
        """
        column = arrays.plain(self.table.pop(name))
        values = arrays.numeric(column)
        if values is None:
            self.add(
                "type",
                f"column {name!r} has type {column.type}; numbers are needed",
                mend,
                column=name,
            )
            return np.full(self.rows, np.nan)
        lacking = np.isnan(values)
        if lacking.any():
            row = int(np.argmax(lacking))
            text = column[row].as_py() if arrays.is_text(column.type) else None
            if text is None or text in arrays.MISSING:
                mend = "Fill it in, or leave the rows out"
                self.add("missing", f"{name} is missing", mend, lacking, name)
            else:
                self.add("text", f"{name} {short(text)} is not a number", mend, lacking, name)
        return values

    def note_range(self, name: str, values, bad, reason: str, mend: str) -> None:
        if bad.any():
            self.add("range", f"{name} {values[np.argmax(bad)]} {reason}", mend, bad, name)

    def reward(self) -> np.ndarray | None:
        """The rewards as shares of the largest, float64 (rows), see `Units.shares`; None without
        the column.
        """
        if "reward" not in self.table:
            return None
        currency = ""
        if arrays.is_text((column := arrays.plain(self.table["reward"])).type):
            codes, texts = arrays.distinct(column)
            written = [text for text in texts.to_pylist() if text not in arrays.MISSING]
            if parsed := amounts(written):
                numbers, currency = parsed
                number_of = dict(zip(written, numbers, strict=True))
                # A missing cell has the code -1, so that the last value, of "", is its own: NaN.
                values = [number_of.get(text, np.nan) for text in (*texts.to_pylist(), "")]
                self.table["reward"] = pa.chunked_array(
                    [pa.array(np.array(values)[codes], from_pandas=True)]
                )
        mend = (
            "Write 1 for a click, and 0 for none; or amounts of one currency, such as €1,234.50, "
            "whose marks of thousands and decimals are clear"
        )
        values = self.numbers("reward", mend)
        shares = self.units.shares(values)
        bad = (shares < 0) | (shares > 1)
        if bad.any():
            low, high = float(np.nanmin(values)), float(np.nanmax(values))
            reason, mend = self.units.refusal(float(values[np.argmax(bad)]), low, high, currency)
            self.add("range", reason, mend, bad, "reward")
        return shares

    def propensity(self) -> np.ndarray | None:
        """The column of propensities as probabilities, float64 (rows); None without one."""
        if "propensity" not in self.table:
            return None
        texts = arrays.decoded(self.table["propensity"])
        if arrays.is_text(texts.type) and any(
            text.as_py().strip().endswith("%") for text in arrays.distinct(texts)[1]
        ):
            if self.units.propensities != "percent":
                self.table.pop("propensity")
                self.add(
                    "percent",
                    "propensities are written with a percent sign",
                    "Read them with --propensities percent",
                )
                return None
            bare = compute.replace_substring_regex(texts, r"\s*%\s*$", "")
            self.table["propensity"] = pa.chunked_array([bare])
        numbers = self.numbers(
            "propensity", "It is the probability with which the ad shown was to be shown"
        )
        values = self.units.probabilities(numbers)
        bad = ~((values > 0) & (values <= 1)) & ~np.isnan(values)
        top, low = np.nanmax(numbers, initial=-np.inf), np.nanmin(numbers, initial=np.inf)
        as_written = not self.units.propensities
        if as_written and bad.any():
            mostly = np.count_nonzero(bad) > np.count_nonzero(values <= 1)
            is_percent = low > 0 and PERCENT < top <= 100 and mostly
            if is_percent or (top <= 0 and low < 0):
                words = "percent" if is_percent else "natural logarithms"
                reason = (
                    f"propensity {numbers[np.argmax(bad)]:g} is not in (0, 1]; they are from "
                    f"{low:g} to {top:g}, which looks like {words}"
                )
                unit = "percent" if is_percent else "log"
                self.add("percent", reason, f"Read them with --propensities {unit}", bad)
                return values
        reason, mend = "is not in (0, 1]", "It is the probability of the ad shown"
        if low == top == 0:
            reason += ", as in every row: none was logged"
        elif as_written and low > 0 and 1 < top <= 1 + logs.SLACK:
            reason, mend = "is above 1", "It looks rounded: write 1 where one is above"
        self.note_range("propensity", values, bad, reason, mend)
        tiny = ~bad & (values < LEAST_PROPENSITY)
        reason = f"is below {LEAST_PROPENSITY:g}, too small to be one"
        self.note_range("propensity", values, tiny, reason, mend)
        return values

    def stated(
        self, action: np.ndarray | None, actions: tuple[str, ...], eligible: np.ndarray | None
    ) -> np.ndarray | None:
        """The propensity of each row's ad by the split that the user states, float64 (rows); None
        if a row has no ad.
        """
        if has := [
            name for name in self.names if name == "propensity" or name.startswith(logs.FULL)
        ]:
            raise SettingError(
                f"--propensity states the split of a log without propensities, and {self.path} has "
                f"a column {has[0]!r}: leave --propensity out, or --ignore {quote(has[0])}"
            )
        if action is None or (action < 0).any():
            return None
        if (self.units.propensity == UNIFORM) != (eligible is not None):
            if eligible is None:
                raise SettingError(
                    "--propensity uniform is for visits with lists of eligible ads, and "
                    f"{self.path} has none: name them by --eligible, or state a share, as 0.25"
                )
            raise SettingError(
                f"{self.path} has lists of eligible ads: one split can be stated of it, all ads of "
                "a list alike, by --propensity uniform. Else give a column of propensities"
            )
        if eligible is not None:
            return 1 / np.maximum(eligible.sum(axis=1), 1)
        split = self.units.split
        if not split:
            share, ads = self.units.propensity, len(actions)
            if (total := ads * share) > 1 + SPLIT and uniform_ads(share, ads) is None:
                raise SettingError(
                    f"--propensity {share:g} for each of {ads:,} ads is {total:.4g} in all, more "
                    "than 1: give each ad its share, as AD=SHARE,AD=SHARE, or leave out rows of "
                    "other ads"
                )
            return np.full(self.rows, share)
        values = np.array([split.get(ad, np.nan) for ad in actions])[action] / sum(split.values())
        if (bad := np.isnan(values)).any():
            ad = actions[int(action[np.argmax(bad)])]
            self.add(
                "split",
                f"--propensity has no share for ad {short(ad)}; it has {logs.listing([*split])}",
                "Give one for every ad of the log",
                bad,
            )
        return values

    def unrounded(
        self, propensity: np.ndarray, probabilities: list[np.ndarray], eligible, ads: int
    ) -> np.ndarray:
        """Propensities, float64 (rows), with rounded fractions made exact: 0.333 of each of three
        ads becomes 1/3.

        The rounded number is made exact in `probabilities` of policies, too, in place.
        """
        if eligible is not None:
            return _unrounded(propensity, eligible)
        number = self.rounded_ads
        number = rounded_ads(propensity, ads) if number is None else number
        if not number:
            return propensity
        written = float(propensity[0])
        self.fraction = f"1/{number}, written as {written:.6g}"
        for values in probabilities:
            values[values == written] = 1 / number
        return np.full(self.rows, 1 / number)

    def probability(self, name: str) -> np.ndarray:
        """A column `policy:NAME`, float64 (rows)."""
        values = NO_UNITS.probabilities(
            self.numbers(name, "It is the policy's probability of `action`")
        )
        bad = (values < 0) | (values > 1)
        self.note_range(
            name, values, bad, "is not in [0, 1]", "It is the policy's probability of `action`"
        )
        return values

    def position(self) -> np.ndarray:
        """The column of positions, int32 (rows); 0 where a position is missing or invalid, which is
        noted.
        """
        values = self.numbers(
            "position", "It is a whole number, or leave the column out with --ignore position"
        )
        bad = ((values != np.floor(values)) | (np.abs(values) >= 2**31)) & ~np.isnan(values)
        self.note_range(
            "position",
            values,
            bad,
            "is not a whole number",
            "Leave the column out with --ignore position",
        )
        return np.where(np.isnan(values) | bad, 0, values).astype(np.int32)

    # ids

    def key(self, role: str, otherwise: str) -> np.ndarray | None:
        """Hashes of the ids of visits, or of users, uint64 (rows x 2); None without the column.

        otherwise : advice for a missing id, besides filling it in
        role : "id" or "user"
        """
        if KEY + role not in self.table:
            return None
        column = arrays.decoded(self.table.pop(KEY + role))
        # whole numbers, in a table whose other rows may lack one
        if types.is_floating(column.type):
            texts = pa.array(arrays.as_texts(column), pa.string())  # a missing one is "None"
        elif types.is_integer(column.type) or arrays.is_text(column.type):
            texts = column.cast(pa.string())
        else:
            reason = f"the {role} has type {column.type}; numbers or text are needed"
            self.add("type", reason, column=role)
            return None
        absent = np.asarray(
            compute.is_in(texts, value_set=pa.array([None, *sorted(arrays.MISSING)], pa.string()))
        )
        if absent.any():
            self.add("missing", f"{role} is missing", f"Fill it in, or {otherwise}", absent, role)
            return None
        return hashing.of_texts(texts.to_numpy(zero_copy_only=False))

    def user(self) -> np.ndarray | None:
        """A hash of each visit's user, uint64 (rows); None if that is not known."""
        hashes = self.key("user", "give each such visit a user of its own, as its id")
        return None if hashes is None else hashes[:, 0].copy()

    # lists

    def of_lists(
        self, action, actions, reward, propensity, position, probabilities: list[np.ndarray]
    ) -> dict:
        """The fields of `Visits` that only logs of lists have, by name; empty for another log, or
        one with errors.
        """
        column, kind = self.table.pop(KEY + lists.LIST, None), self.units.propensity_of
        if column is None and kind is None:
            return {}
        if column is None:
            reason = f"--propensity-of {kind} is for lists, and no column tells lists apart"
            self.add("list-column", reason, "Name it by --list COLUMN, such as that of visits")
            return {}
        column = arrays.decoded(column)
        absent = np.asarray(column.is_null(nan_is_null=True))
        if absent.any():
            self.add("missing", "the list is missing", "Leave the rows out", absent, lists.LIST)
        if any(problem.severity == "error" for problem in self.problems):
            return {}
        code = column.dictionary_encode().indices.to_numpy().astype(np.int64)
        if totals.are_of_one_arm(code, action, propensity, *probabilities):
            return {"list": code.astype(np.uint64)}
        if position is None:
            reason = "no column says at which place of its list a row stands"
            self.add("column", reason, "--columns position=COLUMN says which", column="position")
            return {}
        place = position.astype(np.int64) - int(position.min() != 0)  # from 0, or from 1
        order = lists.Order.of(code, place)
        if faults := list(lists.faults(place, action, order, actions)):
            for fault in faults:
                self.add(*fault)
            return {}
        if lists.is_of_the_list(reward, order):
            reason = "all rows of a list have the same reward: it is that of the whole list"
            mend = (
                "A list is then one action: write one row for each list, with the list as its "
                "action, and the probability of the list"
            )
            self.add("list-reward", reason, mend)
        elif only := lists.only_place(reward, order):
            reason = f"all rewards are those of place {only} of a list"
            mend = (
                "Give each row its own reward: one of the whole list needs one row for each list. "
                "If nothing below can be clicked, leave those rows out"
            )
            self.add("list-reward", reason, mend)
        if kind is None:
            means = lists.means_by_place(propensity, place)
            mend = (
                "Say --propensity-of above if they are probabilities of an item given the items "
                "above it, place if of an item at its place, and list if of the whole list. The "
                f"mean of 1 / propensity is {means} from the top down: above, it falls by about "
                "one from place to place"
            )
            self.add("propensity-of", "it is not said what propensities of lists are of", mend)
            return {}
        for values in (propensity, *probabilities) if kind == "list" else ():
            if (bad := order.differs(values)).any():
                mend = "The probability of the whole list is the same in all of its rows"
                self.add("list-propensity", "probabilities of a list differ", mend, bad)
        fields = {"list": code.astype(np.uint64), "place": place, "propensity_of": kind}
        if probabilities:
            weights = np.column_stack(probabilities) / propensity[:, None]
            fields["weights"] = lists.weights_of(weights, kind, order, place)
        names = [name for name in self.names if name.startswith(logs.POLICY)]
        names = [lists.BESIDE + name.removeprefix(logs.POLICY) for name in names]
        logged = f"{lists.BESIDE}propensity"
        if probabilities and {logged, *names} <= {*self.names}:
            beside = np.column_stack([self.probability(name) for name in names])
            fields["beside"] = beside / self.probability(logged)[:, None]
        return fields

    # ads

    def action(self, full: list[str]) -> tuple[np.ndarray | None, tuple[str, ...]]:
        """The index of each row's ad, int32 (rows), -1 if missing; and the ids of all ads.

        full : ids of ads that the log knows from elsewhere, shown or not
        """
        if "action" not in self.table:
            return None, logs.ordered(set(full))
        column = arrays.plain(self.table.pop("action"))
        codes, texts = arrays.distinct(column)
        if (codes < 0).any():
            mend = "Fill it in, or leave the rows out"
            self.add("missing", "action is missing", mend, codes < 0, "action")
        ids = arrays.as_texts(texts)
        actions = logs.ordered({*ids, *full})
        index_of = {action: index for index, action in enumerate(actions)}
        moved = np.array([index_of[name] for name in ids] + [-1], np.int32)[codes]
        return moved, actions

    def lists(self) -> tuple[list[str], np.ndarray | None]:
        """All ads in the column of eligible ads, and which of them each row lists, bool (rows x
        ads); None without the column.
        """
        if KEY + ELIGIBLE not in self.table:
            return [], None
        column = arrays.decoded(self.table.pop(KEY + ELIGIBLE))
        listed = eligibility.as_lists(column)
        code, values = arrays.distinct(arrays.plain(pa.chunked_array([listed.flatten()])))
        lengths = np.asarray(compute.list_value_length(listed).fill_null(0), np.int64)
        ads, row = arrays.as_texts(values), np.repeat(np.arange(self.rows), lengths)
        has = np.zeros((self.rows, len(ads)), bool)
        has[row[code >= 0], code[code >= 0]] = True
        empty, absent = ~has.any(axis=1), np.asarray(listed.is_null())
        for kind, bad, what in (
            ("missing", empty & absent, "are missing"),
            ("text", empty & ~absent, "{} are no list of ids"),
        ):
            if bad.any():
                what = what.format(short(str(column[int(np.argmax(bad))])))
                mend = (
                    'Write those that could be shown, as ["a", "b"] or a|b, or leave the rows out'
                )
                self.add(kind, f"eligible ads {what}", mend, bad, ELIGIBLE)
        return ads, has

    def eligible(self, listed: list[str], has: np.ndarray, action, actions) -> np.ndarray:
        """Which ads could be shown in each row, bool (rows x actions); rows whose ad is not listed
        are noted.

        listed, has : as `lists` returns them
        """
        eligible = np.zeros((self.rows, len(actions)), bool)
        index_of = {name: index for index, name in enumerate(actions)}
        eligible[:, [index_of[name] for name in listed]] = has
        if action is not None:
            bad = ~eligible[np.arange(self.rows), action] & eligible.any(axis=1) & (action >= 0)
            if bad.any():
                row = int(np.argmax(bad))
                among = logs.listing([actions[ad] for ad in np.flatnonzero(eligible[row])])
                reason = (
                    f"ad {actions[action[row]]!r} is shown, and not among the visit's "
                    f"eligible ads: {among}"
                )
                mend = (
                    "Write the list of the moment when the ad was drawn, and ids in one way. If "
                    "the column says something else, leave it out with --ignore "
                    f"{quote(self.listing)}"
                )
                self.add("eligible", reason, mend, bad)
        return eligible

    def distribution(self, full: list[str], actions, action, propensity, eligible) -> None:
        """Note what is wrong with the columns `propensity:ACTION`, whose ads are `full`."""
        if not full or action is None or propensity is None:
            return
        if absent := [name for name in actions if name not in full]:
            reason = f"there is no column {logs.FULL + absent[0]!r}"
            self.add("column", reason, "Give it for every action, or none")
            return
        total, logged = np.zeros(self.rows), np.zeros(self.rows)
        outside, strange = np.zeros(self.rows, bool), np.zeros(self.rows, bool)
        for number, name in enumerate(actions):
            values = self.units.probabilities(self.numbers(logs.FULL + name))
            total += values
            outside |= (values < 0) | (values > 1)
            strange |= False if eligible is None else (values > 0) & ~eligible[:, number]
            logged = np.where(action == number, values, logged)
        has_total = ~np.isnan(total)
        for kind, bad, reason, values in (
            ("full-range", outside, "a propensity is not in [0, 1]; they sum to {}", total),
            (
                "full-eligible",
                strange,
                "an ad that is not eligible has a propensity above 0; they sum to {}",
                total,
            ),
            (
                "full-sum",
                has_total & (np.abs(total - 1) > logs.SLACK),
                "the propensities sum to {:.6g}, not to 1",
                total,
            ),
            (
                "full-differs",
                has_total & (np.abs(logged - propensity) > logs.SLACK),
                "propensity differs from that of the action's own column, {}",
                logged,
            ),
        ):
            if bad.any():
                self.add(kind, reason.format(values[np.argmax(bad)]), "", bad)

    # times

    def timestamp(self) -> np.ndarray:
        """The column of times, datetime64[us] (rows), in UTC."""
        import pandas as pd

        column = arrays.decoded(self.table.pop("timestamp"))
        mend = (
            "Write it as 2019-11-24 00:03:13+00:00, or leave the column out with --ignore timestamp"
        )
        if arrays.is_text(column.type):
            codes, texts = arrays.distinct(column)
            numbers = [arrays.as_number(text) for text in texts.to_pylist()]
            if numbers and None not in numbers:
                return self.epoch(np.array([*numbers, np.nan])[codes], mend)
            series = pd.Series(texts.to_pylist(), dtype=object)
            parsed = pd.to_datetime(series, utc=True, errors="coerce", format="ISO8601")
            times = np.append(
                parsed.dt.tz_localize(None).to_numpy("datetime64[us]"), np.datetime64("NaT", "us")
            )[codes]
        elif types.is_timestamp(column.type) or types.is_date(column.type):
            times = (
                column.cast("timestamp[us]", safe=False)
                .to_numpy(zero_copy_only=False)
                .astype("datetime64[us]")
            )
        else:
            values = arrays.numeric(column)
            return self.epoch(np.full(self.rows, np.nan) if values is None else values, mend)
        if (bad := np.isnat(times)).any():
            text = column[int(np.argmax(bad))].as_py()
            reason = (
                "timestamp is missing"
                if text is None
                else f"timestamp {short(str(text))} is not a time"
            )
            self.add("timestamp", reason, mend, bad)
        return times

    def epoch(self, values: np.ndarray, mend: str) -> np.ndarray:
        """Times, datetime64[us] (rows), from numbers since 1970, whose size tells their unit; NaT
        in all rows, and a problem added, if a number is missing or no such time.

        mend : the problem's advice
        """
        nothing = np.full(self.rows, np.datetime64("NaT", "us"))
        if (bad := np.isnan(values)).any():
            self.add("timestamp", "timestamp is missing", mend, bad)
            return nothing
        for lowest in EPOCHS:
            if values.min() >= lowest and values.max() < 10 * lowest:
                # The times of today are from 1e9 on in seconds: how much larger they are tells the
                # unit.
                return (values * (1e6 * 1e9 / lowest)).astype(np.int64).view("datetime64[us]")
        self.add("timestamp", "the timestamps are plain numbers, and no seconds since 1970", mend)
        return nothing

    # features

    def features(self, names: list[str]) -> tuple:
        """The fields `features`, `names`, `categories` and `exact` of `Visits`."""
        matrix, categories, kept = np.empty((self.rows, len(names)), np.float32), {}, []
        single = any(arrays.is_single(self.table[name].type) for name in names)
        exact = None if single else np.zeros((self.rows, 2), np.uint64)
        for name in names:
            column = arrays.plain(self.table.pop(name))  # freed once it is read
            values, texts = self.feature(name, column)
            if values is None:
                continue
            with np.errstate(over="ignore"):  # too large is infinite, which is found next
                matrix[:, len(kept)] = values
            if texts is not None:
                categories[name] = texts
            elif (bad := np.isinf(matrix[:, len(kept)])).any():
                reason = f"feature {name!r} is not finite in single precision"
                self.add(
                    "infinite", reason, "Leave the cells empty, or scale the feature", bad, name
                )
            elif exact is not None:
                hashing.add(exact, f"feature:{name}", values)
            kept.append(name)
        if not kept:
            mend = (
                "Nothing can be learnt from it: only ads, and policies in columns of "
                "probabilities, can be judged"
            )
            self.add("no-features", "the log has no features", mend)
        matrix = matrix if len(kept) == len(names) else matrix[:, : len(kept)].copy()
        return matrix, tuple(kept), categories, exact

    def feature(self, name: str, column):
        """A feature's values, float (rows), and, if these are codes of texts, the texts, else None;
        (None, None) for a feature that is left out.
        """
        if column.null_count == self.rows and name not in self.kinds:
            self.add(
                "empty",
                f"feature {name!r} has no value in any row, and is left out",
                column=name,
            )
            return None, None
        if arrays.is_text(column.type) or (
            name in self.categorical and arrays.reads_as_text(column.type)
        ):
            return self.text_feature(name, column)
        if types.is_timestamp(column.type) or types.is_date(column.type):
            return arrays.days(column), None
        values = arrays.numeric(column)
        if values is None:
            reason = f"column {name!r} has type {column.type}; a log has numbers, text and times"
            mend = f"Leave it out with --ignore {quote(name)}"
            if arrays.reads_as_text(column.type):
                mend += f", or take it as text with --categorical {quote(name)}"
            if eligibility.is_list(column.type):
                mend += f"; if it says which ads could be shown, --eligible {quote(name)}"
            self.add("type", reason, mend, column=name)
            return None, None
        if not self.kinds.get(name):
            self.kinds[name] = "numbers"
            if looks_like_times(name, values[:HEAD]):
                self.note_times(name)
            elif types.is_integer(column.type) and _looks_like_an_id(values[:HEAD]):
                self.note_id(name)
            else:
                first = values[:HEAD]
                called = is_called_a_user(name) or is_called_a_visit(name)
                several = len(np.unique(first[~np.isnan(first)])) if called else 0
                self.note_ids(name, several, len(first), are_texts=False)
        return values, None

    def text_feature(self, name: str, column):
        """What `feature` returns, for a column of texts: they are taken as numbers if `kinds` says
        so, or if most cells of the first rows are numbers.
        """
        codes, texts = arrays.distinct(column)
        labels = arrays.as_texts(texts)
        numbers = np.array(
            [np.nan if (number := arrays.as_number(text)) is None else number for text in labels]
        )
        absent = np.array([text.strip() in arrays.MISSING for text in labels], bool)
        first = codes[:HEAD]
        counts = np.bincount(first[first >= 0], minlength=len(labels))
        share = counts[~np.isnan(numbers)].sum() / max(counts[~absent].sum(), 1)
        decided = self.kinds.get(name)
        if not decided:
            of_numbers = share >= MOSTLY and name not in self.categorical
            self.kinds[name] = "numbers" if of_numbers else "text"
            self.note_ids(name, np.count_nonzero(counts), len(first), not of_numbers)
        if self.kinds[name] == "numbers":
            # a missing cell has the code -1: the value that is appended
            wrong = np.append(np.isnan(numbers) & ~absent, False)[codes]
            if wrong.any():
                text = labels[codes[np.argmax(wrong)]]
                self.add(
                    "mixed",
                    f"{name} {short(text)} is not a number; most cells are",
                    f"Empty these cells, or take all as texts with --categorical {quote(name)}",
                    wrong,
                    name,
                )
            return np.append(numbers, np.nan)[codes], None
        if len(labels) >= CODES:
            mend = f"Leave it out with --ignore {quote(name)}"
            self.add(
                "texts", f"feature {name!r} has {len(labels):,} different texts", mend, column=name
            )
            return None, None
        if (codes < 0).any():
            if "" not in labels:
                labels = [*labels, ""]
            codes = np.where(codes < 0, labels.index(""), codes)
        return codes, tuple(labels)

    def note_ids(self, name: str, distinct: int, rows: int, are_texts: bool) -> None:
        """Warn of a feature that looks like ids, or like users.

        distinct : how many values it has in the first `rows` rows
        """
        called = is_called_a_user(name)
        if distinct == rows >= LEAST_ID and (are_texts or called or is_called_a_visit(name)):
            self.note_id(name)
        elif is_called_a_visit(name):
            return  # `diagnosis.lists` looks at its rows
        elif called or (are_texts and distinct > rows / 2 and rows >= LEAST_ID):
            self.note_users(name, distinct, rows)

    def note_id(self, name: str, why: str = "another value in every row") -> None:
        mend = f"Leave it out with --ignore {quote(name)}"
        mend += (
            "" if KEY + "id" in self.names else f", or say that it is one with --id {quote(name)}"
        )
        reason = (
            f"feature {name!r} has {why}: it looks like an id, which tells nothing of new visits"
        )
        self.add("id", reason, mend, column=name)

    def note_times(self, name: str) -> None:
        word = quote(name)
        mend = f"Leave it out with --ignore {word}"
        mend = (
            mend
            if "timestamp" in self.names
            else f"--time {word} says that it is the time. {mend} if it is not"
        )
        reason = f"feature {name!r} looks like times since 1970, which tell little of later visits"
        self.add("time", reason, mend, column=name)

    def note_users(self, name: str, distinct: int, rows: int) -> None:
        """Warn of a feature that looks like users: most of its values occur several times.

        distinct : how many values it has in the first `rows` rows
        """
        if KEY + "user" in self.names:
            if distinct > rows / 2:
                self.note_id(name, f"{distinct:,} different values in {rows:,} rows")
        elif distinct >= LEAST_USERS:
            reason = (
                f"feature {name!r} has {distinct:,} different values in {rows:,} rows: it "
                "looks like users. Visits of one are not independent, which bounds ignore"
            )
            word = quote(name)
            mend = (
                f"--user {word} takes visits of one together; --ignore {word} leaves it out if "
                "it is something else"
            )
            self.add("user", reason, mend, column=name)


def rounded_ads(propensity: np.ndarray, ads: int) -> int:
    """The number of ads n, if all of these propensities are 1 / n, rounded (see
    `amounts.uniform_ads`); else 0.
    """
    first = float(propensity[0])
    number = uniform_ads(first, ads) if first > 0 and (propensity == first).all() else None
    return number if number and abs(first * number - 1) > 1e-12 else 0


def _unrounded(propensity: np.ndarray, eligible: np.ndarray) -> np.ndarray:
    """Propensities with rounding undone: 1 / the number of eligible ads if each is such a fraction,
    rounded; else as they are.
    """
    alike = 1 / np.maximum(eligible.sum(axis=1), 1)
    if not (np.abs(propensity - alike) < 0.05).all():
        return propensity
    values, code = np.unique(propensity, return_inverse=True)
    near = np.abs(propensity - alike) <= np.array([*map(rounding, values)])[code] + 1e-12
    return alike if near.all() else propensity


def _by_content(log: Visits) -> np.ndarray:
    """The list of each row, uint64 (rows), numbered by what the lists hold, first by rewards and
    probabilities: so that nothing depends on names, or on the order of rows.
    """
    _, list_of = np.unique(log.list, return_inverse=True)
    order = np.argsort(list_of)
    starts = np.flatnonzero(np.r_[True, np.diff(list_of[order]) > 0])
    others = () if log.probabilities is None else log.probabilities.T
    numbers = (np.ascontiguousarray(of) for of in (log.reward, log.propensity, *others))
    of_rows = hashing.of_columns(log.place, *(of.view(np.int64) for of in numbers))
    everything = digests.of(replace(log, id=None, list=None))[0]
    ranked = np.lexsort([np.add.reduceat(of[order], starts) for of in (everything, of_rows)])
    return np.argsort(ranked)[list_of].astype(np.uint64)


def _looks_like_an_id(values: np.ndarray) -> bool:
    """Whether no two rows of a column of whole numbers are alike."""
    return len(values) >= LEAST_ID and len(np.unique(values)) == len(values)
