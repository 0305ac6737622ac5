"""Claims written with less: the keys that a group of claims has in common, and the keys in which
parts of a claim differ.
"""

from scant.errors import SettingError
from scant.schema import check


def merged(common: dict, keys: dict) -> dict:
    """The keys of a claim, or of a part of a claim, with those that it has in common with its
    group, or with the other parts.

    `source` and `where` are merged key by key; any other key replaces the common one.

    common : the keys of the group, or of the claim
    keys : the claim's own, or the part's own
    """
    both = {key: common.get(key, {}) | keys[key] for key in ("source", "where") if key in keys}
    return common | keys | both


def parts(claim: dict) -> list[dict]:
    """The parts of a claim, each a claim by itself: one for each of its `cells`, or the claim alone
    if it has no cells.
    """
    common = {key: value for key, value in claim.items() if key != "cells"}
    return [merged(common, keys) for keys in claim.get("cells", [{}])]


# What has to be so before groups and parts are put together; the schema of claims checks what comes
# of it.
_KEYS = {
    "type": "object",
    "properties": {"source": {"type": "object"}, "where": {"type": "object"}},
}
_CELLS = {"type": "array", "minItems": 1, "items": _KEYS | {"not": {"anyOf": [
    {"required": [key]} for key in ("statement", "family", "row", "cells")
]}}}  # fmt: skip
_CLAIM = {"type": "object", "properties": _KEYS["properties"] | {"cells": _CELLS}}
_OF_GROUP = {"type": "object", "additionalProperties": _CLAIM}
_ENTRY = {"type": "object", "properties": _CLAIM["properties"] | {"claims": _OF_GROUP}}
_FILE = {"type": "object", "additionalProperties": _ENTRY}


def ungrouped(content: dict, where: str) -> dict[str, dict]:
    """The claims in a file, by their ids, each with the keys of its group.

    where : what errors begin with, such as the file's path

    Raises
    ------
    SettingError : a group, or the parts of a claim, cannot be put together; or an id is there twice
    """
    check(content, _FILE, where, of_each=True)
    claims = {}
    for name, entry in content.items():
        common, of_group = {}, {name: entry}
        if "claims" in entry:
            common, of_group = dict(entry), entry["claims"]
            del common["claims"]
        if twice := claims.keys() & of_group.keys():
            raise SettingError(f"{where}: {min(twice)}: this id is there twice: choose another")
        claims |= {id: merged(common, claim) for id, claim in of_group.items()}
    return claims
