"""``hipblaslt-bench``: products of hipBLASLt, with the kernel that the library chooses itself."""

from __future__ import annotations

from railgauge.tools.blas_bench.plan import BlasBench, Types
from railgauge.tools.blas_bench.table import METRICS

__all__ = ["METRICS", "commands", "output_checks", "parse"]

_BENCH = BlasBench(
    "hipblaslt-bench",
    {
        "fp32": Types("f32_r", "f32_r", "f32_r"),
        "tf32": Types("f32_r", "f32_r", "xf32_r"),
        "fp16": Types("f16_r", "f16_r", "f32_r"),
        "bf16": Types("bf16_r", "bf16_r", "f32_r"),
        "fp8": Types("f8_r", "bf16_r", "f32_r"),
        # MI300's own FP8, as newer releases call it.
        "fp8-fnuz": Types("f8_fnuz_r", "bf16_r", "f32_r"),
    },
    ("-f", "matmul", "--initialization", "trig_float"),
    ("-v",),
)

commands = _BENCH.commands
parse = _BENCH.parse
output_checks = _BENCH.output_checks
