"""The stories of the five documents, told by the suite: the last screen of a run for each.

    python selftests/matrix/stories.py [--page FILE]

Each story is a fault of the lab that the document describes. Gates are left open where the document
went up the whole ladder before it knew.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from testing.acceptance import Project, Run, make_project


@dataclass(frozen=True)
class Story:
    """``concludes`` is what the document found; ``options`` are those of the run."""

    document: str
    title: str
    concludes: str
    options: tuple[str, ...]

    @property
    def command(self) -> str:
        return "pytest " + " ".join(f'"{word}"' if " " in word else word for word in self.options)


def _lab(platform: str, *more: str) -> tuple[str, ...]:
    return ("--hostfile", f"hostfiles/lab-{platform}.yaml", *more)


STORIES = (
    Story(
        "000",
        "GPU memory that NICs could not reach",
        "Host RDMA and GPU RDMA reach 392 Gb/s, yet MCCL over two nodes averages 4.57 instead of "
        "24.4 GB/s: after a kernel update the GPU driver's file under memory_peers was missing, "
        "so GPUDirect RDMA was off. The former kernel brought it back.",
        _lab("metax-c500", "--level", "signoff", "--no-gates", "--lab-fault", "gdr-disabled@mx02",
             "-k", "host_write or test_write_bandwidth or gpu_write_bandwidth and 8MiB or "
             "peer_memory or alike or pairs or node_collectives and average"),
    ),
    Story(
        "001",
        "A diagnostic that took turns with the collectives",
        "Links, ECC and topology are fine, and with the tuning variables NCCL reaches 390 GB/s. "
        "EUD, running in the background, swings single iterations between 33 and 390 GB/s; a mean "
        "of 170 over 1000 iterations had hidden it.",
        _lab("h200", "--level", "smoke", "--no-gates", "--lab-fault",
             "background-diagnostics@h200-02", "-k", "process or pair or rdma and mlx5_0"),
    ),
    Story(
        "002",
        "The slowest of seven links",
        "A GPU has seven xGMI links, and the slowest caps what it can send: seven times 45 GB/s "
        "are 316, not the sum of 326, and RCCL stays between 310 and 330 GB/s.",
        _lab("mi300x", "--level", "smoke", "--no-gates", "--lab-fault", "slow-xgmi@mi01:0>7",
             "-k", "link or aggregate or all_reduce or write_bandwidth and mlx5_0"),
    ),
    Story(
        "003",
        "Interrupts that looked wrong and were not the cause",
        "Interrupts of eth3 are served on the far NUMA node, and yet 19.2 GB/s on average, traffic "
        "equal on all four NICs, nothing dropped: not the bottleneck, nothing to tune there.",
        _lab("h100-tcpx", "--level", "signoff", "--lab-fault", "irq-affinity@tcpx02:eth3"),
    ),
    Story(
        "004",
        "A homelab at the rate of its switch",
        "1.15 us and 3776.9 MiB/s: the 40G switch is the limit and the link is healthy. What "
        "perftest complains about is the CPU governor, which is then set to performance.",
        _lab("connectx4-homelab", "--level", "nightly", "--no-gates", "--lab-fault",
             "governor@columbia"),
    ),
)  # fmt: skip


def tell(story: Story, folder: Path) -> Run:
    project: Project = make_project(folder / story.document)
    return project.run(*story.options, "-q")


def last_screen(run: Run) -> str:
    """From the suite's own heading on, without the folder that it ran in."""
    _, _, screen = run.stdout.rpartition("= railgauge =")
    lines = screen.partition("\n")[2].splitlines()
    kept = [line.rstrip() for line in lines if not line.startswith(("report:", "- Generated"))]
    return "\n".join(kept[:-1]).strip("\n")


def page(told: Iterable[tuple[Story, Run]]) -> str:
    parts = [_HEAD]
    for story, run in told:
        parts.append(
            f"## {story.document}: {story.title}\n\n{story.concludes}\n\n"
            f"```text\n$ {story.command}\n{last_screen(run)}\n```\n"
        )
    return "\n".join(parts)


_HEAD = """# Five stories

The suite grew from five documents, each of which found out something about a system. Each is a
fault of the embedded lab (evidence simulated; its figures are the documents'), and this is the last
screen of a run against it. Made by `make matrix`.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--page", type=Path)
    parser.add_argument("--document", action="append", choices=[s.document for s in STORIES])
    options = parser.parse_args()
    wanted = [s for s in STORIES if not options.document or s.document in options.document]
    with tempfile.TemporaryDirectory(prefix="stories-") as folder, ThreadPoolExecutor(2) as pool:
        runs = pool.map(lambda story: tell(story, Path(folder)), wanted)
        text = page(zip(wanted, runs, strict=True))
    if options.page:
        options.page.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
