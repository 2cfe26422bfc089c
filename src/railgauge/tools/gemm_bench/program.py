#!/usr/bin/env python3
"""gemm-bench: matrix products and memory copies of each GPU, or of the CPU, timed and checked.

It needs Python 3.9 and one library: PyTorch or CuPy for GPUs, NumPy or PyTorch for the CPU. No
other module of this project is needed, so that this one file is enough on a node.

It prints these lines, each of which begins with ``gemm-bench``::

    gemm-bench version 1
    gemm-bench run format=bf16 devices=gpu size=8192 iterations=4 warmup_s=5 cycles=1 seed=1
    gemm-bench library torch 2.6.0+cu124
    gemm-bench host node01
    gemm-bench device gpu0 uuid=GPU-5d0a… name=NVIDIA H200
    gemm-bench row device=gpu0 format=bf16 size=8192 cycle=0 seconds=0.006200000 tflops=709.362341
        clock_mhz=1980:1755 checked=4 wrong=0
    gemm-bench end rows=1 wrong=0

(A row is one line.) ``tflops`` counts 2 n^3 operations for each product of two n x n matrices. A
copy of an n x n matrix of float32 has ``copy_gb_s`` in its place: bytes read and bytes written over
time. ``clock_mhz`` is the clock before and after, ``-`` where it cannot be read. A cycle fills the
inputs anew from the seed, fills an output for each iteration with NaN, and times all iterations;
``checked`` outputs were then checked, which is all of them. ``wrong`` counts:

- inputs that are not random as asked, or not new (the host looks at a row and a column),
- elements that the host finds wrong when it multiplies sampled rows and columns by itself,
- rows of the first product C = A B with C x != A (B x) for random vectors x of -1 and 1 (Freivalds'
  check), summed in float64 without the library's matrix product,
- elements of the other products that differ from the first one.

**Tolerance.** Inputs are uniform in [-1, 1) and exact in their format. A partial sum of k products
has a standard deviation of sqrt(k)/3. Each of n additions may lose the share ``unit_sum`` of it,
all in the same direction if the hardware truncates: (2/9) n^1.5 unit_sum together. The result is
rounded to the output's format: ``unit_out`` sqrt(n)/3. The sum of both is the error ``e`` of an
element. C x - A (B x) adds n such errors with random signs: by Hoeffding's inequality it exceeds
8 sqrt(n) e with a probability of 2 exp(-32). An element may be 6 standard deviations large, and so
may its error.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import math
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = 1
_FEWEST = 256  # below it, the mean of a row hardly shows whether it is random
_CHUNK = 1024  # rows that are checked at a time
_VECTORS = 2  # random vectors of a check
_SAMPLES = 8  # elements that the host computes by itself
_SIGMAS_OF_ROW, _SIGMAS_OF_ELEMENT = 8, 6
GPU, CPU = "gpu", "cpu"
COPY = "copy"
_SM_CLOCK = 1  # NVML_CLOCK_SM


@dataclass(frozen=True)
class Format:
    """Unit roundoffs of the output and of the sums, and the devices that have the format.

    The sums of tensor cores are truncated to 24 bits. Those of FP8 keep 14 bits on Hopper, after
    each 32 products (DeepSeek-V3 Technical Report, 3.3.2).
    """

    unit_out: float
    unit_sum: float
    devices: tuple[str, ...] = (GPU, CPU)


FORMATS = {
    "fp64": Format(2**-53, 2**-53),
    "fp32": Format(2**-24, 2**-24),
    "tf32": Format(2**-24, 2**-23, (GPU,)),
    "bf16": Format(2**-8, 2**-23, (GPU,)),
    "fp8": Format(2**-8, 2**-13 / 32, (GPU,)),
    COPY: Format(0.0, 0.0),
}


@dataclass(frozen=True)
class Device:
    """A device of a library: ``cpu`` or ``gpu3``; ``-`` for an unknown UUID or model."""

    name: str
    index: int
    uuid: str
    model: str


class Unavailable(Exception):
    """The reason why a library cannot measure the request."""


# --- the libraries ---


class ArrayLibrary:
    """NumPy, or CuPy, which has the same functions for one GPU."""

    def __init__(self, name: str, form: str) -> None:
        if form not in ("fp64", "fp32", COPY, *(["tf32"] if name == "cupy" else [])):
            raise Unavailable(f"has no {form}")
        os.environ["CUPY_TF32"] = "1" if form == "tf32" else "0"
        self._is_gpu = name == "cupy"
        self._xp: Any = importlib.import_module(name)
        self._form = form
        self._dtype = self._xp.float64 if form == "fp64" else self._xp.float32
        self.shown = f"{name} {self._xp.__version__}"

    def devices(self) -> list[Device]:
        if not self._is_gpu:
            return [Device(CPU, 0, "-", _cpu_model())]
        runtime = self._xp.cuda.runtime
        found = [runtime.getDeviceProperties(at) for at in range(runtime.getDeviceCount())]
        return [
            Device(f"gpu{at}", at, _uuid(one.get("uuid", b"")), one["name"].decode())
            for at, one in enumerate(found)
        ]

    def use(self, device: Device) -> None:
        if self._is_gpu:
            self._xp.cuda.Device(device.index).use()

    def uniform(self, n: int, seed: int) -> Any:
        made = self._xp.random.default_rng(seed).random((n, n), dtype=self._dtype)
        made *= 2
        made -= 1
        return _as_tf32(made, self._xp.int32) if self._form == "tf32" else made

    second = uniform

    def output(self, n: int) -> Any:
        return self._xp.empty((n, n), dtype=self._dtype)

    def fill(self, output: Any, value: float) -> None:
        output.fill(value)

    def multiply(self, a: Any, b: Any, out: Any) -> None:
        self._xp.matmul(a, b, out=out)

    def copy(self, source: Any, out: Any) -> None:
        out[...] = source

    def double(self, values: Any) -> Any:
        return values.astype("float64")

    def vector(self, values: Sequence[float]) -> Any:
        return self._xp.array(values, dtype="float64")

    def wait(self) -> None:
        if self._is_gpu:
            self._xp.cuda.Device().synchronize()


class Torch:
    """PyTorch, on GPUs of any vendor that it calls ``cuda``, or on the CPU."""

    def __init__(self, kind: str, form: str) -> None:
        import torch  # noqa: PLC0415 - a node without it uses another library

        if kind == GPU and not torch.cuda.is_available():
            raise Unavailable("finds no GPU")
        if form == "fp8" and not hasattr(torch, "_scaled_mm"):
            raise Unavailable(f"{torch.__version__} has no product of {form}")
        products = torch.backends.cuda.matmul
        products.allow_tf32 = form == "tf32"
        products.allow_bf16_reduced_precision_reduction = False
        self._torch: Any = torch
        self._kind, self._form, self._at = kind, form, "cpu"
        self._one: Any = None  # the scale of FP8
        self.shown = f"torch {torch.__version__}"

    def devices(self) -> list[Device]:
        if self._kind == CPU:
            return [Device(CPU, 0, "-", _cpu_model())]
        cuda = self._torch.cuda
        found = [cuda.get_device_properties(at) for at in range(cuda.device_count())]
        return [
            Device(f"gpu{at}", at, _uuid(getattr(one, "uuid", "")), one.name or "-")
            for at, one in enumerate(found)
        ]

    def use(self, device: Device) -> None:
        if self._kind == GPU:
            self._at = f"cuda:{device.index}"
            self._torch.cuda.set_device(device.index)
        self._one = self._torch.ones((), device=self._at)

    def uniform(self, n: int, seed: int) -> Any:
        torch = self._torch
        source = torch.Generator(device=self._at).manual_seed(seed)
        dtype = torch.float64 if self._form == "fp64" else torch.float32
        made = torch.rand((n, n), generator=source, dtype=dtype, device=self._at)
        made.mul_(2).sub_(1)
        if self._form == "tf32":
            return _as_tf32(made, torch.int32)
        return made.to(self._narrow()) if self._form in ("bf16", "fp8") else made

    def second(self, n: int, seed: int) -> Any:
        """Return the second factor: by columns in FP8, as the product requires."""
        made = self.uniform(n, seed)
        return made.t() if self._form == "fp8" else made

    def _narrow(self) -> Any:
        if self._form == "bf16":
            return self._torch.bfloat16
        built = self._torch.cuda.get_device_properties(self._at) if self._kind == GPU else None
        is_fnuz = getattr(built, "gcnArchName", "").startswith("gfx94")  # MI300's own FP8
        return self._torch.float8_e4m3fnuz if is_fnuz else self._torch.float8_e4m3fn

    def output(self, n: int) -> Any:
        torch = self._torch
        wide = {"fp64": torch.float64, "bf16": torch.bfloat16, "fp8": torch.bfloat16}
        return torch.empty((n, n), dtype=wide.get(self._form, torch.float32), device=self._at)

    def fill(self, output: Any, value: float) -> None:
        output.fill_(value)

    def multiply(self, a: Any, b: Any, out: Any) -> None:
        if self._form != "fp8":
            self._torch.matmul(a, b, out=out)
            return
        self._torch._scaled_mm(a, b, self._one, self._one, out_dtype=out.dtype, out=out)

    def copy(self, source: Any, out: Any) -> None:
        out.copy_(source)

    def double(self, values: Any) -> Any:
        return values.double()

    def vector(self, values: Sequence[float]) -> Any:
        return self._torch.tensor(values, dtype=self._torch.float64, device=self._at)

    def wait(self) -> None:
        if self._kind == GPU:
            self._torch.cuda.synchronize()


def _as_tf32(values: Any, int32: Any) -> Any:
    """Clear the 13 bits that TF32 does not have, so that the hardware rounds no input."""
    bits = values.view(int32)
    bits &= -(1 << 13)
    return values


def _uuid(value: Any) -> str:
    if isinstance(value, bytes):
        h = value.hex()
        value = "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:])) if any(value) else ""
    return f"GPU-{str(value).removeprefix('GPU-')}" if value else "-"


def chosen(kind: str, form: str, named: str) -> ArrayLibrary | Torch:
    """Return the first library that can measure ``form``. Raises ``Unavailable`` with all reasons.

    ``kind`` is ``gpu`` or ``cpu``; ``named`` is a library, or empty for any.
    """
    if kind not in FORMATS[form].devices:
        raise Unavailable(f"{form} is measured on a {' or '.join(FORMATS[form].devices)}")
    own = "cupy" if kind == GPU else "numpy"
    reasons = []
    for name in [named] if named else ["torch", own] if kind == GPU else [own, "torch"]:
        try:
            library = Torch(kind, form) if name == "torch" else ArrayLibrary(name, form)
            if name in ("torch", own) and library.devices():
                return library
            reasons.append(f"{name}: finds no {kind}")
        except (ImportError, OSError, Unavailable) as error:
            reasons.append(f"{name}: {(str(error) or repr(error)).splitlines()[0]}")
    wanted = "PyTorch (or CuPy) built for its GPUs" if kind == GPU else "NumPy"
    raise Unavailable(f"{'; '.join(reasons)}; install {wanted} for {sys.executable}")


# --- the check ---


def error_of_element(form: str, n: int) -> float:
    """Return the error ``e`` of an element of a product of n x n matrices (see the module)."""
    units = FORMATS[form]
    return math.sqrt(n) * (units.unit_out / 3 + 2 / 9 * n * units.unit_sum)


def is_random(values: Sequence[float]) -> bool:
    """Whether the values may be uniform in [-1, 1); zeros, constants and NaN are not."""
    mean = math.fsum(values) / len(values)
    size = math.fsum(map(abs, values)) / len(values)
    return abs(mean) < 0.25 and 0.4 < size < 0.6 and max(map(abs, values)) <= 1  # noqa: PLR2004


@dataclass
class ProductCheck:
    """The check of the outputs of one cycle. All values that it counts are wrong."""

    library: ArrayLibrary | Torch
    form: str
    n: int
    draw: random.Random

    def product(self, a: Any, b: Any, outputs: Sequence[Any]) -> int:
        first = outputs[0]
        wrong = self._elements(a, b, first)
        wrong += max(self._rows(a, b, first) for _ in range(_VECTORS))
        return wrong + sum(self._differing(first, other) for other in outputs[1:])

    def copy(self, source: Any, outputs: Sequence[Any]) -> int:
        wrong = sum(int((~(source == output)).sum()) for output in outputs)
        for at in self._drawn():
            row = self._floats(source[at])
            wrong += 0 if is_random(row) else self.n
            wrong += sum(row != self._floats(output[at]) for output in outputs)
        return wrong

    def _elements(self, a: Any, b: Any, output: Any) -> int:
        """Compute sampled elements on the host, exactly."""
        allowed, wrong = _SIGMAS_OF_ELEMENT * error_of_element(self.form, self.n), 0
        for i, j in zip(self._drawn(), self._drawn()):  # noqa: B905 - new in Python 3.10
            row, column = self._floats(a[i]), self._floats(b[:, j])
            (got,) = self._floats(output[i][j : j + 1])
            exact = math.fsum(x * y for x, y in zip(row, column))  # noqa: B905
            wrong += sum(0 if is_random(one) else self.n for one in (row, column))
            wrong += not abs(got - exact) <= allowed
        return wrong

    def _rows(self, a: Any, b: Any, output: Any) -> int:
        """Return the number of rows with C x != A (B x), for a vector that the host draws."""
        double = self.library.double
        allowed = _SIGMAS_OF_ROW * math.sqrt(self.n) * error_of_element(self.form, self.n)
        x = self.library.vector([self.draw.choice((-1.0, 1.0)) for _ in range(self.n)])
        bx = self.library.vector([0.0] * self.n)
        for part in self._parts():
            bx[part] = (double(b[part]) * x).sum(1)
        wrong = 0
        for part in self._parts():
            off = (double(output[part]) * x).sum(1) - (double(a[part]) * bx).sum(1)
            wrong += int((~(abs(off) <= allowed)).sum())
        return wrong

    def _differing(self, one: Any, other: Any) -> int:
        double = self.library.double
        allowed = 2 * _SIGMAS_OF_ELEMENT * error_of_element(self.form, self.n)
        return sum(
            int((~(abs(double(one[part]) - double(other[part])) <= allowed)).sum())
            for part in self._parts()
        )

    def _parts(self) -> Iterator[slice]:
        return (slice(at, min(at + _CHUNK, self.n)) for at in range(0, self.n, _CHUNK))

    def _drawn(self) -> list[int]:
        return self.draw.sample(range(self.n), _SAMPLES)

    def _floats(self, values: Any) -> list[float]:
        return list(self.library.double(values).tolist())


# --- the run ---


@dataclass(frozen=True)
class GemmOptions:
    """The command line."""

    format: str
    devices: str
    size: int
    iterations: int
    warmup_s: int
    cycles: int
    seed: int
    library: str


def read_options(argv: Sequence[str] | None = None) -> GemmOptions:
    """Read the command line; end with a line on stderr and exit code 2 if it is invalid."""
    parser = argparse.ArgumentParser(prog="gemm-bench")
    parser.add_argument("format", choices=sorted(FORMATS))
    parser.add_argument("-d", "--devices", choices=(GPU, CPU), default=GPU)
    parser.add_argument("-s", "--size", type=int, default=8192, help="rows of a matrix")
    parser.add_argument("-n", "--iterations", type=int, default=4, help="products of a cycle")
    parser.add_argument("-w", "--warmup", type=int, default=5, metavar="SECONDS")
    parser.add_argument("-N", "--cycles", type=int, default=5, help="rows for each device")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--library", choices=("torch", "cupy", "numpy"), default="")
    given = parser.parse_args(argv)
    if given.size < _FEWEST or given.size % 16:
        parser.error(f"size {given.size}: give a multiple of 16 from {_FEWEST} on")
    if min(given.iterations, given.cycles) < 1 or min(given.warmup, given.seed) < 0:
        parser.error("iterations and cycles must be 1 or more, warmup and seed 0 or more")
    return GemmOptions(
        given.format, given.devices, given.size, given.iterations, given.warmup, given.cycles,
        given.seed, given.library,
    )  # fmt: skip


class Bench:
    """One device: its matrices, and the load on it."""

    def __init__(self, library: ArrayLibrary | Torch, options: GemmOptions, device: str) -> None:
        self._library, self._options, self._device = library, options, device
        self._outputs = [library.output(options.size) for _ in range(options.iterations)]
        self._a: Any = None
        self._b: Any = None
        self._row: list[float] = []

    def warm_up(self) -> None:
        """Load the device for ``warmup_s`` seconds, and once at least."""
        self._fill(random.Random(self._options.seed))
        until = time.perf_counter() + self._options.warmup_s
        self._load()
        while time.perf_counter() < until:
            self._load()

    def cycle(self, number: int) -> tuple[float, int]:
        """Return the seconds of all iterations, and the number of wrong values."""
        draw = random.Random(f"{self._options.seed} {self._device} {number}")
        self._fill(draw)
        start = time.perf_counter()
        self._load()
        seconds = time.perf_counter() - start
        return seconds, self._check(draw)

    def _fill(self, draw: random.Random) -> None:
        n, library = self._options.size, self._library
        self._a = self._b = None  # makes room for the new ones
        self._a = library.uniform(n, draw.getrandbits(32))
        if self._options.format != COPY:
            self._b = library.second(n, draw.getrandbits(32))
        for output in self._outputs:
            library.fill(output, math.nan)
        library.wait()

    def _load(self) -> None:
        for output in self._outputs:
            if self._b is None:
                self._library.copy(self._a, output)
            else:
                self._library.multiply(self._a, self._b, output)
        self._library.wait()

    def _check(self, draw: random.Random) -> int:
        check = ProductCheck(self._library, self._options.format, self._options.size, draw)
        row = list(self._library.double(self._a[0]).tolist())
        stale = len(row) if row == self._row else 0
        self._row = row
        if self._b is None:
            return stale + check.copy(self._a, self._outputs)
        return stale + check.product(self._a, self._b, self._outputs)


def measure(library: ArrayLibrary | Torch, options: GemmOptions) -> int:
    """Print the table, one device after the other; return the wrong values of all rows."""
    devices = library.devices()
    _print_header(library, options, devices)
    rows = total = 0
    for device in devices:
        library.use(device)
        bench = Bench(library, options, device.name)
        bench.warm_up()
        for number in range(options.cycles):
            before = _clock_mhz(device)
            seconds, wrong = bench.cycle(number)
            clock = f"{before}:{_clock_mhz(device)}"
            _print_row(options, device, (number, seconds, clock, wrong))
            rows, total = rows + 1, total + wrong
        del bench
    print(f"gemm-bench end rows={rows} wrong={total}", flush=True)
    return total


def _print_header(
    library: ArrayLibrary | Torch, options: GemmOptions, devices: Sequence[Device]
) -> None:
    print(f"gemm-bench version {VERSION}")
    print(
        f"gemm-bench run format={options.format} devices={options.devices} size={options.size} "
        f"iterations={options.iterations} warmup_s={options.warmup_s} cycles={options.cycles} "
        f"seed={options.seed}"
    )
    print(f"gemm-bench library {library.shown}")
    print(f"gemm-bench host {os.uname().nodename}")
    for device in devices:
        print(f"gemm-bench device {device.name} uuid={device.uuid} name={device.model}")
    sys.stdout.flush()


def _print_row(options: GemmOptions, device: Device, row: tuple[int, float, str, int]) -> None:
    number, seconds, clock, wrong = row
    print(
        f"gemm-bench row device={device.name} format={options.format} size={options.size} "
        f"cycle={number} seconds={seconds:.9f} {rate(options, seconds)} clock_mhz={clock} "
        f"checked={options.iterations} wrong={wrong}",
        flush=True,
    )


def rate(options: GemmOptions, seconds: float) -> str:
    """Return ``tflops=…`` of a product, or ``copy_gb_s=…`` of a copy: 4 bytes read and written."""
    n, times = options.size, options.iterations
    if options.format == COPY:
        return f"copy_gb_s={2 * 4 * n**2 * times / seconds / 1e9:.6f}"
    return f"tflops={2 * n**3 * times / seconds / 1e12:.6f}"


# --- the model and the clock of a device ---


def _cpu_model() -> str:
    return next(iter(_cpuinfo("model name")), "CPU")


def _cpuinfo(key: str) -> list[str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    pairs = (line.partition(":") for line in text.splitlines())
    return [value.strip() for name, _, value in pairs if name.strip() == key]


def _clock_mhz(device: Device) -> str:
    """Return the clock of an NVIDIA GPU's multiprocessors, or the CPUs' mean; ``-`` if unread."""
    if device.name == CPU:
        each = [float(value) for value in _cpuinfo("cpu MHz")]
        return f"{sum(each) / len(each):.0f}" if each else "-"
    try:
        return _nvml_clock_mhz(device.uuid)
    except (OSError, AttributeError):
        return "-"


def _nvml_clock_mhz(uuid: str) -> str:
    """Ask NVML, which answers before the clock falls. Raises ``OSError`` where it is missing."""
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    handle, mhz = ctypes.c_void_p(), ctypes.c_uint()
    failed = (
        nvml.nvmlInit_v2()
        or nvml.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(handle))
        or nvml.nvmlDeviceGetClockInfo(handle, _SM_CLOCK, ctypes.byref(mhz))
    )
    return "-" if failed else str(mhz.value)


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 if all results were right, 1 if not, 2 if no library can measure the format."""
    options = read_options(argv)
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # the numbers of nvidia-smi
    try:
        library = chosen(options.devices, options.format, options.library)
    except Unavailable as error:
        print(f"gemm-bench: cannot measure {options.format}: {error}", file=sys.stderr)
        return 2
    return 1 if measure(library, options) else 0


if __name__ == "__main__":
    sys.exit(main())
