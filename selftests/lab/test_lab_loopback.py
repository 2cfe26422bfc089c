"""perftest of the lab between a node and itself: real figures, and no port that counts them."""

from __future__ import annotations

from testing.lab_bench import wait_for_listener

COUNTERS = "sys/class/infiniband/mlx5_3/ports/1/counters"
WORDS = ("ib_write_bw", "-d", "mlx5_3", "-p", "18515", "-F", "-s", "8388608", "--report_gbits")


def test_a_nic_writes_to_itself_and_its_port_counts_nothing(start_lab):
    bench = start_lab("h200")
    names = ("port_xmit_data", "port_rcv_data")
    before = [bench.read(0, f"{COUNTERS}/{name}") for name in names]
    server = bench.start(0, *WORDS)
    wait_for_listener(bench.nodes[0].data_address, 18515)
    client = bench.run(0, *WORDS, "127.0.0.1")
    assert server.wait(20) == 0
    assert client.returncode == 0, client.stderr
    (row,) = [line.split() for line in client.stdout.splitlines() if line.startswith(" 8388608")]
    assert 380 < float(row[3]) < 400
    assert [bench.read(0, f"{COUNTERS}/{name}") for name in names] == before


def test_without_a_server_on_the_node_itself_the_client_says_so(start_lab):
    client = start_lab("h200").run(0, *WORDS, "localhost")
    assert client.returncode == 1
    assert "Couldn't connect to localhost:18515" in client.stderr
