"""Compress the data inside a single-file Allure page. Pure.

Allure 3 writes what the page shows as calls ``d("name","base64")``: one for each item, and one for
each list of all items, most of them twice. For 10,000 items that is 52 MB. The page asks for data
by name and waits for it, so the data can be unpacked on demand.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping

_CALLS = re.compile(
    r"Promise\.allSettled\(\[((?:d\(\"[\w ./-]+\",\"[A-Za-z0-9+/=]*\"\),?)+)\]\)"
    r"\s*\.then\(function\s*\(\)\s*\{\s*window\.allureReportDataReady = true;\s*\}\)"
)
_CALL = re.compile(r"d\(\"([^\"]+)\",\"([^\"]*)\"\)")
_BLOCK_BYTES = 1 << 18  # what is unpacked to show one item

# A getter returns a promise of base64, which the page awaits. A block stays unpacked.
_SCRIPT = """(() => {
  const blocks = %s;
  const places = %s;
  const unpacked = [];
  const bytes = (at) => unpacked[at] ??= fetch(`data:;base64,${blocks[at]}`).then((packed) =>
    new Response(packed.body.pipeThrough(new DecompressionStream("deflate"))).blob());
  const base64 = (part) => new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(part);
  });
  for (const [name, [at, from, to]] of Object.entries(places))
    Object.defineProperty(window.allureReportData, name, {
      enumerable: true, get: () => bytes(at).then((all) => base64(all.slice(from, to))),
    });
  window.allureReportDataReady = true;
})()"""


def packed(page: str) -> str:
    """Return the page with its data compressed; a page of another form is returned unchanged."""
    found = _CALLS.search(page)
    if not found:
        return page
    values = {name: b64decode(value) for name, value in _CALL.findall(found[1])}
    blocks = list(_blocks(dict.fromkeys(values.values())))
    where = {
        value: (number, begin, begin + len(value))
        for number, block in enumerate(blocks)
        for begin, value in _begins(block)
    }
    texts = [b64encode(zlib.compress(b"".join(block), 9)).decode() for block in blocks]
    places: Mapping[str, object] = {name: where[value] for name, value in values.items()}
    script = _SCRIPT % (json.dumps(texts), json.dumps(places, separators=(",", ":")))
    return page[: found.start()] + script + page[found.end() :]


def _blocks(values: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Divide values, in their order, into blocks of this size; a larger one has its own."""
    block: list[bytes] = []
    for value in values:
        if block and sum(map(len, block)) + len(value) > _BLOCK_BYTES:
            yield block
            block = []
        block.append(value)
    if block:
        yield block


def _begins(block: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    begin = 0
    for value in block:
        yield begin, value
        begin += len(value)
