"""Rung 3: what each GPU of a node can do by itself, with right results while it is hot."""

import pytest

pytestmark = pytest.mark.needs("gpus")


@pytest.mark.measures("gpu_matrix_fp64")
def test_matrix_products_in_fp64(node, gpu, measure, check):
    """Each GPU multiplies matrices in FP64 at its rate, and every result is right.

    Pass: The rate reaches its floor, and no checked result is wrong.
    Fail: The rate is below its floor, or a result is wrong.
    Remedy: Compare clock, temperature and power with the node's other GPUs; take a GPU with wrong
        results out of service.
    """
    check(measure(node), gpu=gpu)


@pytest.mark.measures("gpu_matrix_fp32")
def test_matrix_products_in_fp32(node, gpu, measure, check):
    """Each GPU multiplies matrices in FP32 at its rate, and every result is right.

    Pass: The rate reaches its floor, and no checked result is wrong.
    Fail: The rate is below its floor, or a result is wrong.
    Remedy: Compare clock, temperature and power with the node's other GPUs; take a GPU with wrong
        results out of service.
    """
    check(measure(node), gpu=gpu)


@pytest.mark.measures("gpu_matrix_tf32")
def test_matrix_products_in_tf32(node, gpu, measure, check):
    """Each GPU multiplies matrices in TF32 at its rate, and every result is right.

    Pass: The rate reaches its floor, and no checked result is wrong.
    Fail: The rate is below its floor, or a result is wrong.
    Remedy: Compare clock, temperature and power with the node's other GPUs; take a GPU with wrong
        results out of service.
    """
    check(measure(node), gpu=gpu)


@pytest.mark.measures("gpu_matrix_bf16")
def test_matrix_products_in_bf16(node, gpu, measure, check):
    """Each GPU multiplies matrices in BF16 at its rate, and every result is right.

    Pass: The rate reaches its floor, and no checked result is wrong.
    Fail: The rate is below its floor, or a result is wrong.
    Remedy: Compare clock, temperature and power with the node's other GPUs; take a GPU with wrong
        results out of service.
    """
    check(measure(node), gpu=gpu)


@pytest.mark.measures("gpu_matrix_fp8")
def test_matrix_products_in_fp8(node, gpu, measure, check):
    """Each GPU multiplies matrices in FP8 at its rate, and every result is right.

    Pass: The rate reaches its floor, and no checked result is wrong.
    Fail: The rate is below its floor, or a result is wrong.
    Remedy: Compare clock, temperature and power with the node's other GPUs; take a GPU with wrong
        results out of service.
    """
    check(measure(node), gpu=gpu)


@pytest.mark.measures("gpu_memory_copy")
def test_memory_of_each_gpu(node, gpu, measure, check):
    """Each GPU copies its memory at its bandwidth, and every copy is right.

    Pass: The bandwidth reaches its floor, and every copy equals its source.
    Fail: The bandwidth is below its floor, or a copy differs.
    Remedy: Read the GPU's ECC counters and memory clock; run the vendor's memory test.
    """
    check(measure(node), gpu=gpu)
