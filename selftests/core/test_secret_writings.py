"""A secret with a telling name is masked however it is written, and its document stays one."""

import json
import time

import pytest
from testing.places import ROOT

from railgauge.core.redaction import Redactor
from railgauge.core.secret_forms import MASK

WAYS = (ROOT / "selftests/testing/secret_writings.txt").read_text(encoding="utf-8")
WRITTEN, STAYS = WAYS.partition("== masked\n")[2].split("== stays\n")
SHORT, LONG, CODED = "hunT3rq7Z", "hunT3rq7ZabcDEF012345", "aHVuVDNycTdaYWJjREVGMDEyMzQ1"
LEFT = ("q7Z", CODED[4:])


def texts(block):
    return [text(line) for line in block.split("\n") if line]


def text(line):
    plain = line.replace("{{", "{").replace("}}", "}").replace("\\x1f", "\x1f")
    return plain.replace("{V}", SHORT).replace("{L}", LONG).replace("{B}", CODED)


def test_there_are_four_hundred_ways():
    assert len(set(texts(WRITTEN))) > 400


@pytest.mark.parametrize("written", texts(WRITTEN))
def test_it_is_masked(written):
    for around in ("{}", "  {}", "[12.5] node03: {}", "a\n{}\nb"):
        said = Redactor().text(around.replace("{}", written))
        assert not any(part in said for part in LEFT), said
        assert MASK in said
        assert Redactor().text(said) == said


@pytest.mark.parametrize("written", texts(STAYS))
def test_what_has_neither_name_nor_form_is_known_not_to_be_masked(written):
    """If this fails, it is masked now: take it out of the page of secrets."""
    assert "q7Z" in Redactor().text(written)


@pytest.mark.parametrize(
    "document",
    [
        {"api_key": [LONG, LONG], "n": [1, 2]},
        {"password": 'a "q7Z", b', "next": "kept"},
        {"env": [{"name": "HF_TOKEN", "value": SHORT}, {"name": "A", "value": "kept"}]},
        {"auths": {"registry.example": {"auth": CODED}}, "next": "kept"},
        {"headers": {"Cookie": f"sid={LONG}", "Authorization": f"Basic {CODED}"}, "n": "kept"},
        {"cookies": [f"sid={LONG}"], "next": ["kept"]},
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_stays_one(document, indent):
    said = Redactor().text(json.dumps(document, indent=indent))
    assert not any(part in said for part in LEFT), said
    assert list(json.loads(said)) == list(document)
    assert ("kept" in said) == ("kept" in str(document))


@pytest.mark.parametrize(
    "written",
    [
        "DB_PASSWORD_FILE=/run/secrets/db", "password_file: /run/secrets/db", "pass=3 fail=0",
        "pwd=/root/x1 oldpwd=/home/y2", "auth=munge", "pass: TRUE", 'name: mlx5_0 value: 12',
        '{"name": "NCCL_DEBUG", "value": "INFO"}', '{"key": "rank", "value": "12"}',
        '("size", "8388608")', "str = 'abc'", "https://gpu001.example:8080/x?node=n1&size=8",
        "echo done | tee log", "session 12 of user root", '"auth": "none"', "token ring 4 Mb/s",
        "zip -r out.zip logs", "7z x logs.7z", "ssh://gpu-node-01@host", "authentic: 12",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(written):
    assert Redactor().text(written) == written


@pytest.mark.parametrize(
    "piece",
    ["password['", "token=['", "('password',", "name=HF_TOKEN value=", '{"name": "A_KEY", ',
     "<password ", "echo a|", "snmpwalk -A ", "curl -b ", "set-cookie=[", "password: str=",
     '"token": "\\', "api key", "&quot;password&quot;", "a_pass", "cookies={", "password: !a ", "://a1"],
)  # fmt: skip
def test_a_hostile_line_costs_time_in_proportion_to_its_length(piece):
    def cost_s(size):
        line = (piece * (size // len(piece) + 1))[:size]
        began = time.process_time()
        Redactor().text(line)
        return time.process_time() - began

    short_s = cost_s(25_000)
    assert min(cost_s(200_000) for _ in range(2)) < max(24 * short_s, 0.2)
    assert short_s < 1.0
