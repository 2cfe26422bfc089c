"""Which runs may show partners to be good."""

from types import SimpleNamespace

import pytest

from railgauge.acceptance import parted
from railgauge.acceptance.request import Request
from railgauge.bundle import certified
from railgauge.core.errors import BadInput
from railgauge.judging.stamp import Evidence


@pytest.mark.parametrize("evidence", [Evidence.REPLAYED, Evidence.NOT_VERIFIED])
def test_a_replay_shows_no_partner_to_be_good(tmp_path, monkeypatch, evidence):
    """A replay of a bundle that --partners-from refuses would show partners otherwise."""
    run = SimpleNamespace(plan=SimpleNamespace(evidence=evidence))
    monkeypatch.setattr(certified, "read", lambda path: run)
    options = SimpleNamespace(
        only="n1", partners=None, partners_from=str(tmp_path), shard=None, soak=None
    )
    node = SimpleNamespace(name="n1")
    asked = Request(options, tmp_path, tmp_path)
    with pytest.raises(BadInput, match="is a replay: name the run that measured"):
        parted.asked(asked, SimpleNamespace(nodes=(node,), groups={}), None, None)
