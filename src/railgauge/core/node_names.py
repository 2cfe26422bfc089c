"""What the name of a node is, and what stands for it where fewer characters are allowed. Pure.

A name is one that DNS can hold, also an internationalized one, or one with underscores::

    >>> tool_address("ノード1.example")
    'xn--1-mguo8p.example'
    >>> why_not("a b")
    "has ' ', and a name has letters, digits, dots, hyphens and underscores"

A name is in test ids, NodeSets, shell words and reports as it is; it never has ``@`` or ``~``, a
colon, comma, slash or bracket. In the names of files ``file_name`` stands for it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

MOST_NODES = 20_000
"""No cluster has more nodes than this; a node set of a few characters can name any number."""

_LONGEST = 253  # characters of a name in DNS, by RFC 1035
_ASCII = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_OTHER = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST_FILE = 120  # bytes of the 255 that a file's name may have, before a suffix


def is_name(text: str) -> bool:
    return not why_not(text)


def why_not(text: str) -> str:
    """Return why a text cannot be the name of a node; empty if it can."""
    if len(text) > _LONGEST:
        return f"has {len(text)} characters, and a name in DNS has at most {_LONGEST}"
    if _ASCII.fullmatch(text):
        return ""
    for char in text:
        if not _is_allowed(char):
            shown = repr(char) if char.isprintable() else f"U+{ord(char):04X}"
            return f"has {shown}, and a name has letters, digits, dots, hyphens and underscores"
    if not text or text[0] in "._-" or unicodedata.category(text[0])[0] == "M":
        return "does not begin with a letter or a digit"
    return _why_not_in_dns(text)


def _is_allowed(char: str) -> bool:
    return not _OTHER.match(char) or (char > "\x7f" and unicodedata.category(char)[0] in "LM")


def _why_not_in_dns(text: str) -> str:
    """Why an internationalized name has no form of its own in DNS.

    A name that DNS reads as another one is refused: its nodes would be reached under that name.
    """
    try:
        ascii_form = text.encode("idna")
        there = ascii_form.decode("idna")
    except UnicodeError as error:
        return f"has no form in DNS: {error.__cause__ or error}"
    if there != text.lower():
        return f"is read as {there!a} in DNS"
    if len(ascii_form) > _LONGEST:
        return f"has {len(ascii_form)} characters in DNS, where a name has at most {_LONGEST}"
    return ""


def tool_address(text: str) -> str:
    """Return a name or address as programs on the nodes take it: ``xn--…`` for other letters."""
    if text.isascii() or not is_name(text):
        return text
    return text.encode("idna").decode("ascii")


def spellings(name: str) -> set[str]:
    """Return a name as it is written, as programs on the nodes have it, and as pytest has it."""
    return {name, tool_address(name), name.encode("unicode_escape").decode("ascii")}


def file_name(name: str) -> str:
    """Return what stands for a node in the name of a file: the name, or its digest."""
    if name.isascii() and len(name) <= _LONGEST_FILE:
        return name
    return f"node-{hashlib.sha256(name.encode()).hexdigest()[:32]}"
