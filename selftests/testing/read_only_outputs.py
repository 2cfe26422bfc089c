"""Small complete outputs of the tools that are only parsed."""

TABLE = """\
         RocmBandwidthTest Version: 2.6.0

================    Unidirectional Benchmark Result    ================
================ Src Device Id: 0 Src Device Type: Cpu ================
================ Dst Device Id: 4 Dst Device Type: Gpu ================

Data Size      Avg Time(us)   Avg BW(GB/s)   Min Time(us)   Peak BW(GB/s)
1 KB           5.400          0.190          5.280          0.194
1 MB           41.880         25.038         41.760         25.110
"""
MATRIX = """\
Bidirectional copy peak bandwidth GB/s

      D/D       0           1           2

      0         N/A         47.703      38.106

      1         47.703      N/A         101.458

      2         38.106      101.458     N/A
"""
P2P = """\
Device: 0, NVIDIA H100, pciBusID: 61, pciDeviceID: 0, pciDomainID:0
Device: 1, NVIDIA H100, pciBusID: 62, pciDeviceID: 0, pciDomainID:0
Device=0 CAN Access Peer Device=1
P2P Connectivity Matrix
     D\\D     0     1
     0\t     1     1
     1\t     1     1
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 2494.51 364.13
     1  375.18 2533.95
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1
     0   1.62   2.68
     1   2.53   1.61

   CPU     0      1
     0   2.03   1.93
     1   1.94   2.04
"""
SHMOO = """\
bandwidthTest-D2H-Pinned, Bandwidth = 0.4 GB/s, Time = 0.00000 s, Size = 1000 bytes, NumDevsUsed = 1
bandwidthTest-D2H-Pinned, Bandwidth = 13.1 GB/s, Time = 0.00520 s, Size = 68000000 bytes, \
NumDevsUsed = 1
Result = PASS
"""
BUS = """\
                   test        atts        units        median  mean    stddev  min     max
   H2D_Bandwidth_pinned      +064By       GB/sec        0.0000  0.0000  0.0000  0.0000  0.0000
   H2D_Bandwidth_pinned    524288kB       GB/sec        24.7523 24.6708 0.1586  24.3154 24.7880
         H2D_Timepinned    524288kB           ms        21.6897 21.7622 0.1411  21.6585 22.0794

Note: results marked with (*) had missing values such as
"""
COPY = """\
cpu_to_gpu0_by_sm_under_numa0 26.2409
gpu0_to_gpu1_write_by_dma 279.287
gpu0_and_gpu1_read_by_sm 460.831
gpu_all_to_gpu_all_write_by_sm 55.6522
"""
RVS = """\
[RESULT] [1148200.536604] Action name :action_1
[RESULT] [1148200.576498] [action_1] p2p 4 5 peers:true distance:72 PCIe:72
[INFO  ] [1148201.576498] [action_1] p2p-bandwidth  [1/1] 4 5  bidirectional: true  11.000 GBps
[RESULT] [1148205.576740] [action_1] p2p-bandwidth  [1/1] 4 5  bidirectional: true  56.250 GBps  \
duration: 5.0 sec
"""
RAS = """\
NCCL version 2.28.3 compiled with CUDA 12.9

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          8            1         16       16

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         8        16        16   RUNNING      OK

Errors
======

Warnings
========
"""
DIAG = """\
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 3.3.8                                          |
+-----  Hardware  ----------+------------------------------------------------+
| GPU Memory                | Fail - All                                     |
| Warning                   | GPU 0 has 3 errors                             |
| Memory Bandwidth          | Pass - All                                     |
+---------------------------+------------------------------------------------+
"""
NHC = """\
SUCCESS:  nhc:  Health check passed:  check_nccl_allreduce: test passed, 482.559 GB/s
ERROR:  nhc:  Health check failed:  check_ecc: GPU id 3: (0,1). FaultCode: NHC2019
"""
