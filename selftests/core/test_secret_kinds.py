"""Every kind of secret is masked, whatever stands around it, and no figure of an output is."""

from __future__ import annotations

import base64
import html
import json
import re
import time
import urllib.parse

import pytest
import yaml
from testing.places import SHARED
from testing.secret_kinds import KINDS, NAMES, Planted

from railgauge.core.redaction import Redactor, mask_environment, mask_named, secret_values
from railgauge.core.secret_forms import MASK, is_secret_name

AROUND = (
    "{}",
    "  {}  ",
    "[12.5] node03: {}",
    "error: cannot run '{}'",
    "a\n{}\nb",
    "$ {} # note",
)


def test_there_are_sixty_kinds_at_least():
    assert len({planted.kind for planted in KINDS}) >= 60


@pytest.mark.parametrize("planted", KINDS, ids=lambda planted: planted.kind)
def test_a_secret_is_masked_wherever_it_stands(planted: Planted):
    for around in AROUND:
        redactor = Redactor()
        said = redactor.text(around.format(planted.text))
        assert planted.value not in said
        assert MASK in said
        assert redactor.counts.total() >= 1
        assert Redactor().text(said) == said


_CLEAN = "".join(f"65536  5000  {n}.25  390.1  0.7\n" for n in range(40))


@pytest.mark.parametrize("planted", KINDS, ids=lambda planted: planted.kind)
def test_a_secret_among_lines_that_were_seen_before_is_masked(planted: Planted):
    redactor = Redactor()
    assert redactor.text(_CLEAN) == _CLEAN
    for end in ("", "once more\n"):
        said = redactor.text(f"{_CLEAN}{planted.text}\n{_CLEAN}{end}")
        assert planted.value not in said
        assert said.startswith(_CLEAN)
        assert said.endswith(f"{_CLEAN}{end}")


@pytest.mark.parametrize("planted", KINDS, ids=lambda planted: planted.kind)
def test_a_secret_is_masked_in_the_words_of_a_command(planted: Planted):
    words = [planted.text] if planted.kind == "private key" else planted.text.split(" ")
    argv = ("tool", *words, "--size", "8")
    said = Redactor().words(argv)
    assert planted.value not in " ".join(said)
    assert len(said) == len(argv)
    assert said[-2:] == ("--size", "8")


@pytest.mark.parametrize("rest", ["a,{}", "a;{}", "a&{}", "a<{}", "a'{}", r"a\ {}"])
def test_the_value_in_a_line_of_env_is_all_that_follows(rest: str):
    said = Redactor().text(f"SHELL=/bin/sh\nHF_TOKEN={rest.format('hunT3rq7Z')}\nHOME=/root\n")
    assert said == f"SHELL=/bin/sh\nHF_TOKEN={MASK}\nHOME=/root\n"


@pytest.mark.parametrize("name", ["HF_TOKEN", "DB_PASS", "accessToken", "API_KEY"])
@pytest.mark.parametrize(
    "value", ["hunT3rq7Z", "'hunT3rq7Z'", '"hunT3rq7Z"', "$'hunT3rq7Z'", "a=b"]
)
@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_a_mask_leaves_a_document_what_it_is(name: str, value: str, separators: tuple[str, str]):
    """The whole environment is in the JSON of nccl-tests: what stands beside a secret is kept."""
    document = {"env": ["A=1", f"{name}={value}", "B=2"], "args": f"{name}={value}", "c": [1, 2]}
    said = json.loads(Redactor().text(json.dumps(document, separators=separators)))
    assert "q7Z" not in str(said)
    assert (said["env"][0], said["env"][2], said["c"]) == ("A=1", "B=2", [1, 2])
    assert said["env"][1].startswith(f"{name}=")


def test_a_password_on_a_line_of_its_own_is_masked():
    said = Redactor().text("machine git.example\n  login bot\n  password hunT3rq7Z\n")
    assert said == f"machine git.example\n  login bot\n  password {MASK}\n"


HARD = 'it\'s "q7Z" $x\\y&z <ä>'
PEM = "-----BEGIN X-----\n" + "Ab3/" * 16 + "\n" + "Cd5+" * 16 + "\n-----END X-----"


@pytest.mark.parametrize(
    "write",
    [
        json.dumps,
        lambda value: json.dumps(value, ensure_ascii=False),
        lambda value: "'" + value.replace("'", "'\\''") + "'",
        lambda value: "'" + value.replace("'", "''") + "'",
        lambda value: '"' + re.sub(r'(["\\$`])', r"\\\1", value) + '"',
        html.escape,
        lambda value: urllib.parse.quote(value, safe=""),
        urllib.parse.quote,
        lambda value: base64.b64encode(value.encode()).decode(),
    ],
)
@pytest.mark.parametrize("value", [HARD, PEM])
def test_a_value_is_masked_however_a_program_writes_it(write, value: str):
    said = Redactor(values=secret_values({"SITE_TOKEN": value})).text(f"got {write(value)} there")
    assert MASK in said
    assert len(said) < 24, said


def test_a_value_of_several_lines_is_masked_where_something_stands_before_each():
    text = "".join(f"n1: {line}\n" for line in PEM.splitlines())
    said = Redactor(values=secret_values({"SITE_TOKEN": PEM})).text(text)
    assert said.splitlines()[:3] == [f"n1: {MASK}"] * 3


@pytest.mark.parametrize(
    "text",
    [
        f"environment: {{SITE_PASS: {json.dumps(HARD)}}}\n",
        f"environment:\n  SITE_PASS: '{HARD.replace(chr(39), chr(39) * 2)}'\n",
        "environment:\n  SITE_PASS: >-\n    ab3\n    q7Z4 it\n",
        "environment:\n  SITE_KEY: |-\n" + "".join(f"        {x}\n" for x in PEM.splitlines()),
        'environment:\n  SITE_PASS: "ab3\n    q7Z4\n    it"\n',
    ],
)
def test_the_copy_of_a_hostfile_holds_no_value_however_it_is_written(text: str):
    said = mask_named(text, yaml.safe_load(text)["environment"])
    assert MASK in said
    assert not any(part in said for part in ("q7Z", "Ab3/", "Cd5+"))


def test_a_mask_does_not_tell_the_length():
    said = {Redactor().text(f"DB_PASS={'xY3' * n}") for n in range(1, 20)}
    assert said == {f"DB_PASS={MASK}"}


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_variable_gives_its_value_away(name: str):
    assert is_secret_name(name)
    assert mask_environment({name: "0"}) == {name: MASK}


@pytest.mark.parametrize(
    "name",
    ["PWD", "OLDPWD", "NCCL_IB_PKEY", "PKEY", "MAX_TOKENS", "KEY", "key", "PASSED", "BYPASS",
     "UCX_RCACHE_BYPASS", "NCCL_DEBUG", "AUTHOR", "KEYS", "MONKEYS", "RKEY", "TOKENIZER"],
)  # fmt: skip
def test_the_name_of_a_setting_does_not(name: str):
    assert not is_secret_name(name)


HARMLESS = (
    "PWD=/root/x", "OLDPWD=/home/ana", "NCCL_IB_PKEY=0x7fff", "ib_write_bw -p 18515 -x 3",
    "srun -p batch", "mkdir -p /tmp/a", "docker run -u 1000:1000 -p 8080:80", "sort -u names",
    "RKey 0x1fffb9 VAddr 0x7f", "pass=3 fail=0", "key=12", "Mean TTFT per token: 12.5",
    "--max-num-batched-tokens 8192", "--token 12", "PASS: 12", "Total input tokens: 4509",
    "key: value", "Bypass=1", "https://x.example:8000/v1", "auth=munge", "tests passed: 12",
    "Password authentication is off", "basic settings of node gpu001", "10.0.0.1:20000",
)  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str):
    assert Redactor().text(text) == text


FOLDERS = [SHARED / name for name in ("transcripts", "corpus", "seeds")]


@pytest.mark.skipif(not FOLDERS[0].is_dir(), reason="the shared documents are not here")
def test_no_recorded_output_of_a_tool_changes():
    """What does not change is parsed alike; masked figures would be missing, or others."""
    paths = [path for folder in FOLDERS for path in folder.rglob("*") if path.is_file()]
    given = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    assert len(given) > 100
    changed = [text[:80] for text in given if Redactor().text(text) != text]
    assert changed == []


@pytest.mark.parametrize(
    "piece",
    ["a_", "a-", "A_KEY", "token ", "-p ", "login ", "://a:", "cookie", "user:", "'\"", "=",
     "eyJa.", "-----BEGIN PRIVATE KEY-----", "mysql ", "password", "authorization:",
     "key=", "bearer "],
)  # fmt: skip
def test_a_hostile_line_costs_time_in_proportion_to_its_length(piece: str):
    def cost_s(size: int) -> float:
        line = (piece * (size // len(piece) + 1))[:size]
        began = time.process_time()
        Redactor().text(line)
        return time.process_time() - began

    short_s = cost_s(50_000)
    if short_s < 0.1:  # else noise is a small part of it
        short_s = min(short_s, cost_s(50_000), cost_s(50_000))
    assert cost_s(400_000) < min(max(24 * short_s, 0.2), 3.0)


def test_a_key_that_is_cut_off_before_another_one_is_masked():
    whole = "-----BEGIN RSA PRIVATE KEY-----\nBBB\n-----END RSA PRIVATE KEY-----\n"
    assert "AAA" not in Redactor().text(f"-----BEGIN PRIVATE KEY-----\nAAA\nn2: {whole}")
