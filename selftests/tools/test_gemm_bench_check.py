"""How gemm-bench checks products: what it finds, and the rounding of each format that it allows."""

import random

import pytest

from railgauge.tools.gemm_bench import program
from railgauge.tools.gemm_bench.plan import COMMANDS

try:
    import numpy as np
except ImportError:
    np = None


@pytest.fixture(scope="module", autouse=True)
def _numpy(cannot_run):
    if np is None:
        cannot_run("NumPy cannot be imported (pip install numpy)")


def test_plan_and_program_have_the_same_formats():
    assert set(COMMANDS) == set(program.FORMATS)


BITS = {"tf32": 10, "bf16": 7, "fp8": 3}  # of the mantissa, as stored


class Rounded(program.ArrayLibrary):
    """NumPy that has a GPU's format: inputs exact in it, float32 sums, a rounded output."""

    def __init__(self, form):
        super().__init__("numpy", "fp64" if form == "fp64" else "fp32")
        self.form = form

    def kept(self, values, bits):
        bits = np.uint32(23 - bits)
        raw = values.view(np.uint32) + (np.uint32(1) << (bits - np.uint32(1)))
        return (raw >> bits << bits).view(np.float32)

    def uniform(self, n, seed):
        made = super().uniform(n, seed)
        return self.kept(made, BITS[self.form]) if self.form in BITS else made

    second = uniform

    def multiply(self, a, b, out):
        super().multiply(a, b, out)
        if self.form in ("bf16", "fp8"):
            out[...] = self.kept(out, BITS["bf16"])


def checked(form, change=lambda outputs: None, n=512):
    library = Rounded(form)
    a, b = library.uniform(n, 1), library.second(n, 2)
    outputs = [library.output(n) for _ in range(3)]
    for output in outputs:
        library.multiply(a, b, output)
    change(outputs)
    return program.ProductCheck(library, form, n, random.Random(3)).product(a, b, outputs)


PRODUCTS = [form for form in program.FORMATS if form != "copy"]


@pytest.mark.parametrize("form", PRODUCTS)
def test_rounding_as_the_format_has_it_is_not_wrong(form):
    assert checked(form) == 0


@pytest.mark.parametrize("form", PRODUCTS)
def test_one_element_that_is_off_is_wrong_in_the_first_product_and_in_another(form):
    e = program.error_of_element(form, 512)

    def change(outputs):
        outputs[0][5, 6] += 20 * 512**0.5 * e
        outputs[2][7, 8] += 20 * e
        outputs[1][9, 10] = np.nan

    # Row 5 of the first; its element differs from both others, and so do the two.
    assert checked(form, change) == 1 + 2 + 2


@pytest.mark.parametrize(("form", "worse"), [("fp64", "float32"), ("fp32", "float16")])
def test_a_product_of_less_precision_than_asked_is_wrong(form, worse):
    def change(outputs):
        for output in outputs:
            output[...] = output.astype(worse)

    assert checked(form, change) > 100


def test_zeros_constants_and_nan_are_not_random():
    draw = random.Random(1)
    assert program.is_random([draw.uniform(-1, 1) for _ in range(256)])
    for values in ([0.0] * 256, [0.5] * 256, [float("nan")] * 256, [1.5, -1.5] * 128):
        assert not program.is_random(values)
