"""A stand-in for a Kubernetes API server, for the real kubectl: pods, and commands in them.

It gives a request what the rules of a role allow, as RBAC does. A command in a pod is a process of
this machine that finds the name of its pod in ``POD``; it speaks version 5 of the protocol over a
WebSocket. All data is of the one namespace.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import parse_qs, urlsplit

NAMESPACE = "railgauge"

_PROTOCOL = "v5.channel.k8s.io"
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # of RFC 6455
_STDIN, _STDOUT, _STDERR, _STATUS, _CLOSE = 0, 1, 2, 3, 255
_BINARY, _CLOSING, _PING, _PONG = 2, 8, 9, 10
_RESOURCES = [
    {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "verbs": ["get", "list"],
    }
]


@dataclass(frozen=True)
class Api:
    """The server, the pods that it has, the rules of the role, and what was asked and refused."""

    server: ThreadingHTTPServer
    pods: list[Mapping[str, Any]]
    rules: list[Mapping[str, Any]]
    asked: list[tuple[str, str]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)

    def kubeconfig(self, path: Path) -> Path:
        """Write a configuration by which kubectl reaches this server."""
        address = f"http://127.0.0.1:{self.server.server_port}"
        context = {"cluster": "here", "user": "me", "namespace": NAMESPACE}
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1", "kind": "Config", "current-context": "here",
                    "clusters": [{"name": "here", "cluster": {"server": address}}],
                    "contexts": [{"name": "here", "context": context}],
                    "users": [{"name": "me", "user": {"token": "t"}}],
                }
            )
        )  # fmt: skip
        return path

    def allows(self, verb: str, resource: str) -> bool:
        self.asked.append((verb, resource))
        if any(verb in rule["verbs"] and resource in rule["resources"] for rule in self.rules):
            return True
        self.refused.append((verb, resource))
        return False


def pod(
    name: str, node: str, template: Mapping[str, Any], phase: str = "Running"
) -> dict[str, Any]:
    """A pod of the template of a DaemonSet on this node."""
    metadata = {"name": name, "namespace": NAMESPACE, **template["metadata"]}
    spec = {**template["spec"], "nodeName": node}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase},
    }


@contextmanager
def serving(pods: Iterable[Mapping[str, Any]], rules: Iterable[Mapping[str, Any]]) -> Iterator[Api]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    api = Api(server, list(pods), list(rules))
    server.api = api  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._answer("get")

    def do_POST(self) -> None:
        self._answer("create")

    def _answer(self, verb: str) -> None:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        match [part for part in parts.path.split("/") if part]:
            case ["api"]:
                self._send({"kind": "APIVersions", "versions": ["v1"]})
            case ["apis"]:
                self._send({"kind": "APIGroupList", "apiVersion": "v1", "groups": []})
            case ["api", "v1"]:
                self._send(
                    {"kind": "APIResourceList", "groupVersion": "v1", "resources": _RESOURCES}
                )
            case ["api", "v1", "namespaces", "railgauge", "pods"] if self._may("list", "pods"):
                self._send(
                    {
                        "kind": "PodList",
                        "apiVersion": "v1",
                        "metadata": {},
                        "items": self._selected(query),
                    }
                )
            case ["api", "v1", "namespaces", "railgauge", "pods", name] if self._may("get", "pods"):
                found = [one for one in self._api.pods if one["metadata"]["name"] == name]
                self._send(found[0]) if found else self._refuse(404, "NotFound")
            # From 1.35 on a WebSocket needs create too.
            case ["api", "v1", "namespaces", "railgauge", "pods", name, "exec"] if self._may(
                verb, "pods/exec"
            ) and self._may("create", "pods/exec"):
                self._execute(name, query)
            case _ if not self.wfile.closed:
                self._refuse(403, "Forbidden")

    @property
    def _api(self) -> Api:
        return self.server.api  # type: ignore[attr-defined, no-any-return]

    def _may(self, verb: str, resource: str) -> bool:
        return self._api.allows(verb, resource)

    def _selected(self, query: Mapping[str, list[str]]) -> list[Mapping[str, Any]]:
        labels = dict(
            one.split("=") for one in query.get("labelSelector", [""])[0].split(",") if one
        )
        fields = dict(
            one.split("=") for one in query.get("fieldSelector", [""])[0].split(",") if one
        )

        def is_meant(one: Mapping[str, Any]) -> bool:
            known = {
                "spec.nodeName": one["spec"]["nodeName"],
                "status.phase": one["status"]["phase"],
            }
            return (
                labels.items() <= one["metadata"]["labels"].items()
                and fields.items() <= known.items()
            )

        return [one for one in self._api.pods if is_meant(one)]

    def _send(self, document: Mapping[str, Any], code: int = 200) -> None:
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, code: int, reason: str) -> None:
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason}
        self._send({**status, "message": f"{reason}: {self.path}", "code": code}, code)

    def _execute(self, name: str, query: Mapping[str, list[str]]) -> None:
        (found,) = (one for one in self._api.pods if one["metadata"]["name"] == name)
        containers = {one["name"] for one in found["spec"]["containers"]}
        is_websocket = self.headers.get("Upgrade", "").lower() == "websocket"
        if not is_websocket or query["container"][0] not in containers:
            self._refuse(400, "BadRequest")
        else:
            key = self.headers["Sec-WebSocket-Key"].encode()
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            self.send_header(
                "Sec-WebSocket-Accept",
                base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode(),
            )
            self.send_header("Sec-WebSocket-Protocol", _PROTOCOL)
            self.end_headers()
            self.close_connection = True
            _carry_out(query["command"], {**os.environ, "POD": name}, self.rfile, self.wfile)


def _carry_out(
    argv: list[str], env: Mapping[str, str], asked: BinaryIO, reported: BinaryIO
) -> None:
    """Run a command; with its client it loses its input and the readers of its output."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        argv, env=env, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        sending = threading.Lock()

        def send(kind: int, data: bytes) -> None:
            with sending:
                reported.write(_frame(kind, data))
                reported.flush()

        def pass_on(stream: BinaryIO, channel: int) -> None:
            with suppress(OSError, ValueError):
                while data := stream.read(65536):
                    send(_BINARY, bytes([channel]) + data)

        def read() -> None:
            try:
                for kind, data in _frames(asked):
                    if kind == _PING:
                        send(_PONG, data)
                    elif kind == _BINARY and data[0] == _STDIN:
                        process.stdin.write(data[1:])
                    elif kind == _BINARY and data[:2] == bytes([_CLOSE, _STDIN]):
                        process.stdin.close()
            except (OSError, ValueError):
                return
            finally:
                for stream in (process.stdin, process.stdout, process.stderr):
                    with suppress(OSError):
                        stream.close()

        outputs = ((process.stdout, _STDOUT), (process.stderr, _STDERR))
        readers = [
            threading.Thread(target=pass_on, args=(raw, channel)) for raw, channel in outputs
        ]
        for thread in (threading.Thread(target=read, daemon=True), *readers):
            thread.start()
        for thread in readers:
            thread.join()
        with suppress(OSError, ValueError):
            send(_BINARY, bytes([_STATUS]) + json.dumps(_status(process.wait())).encode())
            send(_CLOSING, struct.pack("!H", 1000))


def _status(ended: int) -> dict[str, Any]:
    code = ended if ended >= 0 else 128 - ended  # by a signal
    if code == 0:
        return {"kind": "Status", "status": "Success"}
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return {
        "kind": "Status", "status": "Failure", "reason": "NonZeroExitCode",
        "message": f"command terminated with exit code {code}", "details": {"causes": causes},
    }  # fmt: skip


# --- frames of RFC 6455 ---


def _frame(kind: int, data: bytes) -> bytes:
    size = len(data)
    length = (
        bytes([size])
        if size < 126
        else b"\x7e" + struct.pack("!H", size)
        if size < 1 << 16
        else b"\x7f" + struct.pack("!Q", size)
    )
    return bytes([0x80 | kind]) + length + data


def _frames(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The frames that a client sends; kubectl does not split a message."""
    while len(head := stream.read(2)) == 2:
        size = head[1] & 0x7F
        if size >= 126:
            size = int.from_bytes(stream.read(2 if size == 126 else 8), "big")
        mask = stream.read(4)
        data = stream.read(size)
        yield head[0] & 0x0F, bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
