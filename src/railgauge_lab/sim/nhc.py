"""Azure's ``run-health-checks.sh``: the lines of document 001, with the results of this node."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Result = tuple[bool, str, str]

_GPUS = 8
# The figure that document 001 prints, and the limit in Azure's own file for this machine.
_NCCL_GB_S, _LEAST_NCCL = 482.559, 431.0
_RDMA_GBPS, _LEAST_RDMA = 392, 360
_TOPOLOGY = "/azure-nhc/topofiles/ndv5-topo.xml"


def run(_tool: str, _arguments: list[str], node: Node) -> int:
    """Run the checks up to the first that fails; return exit code 1 if one fails, else 0."""
    for has_passed, check, message in _checks(node):
        if not has_passed:
            print(f"ERROR:  nhc:  Health check failed:  {check}: {message}")
            return 1
        print(f"SUCCESS:  nhc:  Health check passed:  {check}: {message}")
    return 0


def _checks(node: Node) -> list[Result]:
    gpus, nics = node["gpus"], node["devices"].values()
    bad = [i for i, gpu in enumerate(gpus) if gpu["ecc"]["dram_uncorrectable"]]
    down = [i for i, gpu in enumerate(gpus) if gpu.get("nvlinks_down")]
    whole = len(gpus) == _GPUS and len(node["devices"]) == _GPUS
    busbw, rdma = _NCCL_GB_S * _share(gpus, node), int(_RDMA_GBPS * _share(nics, node))
    topology = f"Topology {'passed' if whole else 'failed'} check against {_TOPOLOGY}"
    links = f"GPU {down[0]} has NVLinks that are not active. FaultCode: NHC2016" if down else ""
    counts = f"GPU id {bad[0]}: (0,1). FaultCode: NHC2019" if bad else "ECC checks passed"
    return [
        (whole, "check_hw_topology", topology),
        (len(gpus) == _GPUS, "check_gpu_count", f"Expected {_GPUS} and found {len(gpus)}"),
        (not bad, "check_gpu_ecc", counts),
        (
            busbw >= _LEAST_NCCL,
            "check_nccl_allreduce",
            f"NCCL all reduce bandwidth test passed, {busbw:.3f} GB/s"
            if busbw >= _LEAST_NCCL
            else f"NCCL all reduce, BusBW={busbw:.3f} GB/s, expected {_LEAST_NCCL}",
        ),
        (
            rdma >= _LEAST_RDMA,
            "check_ib_bw_gdr",
            f"IB_WRITE_BW passed for all {len(node['devices'])} IB ports, BW=~{rdma} Gbps each"
            if rdma >= _LEAST_RDMA
            else f"IB_WRITE_BW is {rdma} Gbps, expected {_LEAST_RDMA}",
        ),
        (not down, "check_nvlink_status", links or f"All {len(gpus)} GPUs have all NVLinks active"),
        (True, "check_ib_link_flapping", "No excessive IB link flapping found"),
    ]


def _share(parts: Any, node: Node) -> float:
    """Return the speed of the slowest part as a share of a healthy one; 0 without parts."""
    return float(node["speed"]) * min(
        (float(part.get("speed", 1.0)) for part in parts), default=0.0
    )
