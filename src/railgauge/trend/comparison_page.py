"""The page of ``railgauge compare --html``: one file, offline, without scripts. Pure."""

from __future__ import annotations

from railgauge.core import pages
from railgauge.trend import comparison_text
from railgauge.trend.compared import ALIKE, WORSE, Comparison, RunSide


def page(first: RunSide, second: RunSide, comparison: Comparison) -> str:
    """Return the page: the result, the table, what is worse, all series, what was not compared."""
    only = (("Only in the reference", comparison.only_first),
            ("Only in the compared run", comparison.only_second))  # fmt: skip
    lists = [(title, comparison_text.alone(keys)) for title, keys in only]
    return pages.render(
        "trend/templates/comparison.html.j2",
        is_worse=bool(comparison.of(WORSE)),
        summary=comparison_text.summary(comparison),
        heading=list(comparison_text.heading(first, second, comparison)),
        head=comparison_text.HEAD,
        table=comparison_text.table(comparison),
        shared=[comparison_text.shared(one) for one in comparison.shared],
        changed=[
            (o.status, comparison_text.sentence(o)) for o in comparison_text.changed(comparison)
        ],
        alike=[comparison_text.sentence(one) for one in comparison.of(ALIKE)],
        lists=[*lists, ("Not alike", comparison_text.unlike(comparison))],
    )
