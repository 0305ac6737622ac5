"""Logs that users bring: what is read, and what is said of what is wrong."""

import bz2
import lzma

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from comparing import same

from scant.data import logs
from scant.errors import DataError, SettingError
from scant_ads import Log as UserLog
from scant_ads.reading import batches, formats
from scant_ads.reading.visits import Options

# A user's own log

OWN = """action,reward,propensity,age,member,timestamp,position
offer 2,1,0.5,30,True,2019-11-24 00:03:13.442536+00:00,1
NA,0,0.25,41.5,False,2019-11-24T02:03:13.5+02:00,2
offer 2,0.5,1,-2,True,2019-11-24 00:03,3
"""


def own(tmp_path, text, name="log.csv"):
    path = tmp_path / name
    path.write_text(text)
    return formats.read_log(path)


def test_a_csv_is_read_as_documented(tmp_path):
    """Neither probabilities of one's own policies nor those of ads that were not shown."""
    head = "action,reward,propensity,x,policy:new,propensity:b,propensity:a\n"
    log = own(tmp_path, head + "a,0,1,2,0.5,0,1\na,1,1,3,,0,1\n")
    assert (log.actions, log.names, log.features.tolist()) == (("a", "b"), ("x",), [[2], [3]])
    log = own(tmp_path, OWN + "\n\n")
    assert (log.actions, log.names) == (("NA", "offer 2"), ("age", "member"))
    assert log.action.tolist() == [1, 0, 1] and log.reward.tolist() == [1, 0, 0.5]
    assert log.features.dtype == np.float32
    assert log.features.tolist() == [[30, 1], [41.5, 0], [-2, 1]]
    assert log.propensity.tolist() == [0.5, 0.25, 1] and log.position.tolist() == [1, 2, 3]
    expected = ["2019-11-24T00:03:13.442536", "2019-11-24T00:03:13.5", "2019-11-24T00:03"]
    np.testing.assert_array_equal(log.timestamp, np.array(expected, "datetime64[us]"))


def test_parquet_gives_the_same_log_as_csv_and_is_known_by_its_first_bytes(tmp_path):
    frame = pd.DataFrame(
        {"action": [10, 9, 10], "reward": [0, 1, 0], "propensity": 0.5, "x": [1.5, 2, 3], "b": True}
    )
    frame["timestamp"] = pd.to_datetime(["2020-01-01T10:00:00+01:00"] * 3, utc=True)
    frame.to_csv(tmp_path / "text.parquet", index=False)
    frame.astype({"action": float}).to_parquet(tmp_path / "log.txt")  # whole numbers have no point
    log = formats.read_log(tmp_path / "text.parquet")
    assert log.actions == ("9", "10") and log.timestamp[0] == np.datetime64("2020-01-01T09:00:00")
    same(log, formats.read_log(tmp_path / "log.txt"))


FULL = """action,reward,propensity,x,propensity:b,propensity:a,propensity:c
a,1,0.2,1,0.3,0.2,0.5
b,0,0.33333,1,0.33333,0.33333,0.33333
"""


def test_a_probability_may_be_above_one_by_what_single_precision_rounds(tmp_path):
    above = {"propensity": [1.0000001, 1.0, 1.0, 0.5], "policy:mine": [1.0, 0.5, 1 + 1e-6, 0.0]}
    visits = read(tmp_path, FRAME.assign(**above)).required()
    assert visits.propensity.tolist() == [1, 1, 1, 0.5]
    assert visits.probabilities[:, 0].tolist() == [1, 0.5, 1, 0]
    above["propensity"][0] = 1 + 2e-6
    assert read(tmp_path, FRAME.assign(**above)).visits is None


HEAD = "action,reward,propensity,x\n"
MARKED, INDEXED = "line 3: a quotation mark begins a text", "action,reward,propensity,x,"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the file is empty"),
        (HEAD + "\n\n", "no rows"),
        ("action,reward,x\na,0,1\n", "no column 'propensity'; columns: 'action', 'reward', 'x'"),
        ("action,reward,propensity\na,0,1\n", "no features"),
        (HEAD + "a,0,1,2\na,2,1,2\n", r"line 3: reward 2.0 is not in \[0, 1\]"),
        (HEAD + "a,0,1,2\na,1,0,2\n", r"line 3: propensity 0.0 is not in \(0, 1\]"),
        (HEAD + "a,0,1,2\n,1,1,2\n", "line 3: action is missing"),
        (HEAD + "a,0,1,2\na,,1,2\n", "line 3: reward is missing"),
        (HEAD + "a,0,1,2\na,0,1,NA\n", "line 3: x is missing"),
        (HEAD + "a,0,1,2\na,0,1\n", "line 3 has 3 fields, the header 4"),
        (HEAD + "a,0,1,2\na,0,1,red\n", "line 3: x 'red' is not a number. One-hot"),
        (HEAD + "a,0,1,2\na,0,1,1e39\n", "line 3: feature 'x' is not finite"),
        (HEAD + 'a,0,1,2\n"a,0,1,2\nb,0,1,2\nb,0,1,2\n', MARKED),
        ("," + HEAD + "0,a,0,1,2\n0,a,1,1,2\n", "line 1: column 1 has no name, and does not"),
        ("action,reward,propensity,x,x\na,0,1,2,3\n", "line 1: two columns are called 'x'"),
        (INDEXED + "position\na,0,1,2,1.5\n", "line 2: position 1.5 is not a whole number"),
        (INDEXED + "timestamp\na,0,1,2,noon\n", "line 2: timestamp 'noon' is not a time"),
        (INDEXED + "timestamp\na,0,1,2,2019\n", "the timestamps are plain numbers"),
        (FULL + "a,0,0.2,1,0.3,0.2,0.6\n", "line 4: the propensities sum to 1.1, not to 1"),
        (FULL + "a,0,0.3,1,0.3,0.2,0.5\n", "line 4: propensity differs from that of the action's"),
        (FULL + "d,0,0.2,1,0.3,0.2,0.5\n", "no column 'propensity:d'"),
        (HEAD + "a,0,1,2\n\n\nb,0,1,2\nb,3,1,2\n\n", "line 6: reward 3.0"),
        ("<html><p>action,reward,propensity</html>\n", "it is a web page, as a server sends it"),
    ],
)
def test_a_csv_that_is_no_log_is_refused_with_the_line(text, reason, tmp_path):
    with pytest.raises(DataError, match=reason):
        own(tmp_path, text)


def test_no_row_is_lost_in_a_text_that_a_quotation_mark_begins(tmp_path):
    """A text of several lines is one; a quotation mark left open in a dropped column is refused."""
    rows, path = (
        [f'{ad},{number % 2},0.5,5" wide\n' for number, ad in enumerate("abc" * 100)],
        tmp_path / "log.csv",
    )
    path.write_text(HEAD + "".join([*rows[:99], 'a,0,0.5,"so,,,\n,,,and ""so"""\n', *rows[99:]]))
    assert len(formats.read(path).visits) == 301
    path.write_text(HEAD + "".join([*rows[:99], 'a,0,0.5,"so\n', *rows[99:]]))
    with pytest.raises(DataError, match="line 101: a quotation mark begins a text"):
        formats.read(path, Options(ignore=["x"]))


def test_a_missing_file_and_bytes_that_are_no_text_are_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        formats.read_log(tmp_path / "log.csv")
    (tmp_path / "log.csv").write_bytes(b"action,reward,propensity,x\n\xff\xfe,0,1,2\n")
    with pytest.raises(DataError, match="UTF-8"):
        formats.read_log(tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("column", "names", "reason"),
    [
        ([1.0, 2.0], ["reward", "propensity", "x", "x"], "two columns are called 'x'"),
        ([[1.0], [2.0]], ["reward", "propensity", "y", "x"], "column 'x' has type list<element"),
        ([1.0, None], ["reward", "propensity", "y", "x"], "row 2: x is missing"),
    ],
)
def test_parquet_that_is_no_log_is_refused(column, names, reason, tmp_path):
    columns = [["a", "b"], [0, 1], [0.5, 0.5], [1, 2], column]
    pq.write_table(
        pa.Table.from_arrays(list(map(pa.array, columns)), ["action", *names]),
        tmp_path / "log.parquet",
    )
    with pytest.raises(DataError, match=reason):
        formats.read_log(tmp_path / "log.parquet")


# --- what everyday logs look like
FRAME = pd.DataFrame(
    {
        "action": list("abac"),
        "reward": [0, 1, 0, 1],
        "propensity": [0.5, 0.25, 0.5, 0.25],
        "x": [1.5, -2, 0.25, 3],
    }
)


def packed(kind):
    def write(path):
        with pa.CompressedOutputStream(str(path), kind) as file:
            file.write(FRAME.to_csv(index=False).encode())

    return write


def csv(**options):
    return lambda path: FRAME.to_csv(path, index=False, **options)


FORMS = {
    "semicolons": (csv(sep=";"), "CSV, fields separated by ';'"),
    "commas": (csv(sep=";", decimal=","), "CSV, fields separated by ';', with decimal commas"),
    "tabs": (csv(sep="\t"), "CSV, fields separated by '\\t'"),
    "bars": (csv(sep="|"), "CSV, fields separated by '|'"),
    "gzip": (packed("gzip"), "CSV, packed with gzip"),
    "zstd": (packed("zstd"), "CSV, packed with zstd"),
    "mark": (csv(encoding="utf-8-sig"), "CSV"),
    "windows": (csv(lineterminator="\r\n"), "CSV"),
    "parquet": (FRAME.to_parquet, "parquet"),
    "feather": (FRAME.to_feather, "Arrow"),
    "categories": (FRAME.astype({"action": "category"}).to_parquet, "parquet"),
}


@pytest.mark.parametrize(("write", "form"), FORMS.values(), ids=FORMS)
def test_every_form_holds_the_same_log(write, form, tmp_path):
    write(tmp_path / "log")  # the name says nothing
    reading = formats.read(tmp_path / "log")
    assert (reading.form, reading.problems) == (form, ())
    FRAME.to_csv(tmp_path / "plain.csv", index=False)
    same(reading.visits, formats.read(tmp_path / "plain.csv").visits)


def test_a_log_whose_columns_are_dictionaries_is_the_same_log():
    """Texts, however Arrow keeps them, numbers, truth values, times; roles, features, batches."""
    columns = {"ad": pa.array([7, 8, 7, 9], pa.int8()), "reward": pa.array([0, 1, 0, 1])}
    columns |= {"propensity": [0.5, 0.25, 0.5, 0.25]}
    columns |= {"timestamp": ["2020-01-02", "2020-01-01", "2020-01-02", "2020-01-03"]}
    columns |= {"who": [1, 2, 2, 1], "position": [1, 1, 2, 2], "age": [30, None, 41, 30]}
    columns |= {"height": pa.array([1.7, 1.8, None, 1.7], pa.float32())}
    columns |= {"member": [True, False, None, True], "city": ["Ulm", None, "Bonn", "Ulm"]}
    columns |= {"town": pa.array(["Ulm", None, "Bonn", "Ulm"], pa.string_view())}
    columns |= {"since": pa.array([0, 1, None, 2], pa.date32())}
    columns |= {"context": ['{"a": 1}', '{"a": 2}', None, '{"a": 1}']}
    plain, roles = pa.table(columns), {"action": "ad", "user": "who"}

    def coded(table):
        texts = table.column("town").cast(pa.string()).combine_chunks().dictionary_encode()
        views = texts.dictionary.cast(pa.string_view())
        codes = {name: table.column(name).dictionary_encode() for name in {*columns} - {"town"}}
        codes["town"] = pa.DictionaryArray.from_arrays(texts.indices, views)
        return pa.table({name: codes[name] for name in columns})

    expected = UserLog.from_frame(plain, roles)
    parts = coded(plain.slice(0, 1)), coded(plain.slice(1))
    for table in (coded(plain), pa.concat_tables(parts)):
        log = UserLog.from_frame(table, roles)
        same(log.visits, expected.visits)
        np.testing.assert_array_equal(log.visits.user, expected.visits.user)
        assert log.visits.categories == expected.visits.categories
        assert log.visits.exact is expected.visits.exact is None
        names, kinds = expected.visits.names, expected.visits.categories
        new = [batches.contexts(of, names, kinds) for of in (plain, table)]
        np.testing.assert_array_equal(new[0].features, new[1].features)
    features = ["age", "height", "member", "city", "town", "since", "context.a"]
    assert [*expected.visits.names] == features
    lists = pa.DictionaryArray.from_arrays([0, 1, 0, 1], pa.array([[1], [2]]))
    (problem,) = UserLog.from_frame(plain.append_column("z", lists), roles).check()["problems"][:1]
    assert "column 'z' has type list" in problem["reason"]


def read(tmp_path, frame, **options):
    frame.to_csv(tmp_path / "log.csv", index=False)
    return formats.read(tmp_path / "log.csv", Options(**options))


def test_texts_are_codes_times_days_and_missing_numbers_nan(tmp_path):
    frame = FRAME.assign(city=["Ulm", None, "Bonn", "Ulm"], age=[31, None, "NA", 40.5], blank=None)
    reading = read(tmp_path, frame)
    log = reading.visits
    assert log.names == ("x", "city", "age") and log.categories.keys() == {"city"}
    cities = [log.categories["city"][int(code)] for code in log.features[:, 1]]
    assert cities == ["Ulm", "", "Bonn", "Ulm"]
    np.testing.assert_array_equal(log.features[:, 2], np.float32([31, np.nan, np.nan, 40.5]))
    assert log.missing == {"age": 2}
    assert [problem.kind for problem in reading.problems] == ["empty"]
    with pytest.raises(DataError, match="line 3: age is missing"):
        formats.read_log(tmp_path / "log.csv")
    since = ["1970-01-01", "1970-01-02 12:00", None, "2000-01-01"]
    frame = FRAME.assign(since=since, zip=[89073, 53111, 89073, 89075])
    log = read(tmp_path, frame, categorical=["zip"]).visits
    np.testing.assert_array_equal(log.features[:, 1], np.float32([0, 1.5, np.nan, 10957]))
    assert log.categories == {"zip": ("89073", "53111", "89075")}
    assert log.features[:, 2].tolist() == [0, 1, 0, 2]


NAMED = FRAME.rename(columns={"action": "ad_id", "reward": "click", "propensity": "pscore"})
ROLES = {"action": "ad_id", "reward": "click", "propensity": "pscore"}


def test_columns_are_given_their_roles(tmp_path):
    same(read(tmp_path, NAMED, columns=ROLES).visits, read(tmp_path, FRAME).visits)
    NAMED.to_parquet(tmp_path / "log.parquet")
    same(
        formats.read(tmp_path / "log.parquet", Options(ROLES)).visits, read(tmp_path, FRAME).visits
    )


def test_columns_with_other_names_are_guessed(tmp_path):
    options = {name: f"--columns {role}={name}" for role, name in ROLES.items()}
    mends = [f"Is it '{name}'? Then {option}" for name, option in options.items()]
    assert [problem.mend for problem in read(tmp_path, NAMED).problems] == mends
    near = read(tmp_path, FRAME.rename(columns={"reward": "rewards"})).problems
    assert near[0].mend == "Is it 'rewards'? Then --columns reward=rewards"


def test_roles_that_cannot_be(tmp_path):
    with_reward, twice = NAMED.assign(reward=0), {"reward": "click", "propensity": "click"}
    for frame, columns, reason in (
        (NAMED, {"rewrad": "click"}, "unknown role of a column 'rewrad': did you mean 'reward'"),
        (NAMED, {"reward": "clik"}, "unknown column 'clik': did you mean 'click'"),
        (NAMED, twice, "column 'click' cannot be reward and propensity"),
        (with_reward, ROLES, "there is also a column 'reward'"),
        (FRAME, {"id": "reward"}, "column 'reward' cannot be reward and id: "),
    ):
        with pytest.raises(SettingError, match=reason):
            read(tmp_path, frame, columns=columns)
    numbers = NAMED.assign(reward=[3, 4, 5, 6])
    assert read(tmp_path, numbers, columns=ROLES | {"id": "reward"}).visits.id is not None
    assert read(tmp_path, with_reward, columns=ROLES, ignore=["reward"]).visits.names == ("x",)


def test_a_column_that_is_named_is_never_another(tmp_path):
    """A typo does not fall back on the column that has the role's own name, in whatever file."""
    (tmp_path / "parts").mkdir()
    frame = FRAME.assign(purchase=[0, 0, 0, 1])
    frame.to_csv(tmp_path / "log.csv", index=False)
    for name in ("log.parquet", "parts/0.parquet"):
        frame.to_parquet(tmp_path / name)
    logs.write(formats.read_log(tmp_path / "log.csv"), tmp_path / "study.parquet")
    for name in ("log.csv", "log.parquet", "parts"):
        with pytest.raises(SettingError, match=r"(log|parts/0)\.\w+: unknown column 'purchas': d"):
            UserLog.read(tmp_path / name, {"reward": "purchas"})
    for role, column, reason in (
        ("reward", "rewrd", "did you mean 'reward'"),
        ("reward", "propensity", "cannot be propensity and reward"),
        ("position", "reward", "cannot be reward and position"),
        ("position", "features", "have their roles: leave `columns` out"),
    ):
        with pytest.raises(SettingError, match=reason):
            formats.read(tmp_path / "study.parquet", Options({role: column}))
    assert len(formats.read(tmp_path / "study.parquet", Options({"reward": "reward"})).visits) == 4


@pytest.mark.parametrize(("unit", "scale"), [("s", 1), ("ms", 10**3), ("ns", 10**9)])
def test_times_may_be_numbers(unit, scale, tmp_path):
    values = [1574553793 * scale, 1574553794 * scale] * 2
    log = read(tmp_path, FRAME.assign(timestamp=values)).visits
    expected = np.array(["2019-11-24T00:03:13", "2019-11-24T00:03:14"] * 2, "M8[us]")
    np.testing.assert_array_equal(log.timestamp, expected)
    FRAME.assign(timestamp=values).to_parquet(tmp_path / "log.parquet")
    same(formats.read(tmp_path / "log.parquet").visits, log)


# --- what is wrong with logs
MANY = pd.concat([FRAME] * 50, ignore_index=True).assign(x=np.arange(200) / 7)
TEXT = [f"v{i // 2}" for i in range(200)]
WRONG = [  # the column and its values, the kind of the problem, its reason and mend, how many rows
    ("propensity", 25, "percent", "25 is not in (0, 1]; they are from 25 to 25, w", "percent", 200),
    ("propensity", 1.25, "percent", "1.25, which looks like perce", "--propensities percent", 200),
    ("propensity", [0.5, *[50] * 199], "percent", "from 0.5 to 50, which looks", "percent", 199),
    ("propensity", [*[0.25] * 199, 1.001], "range", "1.001 is above 1", "It looks rounded", 1),
    ("propensity", [*[0.25] * 199, 25], "range", "25.0 is not in (0, 1]", "It is the", 1),
    ("propensity", "25 %", "percent", "are written with a percent sign", "s percent", 0),
    ("propensity", np.log(0.25), "percent", "natural logarithms", "--propensities log", 200),
    ("reward", 5, "range", "reward 5.0 is not in [0, 1]", "--reward-max", 200),
    ("reward", -1, "range", "reward -1.0 is not in [0, 1]", "--less if less", 200),
    ("reward", "bought", "text", "'bought' is not a number", "Write 1 for a click", 200),
    ("visit", [*range(200)], "id", "another value in every row: it looks", "--ignore visit", 0),
    ("visitor", TEXT, "user", "has 100 different values in 200", "--user visitor", 0),
    ("x", [*range(199), "many"], "mixed", "x 'many' is not a number; most", "--categorical x", 1),
    ("policy:p", 1.5, "range", "1.5 is not in [0, 1]", "It is the policy's prob", 200),
    ("timestamp", "24.11.2019", "timestamp", "'24.11.2019' is not a time", "2019-11-24", 200),
]


@pytest.mark.parametrize(("column", "values", "kind", "reason", "mend", "count"), WRONG)
def test_a_problem_is_named_counted_and_has_a_mend(
    column, values, kind, reason, mend, count, tmp_path
):
    (problem,) = read(tmp_path, MANY.assign(**{column: values})).problems
    assert (problem.kind, problem.count) == (kind, count)
    assert reason in problem.reason and mend in problem.mend


@pytest.mark.parametrize(
    "kind", [pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.date32(), pa.string(), pa.int64()]
)
def test_a_time_that_is_missing_is_named(tmp_path, kind):
    times = pa.array([1574553793 * 10**9] * 3 + [None], pa.int64())
    for other in () if kind == pa.int64() else (pa.timestamp("ns"), pa.timestamp("us"), kind):
        times = times.cast(other, safe=False)
    table = pa.Table.from_pandas(FRAME, preserve_index=False).append_column("timestamp", times)
    pq.write_table(table, tmp_path / "log.parquet")
    reading = formats.read(tmp_path / "log.parquet")
    (problem,) = reading.problems
    assert (problem.reason, reading.place(problem)) == ("timestamp is missing", "row 4")
    assert formats.read_frame(table.slice(0, 3)).visits is not None


def test_all_problems_are_found_at_once(tmp_path):
    frame = MANY.astype(object)
    frame.loc[[5, 7], "reward"], frame.loc[9, "propensity"] = 2, 0
    frame.loc[11, "action"], frame.loc[3, "x"] = None, np.inf
    reading = read(tmp_path, frame.assign(visit=range(200)))
    counts = {(one.kind, one.column): (reading.place(one), one.count) for one in reading.problems}
    assert counts == {
        ("range", "reward"): ("line 7", 2),
        ("range", "propensity"): ("line 11", 1),
        ("missing", "action"): ("line 13", 1),
        ("infinite", "x"): ("line 5", 1),
        ("id", "visit"): ("", 0),
    }
    expected = (
        r"log.csv, line 7: reward 2.0 is not in \[0, 1\]; .* from 0 to 2 \(1 more "
        r"rows\).*lists 3 more problems"
    )
    with pytest.raises(DataError, match=expected):
        reading.required()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PK\x03\x04", "the file is a zip archive or a spreadsheet. Unpack it, or save"),
        ("action,reward\n".encode("utf-16"), "text in UTF-16. Save it as UTF-8"),
        (bz2.compress(b"action,reward\n"), "packed by bzip2. Unpack it"),
        (lzma.compress(b"action,reward\n"), "packed by xz. Unpack it"),
        (b"sep=;\naction;reward;propensity\na;1;1\n", "for Excel alone. Delete its first line"),
        (b"ARROW1\0\0nothing", "not a readable Arrow file"),
        (b"\x1f\x8bnothing", "damaged, or cut short"),
        ("action,reward,propensity,stra\xdfe\na,0,1,2\n".encode("latin-1"), "not text in UTF-8"),
    ],
)
def test_files_of_another_kind_are_named(content, reason, tmp_path):
    (tmp_path / "log.csv").write_bytes(content)
    with pytest.raises(DataError, match=reason):
        formats.read(tmp_path / "log.csv")


@pytest.mark.parametrize("kind", [None, "gzip", "zstd"])
@pytest.mark.parametrize("cut", [1, 2, 6])
def test_a_last_line_that_does_not_end_may_have_been_cut(kind, cut, tmp_path):
    """0.25 cut to 0.2 is a propensity, too."""
    text = b"action,reward,x,propensity\n" + b"a,0,1.5,0.25\nb,1,2.5,0.25\n" * 2
    for content in (text, text[:-cut]):
        path = str(tmp_path / "log")
        with pa.CompressedOutputStream(path, kind) if kind else open(path, "wb") as file:
            file.write(content)
        problems = formats.read(tmp_path / "log").problems
        tables = batches.read(tmp_path / "log", ("x",), ())
        if content == text:
            assert not problems and sum(table.num_rows for table in tables) == 4
            continue
        assert problems[-1].kind == "cut" and problems[-1].severity == "error"
        assert "its last line has no end" in problems[-1].reason
        assert "If it is whole, end the line" in problems[-1].mend
        reason = (
            r"its last line has no end.*If it is whole" if cut < 6 else "3 fields, the header 4"
        )
        with pytest.raises(DataError, match=reason):
            list(tables)
        assert (formats.read(tmp_path / "log", whole=True).visits is None) == (cut == 6)
