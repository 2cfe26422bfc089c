"""The file that perftest writes with ``--out_json``."""

from __future__ import annotations

from . import stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TIMES = ("t_min", "t_max", "t_typical", "t_avg", "t_stdev", "percentile_99", "percentile_99.9")


def document(test: dict[str, Any], row: dict[str, Any]) -> str:
    """Return one JSON object with the header's fields and one row; it names no units."""
    return stored.as_json({"test_info": _info(test), "results": _results(row)}, indent=2) + "\n"


def _info(test: dict[str, Any]) -> dict[str, Any]:
    name = "_".join(test["title"].split())
    return {
        "test": name,
        "Dual_port": "OFF",
        "Device": test["device"],
        "Number_of_qps": test["qps"],
        "Transport_type": "IB",
        "Connection_type": test["connection"],
        "Using_SRQ": "OFF",
        "PCIe_relax_order": "ON" if test["relaxed"] else "OFF",
        "ibv_wr_API": "ON",
        "TX_depth": test["tx_depth"],
        "CQ_Moderation": test["cq_moderation"],
        "Mtu": test["mtu"],
        "Link_type": "IB" if test["link_layer"] == "InfiniBand" else "Ethernet",
        "Max_inline_data": test["inline"],
        "rdma_cm_QPs": "ON" if test["rdma_cm"] else "OFF",
        "Data_ex_method": "rdma_cm" if test["rdma_cm"] else "Ethernet",
    }


def _results(row: dict[str, Any]) -> dict[str, Any]:
    results = {"MsgSize": row["size"], "n_iterations": row["iterations"]}
    if "tps" in row:
        return results | {"t_avg": round(row["times"][3], 2), "tps_average": round(row["tps"], 2)}
    if "times" in row:
        rounded = [round(value, 2) for value in row["times"]]
        return results | dict(zip(_TIMES, rounded, strict=True))
    return results | {
        "BW_peak": round(row["peak"], 2),
        "BW_average": round(row["average"], 2),
        "MsgRate": round(row["mpps"], 6),
    }
