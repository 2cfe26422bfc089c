"""A lab that is served forks its tools from one interpreter: they are as those that start one."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from testing.free_ports import free_port as any_free_port
from testing.lab_bench import Bench, StartLab, wait_for_listener
from testing.waiting import wait_until

from railgauge_lab import tool_server, tree

LAUNCH = Path(tree.__file__).with_name("launch.py")
PERFTEST = ("ib_write_bw", "-d", "mlx5_0")


def is_served(bench: Bench) -> bool:
    return (bench.folder / "shared" / tool_server.ASK).is_fifo()


@pytest.fixture
def served(metax: Bench) -> Bench:
    return _served(metax)


def _served(bench: Bench) -> Bench:
    wait_until(lambda: is_served(bench), 10, "the tool server")
    return bench


def direct(bench: Bench, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The tool in an interpreter of its own."""
    home = bench.home(0)
    argv = [sys.executable, "-SE", str(LAUNCH), words[0], f"{home}/bin/../node", *words[1:]]
    env = {"PATH": f"{home}/bin", **env}
    return subprocess.run(argv, cwd=home, env=env, capture_output=True, text=True, check=False)


def program_of(process: int) -> str:
    return Path(f"/proc/{process}/exe").resolve().name


@contextlib.contextmanager
def listening(bench: Bench) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server of perftest, which waits for its client."""
    port = any_free_port()
    with bench.start(0, *PERFTEST, "-p", str(port)) as shell:
        try:
            wait_for_listener(bench.nodes[0].data_address, port)
            yield shell, port
        finally:
            shell.kill()


CLOCK = re.compile(r"\d\d:\d\d:\d\d")


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (("ibstat",), {}),
        (("mx-smi",), {}),
        (("ib_write_bw", "--no-such"), {}),
        (("ib_write_bw", "a b", "c'd\n", ""), {}),
        (("mpirun", "-np", "2", "all_reduce_perf", "-b", "8", "-e", "8"), {"USER": "root"}),
        (("gemm-bench",), {"HIP_VISIBLE_DEVICES": "x=y"}),
        (("ibv_devinfo", "-d", "absent"), {}),
        (("dd", "if=root/proc/sys/kernel/hostname", "bs=1", "count=2", "status=none"), {}),
        (("ethtool", "-i", "absent"), {}),
        (("iperf3", "--version"), {}),
        (("vllm", "serve", "a b", "--port"), {}),
    ],
)
def test_it_says_what_one_of_an_own_interpreter_says(
    served: Bench, words: tuple[str, ...], env: dict[str, str]
) -> None:
    reported, due = served.run(0, *words, **env), direct(served, *words, **env)
    printed, wanted = (CLOCK.sub("", one.stdout) for one in (reported, due))
    assert (printed, reported.stderr, reported.returncode) == (wanted, due.stderr, due.returncode)


def test_a_pair_measures_and_neither_starts_an_interpreter(served: Bench) -> None:
    with listening(served) as (shell, port):
        assert not program_of(shell.pid).startswith("python")
        client = served.run(1, *PERFTEST, "-p", str(port), served.nodes[0].data_address)
        out, _ = shell.communicate(timeout=20)
    assert (client.returncode, shell.returncode) == (0, 0)
    assert "BW average[" in client.stdout
    assert "BW average[" in out


@pytest.fixture
def hears_hangups() -> Iterator[None]:
    """A process that this one starts ends by SIGHUP, also where nohup has started the tests."""
    was = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, was)


@pytest.mark.usefixtures("hears_hangups")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_it_ends_with_its_shell(served: Bench, number: signal.Signals) -> None:
    with listening(served) as (shell, port):
        shell.send_signal(number)
        assert shell.wait(10) == -number
        address = (served.nodes[0].data_address, port)

        def is_free() -> bool:
            with socket.socket() as one:
                return one.connect_ex(address) != 0

        wait_until(is_free, 10, "the end of the fork")


def test_a_signal_that_ends_it_ends_its_shell(start_lab: StartLab) -> None:
    bench = _served(start_lab("metax-c500", "tool-floods@mx01:ib_write_bw", served=True))
    with bench.start(0, *PERFTEST) as shell:
        assert shell.stdout
        assert shell.stdout.read(9) == "mlx5: une"
        assert not program_of(shell.pid).startswith("python")
        shell.stdout.close()
        assert shell.wait(10) == -signal.SIGPIPE


def test_a_file_is_written_on_and_a_socket_is_read(served: Bench, tmp_path: Path) -> None:
    """What the fork cannot open as it is: there the script becomes the tool."""
    home, kept = served.home(0), tmp_path / "kept"
    shell = f"echo before >{kept}; exec >>{kept}; ibstat; echo after"
    here, there = socket.socketpair()
    with here, there:
        subprocess.run(
            ["sh", "-c", shell], env={"PATH": f"{home}/bin"}, stdin=here, check=True, cwd=home
        )
    assert kept.read_text() == f"before\n{direct(served, 'ibstat').stdout}after\n"


def test_processes_that_its_shell_began_live_on(served: Bench) -> None:
    home = served.home(0)
    script = "sleep 60 >/dev/null 2>&1 & echo $! >&2; exec ibstat"
    done = subprocess.run(
        ["sh", "-c", script],
        env={"PATH": f"{home}/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        cwd=home,
    )
    try:
        assert done.stdout == direct(served, "ibstat").stdout
        assert program_of(int(done.stderr)) in ("sleep", "coreutils", "busybox")
    finally:
        os.kill(int(done.stderr), signal.SIGKILL)


def test_many_at_once(served: Bench) -> None:
    due = direct(served, "ibstat").stdout
    with ThreadPoolExecutor(8) as pool:
        printed = list(pool.map(lambda _: served.run(0, "ibstat"), range(100)))
    assert {(one.stdout, one.stderr, one.returncode) for one in printed} == {(due, "", 0)}


def test_it_goes_on_after_what_no_shell_asks(served: Bench) -> None:
    ask = served.folder / "shared" / tool_server.ASK
    ask.write_text(f"x\n\n1\n1 2 3\n999999999 999999999\n{os.getpid()} 999999999\n")
    with listening(served) as (shell, _):
        assert not program_of(shell.pid).startswith("python")


def test_a_lab_that_ends_has_no_tool_server_and_no_fork(start_lab: StartLab) -> None:
    bench = _served(start_lab("metax-c500", served=True))
    with listening(bench) as (_, port):
        bench.lab.close()
        assert not is_served(bench)
        with socket.socket() as one:
            assert one.connect_ex((bench.nodes[0].data_address, port)) != 0
    assert bench.run(0, "ibstat").stdout == direct(bench, "ibstat").stdout
