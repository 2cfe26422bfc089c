"""Small runs to merge, and the run that they are merged to: fixtures for tests in several files."""

from __future__ import annotations

import pytest

from testing import small_runs as small


@pytest.fixture
def make(tmp_path):
    def make(name, hour, **more):
        return small.made(tmp_path / "runs" / name, hour, **more)

    return make


@pytest.fixture
def signed(make):
    """A sign-off in which one node failed by a setting and by the end of the run."""
    return make("r1", 1, wrong=["n1"], logged={"n1": small.FALLEN}, change={"operator": "M. Ohm"})


@pytest.fixture
def again(make):
    return make("r2", 2, part=small.AGAIN)


@pytest.fixture
def into(tmp_path):
    return tmp_path / "m"


@pytest.fixture
def done(signed, again, into):
    return small.written(into, again, signed)


@pytest.fixture
def shards(make):
    return [make(f"s{i}", i, part=small.shard(i)) for i in (1, 2, 3)]
