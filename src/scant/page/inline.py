"""Matplotlib's SVG files as parts of an HTML page: small, without scripts, curves numbered."""

import re
import xml.etree.ElementTree as ET

from scant.files import damaged

# what a page has no use for; a style sheet would be that of the whole page
REMOVED = ("metadata", "style")
REFERENCE = re.compile(r"url\(#([^)]*)\)")
DECIMALS = re.compile(r"-?\d+\.\d{3,}")
# of all figures; the page's style sheet sets it
FONT = re.compile(r"font-family: 'DejaVu Sans'[^;]*sans-serif; ?")
NO_ROTATION = re.compile(r"rotate\(-?0(?: [^)]*)?\)")
# ids by scant.present.figures.save
CURVE, ENTRY = re.compile(r"curve-(\d+)-\d+"), re.compile(r"entry-(\d+)-\d+")


def inline(path, prefix: str) -> tuple[str, list[str]]:
    """An SVG file as text for an HTML page, and the names of its curves, as the legend has them.

    Metadata and style sheets are left out, and lengths are rounded to a hundredth of a point. The
    n-th entry of the legend has `data-entry="n"`, and what belongs to it `data-curve="n"`.

    prefix : of every id, so that no two figures of a page share one

    Raises
    ------
    DataError : the file is not SVG
    """
    try:
        root = ET.parse(path).getroot()
    except ET.ParseError as error:
        raise damaged(path, f"is not well-formed SVG ({error})") from None
    names = _mark(root)  # by ids, which `_rename` removes
    _clean(root)
    _rename(root, prefix)
    for name in ("width", "height", "version"):  # the page sizes it by its viewBox
        root.attrib.pop(name, None)
    return ET.tostring(root, encoding="unicode"), names


def size(svg: str) -> tuple[float, float]:
    """Width and height of an SVG's viewBox, in points."""
    width, height = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', svg).groups()
    return float(width), float(height)


def _local(name: str) -> str:
    """A tag or attribute without its namespace."""
    return name.rpartition("}")[2]


def _clean(element) -> None:
    """Remove what is in `REMOVED`, namespaces, blanks and decimals from an element and all below
    it.
    """
    element.tag = _local(element.tag)
    attributes = {_local(name): value for name, value in element.attrib.items()}
    element.attrib.clear()
    for name, value in attributes.items():
        element.set(name, _short(name, value))
    if element.get("transform") == "":
        del element.attrib["transform"]
    if element.tag not in ("text", "tspan", "title"):
        element.text = None
    for child in list(element):
        if element.tag != "text":
            child.tail = None
        if _local(child.tag) in REMOVED:
            element.remove(child)
        else:
            _clean(child)


def _short(name: str, value: str) -> str:
    """The value of an attribute without blanks, decimals and styles that change nothing."""
    if name == "d":
        value = " ".join(value.split())
    if name in ("d", "x", "y"):
        return DECIMALS.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), value)
    if name == "transform":
        return NO_ROTATION.sub("", value).strip()
    if name == "style":
        return FONT.sub("", value).replace("; ", ";").replace(": ", ":")
    return value


def _rename(root, prefix: str) -> None:
    """Remove ids that nothing refers to, and number the others, after the prefix."""
    wanted = {node.get("href", "")[1:] for node in root.iter()}
    for node in root.iter():
        wanted.update(*map(REFERENCE.findall, node.attrib.values()))
    ids = [id for node in root.iter() if (id := node.get("id")) in wanted - {""}]
    new = {id: f"{prefix}{number}" for number, id in enumerate(ids)}
    for node in root.iter():
        if "id" in node.attrib and (renamed := new.get(node.attrib.pop("id"))):
            node.set("id", renamed)
        for name, value in node.attrib.items():
            if name == "href" and value.startswith("#"):
                node.set(name, f"#{new.get(value[1:], '')}")
            elif "url(#" in value:
                node.set(name, REFERENCE.sub(lambda match: f"url(#{new.get(match[1], '')})", value))


def _mark(root) -> list[str]:
    """Number curves (`data-curve`) and the legend's entries that have one (`data-entry`), in place;
    returns these entries' texts. Panels become `data-panel`; legends and texts beside panels
    `data-key`.
    """
    names = {}
    for node in root.iter():
        if node.get("id", "").startswith("figure_"):
            for part in node:
                mark = {"axes": "data-panel", "text": "data-key"}.get(
                    part.get("id", "").partition("_")[0]
                )
                part.attrib |= {mark: ""} if mark else {}
        if match := CURVE.fullmatch(node.get("id", "")):
            node.set("data-curve", match[1])
            names[int(match[1])] = ""
    for legend in [node for node in root.iter() if node.get("id", "").startswith("legend")]:
        handles = []
        for child in list(legend):
            handles.append(child)
            match = ENTRY.fullmatch(child.get("id", ""))
            # an entry is its handles, then its text
            if not child.get("id", "").startswith(("entry", "text")):
                continue
            group, handles = _together(legend, handles), []
            group.set("data-key", "")
            # an entry that nothing belongs to explains something else
            if match and int(match[1]) in names:
                names[int(match[1])] = "".join(map(str.strip, child.itertext()))
                group.set("data-entry", match[1])
    return [names[number] for number in sorted(names)]


def _together(parent, parts: list):
    """Put neighbouring children of `parent` into a new group in their place; returns the group."""
    group = ET.Element(parts[0].tag)
    parent.insert(list(parent).index(parts[0]), group)
    for part in parts:
        parent.remove(part)
        group.append(part)
    return group
