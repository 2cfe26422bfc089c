#!/usr/bin/env python3
"""train-bench: training steps of a transformer on the GPUs of a launch, replayed or timed.

A launcher starts it, one process a GPU: ``mpirun … train-bench replay --master ADDRESS:PORT``. It
needs Python 3.9 and PyTorch (CUDA, ROCm or MACA; the CPU with ``-d cpu``) and no other module of
this project, so that this one file is enough on a node.

The model is a decoder of ``layers`` blocks of width ``width`` with heads of 64 and no biases, over
random tokens that are drawn on the host from the seed: no data, no download. Weights and gradients
of the products are bf16; the master weights and the moments of Adam are fp32.

``replay``: every rank trains the same seeded model alone, with deterministic algorithms. Rank 0
prints these lines, each of which begins with ``train-bench``::

    train-bench version 1
    train-bench run mode=replay devices=gpu ranks=2 steps=2 warmup=0 seed=1 layers=4 width=1024
        sequence=512 batch=4 vocabulary=8192 parameters=67117056
    train-bench library torch 2.6.0+cu124
    train-bench rank 0 host=node01 device=gpu0 uuid=GPU-5d0a… name=NVIDIA H200
    train-bench rank 1 host=node01 device=gpu1 uuid=GPU-77c1… name=NVIDIA H200
    train-bench step 0 loss=9.23541164 digest=6b51d4a2f3f1a0c9
    train-bench step 1 loss=9.21874523 digest=f0a22c8d6e41b7d3
    train-bench replayed rank=0 steps=2 seconds=0.041273 chain=9c1d…
    train-bench replayed rank=1 steps=2 seconds=0.041511 chain=11e8…
    train-bench differs rank=1 step=1 tensor=layer2.up digest=… others=…
    train-bench end ranks=2 differing=1

(The run is one line.) The digest of a tensor is the sum over its elements, modulo 2^64, of their 32
bits times an odd factor of their row times an odd factor of their column: any one wrong bit changes
it, and the order of a sum does not. The digest of a step is that of its loss and of all tensors
(SHA-256), and the chain of a rank that of all its steps. The steps that are printed are those of
the chain that most ranks have (of the first such rank). A rank with another chain has a line with
the first step and tensor that differ.

``train``: the ranks train one model together, each on tokens of its own. After the backward pass
one all-reduce sums all gradients (as fp32); nothing overlaps it. Rank 0 prints, in place of steps
and replays, a line for each rank::

    train-bench row rank=0 steps=50 step_ms=61.210 step_p99_ms=63.020 load_ms=0.410
        compute_ms=49.800 exchange_ms=11.000 loss=10.397 digest=3fa8…
    train-bench end ranks=2 seconds=3.060500

``digest`` is that of the rank's tensors after the last step, which all ranks must share: an
all-reduce gives every rank the same bits. Times are medians of the steps of the rank, but
``step_p99_ms``. ``load`` is drawing the tokens on the host and copying them, ``compute`` forward,
backward and the update of the weights, ``exchange`` the all-reduce with the wait for the slowest
rank. ``seconds`` are those of all steps on the slowest rank; the ``warmup`` steps before are in
none of the figures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

VERSION = 1
GPU, CPU = "gpu", "cpu"
REPLAY, TRAIN = "replay", "train"
_HEAD = 64  # width of a head of the attention
_SPREAD = 0.02  # standard deviation of the first weights
_RATE, _FIRST, _SECOND, _TINY = 1e-3, 0.9, 0.95, 1e-8  # of Adam
_WAIT = timedelta(hours=1)
_RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_RANKS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
_LOCAL = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


class CannotTrain(Exception):
    """Why nothing can be measured here."""


# --- the command line and the place of the rank ---


@dataclass(frozen=True)
class TrainBenchOptions:
    """The command line."""

    mode: str
    devices: str
    master: tuple[str, int]
    steps: int
    warmup: int
    seed: int
    layers: int
    width: int
    sequence: int
    batch: int
    vocabulary: int

    def shown(self, ranks: int) -> str:
        """Return what was asked, as the line ``run`` has it."""
        return (
            f"mode={self.mode} devices={self.devices} ranks={ranks} steps={self.steps} "
            f"warmup={self.warmup} seed={self.seed} layers={self.layers} width={self.width} "
            f"sequence={self.sequence} batch={self.batch} vocabulary={self.vocabulary} "
            f"parameters={sum(rows * columns for rows, columns in shapes(self).values())}"
        )


def read_options(argv: Sequence[str] | None = None) -> TrainBenchOptions:
    """Read the command line; end with a line on stderr and exit code 2 if it is invalid."""
    parser = argparse.ArgumentParser(prog="train-bench")
    parser.add_argument("mode", choices=(REPLAY, TRAIN))
    parser.add_argument("-d", "--devices", choices=(GPU, CPU), default=GPU)
    parser.add_argument("--master", required=True, metavar="ADDRESS:PORT", help="of rank 0")
    parser.add_argument("-n", "--steps", type=int, default=100)
    parser.add_argument("-w", "--warmup", type=int, default=0, help="steps before, not counted")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=1024, help=f"a multiple of {_HEAD}")
    parser.add_argument("--sequence", type=int, default=512, help="tokens")
    parser.add_argument("--batch", type=int, default=4, help="sequences of a rank in a step")
    parser.add_argument("--vocabulary", type=int, default=8192)
    given = vars(parser.parse_args(argv))
    address, _, port = given["master"].rpartition(":")
    if not address or not port.isdecimal():
        parser.error(f"--master {given['master']}: give ADDRESS:PORT")
    if given["width"] < _HEAD or given["width"] % _HEAD:
        parser.error(f"--width {given['width']}: give a multiple of {_HEAD}")
    sizes = ("steps", "layers", "sequence", "batch", "vocabulary")
    if min(given[name] for name in sizes) < 1 or min(given["warmup"], given["seed"]) < 0:
        parser.error("give 1 or more, and 0 or more as --warmup and --seed")
    return TrainBenchOptions(**{**given, "master": (address.strip("[]"), int(port))})


@dataclass(frozen=True)
class LaunchedRank:
    """The rank, the number of ranks, and the rank's number on its node."""

    rank: int
    ranks: int
    local: int

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> LaunchedRank:
        """Return what the launcher says; without a launcher the only rank."""
        found = [
            next((int(environment[name]) for name in names if name in environment), default)
            for names, default in ((_RANK, 0), (_RANKS, 1), (_LOCAL, 0))
        ]
        return cls(*found)


# --- the model ---


def shapes(options: TrainBenchOptions) -> dict[str, tuple[int, int]]:
    """Return rows and columns of each tensor, in order."""
    wide = options.width
    found = {"embedding": (options.vocabulary, wide)}
    for layer in range(options.layers):
        found |= {
            f"layer{layer}.norm1": (1, wide),
            f"layer{layer}.attention": (wide, 3 * wide),
            f"layer{layer}.joined": (wide, wide),
            f"layer{layer}.norm2": (1, wide),
            f"layer{layer}.up": (wide, 4 * wide),
            f"layer{layer}.down": (4 * wide, wide),
        }
    return {**found, "norm": (1, wide), "head": (wide, options.vocabulary)}


class Trainer:
    """One replica of the model with its optimizer: all tensors of a kind lie in one buffer."""

    def __init__(self, torch: Any, options: TrainBenchOptions, device: Any) -> None:
        self._torch, self._options, self._device = torch, options, device
        self._shapes = shapes(options)
        count = sum(rows * columns for rows, columns in self._shapes.values())
        source = torch.Generator(device=device).manual_seed(options.seed)
        self.master = torch.empty(count, device=device).normal_(0, _SPREAD, generator=source)
        for name, tensor in self.tensors():
            if "norm" in name:
                tensor.fill_(1)
        self.gradients = torch.zeros(count, device=device, dtype=torch.bfloat16)
        self._moments = [torch.zeros_like(self.master) for _ in range(2)]
        self._narrow = self.master.to(torch.bfloat16)
        self._weights = dict(self._leaves())
        ahead = torch.ones(options.sequence, options.sequence, device=device, dtype=torch.bool)
        self._ahead = ahead.triu(1)
        self._step = 0

    def tensors(self) -> Iterator[tuple[str, Any]]:
        """Yield each tensor of the master weights with its name."""
        return self._parts(self.master)

    def _parts(self, whole: Any) -> Iterator[tuple[str, Any]]:
        at = 0
        for name, (rows, columns) in self._shapes.items():
            yield name, whole[at : at + rows * columns].view(rows, columns)
            at += rows * columns

    def _leaves(self) -> Iterator[tuple[str, Any]]:
        """Yield the narrow weights, each with its part of the gradients."""
        own = zip(self._parts(self._narrow), self._parts(self.gradients))  # noqa: B905 - 3.10
        for (name, weights), (_, gradients) in own:
            leaf = weights.detach().requires_grad_()
            leaf.grad = gradients
            yield name, leaf

    def tokens(self, draw: Any) -> Any:
        """Return the tokens of a step, drawn on the host."""
        asked = self._options
        shape = (asked.batch, asked.sequence + 1)
        return self._torch.randint(asked.vocabulary, shape, generator=draw).to(self._device)

    def backward(self, tokens: Any) -> Any:
        """Return the loss, with its gradients in ``gradients``."""
        self.gradients.zero_()
        loss = self._loss(tokens)
        loss.backward()
        return loss.detach()

    def update(self, wide: Any) -> None:
        """Take one step of Adam with gradients in fp32."""
        torch, (first, second) = self._torch, self._moments
        self._step += 1
        first.mul_(_FIRST).add_(wide, alpha=1 - _FIRST)
        second.mul_(_SECOND).addcmul_(wide, wide, value=1 - _SECOND)
        scale = math.sqrt(1 - _SECOND**self._step) / (1 - _FIRST**self._step)
        self.master.addcdiv_(first, second.sqrt().add_(_TINY), value=-_RATE * scale)
        self._narrow.copy_(self.master.to(torch.bfloat16))

    def _loss(self, tokens: Any) -> Any:
        given, wanted = tokens[:, :-1], tokens[:, 1:]
        functional, weights = self._torch.nn.functional, self._weights
        x = functional.embedding(given, weights["embedding"])
        for layer in range(self._options.layers):
            own = f"layer{layer}."
            x = x + self._attended(x, own)
            y = self._normal(x, weights[f"{own}norm2"])
            x = x + functional.gelu(y @ weights[f"{own}up"]) @ weights[f"{own}down"]
        logits = (self._normal(x, weights["norm"]) @ weights["head"]).float()
        return functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())

    def _normal(self, x: Any, weight: Any) -> Any:
        wide = x.float()
        scaled = wide * (wide.square().mean(-1, keepdim=True) + _TINY).rsqrt()
        return scaled.to(x.dtype) * weight

    def _attended(self, x: Any, own: str) -> Any:
        asked, weights = self._options, self._weights
        y = self._normal(x, weights[f"{own}norm1"]) @ weights[f"{own}attention"]
        heads = (asked.batch, asked.sequence, 3, asked.width // _HEAD, _HEAD)
        q, k, v = y.view(heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)).float() / math.sqrt(_HEAD)
        shares = scores.masked_fill(self._ahead, -math.inf).softmax(-1).to(x.dtype)
        return (shares @ v).transpose(1, 2).flatten(2) @ weights[f"{own}joined"]


# --- replay ---


def digests(torch: Any, trainer: Trainer) -> list[str]:
    """Return the digest of each tensor of the master weights."""
    sums = []
    for _, tensor in trainer.tensors():
        bits = tensor.view(torch.int32).to(torch.int64)
        rows, columns = (torch.arange(n, device=bits.device) * 2 + 1 for n in bits.shape)
        sums.append(((bits * columns).sum(1) * rows).sum())
    return [f"{one % (1 << 64):016x}" for one in torch.stack(sums).tolist()]


def joined(parts: Sequence[str]) -> str:
    """Return the digest of a step, from its loss and its tensors, or of a chain of steps."""
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Replayed:
    """What one rank computed: loss and tensor digests of each step, and the seconds."""

    losses: list[str]
    tensors: list[list[str]]
    seconds: float

    @property
    def steps(self) -> list[str]:
        return [joined([loss, *all_]) for loss, all_ in zip(self.losses, self.tensors)]  # noqa: B905


def replay(torch: Any, options: TrainBenchOptions, device: Any) -> Replayed:
    """Train alone. Raises ``CannotTrain`` if an operation has no deterministic algorithm here."""
    torch.use_deterministic_algorithms(True)
    trainer = Trainer(torch, options, device)
    draw = torch.Generator().manual_seed(options.seed)
    losses, tensors = [], []
    begun = time.perf_counter()
    try:
        for _ in range(options.steps):
            loss = trainer.backward(trainer.tokens(draw))
            trainer.update(trainer.gradients.float())
            losses.append(f"{loss.item():.9g}")
            tensors.append(digests(torch, trainer))
    except RuntimeError as error:
        if "determinis" in str(error):
            raise CannotTrain(str(error).splitlines()[0]) from None
        raise
    return Replayed(losses, tensors, time.perf_counter() - begun)


class Talk:
    """What the ranks tell each other, through a store of rank 0: no collective carries it."""

    def __init__(self, store: Any, place: LaunchedRank) -> None:
        self._store, self._place = store, place

    def gathered(self, topic: str, own: object) -> list[Any]:
        """Return what each rank sent of a topic; only rank 0 needs all of it."""
        self._store.set(f"{topic}/{self._place.rank}", json.dumps(own))
        if self._place.rank:
            return []
        return [json.loads(self._store.get(f"{topic}/{n}")) for n in range(self._place.ranks)]

    def shared(self, topic: str, own: object) -> Any:
        """Return what rank 0 tells all."""
        if self._place.rank == 0:
            self._store.set(topic, json.dumps(own))
        return json.loads(self._store.get(topic))


def report_replay(talk: Talk, options: TrainBenchOptions, own: Replayed) -> int:
    """Print what the ranks computed, on rank 0; return on each how many ranks differ."""
    gathered = talk.gathered("steps", [own.steps, own.losses, own.seconds])
    asked = talk.shared("asked", _differing([steps for steps, _, _ in gathered]))
    at = sorted({step for _, step in asked["differ"]})
    tensors = talk.gathered("tensors", {step: own.tensors[step] for step in at})
    if gathered:
        good = asked["first"]
        for number, (digest, loss) in enumerate(zip(*gathered[good][:2])):  # noqa: B905 - 3.10
            print(f"train-bench step {number} loss={loss} digest={digest}")
        for rank, (steps, _, seconds) in enumerate(gathered):
            print(
                f"train-bench replayed rank={rank} steps={len(steps)} seconds={seconds:.6f} "
                f"chain={joined(steps)}"
            )
        for rank, step in asked["differ"]:
            named = zip(shapes(options), tensors[rank][str(step)], tensors[good][str(step)])  # noqa: B905
            # A loss that differs alone has left no trace in the weights.
            name, its, others = next((one for one in named if one[1] != one[2]), ("loss", "-", "-"))
            print(
                f"train-bench differs rank={rank} step={step} tensor={name} "
                f"digest={its} others={others}"
            )
        print(f"train-bench end ranks={len(gathered)} differing={len(asked['differ'])}", flush=True)
    return len(asked["differ"])


def _differing(steps: Sequence[list[str]]) -> dict[str, Any]:
    """Return the first rank of the most common chain, and each other rank with its first step."""
    chains = [joined(own) for own in steps]
    common = Counter(chains).most_common(1)[0][0] if chains else ""
    good = chains.index(common) if chains else 0
    differ = []
    for rank, own in enumerate(steps):
        if chains[rank] != common:
            pairs = enumerate(zip(own, steps[good]))  # noqa: B905 - 3.10
            differ.append((rank, next(number for number, (a, b) in pairs if a != b)))
    return {"first": good, "differ": differ}


# --- train ---


class Clock:
    """Seconds of the parts of a step; it waits for the device at the end of each."""

    def __init__(self, torch: Any, kind: str) -> None:
        self._wait = torch.cuda.synchronize if kind == GPU else lambda: None
        self._last = 0.0

    def start(self) -> None:
        self._wait()
        self._last = time.perf_counter()

    def lap(self) -> float:
        self._wait()
        before, self._last = self._last, time.perf_counter()
        return self._last - before


def train(
    torch: Any, options: TrainBenchOptions, device: Any, place: LaunchedRank
) -> dict[str, Any]:
    """Train with the other ranks; return the seconds of each step by part, and the last loss."""
    trainer = Trainer(torch, options, device)
    draw = torch.Generator().manual_seed(options.seed + 1 + place.rank)
    clock, laps = Clock(torch, options.devices), []
    loss: Any = None
    for number in range(options.warmup + options.steps):
        if number == options.warmup:
            torch.distributed.barrier()
        clock.start()
        tokens = trainer.tokens(draw)
        load = clock.lap()
        loss = trainer.backward(tokens)
        wide = trainer.gradients.float().div_(place.ranks)
        compute = clock.lap()
        torch.distributed.all_reduce(wide)
        exchange = clock.lap()
        trainer.update(wide)
        laps.append((load, compute + clock.lap(), exchange))
    digest = joined(digests(torch, trainer))
    return {"laps": laps[options.warmup :], "loss": loss.item(), "digest": digest}


def report_train(talk: Talk, own: Mapping[str, Any]) -> None:
    """Print the row of each rank, on rank 0."""
    gathered = talk.gathered("laps", own)
    for rank, one in enumerate(gathered):
        parts = list(zip(*one["laps"]))  # noqa: B905 - 3.10
        whole = sorted(map(sum, one["laps"]))
        p99 = whole[math.ceil(0.99 * len(whole)) - 1]
        load, compute, exchange = (1e3 * statistics.median(part) for part in parts)
        print(
            f"train-bench row rank={rank} steps={len(whole)} "
            f"step_ms={1e3 * statistics.median(whole):.3f} step_p99_ms={1e3 * p99:.3f} "
            f"load_ms={load:.3f} compute_ms={compute:.3f} exchange_ms={exchange:.3f} "
            f"loss={one['loss']:.9g} digest={one['digest']}"
        )
    if gathered:
        slowest = max(sum(map(sum, one["laps"])) for one in gathered)
        print(f"train-bench end ranks={len(gathered)} seconds={slowest:.6f}", flush=True)


# --- the run ---


def device_of(torch: Any, kind: str, local: int) -> tuple[Any, str]:
    """Return the device of a rank, and how it is shown. Raises ``CannotTrain``."""
    if kind == CPU:
        torch.set_num_threads(1)  # sums of several threads differ in their last bits
        return torch.device(CPU), f"device=cpu{local} uuid=- name=CPU"
    found = torch.cuda.device_count()
    if local >= found:
        raise CannotTrain(f"torch {torch.__version__} finds {found} GPUs, not {local + 1}")
    torch.cuda.set_device(local)
    built = torch.cuda.get_device_properties(local)
    uuid = getattr(built, "uuid", None)
    return torch.device("cuda", local), (
        f"device=gpu{local} uuid={f'GPU-{uuid}' if uuid else '-'} name={built.name}"
    )


def measure(torch: Any, options: TrainBenchOptions, place: LaunchedRank) -> int:
    """Return how many ranks differ. Raises ``CannotTrain``."""
    device, shown = device_of(torch, options.devices, place.local)
    host, port = options.master
    store = torch.distributed.TCPStore(host, port, place.ranks, place.rank == 0, timeout=_WAIT)
    talk = Talk(store, place)
    library = f"torch {torch.__version__}"
    gathered = talk.gathered("places", [library, f"host={os.uname().nodename} {shown}"])
    libraries = talk.shared("libraries", sorted({name for name, _ in gathered}))
    if len(libraries) > 1:
        raise CannotTrain(f"the ranks have different libraries: {', '.join(libraries)}")
    if gathered:
        print(f"train-bench version {VERSION}")
        print(f"train-bench run {options.shown(place.ranks)}")
        print(f"train-bench library {library}")
        for rank, (_, where) in enumerate(gathered):
            print(f"train-bench rank {rank} {where}")
        sys.stdout.flush()
    differing = 0
    if options.mode == REPLAY:
        differing = report_replay(talk, options, replay(torch, options, device))
    else:
        torch.distributed.init_process_group(
            "nccl" if options.devices == GPU else "gloo",
            store=store, rank=place.rank, world_size=place.ranks,
        )  # fmt: skip
        report_train(talk, train(torch, options, device, place))
    talk.gathered("done", True)  # rank 0, whose store it is, ends last
    return differing


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 if all ranks agree, 1 if not, 2 if nothing can be measured."""
    options = read_options(argv)
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # the numbers of nvidia-smi
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS is deterministic with it
    try:
        import torch  # noqa: PLC0415 - invalid arguments end before it is loaded
        import torch.distributed  # noqa: PLC0415

        return 1 if measure(torch, options, LaunchedRank.of(os.environ)) else 0
    except (ImportError, CannotTrain) as error:
        print(f"train-bench: cannot measure {options.mode}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
