"""vLLM's serving benchmark, and the tools that print the same table.

Formats: ``vllm bench serve`` and the older benchmark_serving.py, those of sglang, lmdeploy,
TensorRT-LLM and vllm-omni, and the JSON of ``--save-result``.
"""

from railgauge.tools.vllm_bench.parse import parse
from railgauge.tools.vllm_bench.plan import METRICS, commands, form, output_checks

__all__ = ["METRICS", "commands", "form", "output_checks", "parse"]
