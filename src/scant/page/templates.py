"""The templates of pages and texts: the files in assets, which Jinja fills in."""

from importlib import resources

from scant.errors import without_controls


def asset(name: str) -> str:
    """The text of a file in assets."""
    return resources.files("scant.page").joinpath("assets", name).read_text(encoding="utf-8")


def render(name: str, **parts) -> str:
    """The text of a template with these variables. Texts are escaped in HTML, control characters
    everywhere.
    """
    import jinja2

    environment = jinja2.Environment(
        autoescape=jinja2.select_autoescape(),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(asset),
    )
    return without_controls(environment.get_template(name).render(parts))
