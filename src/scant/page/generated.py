"""The file of the project that is generated from the declarations of families: the schema."""

import json
from pathlib import Path

from scant.files import write_text
from scant.study.schema import schema

SCHEMA = "workflow/schemas/config.schema.yaml"
NOTE = "Made of what families and learners declare: `scant schema` writes it anew."


def text() -> str:
    """The text of the schema of study files."""
    import yaml

    settings = json.loads(json.dumps(schema()))
    return f"# {NOTE}\n" + yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=116)


def write(root) -> None:
    """Write the schema below the project's folder, `root`."""
    write_text(Path(root, SCHEMA), text())
