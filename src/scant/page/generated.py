"""The project's files that are made of what families declare: the schema of studies, and captions for Snakemake."""

import json
from pathlib import Path

from scant import families
from scant.files import write_text
from scant.page.about import CLAIMS_CAPTION, caption
from scant.study.plan import OF_CLAIMS
from scant.study.schema import schema

NOTE = "Made of what families and learners declare: `scant schema` writes it anew."


def texts() -> dict[str, str]:
    """The text of each file, by its path in the project."""
    import yaml

    found = {}
    found["workflow/schemas/config.schema.yaml"] = f"# {NOTE}\n" + yaml.safe_dump(
        json.loads(json.dumps(schema())), sort_keys=False, allow_unicode=True, width=116
    )
    for kind, ending, drawn in (("figure", "svg", True), ("table", "csv", False)):
        said = {shown.name: caption(shown) for _, shown in families.shown() if bool(shown.draw) == drawn}
        found[f"workflow/report/{kind}.rst"] = (
            f"{{# {NOTE} #}}\n"
            f"{{% set captions = {json.dumps(said, indent=1, ensure_ascii=False)} %}}\n"
            f'{{% set name = snakemake.output.{ending}.split("/")[-1].removesuffix(".{ending}") %}}\n'
            + (f'{{% if name.startswith("{OF_CLAIMS}") %}}{CLAIMS_CAPTION}{{% else %}}' if drawn else "")
            + "{{ captions[name] }}"
            + ("{% endif %}\n" if drawn else "\n")
        )
    return found


def write(root) -> None:
    """Write all of them below the project's folder."""
    for path, text in texts().items():
        write_text(Path(root, path), text)
