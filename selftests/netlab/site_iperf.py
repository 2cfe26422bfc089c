"""A program of the newcomer's site, which it calls ``iperf3``: one TCP stream, in iperf3's form.

It shares no code with iperf3 or with this project, and takes those options alone that a run asks
for. The bytes that it tells are those that the server counted.
"""

import argparse
import json
import socket
import struct
import sys
import time

VERSION = "3.99 (the site's own)"
WRITE = bytes(1 << 17)
COUNTED = struct.Struct("!Qd")  # bytes, and the seconds that they took


def read_options():
    parser = argparse.ArgumentParser(prog="iperf3", allow_abbrev=False)
    side = parser.add_mutually_exclusive_group(required=True)
    side.add_argument("-s", "--server", action="store_true")
    side.add_argument("-c", "--client", metavar="HOST")
    parser.add_argument("-1", "--one-off", action="store_true", required="-s" in sys.argv)
    parser.add_argument("-J", "--json", action="store_true", required="-c" in sys.argv)
    parser.add_argument("-p", "--port", type=int, required=True)
    parser.add_argument("-t", "--time", type=int, default=10)
    parser.add_argument("-P", "--parallel", type=int, choices=(1,), default=1)
    parser.add_argument("--bind-dev")
    return parser.parse_args()


def bound(asked):
    endpoint = socket.socket()
    endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if asked.bind_dev:
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, asked.bind_dev.encode())
    return endpoint


def serve(asked):
    listener = bound(asked)
    listener.bind(("", asked.port))
    listener.listen(1)
    peer, _ = listener.accept()
    began_s, total = time.monotonic(), 0
    while count := len(peer.recv(1 << 20)):
        total += count
    peer.sendall(COUNTED.pack(total, time.monotonic() - began_s))


def send(asked):
    """Return the bytes and seconds of each second, and what the server counted."""
    peer, intervals = bound(asked), []
    peer.connect((asked.client, asked.port))
    for _ in range(asked.time):
        began_s, sent = time.monotonic(), 0
        while (took_s := time.monotonic() - began_s) < 1.0:
            sent += peer.send(WRITE)
        intervals.append((sent, took_s))
    peer.shutdown(socket.SHUT_WR)
    return intervals, COUNTED.unpack(peer.recv(COUNTED.size, socket.MSG_WAITALL))


def total(sent, seconds):
    return {"seconds": seconds, "bytes": sent, "bits_per_second": 8 * sent / seconds}


def document(asked, intervals, received):
    sent = [sum(column) for column in zip(*intervals, strict=True)]
    test = {
        "protocol": "TCP", "num_streams": 1, "blksize": len(WRITE), "omit": 0,
        "duration": asked.time, "reverse": 0, "bidir": 0,
    }  # fmt: skip
    sums = {"sum_sent": total(*sent), "sum_received": total(*received)}
    return {
        "start": {"version": f"iperf {VERSION}", "test_start": test},
        "intervals": [{"sum": total(*one) | {"omitted": False}} for one in intervals],
        "end": {"streams": [{}], **sums},
    }


if __name__ == "__main__":
    options = read_options()
    if options.server:
        serve(options)
    else:
        json.dump(document(options, *send(options)), sys.stdout)
