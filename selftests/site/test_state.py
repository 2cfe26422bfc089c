"""Who changed a file of a site, and what an update does about it."""

from __future__ import annotations

import pytest

from railgauge.site.state import Changes, SiteFile, State, compared, overwrite, update


@pytest.mark.parametrize(
    ("offered", "made", "found", "state"),
    [
        ("1", "1", "1", State.SAME),
        ("1", None, None, State.NEW),
        ("2", "1", "1", State.OLDER),
        ("1", "1", "9", State.YOURS),
        ("2", "1", "9", State.BOTH),
        ("2", "1", "2", State.SAME),
        ("1", None, "9", State.BOTH),
        ("1", None, "1", State.SAME),
        ("2", "1", None, State.REMOVED),
        (None, "1", "1", State.GONE),
    ],
)
def test_each_file_has_its_state(
    offered: str | None, made: str | None, found: str | None, state: State
) -> None:
    sums = [{} if one is None else {"f": one} for one in (offered, made, found)]
    assert compared(*sums) == (SiteFile("f", state),)


@pytest.mark.parametrize("found", [{}, {"f": "9"}])
def test_a_file_that_only_the_user_has_is_no_business_of_ours(found: dict[str, str]) -> None:
    assert compared({}, {"f": "1"}, found) == ()
    assert compared({}, {}, found) == ()


def test_an_update_never_writes_over_what_the_user_changed() -> None:
    files = [SiteFile(state.value, state) for state in State]
    assert update(files) == Changes(write=("new", "older"), beside=("both",), delete=("gone",))


def test_only_the_named_files_are_overwritten() -> None:
    files = [SiteFile(state.value, state) for state in State]
    named = ("both", "yours", "removed", "same")
    assert overwrite(files, named, Changes()) == Changes(write=("both", "removed", "yours"))
    both = overwrite(files, ["both"], update(files))
    assert both == Changes(write=("both", "new", "older"), delete=("gone",))
