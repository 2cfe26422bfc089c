"""Files of known hosts: their content, and when they are read again."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from testing.host_keys import KEY, OTHER, THIRD, hashed, presented, public

from railgauge.core.errors import HostKeyRejected
from railgauge.transport import known_hosts
from railgauge.transport.known_hosts import parsed

FOUR_MB = 4 << 20


def keys_of(text: str, name: str) -> list[str]:
    """The keys of a host, as in the file."""
    keys = parsed(text.encode()).keys(name)
    return [f"{key.get_name()} {key.get_base64()}" for key in keys]


# --- what a file says ---


@pytest.mark.parametrize(
    ("names", "known"),
    [
        ("n01", True),
        ("n00,n01,10.0.0.1", True),
        ("[n01]:22", False),
        ("n0", False),
        ("n011", False),
        ("N01", False),
        ("n0*", False),
        ("*", False),
        ("!n01", False),
        ("|1|AAAA|BBBB", False),
        ("|1|", False),
        ("|1|a|b|c", False),
        (hashed("n01"), True),
        (f"n02,{hashed('n01')}", True),
        (hashed("n02"), False),
        (hashed("[n01]:22"), False),
        (hashed("n01").swapcase(), False),
    ],
)
def test_a_line_is_of_the_hosts_that_it_names(names: str, known: bool) -> None:
    assert keys_of(f"{names} {public(KEY)}\n", "n01") == [public(KEY)] * known


def test_a_port_is_part_of_the_name() -> None:
    text = f"[10.0.0.1]:2222 {public(KEY)}\n{hashed('[10.0.0.1]:2223')} {public(OTHER)}\n"
    assert keys_of(text, "[10.0.0.1]:2222") == [public(KEY)]
    assert keys_of(text, "[10.0.0.1]:2223") == [public(OTHER)]
    assert keys_of(text, "10.0.0.1") == keys_of(text, "[10.0.0.1]:222") == []


def test_plain_and_hashed_lines_count_in_their_order() -> None:
    text = f"{hashed('n01')} {public(THIRD)}\nn01 {public(KEY)}\n{hashed('n01')} {public(OTHER)}\n"
    assert keys_of(text, "n01") == [public(THIRD), public(KEY), public(OTHER)]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "#n01 {key}",
        "  # n01 {key}",
        "n01",
        "n01 ssh-ed25519",
        "n01 ssh-unknown AAAA",
        "n01 ssh-ed25519 AAAA",
        "n01 ssh-rsa {data}",
        "@cert-authority n01 {key}",
        "@cert-authority * {key}",
        "# a comment\rn01 {key}",
        "# a comment\x0cn01 {key}",
        "# a comment\u2028n01 {key}",
        "n02 {key} n01 {key}",
    ],
)
def test_a_line_that_makes_no_host_known(line: str) -> None:
    text = line.format(key=public(KEY), data=public(KEY).split()[1])
    assert keys_of(f"{text}\n", "n01") == []
    assert keys_of(f"{text}\nn01 {public(OTHER)}\n", "n01") == [public(OTHER)]


@pytest.mark.parametrize("text", ["\tn01\t {key}  comment\r\n", "  n01   {key}", "\n\nn01 {key}\n"])
def test_blanks_do_not_matter(text: str) -> None:
    assert keys_of(text.format(key=public(KEY)), "n01") == [public(KEY)]


@pytest.mark.parametrize(
    "line",
    [
        "n02 ssh-ed25519 AAA",
        "@revoke n01 {key}",
        "@revoked n01",
        "@revoked n01 ssh-ed25519",
        "@revoked n01 ssh-ed25519 AAAA",
        "@revoked n01 {key}AAAA",
        "@revoked n01 ssh-rsa {data}",
    ],
)
def test_a_file_that_is_not_understood_is_not_used(line: str, tmp_path: Path) -> None:
    """The line may be the one that revokes the key."""
    path = tmp_path / "known"
    text = line.format(key=public(KEY).rstrip("="), data=public(KEY).split()[1])
    path.write_text(f"n01 {public(KEY)}\n{text}\n")
    with pytest.raises(HostKeyRejected, match="line 2") as caught:
        known_hosts.read(path, "n01")
    assert caught.value.where == "n01"
    assert str(path) in caught.value.remedy


@pytest.mark.parametrize(
    ("names", "revoked"),
    [
        ("n01", True),
        ("*", True),
        ("n0?,x", True),
        ("N*", True),
        (hashed("n01"), True),
        ("n02,*1", True),
        ("n02", False),
        ("*,!n01", False),
        ("!n01,*", False),
        ("n1*", False),
        ("[n01]:22", False),
        ("[n]01", False),
        (hashed("n02"), False),
    ],
)
def test_a_key_is_revoked_for_the_hosts_that_the_line_means(names: str, revoked: bool) -> None:
    known = parsed(f"@revoked {names} {public(KEY)}\n".encode())
    assert known.revokes("n01", presented(KEY)) is revoked
    assert not known.revokes("n01", presented(OTHER))
    assert known.keys("n01") == []


def test_a_pattern_of_a_port_is_that_of_openssh() -> None:
    known = parsed(f"@revoked [10.0.0.*]:22?? {public(KEY)}\n".encode())
    assert known.revokes("[10.0.0.7]:2222", presented(KEY))
    assert not known.revokes("[10.0.0.7]:22", presented(KEY))


def test_many_stars_are_matched_soon() -> None:
    known = parsed(f"@revoked {'*a' * 500} {public(KEY)}\n".encode())
    started = time.process_time()
    assert not known.revokes("a" * 200 + "b", presented(KEY))
    assert time.process_time() - started < 1


# --- reading once, and again ---


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes were parsed, each time that a file was."""
    seen: list[int] = []
    true = known_hosts._lines
    monkeypatch.setattr(
        known_hosts,
        "_lines",
        lambda text, begin: (seen.append(len(text) - begin), true(text, begin))[1],
    )
    return seen


def test_a_file_is_parsed_once_by_all_threads(tmp_path: Path, parses: list[int]) -> None:
    path = tmp_path / "known"
    path.write_text(f"n01 {public(KEY)}\n" * 3000)
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: known_hosts.read(path, "n01"), range(64)))
    assert parses == [path.stat().st_size]
    assert all(one is found[0] for one in found)


def test_only_the_new_lines_of_a_growing_file_are_parsed(tmp_path: Path, parses: list[int]) -> None:
    path = tmp_path / "known"
    texts = [f"n01 {public(KEY)}\n", f"{hashed('n01')} {public(THIRD)}\n", f"n01 {public(OTHER)}\n"]
    for text in texts:
        with path.open("a") as file:
            file.write(text)
        found = known_hosts.read(path, "n01")
    assert parses == [len(text) for text in texts]
    assert found.keys("n01") == parsed(path.read_bytes()).keys("n01")
    assert found == parsed(path.read_bytes())


def test_a_line_that_grows_is_parsed_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "known"
    path.write_text(f"n01 {public(KEY)}")
    assert len(known_hosts.read(path, "n01").keys("n01")) == 1
    path.write_text(f"n01 {public(KEY)}\n@revoked n01 {public(KEY)}")
    assert known_hosts.read(path, "n01").revokes("n01", presented(KEY))


def test_a_change_that_leaves_size_and_time_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "known"
    path.write_text(f"n01 {public(KEY)}\n")
    before = path.stat()
    assert known_hosts.read(path, "n01").keys("n01") == [presented(KEY)]
    path.write_text(f"n01 {public(OTHER)}\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert known_hosts.read(path, "n01").keys("n01") == [presented(OTHER)]


@pytest.mark.parametrize("become", ["empty", "gone"])
def test_a_file_that_was_emptied_or_deleted_knows_nobody(tmp_path: Path, become: str) -> None:
    path = tmp_path / "known"
    path.write_text(f"n01 {public(KEY)}\n")
    assert known_hosts.read(path, "n01").keys("n01")
    path.write_text("") if become == "empty" else path.unlink()
    assert known_hosts.read(path, "n01").keys("n01") == []


def test_a_file_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "known").mkdir()
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path in (tmp_path / "known", loop):
        with pytest.raises(HostKeyRejected, match="cannot be read"):
            known_hosts.read(path, "n01")


LONG = {
    "names": lambda: "x," * (FOUR_MB // 4) + ",".join(f"h{n}" for n in range(FOUR_MB // 16)),
    "hashes": lambda: ",".join([hashed("n02")] * (FOUR_MB // 60)),
    "salts": lambda: ",".join(hashed(f"n{n}") for n in range(2, FOUR_MB // 60)),
}


@pytest.mark.parametrize("kind", LONG)
def test_a_line_of_4_mb_costs_little_and_hides_nothing(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "known"
    text = f"{LONG[kind]()} {public(OTHER)}\n"
    path.write_text(f"{text}n01 {public(KEY)}\n@revoked n01 {public(THIRD)}\n")
    started = time.process_time()
    known = known_hosts.read(path, "n01")
    assert known.keys("n01") == [presented(KEY)]
    assert known.revokes("n01", presented(THIRD))
    assert time.process_time() - started < 5


def test_junk_of_4_mb_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "known"
    path.write_bytes(b"\xff" * FOUR_MB + f"\nn01 {public(KEY)}\n".encode() + b"\0" * FOUR_MB)
    assert known_hosts.read(path, "n01").keys("n01") == [presented(KEY)]


@pytest.mark.parametrize(
    ("line", "name", "left"),
    [
        ("@cert-authority *.cluster {key}", "n01.cluster", True),
        ("@cert-authority *.cluster {key}", "[n01.cluster]:2222", True),
        ("@cert-authority *,!n01 {key}", "n01", False),
        ("@cert-authority n02 {key}", "n01", False),
        ("@cert-authority n01", "n01", False),
        ("n01 {key}", "n01", False),
        ("*.cluster,!n02.cluster {key}", "n01.cluster", True),
        ("*.cluster,!n02.cluster {key}", "n02.cluster", False),
        ("n0? {key}", "n01", True),
    ],
)
def test_lines_of_authorities_and_patterns_are_left_to_ssh(
    line: str, name: str, left: bool
) -> None:
    known = parsed(f"{line.format(key=public(KEY))}\n".encode())
    assert known.leaves_to_ssh(name) is left
