"""Matplotlib's SVG files as parts of an HTML page: small, harmless, with ids of their own and curves to hide.

Curves are found by their look: whatever in the axes is drawn in the colour (and dash and marker) of a legend's entry
belongs to it.
"""

import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from itertools import count

from scant.errors import DataError

DRAWN = {  # elements that stay; any other goes, with all that is in it
    "svg", "g", "defs", "path", "use", "text", "tspan", "clipPath", "rect", "circle", "ellipse", "line", "polyline",
    "polygon", "image", "linearGradient", "radialGradient", "stop", "title",
}  # fmt: skip
REFERENCE = re.compile(r"url\(#([^)]*)\)")
DECIMALS = re.compile(r"-?\d+\.\d{3,}")
FONT = re.compile(r"font-family: 'Arial'[^;]*sans-serif; ?")  # the house's font; the page's style sheet has it
STILL = re.compile(r"rotate\(-?0(?: [^)]*)?\)")
SPINE = "square"  # the line caps of axes' borders, which may have a curve's colour


def inline(path, prefix: str) -> tuple[str, list[str]]:
    """An SVG file as text for an HTML page, and the names of its curves.

    Only elements that draw, and references within the file, are kept; every id begins with `prefix`. Lengths are
    rounded to a hundredth of a point. The legend's n-th entry has `data-entry="n"`, and what belongs to it
    `data-curve="n"`, or several numbers where the look does not tell.

    Raises
    ------
    DataError : the file is not SVG
    """
    try:
        root = ET.parse(path).getroot()
    except ET.ParseError as error:
        raise DataError(path, f"is not well-formed SVG ({error})", advice="Draw the figure again") from None
    if _local(root.tag) != "svg" or len(root.get("viewBox", "").split()) != 4:
        raise DataError(path, "is not an SVG file with a viewBox", advice="Draw the figure again")
    names = _mark(root)  # by the ids that Matplotlib gave, which `_clean` removes
    _clean(root)
    _rename(root, prefix)
    for name in ("width", "height", "version"):  # the page sizes it by its viewBox
        root.attrib.pop(name, None)
    return ET.tostring(root, encoding="unicode"), names


def size(svg: str) -> tuple[float, float]:
    """Width and height in points, of the viewBox."""
    width, height = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', svg).groups()
    return float(width), float(height)


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _clean(element) -> None:
    """Keep what draws, with plain names, and round lengths."""
    element.tag = _local(element.tag)
    attributes = {_local(name): value for name, value in element.attrib.items()}
    element.attrib.clear()
    for name, value in attributes.items():
        unsafe = name.startswith("on") or (name == "href" and not value.startswith(("#", "data:image/")))
        unsafe |= "url(" in value.replace("url(#", "")
        if not unsafe:
            element.set(name, _short(name, value))
    if element.get("transform") == "":
        del element.attrib["transform"]
    if element.tag not in ("text", "tspan", "title"):
        element.text = None
    for child in list(element):
        if element.tag != "text":
            child.tail = None
        if isinstance(child.tag, str) and _local(child.tag) in DRAWN:
            _clean(child)
        else:
            element.remove(child)


def _short(name: str, value: str) -> str:
    if name == "d":
        value = " ".join(value.split())
    if name in ("d", "x", "y"):
        return DECIMALS.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value)
    if name == "transform":
        return STILL.sub("", value).strip()
    if name == "style":
        return FONT.sub("", value).replace("; ", ";").replace(": ", ":")
    return value


def _rename(root, prefix: str) -> None:
    """Drop ids that nothing refers to; begin the others with the prefix."""
    wanted = {one.get("href", "")[1:] for one in root.iter()}
    wanted |= {name for one in root.iter() for value in one.attrib.values() for name in REFERENCE.findall(value)}
    number = count()
    new = {one.get("id"): f"{prefix}{next(number)}" for one in root.iter() if one.get("id") in wanted - {""}}
    for one in root.iter():
        if "id" in one.attrib and (own := new.get(one.attrib.pop("id"))):
            one.set("id", own)
        for name, value in one.attrib.items():
            if name == "href" and value.startswith("#"):
                one.set(name, f"#{new.get(value[1:], '')}")
            elif "url(#" in value:
                one.set(name, REFERENCE.sub(lambda found: f"url(#{new.get(found[1], '')})", value))


def _style(element) -> dict[str, str]:
    parts = (part.partition(":") for part in element.get("style", "").split(";"))
    return {name.strip(): value.strip() for name, _, value in parts if value}


def _look(group) -> tuple[set, str | None, str | None, bool]:
    """Of a group of drawn elements: its colours, dash, marker (the id it refers to), and whether it is a border."""
    colours, dash, marker, border = set(), None, None, False
    for one in group.iter():
        style = _style(one)
        colours |= {style[name] for name in ("fill", "stroke") if style.get(name, "none") not in ("none", "#ffffff")}
        border |= style.get("stroke-linecap") == SPINE
        if _local(one.tag) == "use":
            marker = next((value for name, value in one.attrib.items() if _local(name) == "href"), None)
        elif style.get("fill") == "none":
            dash = style.get("stroke-dasharray", "solid")
    return colours, dash, marker, border


def _mark(root) -> list[str]:
    """Mark the legend's entries and what belongs to them; their names."""
    groups = [one for one in root.iter() if _local(one.tag) == "g"]
    legend = next((one for one in groups if one.get("id", "").startswith("legend")), None)
    if legend is None:
        return []
    entries, handles = [], []
    for child in list(legend):
        if not child.get("id", "").startswith("text"):
            handles += [child] if child.get("id") else []
        elif handles:  # an entry is its handles, then its text; the title has none
            entries.append((_together(legend, [*handles, child]), "".join(map(str.strip, child.itertext())), handles))
            handles = []
    looks = []
    for _, _, parts in entries:
        seen = [_look(part) for part in parts]
        dash, marker = (next((look[i] for look in reversed(seen) if look[i]), None) for i in (1, 2))
        looks.append((set.union(*(look[0] for look in seen)), dash, marker))
    marked = set()
    for axes in groups:
        if axes.get("id", "").startswith("axes"):
            marked |= _mark_axes(axes, looks)
    names = []
    for number, (entry, name, _) in enumerate(entries):
        names.append(name)
        if number in marked:  # an entry that nothing belongs to explains something else
            entry.set("data-entry", str(number))
    return [name for number, name in enumerate(names) if number in marked]


def _together(parent, parts: list):
    """Put these children of an element, neighbours, in a group of their own."""
    group = ET.Element(parts[0].tag)
    parent.insert(list(parent).index(parts[0]), group)
    for part in parts:
        parent.remove(part)
        group.append(part)
    return group


def _mark_axes(axes, looks: list) -> set[int]:
    """Mark what belongs to a legend's entries in one panel; the entries that something belongs to."""
    found, ends, of_colour = {}, {}, defaultdict(list)
    for child in axes:
        if child.get("id", "text").startswith(("matplotlib.axis", "legend", "text")):
            continue
        colours, dash, marker, border = _look(child)
        mine = [number for number, look in enumerate(looks) if colours & look[0]]
        if border or not mine:
            continue
        if child.get("id").startswith("line2d") and len(mine) > 1:
            mine = [number for number in mine if looks[number][1] == dash and marker in (None, looks[number][2])]
            mine = mine or [number for number, look in enumerate(looks) if colours & look[0]]
        found[child] = mine
        if child.get("id").startswith("line2d") and len(mine) == 1:
            ends[_end(child)] = mine
            known = of_colour[min(colours)]
            known += [mine[0]] if mine[0] not in known else []
    alike = defaultdict(list)  # bands, bars and bounds of curves of one colour: as many, and in the curves' order
    for child, mine in found.items():
        if len(mine) > 1:
            colours, dash, _, _ = _look(child)
            if _end(child) in ends:  # the line from a curve to the text beside it
                found[child] = ends[_end(child)]
            else:
                alike[child.get("id").rpartition("_")[0], min(colours), dash].append(child)
    for (_, colour, _), same in alike.items():
        if len(same) == len(of_colour[colour]):
            found.update((child, [number]) for child, number in zip(same, of_colour[colour], strict=True))
    everything = list(axes)
    for child, mine in found.items():
        text = everything[everything.index(child) + 1 :][:1]
        child.set("data-curve", " ".join(map(str, mine)))
        if child.get("id").startswith("patch") and text and text[0].get("id", "").startswith("text"):
            text[0].set("data-curve", child.get("data-curve"))
    return {number for mine in found.values() for number in mine}


def _end(group) -> tuple[str, ...]:
    """Where a line ends, to the letter of the file."""
    paths = [one.get("d", "") for one in group.iter() if _local(one.tag) == "path"]
    return tuple(paths[0].split()[-2:]) if paths else ()
