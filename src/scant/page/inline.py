"""Matplotlib's SVG files as parts of an HTML page: small, without scripts, curves numbered.

Curves are found by their look: what the axes hold in the colour of a legend's entry (and its dashes and marker, where
entries share a colour) belongs to that entry.
"""

import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from itertools import count

from scant.errors import DataError
from scant.files import anew

DRAWN = {  # elements that are kept; any other is removed with all that it holds
    "svg", "g", "defs", "path", "use", "text", "tspan", "clipPath", "rect", "circle", "ellipse", "line", "polyline",
    "polygon", "image", "linearGradient", "radialGradient", "stop", "title",
}  # fmt: skip
REFERENCE = re.compile(r"url\(#([^)]*)\)")
DECIMALS = re.compile(r"-?\d+\.\d{3,}")
FONT = re.compile(r"font-family: 'DejaVu Sans'[^;]*sans-serif; ?")  # of all figures; the page's style sheet sets it
NO_ROTATION = re.compile(r"rotate\(-?0(?: [^)]*)?\)")
SPINE = "square"  # the line caps that tell axes' borders from curves of the same colour


def inline(path, prefix: str) -> tuple[str, list[str]]:
    """An SVG file as text for an HTML page, and the names of its curves, as the legend has them.

    Only elements that draw and references within the file are kept. Lengths are rounded to a hundredth of a point. The
    n-th entry of the legend has `data-entry="n"`, and what belongs to it `data-curve="n"`, or several numbers where
    entries look the same.

    prefix : with which every id begins, so that figures of one page do not share any

    Raises
    ------
    DataError : the file is not SVG
    """
    try:
        root = ET.parse(path).getroot()
    except (ET.ParseError, ValueError, LookupError) as error:
        raise DataError(path, f"is not well-formed SVG ({error})", advice=anew(path)) from None
    if _local(root.tag) != "svg" or len(root.get("viewBox", "").split()) != 4:
        raise DataError(path, "is not an SVG file with a viewBox", advice=anew(path))
    try:
        size(f'viewBox="{root.get("viewBox")}"')
        names = _mark(root)  # by the ids that Matplotlib gave, which `_clean` removes
        _clean(root)
        _rename(root, prefix)
    except (AttributeError, LookupError, ValueError, TypeError, RecursionError) as error:
        reason = f"is not SVG as Matplotlib writes it ({type(error).__name__}: {error})"
        raise DataError(path, reason, advice=anew(path)) from None
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
    """Remove, from an element and all below it, what does not draw, unsafe attributes, namespaces and decimals."""
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
    """The value of an attribute in fewer letters."""
    if name == "d":
        value = " ".join(value.split())
    if name in ("d", "x", "y"):
        return DECIMALS.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value)
    if name == "transform":
        return NO_ROTATION.sub("", value).strip()
    if name == "style":
        return FONT.sub("", value).replace("; ", ";").replace(": ", ":")
    return value


def _rename(root, prefix: str) -> None:
    """Remove ids that nothing refers to, and number the others, after the prefix."""
    wanted = {node.get("href", "")[1:] for node in root.iter()}
    wanted |= {name for node in root.iter() for value in node.attrib.values() for name in REFERENCE.findall(value)}
    number = count()
    new = {node.get("id"): f"{prefix}{next(number)}" for node in root.iter() if node.get("id") in wanted - {""}}
    for node in root.iter():
        if "id" in node.attrib and (renamed := new.get(node.attrib.pop("id"))):
            node.set("id", renamed)
        for name, value in node.attrib.items():
            if name == "href" and value.startswith("#"):
                node.set(name, f"#{new.get(value[1:], '')}")
            elif "url(#" in value:
                node.set(name, REFERENCE.sub(lambda found: f"url(#{new.get(found[1], '')})", value))


def _style(element) -> dict[str, str]:
    """The properties in an element's `style`, by name."""
    parts = (part.partition(":") for part in element.get("style", "").split(";"))
    return {name.strip(): value.strip() for name, _, value in parts if value}


def _look(group) -> tuple[set, str | None, str | None, bool]:
    """The look of a group of drawn elements: colours, dashes, marker's id, and whether it is a border of the axes."""
    colours, dash, marker, border = set(), None, None, False
    for node in group.iter():
        style = _style(node)
        colours |= {style[name] for name in ("fill", "stroke") if style.get(name, "none") not in ("none", "#ffffff")}
        border |= style.get("stroke-linecap") == SPINE
        if _local(node.tag) == "use":
            marker = next((value for name, value in node.attrib.items() if _local(name) == "href"), None)
        elif style.get("fill") == "none":
            dash = style.get("stroke-dasharray", "solid")
    return colours, dash, marker, border


def _mark(root) -> list[str]:
    """Number the legend's entries and what belongs to them; returns the names of those that something belongs to."""
    groups = [node for node in root.iter() if _local(node.tag) == "g"]
    legend = next((group for group in groups if group.get("id", "").startswith("legend")), None)
    if legend is None:
        return []
    entries, handles = [], []
    for child in list(legend):
        if not child.get("id", "").startswith("text"):
            handles += [child] if child.get("id") else []
        elif handles:  # an entry is its handles, then its text; the title has no handles
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
    """Move some neighbouring children of an element into a new group, in their place; returns the group."""
    group = ET.Element(parts[0].tag)
    parent.insert(list(parent).index(parts[0]), group)
    for part in parts:
        parent.remove(part)
        group.append(part)
    return group


def _mark_axes(axes, looks: list) -> set[int]:
    """Number what belongs to a legend's entries in one panel; returns the entries that something belongs to."""
    entries, ends, of_colour = {}, {}, defaultdict(list)
    for child in axes:
        if child.get("id", "text").startswith(("matplotlib.axis", "legend", "text")):
            continue
        colours, dash, marker, border = _look(child)
        numbers = [number for number, look in enumerate(looks) if colours & look[0]]
        if border or not numbers:
            continue
        if child.get("id").startswith("line2d") and len(numbers) > 1:
            narrower = [number for number in numbers if looks[number][1] == dash and marker in (None, looks[number][2])]
            numbers = narrower or numbers
        entries[child] = numbers
        if child.get("id").startswith("line2d") and len(numbers) == 1:
            ends[_end(child)] = numbers
            known = of_colour[min(colours)]
            known += [numbers[0]] if numbers[0] not in known else []
    alike = defaultdict(list)  # bands, bars and bounds of curves of one colour: as many, and in the curves' order
    for child, numbers in entries.items():
        if len(numbers) > 1:
            colours, dash, _, _ = _look(child)
            if _end(child) in ends:  # the line from a curve to the text beside it
                entries[child] = ends[_end(child)]
            else:
                alike[child.get("id").rpartition("_")[0], min(colours), dash].append(child)
    for (_, colour, _), same in alike.items():
        if len(same) == len(of_colour[colour]):
            entries.update((child, [number]) for child, number in zip(same, of_colour[colour], strict=True))
    everything = list(axes)
    for child, numbers in entries.items():
        text = everything[everything.index(child) + 1 :][:1]
        child.set("data-curve", " ".join(map(str, numbers)))
        if child.get("id").startswith("patch") and text and text[0].get("id", "").startswith("text"):
            text[0].set("data-curve", child.get("data-curve"))
    return {number for numbers in entries.values() for number in numbers}


def _end(group) -> tuple[str, ...]:
    """Where a line ends, as the file has it: the last two words of its path."""
    paths = [node.get("d", "") for node in group.iter() if _local(node.tag) == "path"]
    return tuple(paths[0].split()[-2:]) if paths else ()
