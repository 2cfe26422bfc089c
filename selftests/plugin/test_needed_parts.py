"""Every run needs the plugins of the suite."""

from types import SimpleNamespace

import pytest

from railgauge.plugin import foreign


@pytest.mark.parametrize(
    "part", ["controller", "holding", "messages", "worker-reporting", "worker-supervisor"]
)
def test_no_part_of_the_suite_can_be_switched_off(part):
    blocked = {f"railgauge-{part}"}
    config = SimpleNamespace(pluginmanager=SimpleNamespace(is_blocked=blocked.__contains__))
    with pytest.raises(pytest.UsageError, match=f"railgauge-{part}"):
        foreign.refuse_without_parts(config)
