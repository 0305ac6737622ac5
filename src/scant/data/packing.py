"""Make a stream file from parquet tables."""

from itertools import chain

from scant.data import simulated, stream, tables
from scant.errors import SettingError
from scant.randomness import generator


def pack(name: str, settings: dict, table_paths, target, study_seed: int) -> None:
    """Pack tables into the file of the stream `name`.

    settings : the stream's settings in the study
    table_paths : ranking tables in the order of the stream's parts, or classification tables for a
        `retrieval` stream
    target : the file to write
    """
    if "retrieval" in settings:
        x, labels = tables.read_classification(table_paths)
        try:
            random = generator(study_seed, "stream", stream.random_name(name, settings))
            queries, _ = simulated.retrieval(random, x, labels, **settings["retrieval"])
        except ValueError as error:
            raise SettingError(f"streams.{name}: {error}") from error
        scaling = settings.get("features", "as-is")
    else:
        whole = not settings["drop_last"]
        queries = chain.from_iterable(
            stream.joined(tables.read_ranking([path]), last=whole) for path in table_paths
        )
        scaling = settings.get("features") or (
            "as-is" if settings.get("normalised") else "query-minmax"
        )
    # All streams of a data set have its documents in one order.
    shuffle = generator(study_seed, "documents", settings.get("dataset", name))
    arranged = stream.arrange(queries, shuffle, scaling, settings["documents"])
    stream.write(
        target, arranged, {"stream": name, "settings": settings, "features_reading": scaling}
    )
