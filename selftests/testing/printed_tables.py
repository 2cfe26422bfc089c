"""Small outputs of programs as they print them; none is a recorded one."""

from __future__ import annotations

import json

Values = dict[tuple[str, str | None], float]

H200 = "GPU 0: NVIDIA H200 (UUID: GPU-00000000-0000-0000-0000-000000000001)\n"
NVLINK = {
    "-s": "\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n",
    "-e": "\t Link 0: Replay Errors: 0\n\t Link 0: Recovery Errors: 2\n\t Link 0: CRC Errors: 0\n",
    "-R": "\t Link 0: Remote Device 00000000:0A:00.0: Link 30\n",
    "-p": "\t Link 0: 00000000:0A:00.0\n",
    "-c": "\t Link 0, P2P is supported: true\n\t Link 0, SLI is supported: false\n",
    "-gt d": "\t Link 0: Data Tx: 1024 KiB\n\t Link 0: Data Rx: 0 KiB\n",
    "-e of Blackwell": "\t Link 0: Tx packets: 9\n\t Link 0: Symbol Errors: 0\n"
    "\t Link 0: Symbol BER: 15e-255\n",
}
MATRIX = "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\tNUMA Affinity\n"
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


def gpu(number: int, **figures: float) -> Values:
    return {(name, f"gpu{number}"): value for name, value in figures.items()}


PLAIN = {
    ("gpus", None): 2.0,
    **gpu(0, temperature=31, power=77, power_cap=700, utilization=0, memory_used=4,
           memory_total=143771, ecc_uncorrected=0),
    **gpu(1, temperature=30, power=76, power_cap=700, utilization=0, memory_used=4,
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


C500 = gpu(0, temperature=37, power=90, power_cap=350, utilization=0, memory_used=858,
             memory_total=65536)  # fmt: skip
C500[("gpus", None)] = 1.0
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
MI300X = gpu(0, temperature=37, power=140, power_cap=750, utilization=0, memory_utilization=0,
               clock=132, memory_clock=900)  # fmt: skip
MI300X |= gpu(1, temperature=36, power=138, power_cap=750, utilization=0, memory_utilization=0,
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
XGMI = """\
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
BRIDGE = "16:01.0 PCI bridge: Broadcom PEX890xx\n"
VERBOSE = "\tControl: I/O+ Mem+ BusMaster+\n\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x16\n"
ACS = "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir{} CmpltRedir- UpstreamFwd- EgressCtrl-\n"
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
OF_UDP = {
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
