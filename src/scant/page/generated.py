"""Files of the project that are generated from the declarations of families: the schema, and Snakemake's captions."""

import json
from pathlib import Path

from scant.files import write_text
from scant.learning import families
from scant.page.about import caption
from scant.study.schema import schema

SCHEMA = "workflow/schemas/config.schema.yaml"
NOTE = "Made of what families and learners declare: `scant schema` writes it anew."


def texts() -> dict[str, str]:
    """The text of each file, by its path in the project."""
    import yaml

    files = {}
    files[SCHEMA] = f"# {NOTE}\n" + yaml.safe_dump(
        json.loads(json.dumps(schema())), sort_keys=False, allow_unicode=True, width=116
    )
    for folder, ending, drawn in (("figure", "svg", True), ("table", "csv", False)):
        captions = {shown.name: caption(shown) for _, shown in families.shown() if bool(shown.draw) == drawn}
        files[f"workflow/report/{folder}.rst"] = (
            f"{{# {NOTE} #}}\n"
            f"{{% set captions = {json.dumps(captions, indent=1, ensure_ascii=False)} %}}\n"
            f"{{% for file in snakemake.output if file.endswith('.{ending}') %}}\n"
            f"{{% set name = file.split('/')[-1].removesuffix('.{ending}') %}}\n"
            "**{{ name }}**: {{ captions[name] }}\n\n"
            "{% endfor %}\n"
        )
    return files


def write(root) -> None:
    """Write all of them below the project's folder."""
    for path, text in texts().items():
        write_text(Path(root, path), text)
