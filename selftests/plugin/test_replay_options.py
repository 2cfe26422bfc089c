"""A replay refuses what only a run that measures can do: ignored, it would seem to be done."""

from types import SimpleNamespace

import pytest

from railgauge.core.errors import BadInput
from railgauge.plugin import replay

GIVEN = {
    "--only": "columbia",
    "--shard": "1/2",
    "--partners": "viper",
    "--partners-from": "latest",
    "--soak-seed": 0,
    "--soak-below": "1/1000h",
    "--lab-seed": 0,
}


@pytest.mark.parametrize("option", GIVEN)
def test_an_option_that_a_replay_would_ignore_is_refused(option: str) -> None:
    given = {"--replay": "night.railgauge", option: GIVEN[option]}
    config = SimpleNamespace(getoption=given.get)
    with pytest.raises(BadInput, match=f"{option} cannot be combined with a replay"):
        replay.recording(config)
