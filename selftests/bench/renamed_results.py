"""The results of two nodes, as other nodes would have printed them.

What identifies a node in an output (its name, address, boot, GPUs and LIDs) is replaced by what the
survey found on the other node, and numbers of queue pairs and communicators by others, because the
suite refuses the output of another node or of another run.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case, Cluster, Transcript
from railgauge.core.question import CaseResult
from railgauge.facts import FactsByNode, NodeAnswer
from railgauge.run.run_folder import RunFolder

# What no other run shows: numbers of a queue pair, and of a communicator.
_OF_ONE_RUN = r"(?:QPN|PSN|commId) 0x[0-9a-f]+"


class Recorded:
    """The results of two nodes, given to any two nodes."""

    def __init__(self, folder: Path) -> None:
        contents = RunFolder(folder)
        self._contents, self._words = contents, words_of(contents.cluster(), contents.found)
        self._nodes = tuple(self._words)
        known = (re.escape(word) for words in self._words.values() for word in words)
        pattern = re.compile(rf"\b({'|'.join(known)}|{_OF_ONE_RUN})\b")
        self._of, self._parts = cache(self._read), cache(pattern.split)

    def result(self, case: Case, words: Mapping[str, Sequence[str]]) -> CaseResult:
        """The result of a case of other nodes, which these words identify."""
        places = (self._nodes, self._nodes[::-1]) if len(case.nodes) == 2 else ((self._nodes[0],),)
        if len(case.nodes) > 2:
            raise NoEvidence("was not recorded for so many nodes", where=case.key)
        for nodes in places:
            if found := self._of(replace(case, nodes=nodes)):
                names = dict(self._renaming(nodes, case, words))
                return replace(found, runs=tuple(self._renamed(one, names) for one in found.runs))
        raise NoEvidence("was not recorded", where=case.key)

    def _read(self, case: Case) -> CaseResult | None:
        try:
            return self._contents.result(case)
        except NoEvidence:
            return None

    def _renaming(
        self, nodes: Sequence[str], case: Case, words: Mapping[str, Sequence[str]]
    ) -> Iterator[tuple[str, str]]:
        yield "", case.key
        for recorded, node in zip(nodes, case.nodes, strict=True):
            yield from zip(self._words[recorded], words[node], strict=True)

    def _renamed(
        self, run: tuple[Transcript, ...], names: Mapping[str, str]
    ) -> tuple[Transcript, ...]:
        return tuple(
            replace(
                one,
                node=names.get(one.node, one.node),
                argv=tuple(self._in_text(word, names) for word in one.argv),
                stdout=self._in_text(one.stdout, names),
            )
            for one in run
        )

    def _in_text(self, text: str, names: Mapping[str, str]) -> str:
        parts = [*self._parts(text)]
        parts[1::2] = [names.get(word) or renumbered(word, names[""]) for word in parts[1::2]]
        return "".join(parts)


def words_of(cluster: Cluster, found: FactsByNode) -> dict[str, tuple[str, ...]]:
    """What identifies each node in outputs; alike nodes have as many such words."""
    return {node.name: (node.name, node.address, *_known(found[node.name]))
            for node in cluster.nodes}  # fmt: skip


def _known(facts: NodeAnswer) -> Iterator[str]:
    yield facts.boot_id
    yield from (part.uuid for part in facts.parts if part.uuid.startswith("GPU-"))
    yield from (f"LID {nic.lid:#04x}" for nic in facts.nics)


def renumbered(word: str, key: str) -> str:
    """The number in the run of another case: the same on all of its sides."""
    name, number = word.split()
    return f"{name} {zlib.crc32(f'{key} {word}'.encode()) & 0xFFFFFF:#0{len(number)}x}"
