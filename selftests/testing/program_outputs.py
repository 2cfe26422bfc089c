"""What each of the small outputs says, by its tool and option.

``RIGHT`` maps a tool and an option to a text, and to all figures that may be read from it.
``None``: the readers do not know the option, and must say so.
"""

from __future__ import annotations

from testing.printed_tables import (
    ACS,
    AMD_MONITOR,
    AMD_TABLE,
    AMD_TOPOLOGY,
    BRIDGE,
    C500,
    DCGMI_DISCOVERY,
    DCGMI_ERRORS,
    DCGMI_HEALTH,
    DCGMI_STATES,
    H200,
    IBSTATUS,
    IMB,
    MATRIX,
    MI300X,
    MX_216,
    MX_228,
    MX_229,
    NVIDIA_QUERY,
    NVIDIA_TABLE,
    NVLINK,
    OF_UDP,
    PLAIN,
    ROCM_OLD,
    ROCM_TABLE,
    UDP,
    UDP_JSON,
    VERBOSE,
    XGMI,
    Values,
    gpu,
)

RIGHT: dict[tuple[str, str], tuple[str, Values | None]] = {
    ("nvidia-smi", "nvlink -s"): (
        H200 + NVLINK["-s"],
        {("gpus", None): 1, ("links_up", None): 1, ("links_down", None): 1},
    ),
    ("nvidia-smi", "nvlink -e"): (
        H200 + NVLINK["-e"],
        {("gpus", None): 1, ("replay_errors", "gpu0/link0"): 0,
         ("recovery_errors", "gpu0/link0"): 2, ("crc_errors", "gpu0/link0"): 0},
    ),
    ("nvidia-smi", "nvlink -e of Blackwell"): (
        H200 + NVLINK["-e of Blackwell"],
        {("gpus", None): 1, ("tx_packets", "gpu0/link0"): 9, ("symbol_errors", "gpu0/link0"): 0,
         ("symbol_ber", "gpu0/link0"): 15e-255},
    ),
    ("nvidia-smi", "nvlink -R"): (H200 + NVLINK["-R"], {("gpus", None): 1}),
    ("nvidia-smi", "nvlink -p"): (H200 + NVLINK["-p"], None),
    ("nvidia-smi", "nvlink -c"): (H200 + NVLINK["-c"], None),
    ("nvidia-smi", "nvlink -gt d"): (H200 + NVLINK["-gt d"], None),
    ("nvidia-smi", "nvlink -s and -e"): (H200 + NVLINK["-s"] + NVLINK["-e"], None),
    ("nvidia-smi", "topo -m of an older driver"): (
        f"{MATRIX}GPU0\t X \tNV18\tPIX\t0-31\t0\nGPU1\tNV18\t X \tSYS\t32-63\t1\n"
        "mlx5_0\tPIX\tSYS\t X \n",
        {("gpus", None): 2},
    ),
    ("nvidia-smi", "topo -p2p r"): ("\tGPU0\tGPU1\nGPU0\tX\tOK\nGPU1\tCNS\tX\n", None),
    ("nvidia-smi", "-L"): (H200, None),
    ("nvidia-smi", "dmon"): ("# gpu    pwr  gtemp\n# Idx      W      C\n   0    6     6\n", None),
    ("nvidia-smi", "--query-gpu=name"): ("name, memory.total [MiB]\nNVIDIA H200, 1 MiB\n", None),
    ("nvidia-smi", "-q -d PERFORMANCE"): (
        NVIDIA_QUERY,
        {("gpus", None): 1, ("gpus_slowed", None): 0},
    ),
    ("nvidia-smi", "-q -d PERFORMANCE, throttled"): (
        NVIDIA_QUERY.replace("HW Slowdown                       : Not Active",
                             "HW Slowdown                       : Active"),
        {("gpus", None): 1, ("gpus_slowed", None): 1},
    ),
    ("nvidia-smi", ""): (NVIDIA_TABLE, PLAIN),
    ("nvidia-smi", "of a future release"): (
        NVIDIA_TABLE.replace("Volatile Uncorr. ECC", "Aggregated Tensor Xx"), None,
    ),
    ("mx-smi", "2.1.6"): (
        MX_216, {key: value for key, value in C500.items() if key[0] != "power_cap"},
    ),
    ("mx-smi", "2.2.8"): (MX_228, C500),
    ("mx-smi", "2.2.9"): (MX_229, C500),
    ("mx-smi", "2.2.8, unavailable"): (MX_228.replace("Available  ", "Unavailable"), None),
    ("mx-smi", "of a future release"): (MX_229.replace("sGPU-M", "vGPU-X"), None),
    ("mx-smi", "-L"): ("GPU#0  MXC500  0000:08:00.0  Available (UUID: GPU-1)\n", None),
    ("rocm-smi", ""): (ROCM_TABLE, {("gpus", None): 2, **MI300X}),
    ("rocm-smi", "of ROCm 4"): (
        ROCM_OLD,
        {("gpus", None): 1, **gpu(0, temperature=34, power=38, power_cap=250, utilization=0,
                                   memory_utilization=0, clock=925, memory_clock=1000)},
    ),
    ("rocm-smi", "--showproductname"): (
        "===== ROCm System Management Interface =====\n== Product Info ==\n"
        "GPU[0]\t\t: Card series: \t\tX\n", None,
    ),
    ("amd-smi", ""): (
        AMD_TABLE,
        {("gpus", None): 1, **gpu(0, temperature=39, power=142, power_cap=750, utilization=3,
                                   memory_utilization=1, memory_used=285, memory_total=196288,
                                   ecc_uncorrected=0)},
    ),
    ("amd-smi", "monitor"): (
        AMD_MONITOR,
        {("gpus", None): 2,
         **gpu(0, power=182, temperature=42, utilization=83, clock=1613, memory_used=283,
                memory_total=196300),
         **gpu(1, power=143, temperature=40, memory_temperature=39, utilization=13, clock=358,
                memory_used=283, memory_total=196300)},
    ),
    ("amd-smi", "monitor with another column"): (AMD_MONITOR.replace("MEM_TEMP", "XYZ_TEMP"), None),
    ("amd-smi", "topology"): (AMD_TOPOLOGY, {("gpus", None): 2, ("pairs_disabled", None): 1}),
    ("amd-smi", "topology with another table"): (
        AMD_TOPOLOGY.replace("LINK TYPE", "LINK COLOUR"), None,
    ),
    ("amd-smi", "xgmi -l"): (
        XGMI,
        {("gpus", None): 2, ("links_up", "gpu0"): 1, ("links_down", "gpu0"): 1,
         ("links_up", "gpu1"): 1, ("links_down", "gpu1"): 0},
    ),
    ("amd-smi", "version"): ("AMDSMI Tool: 26.2.2 | ROCm version: 7.2.1\n", None),
    ("ibstatus", ""): (
        IBSTATUS,
        {("ports_active", None): 1, ("ports_not_active", None): 1, ("rate", "mlx5_0/1"): 400},
    ),
    ("ibstat", "-l"): ("mlx5_0\nmlx5_1\n", None),
    ("ibstat", "-p"): ("0x0000000000000001\n0x0000000000000002\n", None),
    ("ibv_devinfo", "-l"): ("2 HCAs found:\n\tmlx5_0\n\tmlx5_1\n", None),
    ("rdma-link", "of rdma dev"): ("0: mlx5_0: node_type ca fw 28.39.1002\n", None),
    ("ethtool", "-S | grep discards"): (
        "rx_discards_phy: 7\ntx_discards_phy: 0\n",
        {("rx_discards_phy", None): 7, ("tx_discards_phy", None): 0},
    ),
    ("ethtool", "-S, pasted with prompts"): (
        "[root@n1 ~]# ethtool -S eth0 | grep rx_d\n     rx_discards_phy: 7\n"
        "[root@n1 ~]# ethtool -S eth0 | grep tx_d\n     tx_discards_phy: 0\n",
        {("rx_discards_phy", None): 7, ("tx_discards_phy", None): 0},
    ),
    ("ethtool", "-i"): ("driver: mlx5_core\nversion: 5.0\nfirmware-version: 28.39\n", None),
    ("ethtool", "-g"): ("Ring parameters for eth0:\nRX: 8192\nTX: 8192\n", None),
    ("lspci", ""): (f"{BRIDGE}18:00.0 3D controller: NVIDIA GH100\n", {("devices", None): 2}),
    ("lspci", "-vvv"): (
        BRIDGE + VERBOSE + ACS.format("+"),
        {("devices", None): 1, ("redirecting", None): 1, ("links_downgraded", None): 1},
    ),
    ("lspci", "-v"): (
        f"{BRIDGE}\tFlags: bus master\n\tCapabilities: [100] Access Control Services\n",
        {("devices", None): 1},
    ),
    ("lspci", "-vvv | grep ACSCtl"): (
        ACS.format("-") + ACS.format("+"), {("redirecting", None): 1},
    ),
    ("lspci", "-tv"): ("-[0000:00]-+-00.0  Intel Corporation\n           \\-01.0-[01]--\n", None),
    ("dcgmi-nvlink", "-e"): (
        DCGMI_ERRORS,
        {("crc_flit_error", "gpu1/link0"): 0, ("crc_data_error", "gpu1/link0"): 3,
         ("crc_flit_error", "gpu1/link1"): 0},
    ),
    ("dcgmi-nvlink", "-s"): (
        DCGMI_STATES,
        {("links_up", "gpu0"): 3, ("links_down", "gpu0"): 1, ("links_disabled", "gpu0"): 0,
         ("links_up", "switch8"): 1, ("links_down", "switch8"): 0,
         ("links_disabled", "switch8"): 1},
    ),
    ("dcgmi-nvlink", "of health -c"): (DCGMI_HEALTH, None),
    ("dcgmi-nvlink", "of discovery -l"): (DCGMI_DISCOVERY, None),
    ("dcgmi-health", "-c"): (
        DCGMI_HEALTH, {("incidents_warning", None): 1, ("incidents_failure", None): 1},
    ),
    ("dcgmi-health", "-f"): (
        DCGMI_HEALTH.replace("Health Monitor Report", "Health monitor systems"), None,
    ),
    ("dcgmi-health", "of nvlink -e"): (DCGMI_ERRORS, None),
    ("dcgmi-diag", "of health -c"): (DCGMI_HEALTH, None),
    ("dcgmi-diag", "of discovery -l"): (DCGMI_DISCOVERY, None),
    ("imb", ""): (
        IMB,
        {("latency", "PingPong/2"): 91, ("bandwidth", "PingPong/2"): 11522.81,
         ("latency_min", "Allreduce/16"): 4.5, ("latency_max", "Allreduce/16"): 18.59,
         ("latency_avg", "Allreduce/16"): 11.69},
    ),
    ("imb", "with another column"): (IMB.replace("t_avg[usec]", "t_dev[usec]"), None),
    ("iperf3", "-u"): (UDP, OF_UDP),
    ("iperf3", "-u -J of 3.1"): (
        UDP_JSON,
        {("bw_sent", None): 0.0508, ("jitter", None): 0.345, ("lost", None): 87,
         ("datagrams", None): 8783},
    ),
}  # fmt: skip
