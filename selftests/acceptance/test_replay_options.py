"""A replay refuses options that only a measuring run can carry out, and never ignores them."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from railgauge.acceptance import replay
from railgauge.acceptance.request import Request
from railgauge.core.errors import BadInput

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
    given = dict.fromkeys(GIVEN) | {"--replay": "night.railgauge", option: GIVEN[option]}
    others = dict.fromkeys(("--hostfile", "--prepare", "--lab-nodes", "--lab-fault", "--soak"))
    values = {name.lstrip("-").replace("-", "_"): one for name, one in {**others, **given}.items()}
    asked = SimpleNamespace(**values, replay_unverified=False)
    with pytest.raises(BadInput, match=f"{option} cannot be combined with a replay"):
        replay.recording(Request(asked, Path(), Path()))
