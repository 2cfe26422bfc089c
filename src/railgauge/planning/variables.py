"""The environment of a measurement, with the names that devices have on its nodes."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster


def environment(
    case: Case, measurement: Measurement, platform: Platform, cluster: Cluster
) -> dict[str, str]:
    """Return the platform's recommended variables, overridden by the hostfile's.

    Those of the platform file name devices as it declares them and get the names on the nodes of
    the case; those of the hostfile are passed as they are. Raises ``BadInput`` if the nodes of a
    case need different values: a launcher sets each variable once for all ranks.
    """
    recommended = {**platform.environment, **measurement.environment}
    ours = {k: v for k, v in recommended.items() if k not in cluster.environment}
    return {**_on_nodes(ours, case, platform), **cluster.environment}


def _on_nodes(variables: Mapping[str, str], case: Case, platform: Platform) -> Mapping[str, str]:
    if platform.devices.of.keys().isdisjoint(case.nodes):
        return variables
    found = {}
    for name, value in variables.items():
        texts = {node: platform.devices.text_on(node, value) for node in case.nodes}
        by_members = {tuple(sorted(text.split(","))): text for text in texts.values()}
        if len(by_members) > 1:
            some = ", ".join(f"{text} on {node}" for node, text in texts.items())
            raise BadInput(
                f"{case.measurement}: {name} would be {some}, and a launcher sets it once for all",
                remedy=f"give {name} under environment a value that holds on every node: the names "
                "of all nodes, or a prefix",
            )
        found[name] = next(iter(texts.values()))
    return found
