"""``rocblas-bench``: products of rocBLAS, ``gemm_ex``."""

from __future__ import annotations

from railgauge.tools.blas_bench.plan import BlasBench, Types
from railgauge.tools.blas_bench.table import METRICS

__all__ = ["METRICS", "commands", "output_checks", "parse"]

_BENCH = BlasBench(
    "rocblas-bench",
    {
        "fp64": Types("f64_r", "f64_r", "f64_r"),
        "fp32": Types("f32_r", "f32_r", "f32_r"),
        "fp16": Types("f16_r", "f16_r", "f32_r"),
        "bf16": Types("bf16_r", "bf16_r", "f32_r"),
    },
    ("-f", "gemm_ex", "--log_datatype", "--initialization", "trig_float"),
    ("-v", "1"),
)

commands = _BENCH.commands
parse = _BENCH.parse
output_checks = _BENCH.output_checks
