"""Rung 3: what each GPU of a node can do by itself, with right results while it is hot."""

import pytest

pytestmark = pytest.mark.needs("gpus")


@pytest.mark.measures(
    "gpu_matrix_fp64", "gpu_matrix_fp32", "gpu_matrix_tf32", "gpu_matrix_bf16", "gpu_matrix_fp8"
)
def test_matrix_products(measurement, node, gpu, measure, check):
    """Each GPU multiplies matrices at its rate, and every result is right.

    gpu_matrix_fp64: Each GPU multiplies matrices in FP64 at its rate, and every result is right.
    gpu_matrix_fp32: Each GPU multiplies matrices in FP32 at its rate, and every result is right.
    gpu_matrix_tf32: Each GPU multiplies matrices in TF32 at its rate, and every result is right.
    gpu_matrix_bf16: Each GPU multiplies matrices in BF16 at its rate, and every result is right.
    gpu_matrix_fp8: Each GPU multiplies matrices in FP8 at its rate, and every result is right.

    Pass: The rate reaches its floor, and no checked result is wrong.
    Fail: The rate is below its floor, or a result is wrong.
    Remedy: Compare clock, temperature and power with the node's other GPUs; take a GPU with wrong
        results out of service.
    """
    check(measure(node, of=measurement), gpu=gpu)


@pytest.mark.measures("gpu_memory_copy")
def test_memory_of_each_gpu(node, gpu, measure, check):
    """Each GPU copies its memory at its bandwidth, and every copy is right.

    Pass: The bandwidth reaches its floor, and every copy equals its source.
    Fail: The bandwidth is below its floor, or a copy differs.
    Remedy: Read the GPU's ECC counters and memory clock; run the vendor's memory test.
    """
    check(measure(node), gpu=gpu)


@pytest.mark.measures("gpu_stress")
def test_each_gpu_under_a_long_load(node, gpu, measure, check):
    """Each GPU keeps its rate under a long load of all GPUs of its node, without an error.

    Pass: The rate reaches its floor in every sample, and no error was counted.
    Fail: A sample is below its floor, or an error was counted.
    Remedy: Compare clock, temperature and power with the node's other GPUs; take a GPU with errors
        out of service.
    """
    check(measure(node), gpu=gpu)


@pytest.mark.measures("gpu_stress")
def test_results_of_a_long_load(node, measure, check_results):
    """Every test of the program that loads the GPUs passes on every GPU.

    Pass: Every named test passed on every GPU.
    Fail: A named test failed or was not carried out on a GPU.
    Remedy: Follow the program's own message in the transcript.
    """
    check_results(measure(node))
