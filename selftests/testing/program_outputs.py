"""Small outputs of programs by their options, with what they say; none is a recorded one.

``RIGHT`` maps a tool and an option to a text, and to all figures that may be read from it.
``None``: the readers do not know the option, and must say so.
"""

from __future__ import annotations

import json

Values = dict[tuple[str, str | None], float]

_H200 = "GPU 0: NVIDIA H200 (UUID: GPU-00000000-0000-0000-0000-000000000001)\n"
_NVLINK = {
    "-s": "\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n",
    "-e": "\t Link 0: Replay Errors: 0\n\t Link 0: Recovery Errors: 2\n\t Link 0: CRC Errors: 0\n",
    "-R": "\t Link 0: Remote Device 00000000:0A:00.0: Link 30\n",
    "-p": "\t Link 0: 00000000:0A:00.0\n",
    "-c": "\t Link 0, P2P is supported: true\n\t Link 0, SLI is supported: false\n",
    "-gt d": "\t Link 0: Data Tx: 1024 KiB\n\t Link 0: Data Rx: 0 KiB\n",
    "-e of Blackwell": "\t Link 0: Tx packets: 9\n\t Link 0: Symbol Errors: 0\n"
    "\t Link 0: Symbol BER: 15e-255\n",
}
_MATRIX = "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\tNUMA Affinity\n"
NVIDIA_TABLE = """\
Fri Dec 12 16:34:07 2025
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 570.86.15              Driver Version: 570.86.15      CUDA Version: 12.8     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H200                    On  |   00000000:19:00.0 Off |                    0 |
| N/A   31C    P0             77W /  700W |       4MiB / 143771MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H200                    On  |   00000000:3B:00.0 Off |                    2 |
| N/A   30C    P0             76W /  700W |       4MiB / 143771MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|  No running processes found                                                             |
+-----------------------------------------------------------------------------------------+
"""
NVIDIA_QUERY = """\

==============NVSMI LOG==============

Timestamp                                 : Thu Mar 14 20:45:34 2024
Driver Version                            : 570.86.15
CUDA Version                              : 12.8

Attached GPUs                             : 1
GPU 00000000:19:00.0
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
        SW Thermal Slowdown               : Not Active

"""


def _gpu(number: int, **figures: float) -> Values:
    return {(name, f"gpu{number}"): value for name, value in figures.items()}


_PLAIN = {
    ("gpus", None): 2.0,
    **_gpu(0, temperature=31, power=77, power_cap=700, utilization=0, memory_used=4,
           memory_total=143771, ecc_uncorrected=0),
    **_gpu(1, temperature=30, power=76, power_cap=700, utilization=0, memory_used=4,
           memory_total=143771, ecc_uncorrected=2),
}  # fmt: skip


def mx_smi(version: str, heading: tuple[str, str], row: tuple[str, str]) -> str:
    """The table of a release: its heading, and the rows of one GPU."""
    rule = "+------------------------------------+---------------------+----------------------+"
    return (
        f"Attached GPUs                                     : 1\n{rule}\n"
        f"| MX-SMI {version}                        Kernel Mode Driver Version: 3.0.11          |\n"
        f"| MACA Version: 3.1.0.14              BIOS Version: 1.26.1.0                      |\n"
        f"|{rule[1:]}\n| {heading[0]} |\n| {heading[1]} |\n|{rule[1:-1].replace('-', '=')}|\n"
        f"| {row[0]} |\n| {row[1]} |\n{rule}\n"
    )


_C500 = _gpu(0, temperature=37, power=90, power_cap=350, utilization=0, memory_used=858,
             memory_total=65536)  # fmt: skip
_C500[("gpus", None)] = 1.0
MX_228 = mx_smi(
    "2.2.8",
    ("GPU     NAME         Persistence-M | Bus-id              | GPU-Util      sGPU-M",
     "Temp    Pwr:Usage/Cap         Perf | Memory-Usage        | GPU-State           "),
    ("0       MetaX C500              On | 0000:08:00.0        | 0%          Disabled",
     "37C     90W / 350W              P0 | 858/65536 MiB       | Available           "),
)  # fmt: skip
MX_229 = mx_smi(
    "2.2.9",
    ("Board       Name | GPU   Persist-M | Bus-id              | GPU-Util      sGPU-M",
     "Pwr:Usage/Cap    | Temp       Perf | Memory-Usage        | GPU-State           "),
    ("0     MetaX C500 | 0           Off | 0000:08:00.0        | 0%          Disabled",
     "90W / 350W       | 37C          P0 | 858/65536 MiB       | Available           "),
)  # fmt: skip
MX_216 = mx_smi(
    "2.1.6",
    ("GPU         NAME                   | Bus-id              | GPU-Util            ",
     "Temp        Power                  | Memory-Usage        |                     "),
    ("0           MXC500                 | 0000:08:00.0        | 0%                  ",
     "37C         90W                    | 858/65536 MiB       |                     "),
)  # fmt: skip
ROCM_TABLE = """\
===================================== ROCm System Management Interface =====================================
=============================================== Concise Info ===============================================
Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK    Fan  Perf  PwrCap  VRAM%  GPU%
              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)
============================================================================================================
0       2     0x74a1,   28851  37.0°C      140.0W    NPS1, SPX, 0        132Mhz  900Mhz  0%   auto  750.0W  0%     0%
1       3     0x74a1,   51499  36.0°C      138.0W    NPS1, SPX, 0        131Mhz  900Mhz  0%   auto  750.0W  0%     0%
============================================================================================================
=========================================== End of ROCm SMI Log ============================================
"""  # noqa: E501
ROCM_OLD = """\
======================= ROCm System Management Interface =======================
================================= Concise Info =================================
GPU  Temp (DieEdge)  AvgPwr  SCLK    MCLK     Fan   Perf  PwrCap  VRAM%  GPU%
0    34.0c           38.0W   925Mhz  1000Mhz  0.0%  auto  250.0W    0%   0%
================================================================================
============================= End of ROCm SMI Log ==============================
"""
_MI300X = _gpu(0, temperature=37, power=140, power_cap=750, utilization=0, memory_utilization=0,
               clock=132, memory_clock=900)  # fmt: skip
_MI300X |= _gpu(1, temperature=36, power=138, power_cap=750, utilization=0, memory_utilization=0,
                clock=131, memory_clock=900)  # fmt: skip
AMD_TABLE = """\
+------------------------------------------------------------------------------+
| AMD-SMI 26.2.2+aaaaaaaa      amdgpu version: 6.16.13  ROCm version: 7.2.1    |
| VBIOS version: 00000001                                                      |
| Platform: Linux Baremetal                                                    |
|-------------------------------------+----------------------------------------|
| BDF                        GPU-Name | Mem-Uti   Temp   UEC       Power-Usage |
| GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti    Fan               Mem-Usage |
|=====================================+========================================|
| 0000:05:00.0    AMD Instinct MI300X | 1 %      39 °C   0           142/750 W |
|   0       0       2        SPX/NPS1 | 3 %        N/A           285/196288 MB |
+-------------------------------------+----------------------------------------+
"""
AMD_MONITOR = """\
GPU  POWER  GPU_TEMP  MEM_TEMP  GFX_UTIL  GFX_CLOCK  VRAM_USED  VRAM_TOTAL
  0  182 W     42 °C     N/A        83 %   1613 MHz     283 MB   196300 MB
  1  143 W     40 °C     39 °C      13 %    358 MHz     283 MB   196300 MB
"""
AMD_TOPOLOGY = """\
ACCESS TABLE:
             0000:03:00.0 0000:0c:00.0
0000:03:00.0 ENABLED      DISABLED
0000:0c:00.0 ENABLED      ENABLED

LINK TYPE TABLE:
             0000:03:00.0 0000:0c:00.0
0000:03:00.0 SELF         XGMI
0000:0c:00.0 XGMI         SELF

NUMA BW TABLE:
             0000:03:00.0 0000:0c:00.0
0000:03:00.0 N/A          50000-50000
0000:0c:00.0 50000-50000  N/A
"""
_XGMI = """\
XGMI LINK STATUS:
        bdf            GPU0   GPU1   GPU2
GPU0    0000:03:00.0   SELF   U      D
GPU1    0000:0c:00.0   U      SELF   X
"""
IBSTATUS = """\
Infiniband device 'mlx5_0' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:0000:0000:0000:0001
\tbase lid:\t 0xf
\tsm lid:\t\t 0x1
\tstate:\t\t 4: ACTIVE
\tphys state:\t 5: LinkUp
\trate:\t\t 400 Gb/sec (4X NDR)
\tlink_layer:\t InfiniBand

Infiniband device 'mlx5_1' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:0000:0000:0000:0002
\tbase lid:\t 0xffff
\tsm lid:\t\t 0x0
\tstate:\t\t 1: DOWN
\tphys state:\t 3: Disabled
\trate:\t\t 2.5 Gb/sec (1X SDR)
\tlink_layer:\t InfiniBand

"""
_BRIDGE = "16:01.0 PCI bridge: Broadcom PEX890xx\n"
_VERBOSE = "\tControl: I/O+ Mem+ BusMaster+\n\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x16\n"
_ACS = "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir{} CmpltRedir- UpstreamFwd- EgressCtrl-\n"
DCGMI_ERRORS = """\
+-----------------------------+------------------------------------------------+
| NVLINK Error Counts                                                          |
| GPU 1                                                                        |
+=============================+================================================+
| Link 0                      |                                                |
| -> CRC FLIT Error           | 0                                              |
| -> CRC Data Error           | 3                                              |
| Link 1                      |                                                |
| -> CRC FLIT Error           | 0                                              |
+-----------------------------+------------------------------------------------+
"""
DCGMI_STATES = """\
+----------------------+
|  NvLink Link Status  |
+----------------------+
GPUs:
    gpuId 0:
        U U U D _ _
NvSwitches:
    physicalId 8:
        U X

Key: Up=U, Down=D, Disabled=X, Not Supported=_
"""
DCGMI_HEALTH = """\
+---------------------------+----------------------------------------------------------+
| Health Monitor Report                                                                |
+===========================+==========================================================+
| Overall Health            | Failure                                                  |
| GPU                       |                                                          |
| -> 0                      | Warning                                                  |
|    -> Errors              |                                                          |
|       -> Power system     | Warning                                                  |
|                           | Detected a clocks event due to power violation in GPU 0. |
| -> 3                      | Failure                                                  |
|    -> Errors              |                                                          |
|       -> NVLink system    | Failure                                                  |
|                           | GPU 3's NvLink link 2 is currently down. Check DCGM and  |
|                           | system logs for errors.                                  |
+---------------------------+----------------------------------------------------------+
"""
DCGMI_DISCOVERY = """\
1 GPU found.
+--------+----------------------------------------------------------------------+
| GPU ID | Device Information                                                   |
+--------+----------------------------------------------------------------------+
| 0      | Name: NVIDIA H200                                                    |
+--------+----------------------------------------------------------------------+
"""
IMB = """\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
#----------------------------------------------------------------
# List of Benchmarks to run:

# PingPong
# Allreduce

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         1.68         0.00
      1048576           40        91.00     11522.81

#----------------------------------------------------------------
# Benchmarking Allreduce
# #processes = 16
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         4.50        18.59        11.69


# All processes entering MPI_Finalize

"""
UDP = """\
Connecting to host 10.0.0.2, port 5201
[  5] local 10.0.0.1 port 5000 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Total Datagrams
[  5]   0.00-1.00   sec  6.05 MBytes  50.7 Mbits/sec  4380
[  5]   1.00-2.00   sec  6.09 MBytes  51.0 Mbits/sec  4407
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-2.00   sec  12.1 MBytes  50.9 Mbits/sec  0.000 ms  0/8787 (0%)  sender
[  5]   0.00-2.04   sec  12.0 MBytes  49.4 Mbits/sec  0.345 ms  87/8783 (0.99%)  receiver

iperf Done.
"""
_UDP = {
    ("bw_sent", None): 0.0509, ("bw_received", None): 0.0494, ("jitter", None): 0.345,
    ("lost", None): 87.0, ("datagrams", None): 8783.0, ("bw_interval", None): 0.051,
}  # fmt: skip
UDP_JSON = json.dumps({
    "start": {"version": "iperf 3.1.3", "test_start": {"protocol": "UDP", "num_streams": 1}},
    "intervals": [],
    "end": {"streams": [{}], "sum": {"seconds": 2.0, "bytes": 12_700_000, "jitter_ms": 0.345,
                                     "bits_per_second": 50_800_000.0, "lost_packets": 87,
                                     "packets": 8783, "lost_percent": 0.99}},
})  # fmt: skip

RIGHT: dict[tuple[str, str], tuple[str, Values | None]] = {
    ("nvidia-smi", "nvlink -s"): (
        _H200 + _NVLINK["-s"],
        {("gpus", None): 1, ("links_up", None): 1, ("links_down", None): 1},
    ),
    ("nvidia-smi", "nvlink -e"): (
        _H200 + _NVLINK["-e"],
        {("gpus", None): 1, ("replay_errors", "gpu0/link0"): 0,
         ("recovery_errors", "gpu0/link0"): 2, ("crc_errors", "gpu0/link0"): 0},
    ),
    ("nvidia-smi", "nvlink -e of Blackwell"): (
        _H200 + _NVLINK["-e of Blackwell"],
        {("gpus", None): 1, ("tx_packets", "gpu0/link0"): 9, ("symbol_errors", "gpu0/link0"): 0,
         ("symbol_ber", "gpu0/link0"): 15e-255},
    ),
    ("nvidia-smi", "nvlink -R"): (_H200 + _NVLINK["-R"], {("gpus", None): 1}),
    ("nvidia-smi", "nvlink -p"): (_H200 + _NVLINK["-p"], None),
    ("nvidia-smi", "nvlink -c"): (_H200 + _NVLINK["-c"], None),
    ("nvidia-smi", "nvlink -gt d"): (_H200 + _NVLINK["-gt d"], None),
    ("nvidia-smi", "nvlink -s and -e"): (_H200 + _NVLINK["-s"] + _NVLINK["-e"], None),
    ("nvidia-smi", "topo -m of an older driver"): (
        f"{_MATRIX}GPU0\t X \tNV18\tPIX\t0-31\t0\nGPU1\tNV18\t X \tSYS\t32-63\t1\n"
        "mlx5_0\tPIX\tSYS\t X \n",
        {("gpus", None): 2},
    ),
    ("nvidia-smi", "topo -p2p r"): ("\tGPU0\tGPU1\nGPU0\tX\tOK\nGPU1\tCNS\tX\n", None),
    ("nvidia-smi", "-L"): (_H200, None),
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
    ("nvidia-smi", ""): (NVIDIA_TABLE, _PLAIN),
    ("nvidia-smi", "of a future release"): (
        NVIDIA_TABLE.replace("Volatile Uncorr. ECC", "Aggregated Tensor Xx"), None,
    ),
    ("mx-smi", "2.1.6"): (
        MX_216, {key: value for key, value in _C500.items() if key[0] != "power_cap"},
    ),
    ("mx-smi", "2.2.8"): (MX_228, _C500),
    ("mx-smi", "2.2.9"): (MX_229, _C500),
    ("mx-smi", "2.2.8, unavailable"): (MX_228.replace("Available  ", "Unavailable"), None),
    ("mx-smi", "of a future release"): (MX_229.replace("sGPU-M", "vGPU-X"), None),
    ("mx-smi", "-L"): ("GPU#0  MXC500  0000:08:00.0  Available (UUID: GPU-1)\n", None),
    ("rocm-smi", ""): (ROCM_TABLE, {("gpus", None): 2, **_MI300X}),
    ("rocm-smi", "of ROCm 4"): (
        ROCM_OLD,
        {("gpus", None): 1, **_gpu(0, temperature=34, power=38, power_cap=250, utilization=0,
                                   memory_utilization=0, clock=925, memory_clock=1000)},
    ),
    ("rocm-smi", "--showproductname"): (
        "===== ROCm System Management Interface =====\n== Product Info ==\n"
        "GPU[0]\t\t: Card series: \t\tX\n", None,
    ),
    ("amd-smi", ""): (
        AMD_TABLE,
        {("gpus", None): 1, **_gpu(0, temperature=39, power=142, power_cap=750, utilization=3,
                                   memory_utilization=1, memory_used=285, memory_total=196288,
                                   ecc_uncorrected=0)},
    ),
    ("amd-smi", "monitor"): (
        AMD_MONITOR,
        {("gpus", None): 2,
         **_gpu(0, power=182, temperature=42, utilization=83, clock=1613, memory_used=283,
                memory_total=196300),
         **_gpu(1, power=143, temperature=40, memory_temperature=39, utilization=13, clock=358,
                memory_used=283, memory_total=196300)},
    ),
    ("amd-smi", "monitor with another column"): (AMD_MONITOR.replace("MEM_TEMP", "XYZ_TEMP"), None),
    ("amd-smi", "topology"): (AMD_TOPOLOGY, {("gpus", None): 2, ("pairs_disabled", None): 1}),
    ("amd-smi", "topology with another table"): (
        AMD_TOPOLOGY.replace("LINK TYPE", "LINK COLOUR"), None,
    ),
    ("amd-smi", "xgmi -l"): (
        _XGMI,
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
    ("lspci", ""): (f"{_BRIDGE}18:00.0 3D controller: NVIDIA GH100\n", {("devices", None): 2}),
    ("lspci", "-vvv"): (
        _BRIDGE + _VERBOSE + _ACS.format("+"),
        {("devices", None): 1, ("redirecting", None): 1, ("links_downgraded", None): 1},
    ),
    ("lspci", "-v"): (
        f"{_BRIDGE}\tFlags: bus master\n\tCapabilities: [100] Access Control Services\n",
        {("devices", None): 1},
    ),
    ("lspci", "-vvv | grep ACSCtl"): (
        _ACS.format("-") + _ACS.format("+"), {("redirecting", None): 1},
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
    ("iperf3", "-u"): (UDP, _UDP),
    ("iperf3", "-u -J of 3.1"): (
        UDP_JSON,
        {("bw_sent", None): 0.0508, ("jitter", None): 0.345, ("lost", None): 87,
         ("datagrams", None): 8783},
    ),
}  # fmt: skip
