"""Parts that no reading tells apart, because all readings depend on them in the same way. Pure."""

from __future__ import annotations

from railgauge.diagnosis.slow.readings import RunReadings

_Roles = tuple[tuple[int, int, object], ...]


class Twins:
    """The parts that no reading tells apart from a part, with itself, in order.

    They are found when they are asked for: a search asks for few parts of a large cluster.
    """

    def __init__(self, evidence: RunReadings) -> None:
        self._evidence = evidence
        self._found: dict[int, tuple[int, ...]] = {}
        self._roles: dict[int, _Roles] = {}

    def __getitem__(self, part: int) -> tuple[int, ...]:
        if part not in self._found:
            found = tuple(self._of(part))
            self._found |= dict.fromkeys(found, found)
        return self._found[part]

    def _of(self, part: int) -> list[int]:
        evidence = self._evidence
        first = evidence.executions[evidence.of_part[part][0]]
        beside = next(one.places.at for one in first.readings if part in one.places.at)
        mine = evidence.parts[part].kind, evidence.of_part[part]
        alike = [n for n in sorted(beside) if (evidence.parts[n].kind, evidence.of_part[n]) == mine]
        return [one for one in alike if one == part or self._role(one) == self._role(part)]

    def _role(self, part: int) -> _Roles:
        if part not in self._roles:
            evidence = self._evidence
            self._roles[part] = tuple(
                (run, number, reading.places.role(part))
                for run in evidence.of_part[part]
                for number, reading in enumerate(evidence.executions[run].readings)
                if part in reading.places.at
            )
        return self._roles[part]
