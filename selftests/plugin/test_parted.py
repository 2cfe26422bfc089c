"""Which runs may show partners to be good."""

from types import SimpleNamespace

import pytest

from railgauge.bundle import certified
from railgauge.core.errors import BadInput
from railgauge.judging.stamp import Evidence
from railgauge.plugin import parted


@pytest.mark.parametrize("evidence", [Evidence.REPLAYED, Evidence.NOT_VERIFIED])
def test_a_replay_shows_no_partner_to_be_good(tmp_path, monkeypatch, evidence):
    """That of a bundle which --partners-from itself refuses would."""
    run = SimpleNamespace(plan=SimpleNamespace(evidence=evidence))
    monkeypatch.setattr(certified, "read", lambda path: run)
    given = {"--only": "n1", "--partners-from": str(tmp_path)}
    node = SimpleNamespace(name="n1")
    config = SimpleNamespace(
        getoption=given.get,
        option=SimpleNamespace(),
        rootpath=tmp_path,
        invocation_params=SimpleNamespace(dir=tmp_path),
    )
    with pytest.raises(BadInput, match="is a replay: name the run that measured"):
        parted.asked(config, SimpleNamespace(nodes=(node,), groups={}), None, None)
