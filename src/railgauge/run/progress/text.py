"""The progress at a moment as text: a line, or a table, cut to the width of the screen.

Example, at 96 columns::

    railgauge 2:14: 97/157 measured, about 12 min left; now pair_all_reduce[mx01:mx02] 14 s; next...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from railgauge.core import naming
from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.core.units import format_duration
from railgauge.run.progress.columns import cut
from railgauge.run.progress.state import HowFar, Moment, RunningCase
from railgauge.transport.waits import described

_MINUTE_S, _HOUR_S = 60, 3600
_MOST_NAMED = 2
_MOST_ROWS = 12


def line(moment: Moment) -> str:
    """What is done, what is awaited, what is measured now, and what is next."""
    return _joined(moment, [*_head(moment), _running(moment), _following(moment)])


def screen(moment: Moment, columns: int, rows: int, *, as_table: bool) -> list[str]:
    """The lines at the end of a terminal of this size: one, or one and a table of what runs."""
    room = min(rows - 3, _MOST_ROWS)  # of the screen, some is left for what else is printed
    if not (as_table and moment.running and room > 0):
        return [_shown(line(moment), columns)]
    head = _joined(moment, [*_head(moment), _following(moment)])
    return [_shown(one, columns) for one in (head, *_table(moment, room))]


def _shown(text: str, columns: int) -> str:
    # Masked first: the mask does not know a secret of which a part is cut off.
    return cut(MASK_OF_PROCESS.text(text), columns)


def _joined(moment: Moment, parts: Sequence[str]) -> str:
    head = f"{moment.name} {_clock(moment.now_s - moment.began_s)}"
    text = "; ".join(filter(None, parts))
    return f"{head}: {text}" if text else head


def _head(moment: Moment) -> Iterator[str]:
    yield moment.steps
    yield _far(moment.far) if moment.far else ""
    awaited = moment.awaited
    yield f"waiting for {described(awaited, moment.now_s)}" if awaited else ""


def _far(far: HowFar) -> str:
    done = f"{far.decided}/{far.of} measured"
    if far.left_s is None or far.decided >= far.of:
        return done
    if far.left_s < _MINUTE_S:
        return f"{done}, under a minute left"
    return f"{done}, about {format_duration(far.left_s)} left"


def _running(moment: Moment) -> str:
    if not moment.running:
        return ""
    each = [f"{naming.title(one.case)} {_for(one, moment)}" for one in moment.running]
    return f"now {naming.listed(each, _MOST_NAMED)}"


def _following(moment: Moment) -> str:
    return f"next {moment.far.following}" if moment.far and moment.far.following else ""


def _table(moment: Moment, room: int) -> Iterator[str]:
    """The measurements that run, the longest first, in columns."""
    shown = moment.running[: room if len(moment.running) <= room else room - 1]
    cells = [_cells(one, moment) for one in shown]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  " + "  ".join(map(str.ljust, row, widths)).rstrip()
    if more := len(moment.running) - len(shown):
        yield f"  and {more} more"


def _cells(one: RunningCase, moment: Moment) -> tuple[str, ...]:
    case = one.case
    late = f"late, it usually takes {one.usual_s:.0f} s" if one.is_late(moment.now_s) else ""
    path, place = str(case.pairing or ""), naming.place(case.nodes)
    return (case.measurement, place, path, _for(one, moment), late)


def _for(one: RunningCase, moment: Moment) -> str:
    return f"{moment.now_s - one.since_s:.0f} s"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), _MINUTE_S)
    hours, minutes = divmod(minutes, _MINUTE_S)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
