"""Parse command lines like getopt_long, with the same error messages."""

from __future__ import annotations


class UsageError(Exception):
    """An option that getopt refuses; the text is getopt's message after the program's name."""


def parse(
    arguments: list[str], short: dict[str, str], long: dict[str, str], valued: frozenset[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the options (name -> value), and the other arguments in order.

    ``short`` and ``long`` map spellings to names. Names in ``valued`` take a value; the others get
    an empty string. Raises ``UsageError``. For example, with ``{"s": "size", "a": "all"}`` and
    ``{"size"}``, ``-a -s 8 host`` gives ``{"all": "", "size": "8"}`` and ``["host"]``.
    """
    options: dict[str, str] = {}
    words: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return options, words + rest
        if word.startswith("--"):
            _long(word[2:], rest, long, valued, options)
        elif word.startswith("-") and word != "-":
            _short(word[1:], rest, short, valued, options)
        else:
            words.append(word)
    return options, words


def _long(
    word: str, rest: list[str], long: dict[str, str], valued: frozenset[str], into: dict[str, str]
) -> None:
    name, has_value, value = word.partition("=")
    if name not in long:
        raise UsageError(f"unrecognized option '--{name}'")
    meaning = long[name]
    if meaning not in valued:
        if has_value:
            raise UsageError(f"option '--{name}' doesn't allow an argument")
    elif not has_value:
        if not rest:
            raise UsageError(f"option '--{name}' requires an argument")
        value = rest.pop(0)
    into[meaning] = value


def _short(
    letters: str,
    rest: list[str],
    short: dict[str, str],
    valued: frozenset[str],
    into: dict[str, str],
) -> None:
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter not in short:
            raise UsageError(f"invalid option -- '{letter}'")
        meaning = short[letter]
        if meaning not in valued:
            into[meaning] = ""
            continue
        if not letters and not rest:
            raise UsageError(f"option requires an argument -- '{letter}'")
        into[meaning] = letters or rest.pop(0)
        return


def sized(text: str, factors: dict[str, int]) -> int | None:
    """Return a size such as ``8M`` in bytes, or ``None`` if the text is no size.

    ``factors`` maps lower-case suffixes to factors.
    """
    suffix = text[-1:].lower()
    known = suffix if suffix in factors else ""
    digits = text[: len(text) - len(known)]
    return int(digits) * factors[known] if digits.isdecimal() else None
