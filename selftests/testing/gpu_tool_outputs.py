"""Outputs of the tools of single GPUs, as their sources print them: two GPUs each, all in order."""

from __future__ import annotations

# --- gpu_burn -tc 30 ---

BURN_HEAD = """\
Using compare file: /opt/gpu-burn/compare.ptx
Burning for 30 seconds.
GPU 0: NVIDIA H200 (UUID: GPU-5d0a1111-2222-3333-4444-555566667777)
GPU 1: NVIDIA H200 (UUID: GPU-5d0a1111-2222-3333-4444-555566668888)
Initialized device 1 with 143771 MB of memory (143171 MB available, using 128853 MB of it), \
using FLOATS, using Tensor Cores
Results are 268435456 bytes each, thus performing 501 iterations
Initialized device 0 with 143771 MB of memory (143171 MB available, using 128853 MB of it), \
using FLOATS, using Tensor Cores
Results are 268435456 bytes each, thus performing 501 iterations
"""


def progress(share: str, rates: str, temps: str = "45 C - 46 C ") -> str:
    return f"{share}%  proc'd: {rates}   errors: 0 - 0   temps: {temps}"


BURN_PROGRESS = (
    progress("10.0", "501 (150000 Gflop/s) - 0 (0 Gflop/s)", "45 C - -- "),
    progress("13.3", "501 (150000 Gflop/s) - 501 (140000 Gflop/s)"),
    progress("20.0", "1002 (372000 Gflop/s) - 501 (140000 Gflop/s)"),
    "\n\tSummary at:   Mon Nov 23 14:41:30 UTC 2026\n\n",
    progress("33.3", "1002 (372000 Gflop/s) - 1002 (371000 Gflop/s)", "60 C - 61 C "),
    progress("60.0", "1503 (370000 Gflop/s) - 1503 (369000 Gflop/s)", "62 C - 63 C "),
)
BURN_END = """\

Killing processes with SIGTERM (soft kill)
Freed memory for dev 0
Uninitted cublas
Freed memory for dev 1
Uninitted cublas
done

Tested 2 GPUs:
\tGPU 0: OK
\tGPU 1: OK
"""
BURN = BURN_HEAD + "".join(f"\r{one}" for one in BURN_PROGRESS) + BURN_END

# --- gpu-fryer --use-bf16 60 ---

FRY = """\
Detected GPU #0: "NVIDIA H200" (5d0a1111-2222-3333-4444-555566667777)
Detected GPU #1: "NVIDIA H200" (5d0a1111-2222-3333-4444-555566668888)
Using precision(s):  BF16 
GPU #0: Using 128000 MB
GPU #1: Using 128000 MB
Creating random matrices
Matrices created
663 (728988 Gflops/s) - 660 (725690 Gflops/s) | Temperatures: 61°C - 62°C | Throttling: None - None
664 (730088 Gflops/s) - 659 (724590 Gflops/s) | Temperatures: 62°C - 62°C | Throttling: None - None
GPU #0: 730012 Gflops/s (min: 728988.00, max: 731187.49, dev: 800.12)
         Temperature: 61.52°C (min: 60.00, max: 62.00)
         Throttling HW: false, Thermal SW: false, Thermal HW: false
GPU #1: 725011 Gflops/s (min: 724590.00, max: 726789.00, dev: 700.00)
         Temperature: 62.00°C (min: 61.00, max: 63.00)
         Throttling HW: false, Thermal SW: false, Thermal HW: false
All GPUs seem healthy
Freeing GPUs...
"""  # noqa: W291 - as it is printed
FRY_UNHEALTHY = FRY.replace(
    "All GPUs seem healthy\n",
    "Some GPUs are not healthy. Reasons:\n"
    "  - GPU 1 - GPU is throttled. Check the throttling reasons and temperatures\n",
)

# --- rocblas-bench and hipblaslt-bench, on each of two GPUs, two cycles ---

_ROC_DEVICES = """\
Query device success: there are 2 devices
-------------------------------------------------------------------------------
Device ID 0 : AMD Instinct MI300X gfx942:sramecc+:xnack-
with 206.1 GB memory, max. SCLK 2100 MHz, max. MCLK 1300 MHz, memoryBusWidth 1024 Bytes
Device ID 1 : AMD Instinct MI300X gfx942:sramecc+:xnack-
with 206.1 GB memory, max. SCLK 2100 MHz, max. MCLK 1300 MHz, memoryBusWidth 1024 Bytes
-------------------------------------------------------------------------------
"""
_WORK = 2 * 8192**3  # operations


def rocblas_row(time_us: float) -> str:
    return (
        "transA,transB,M,N,K,alpha,lda,beta,ldb,ldc,ldd,a_type,b_type,c_type,d_type,compute_type,"
        "batch_count,cold_iters,hot_iters,rocblas-Gflops,us\n"
        "N,T,8192,8192,8192,1,8192,0,8192,8192,8192,bf16_r,bf16_r,bf16_r,bf16_r,f32_r,1, 100, 100, "
        f"{_WORK / time_us / 1e3:.6g}, {time_us:.6g}\n"
    )


def hipblaslt_row(time_us: float) -> str:
    return (
        "Is supported 1 / Total solutions: 1\n"
        "[0]:transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,"
        "ldc,stride_c,ldd,stride_d,a_type,b_type,c_type,d_type,compute_type,scaleA,scaleB,"
        "activation_type,bias_vector,bias_type,hipblaslt-Gflops,hipblaslt-GB/s,us\n"
        "    N,T,0,1,8192,8192,8192,1,8192,67108864,0,8192,67108864,8192,67108864,8192,67108864,"
        "bf16_r,bf16_r,bf16_r,bf16_r,f32_r,0,0,none,0,non-supported type,"
        f"{_WORK / time_us / 1e3:.6g},207.371,{time_us:.6g}\n"
    )


def on_each(row: object, times: tuple[float, ...] = (1800.0, 1810.0, 1830.0, 1840.0)) -> str:
    """The output of the suite's lines around four runs."""
    runs = [
        f"railgauge: gpu{number // 2} cycle {number % 2}\n{_ROC_DEVICES}{row(time_us)}"
        for number, time_us in enumerate(times)
    ]
    return "".join(runs) + "railgauge: end of 2 GPUs\n"


ROCBLAS, HIPBLASLT = on_each(rocblas_row), on_each(hipblaslt_row)

# --- rvs: the list of GPUs, GST, IET and BABEL ---

RVS_LIST = """\
railgauge: rvs begins
Supported GPUs available:
0000:05:00.0 - GPU[ 2 - 42583] AMD Instinct MI300X (Device 29857)
0000:65:00.0 - GPU[ 4 -  1590] AMD Instinct MI300X (Device 29857)
"""
GST, IET, BABEL = "compute-bf16-trig", "iet-stress-750W-true", "babel-double-825MiB"


def result(message: str, time_s: str = "302016.84321") -> str:
    return f"[RESULT] [{time_s} ] {message}\n"


def gst(gpu: str, rates: tuple[int, ...], met: str = "TRUE") -> str:
    of = f"[{GST}] [GPU:: {gpu:>5}]"
    lines = [f"{of} Start of GPU ramp up", f"{of} GFLOPS 310000", f"{of} End of GPU ramp up"]
    lines += [f"{of} GFLOPS {rate}" for rate in rates]
    lines.append(f"{of} GFLOPS {max(rates)} Target GFLOPS: 552000 met: {met}")
    return "".join(map(result, lines))


def iet(gpu: str, met: str = "TRUE") -> str:
    of = f"[{IET}] [GPU:: {gpu:>5}]"
    message = (f"{of} Power(W) 241.000000", f"{of} Power(W) 749.000000", f"{of} pass: {met}")
    return "".join(map(result, message))


RULE = "-" * 81


def babel(gpu: str, unit: str = "MBytes/sec     Max MB/s       Min MB/s       Avg MB/s") -> str:
    return (
        result(f"[{BABEL}] [GPU:: {gpu:>5}] Starting the Babel memory stress test")
        + result("Running kernels 2000 times, Precision: double")
        + result("Array size: 6920.6 MB (=6.9 GB), Total size: 20761.8 MB (=20.8 GB)")
        + "\n[RESULT] [302446.903905] \n"
        + f"{RULE}\nGPU Id      Function    {unit}\n{RULE}\n"
        + f"{gpu:<12}Copy        4224488.986    4224488.986    4037686.546    4150313.849\n"
        + f"{gpu:<12}Triad       4031416.066    4031416.066    3879289.313    3950804.403\n{RULE}\n"
    )


def rvs_closing(*actions: tuple[str, str], passed: str = "PASS") -> str:
    box = f"+{'=' * 69}+\n"
    rows = "".join(f"| {name:<33}| {module:<15}| {passed:<16}|\n" for name, module in actions)
    return (
        f"\n{box}| {'RVS version':<33}| {'1.6.75':<33}|\n{box}"
        f"| Action Name                      | Module         | Result          |\n{box}{rows}{box}"
    )


def begin(action: str, module: str) -> str:
    return result(f"Action name :{action}") + result(f"Module name :{module}")


RVS_END = "railgauge: rvs ended with 0\n"
RVS_GST = (
    RVS_LIST + begin(GST, "gst") + gst("42583", (610000, 612000)) + gst("1590", (598000, 600000))
    + rvs_closing((GST, "GST")) + RVS_END
)  # fmt: skip
RVS_IET = RVS_LIST + begin(IET, "iet") + iet("1590") + iet("42583") + RVS_END
RVS_BABEL = RVS_LIST + begin(BABEL, "babel") + babel("42583") + babel("1590") + RVS_END
RVS_LEVEL = (
    RVS_LIST + begin(BABEL, "babel") + babel("42583") + babel("1590") + begin(GST, "gst")
    + gst("42583", (610000, 612000)) + gst("1590", (598000, 600000)) + begin(IET, "iet")
    + iet("1590") + iet("42583") + rvs_closing((BABEL, "BABEL"), (GST, "GST"), (IET, "IET"))
    + RVS_END
)  # fmt: skip

WHOLE = {
    "gpu-burn": (BURN,),
    "gpu-fryer": (FRY, FRY_UNHEALTHY),
    "rocblas-bench": (ROCBLAS,),
    "hipblaslt-bench": (HIPBLASLT,),
    "rvs": (RVS_GST, RVS_IET, RVS_BABEL, RVS_LEVEL),
}
