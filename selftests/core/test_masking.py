"""What is known to be secret is masked wherever it occurs and however a program writes it."""

from __future__ import annotations

import base64
import html
import json
import re
import time
import urllib.parse

import pytest
import yaml

from railgauge.core.masking import Mask
from railgauge.core.secret_forms import MASK

HARD = 'it\'s "q7Z" $x\\y&z <ä>'
PEM = "-----BEGIN X-----\n" + "Ab3/" * 16 + "\n" + "Cd5+" * 16 + "\n-----END X-----"


def knowing(**variables: str) -> Mask:
    mask = Mask()
    mask.know(variables)
    return mask


def twice(value: str) -> str:
    return json.dumps(json.dumps(value))


@pytest.mark.parametrize(
    "write",
    [
        json.dumps,
        twice,
        lambda value: json.dumps(value, ensure_ascii=False),
        lambda value: "'" + value.replace("'", "'\\''") + "'",
        lambda value: "'" + value.replace("'", "''") + "'",
        lambda value: '"' + re.sub(r'(["\\$`])', r"\\\1", value) + '"',
        html.escape,
        lambda value: urllib.parse.quote(value, safe=""),
        lambda value: re.sub("%..", lambda code: code[0].lower(), urllib.parse.quote(value)),
        urllib.parse.quote_plus,
        lambda value: urllib.parse.quote(urllib.parse.quote(value)),
        lambda value: base64.b64encode(value.encode()).decode(),
        lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    ],
)
@pytest.mark.parametrize("value", [HARD, PEM])
def test_a_value_is_masked_however_a_program_writes_it(write, value: str):
    masked = knowing(SITE_TOKEN=value).text(f"got {write(value)} there")
    assert MASK in masked
    assert not any(part in masked for part in ("q7Z", "Ab3", "Cd5", "QWIz", "Q2Q1", "cTda")), masked


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("after", ["", "a", "ab"])
def test_a_value_is_masked_within_a_text_that_is_coded_as_a_whole(before: str, after: str):
    coded = base64.b64encode(f"{before}hunT3rq7Z+x/{after}".encode()).decode()
    masked = knowing(SITE_TOKEN="hunT3rq7Z+x/").text(f"Basic {coded}")
    assert coded[5:13] not in masked
    assert MASK in masked


def test_a_value_of_several_lines_is_masked_where_something_stands_before_each():
    text = "".join(f"n1: {line}\n" for line in PEM.splitlines())
    assert knowing(SITE_TOKEN=PEM).text(text).splitlines()[:3] == [f"n1: {MASK}"] * 3


@pytest.mark.parametrize(
    "text",
    [
        f"environment: {{SITE_PASS: {json.dumps(HARD)}}}\n",
        f"environment:\n  SITE_PASS: '{HARD.replace(chr(39), chr(39) * 2)}'\n",
        "environment:\n  SITE_PASS: >-\n    ab3\n    q7Z4 it\n",
        "environment:\n  SITE_KEY: |-\n" + "".join(f"        {x}\n" for x in PEM.splitlines()),
        'environment:\n  SITE_PASS: "ab3\n    q7Z4\n    it"\n',
        "environment:\n  SITE_PASS: q7Z\n",
    ],
)
def test_the_copy_of_a_hostfile_holds_no_value_however_it_is_written(text: str):
    mask = Mask()
    mask.learn(yaml.safe_load(text))
    masked = mask.text(text)
    assert MASK in masked
    assert not any(part in masked for part in ("q7Z", "Ab3/", "Cd5+"))


@pytest.mark.parametrize(
    "data",
    [
        {"setup": ["curl -su bmc:Pa55-word https://bmc.example"]},
        {"setup": ["export HF_TOKEN='Pa55-word'; true"]},
        {"exec": ["kubectl", "--token=Pa55-word", "exec"]},
        {"ssh": {"options": {"ProxyPassword": "Pa55-word"}}},
        {"nodes": [{"ipmi": {"password": "Pa55-word"}}]},
        {"launcher_args": ["--api-key Pa55-word"]},
        {"launcher_args": ["-x", "--api-key", "Pa55-word", "-y"]},
        "pytest\x1f--operator\x1ftoken=Pa55-word",
    ],
)
def test_a_secret_in_the_users_data_is_known_from_then_on(data: object):
    mask = Mask()
    assert mask.text("login with Pa55-word") == "login with Pa55-word"
    mask.learn(data)
    assert mask.text("login with Pa55-word") == f"login with {MASK}"
    assert mask.data({"a": ["(Pa55-word)"]}) == {"a": [f"({MASK})"]}


@pytest.mark.parametrize(
    "value",
    ["default", "password", "required", "123456", "1.25", "0x7fff", "/etc/site/key.pem",
     "~/.ssh/id_rsa", "short", "2026-11-29", "10.0.0.1"],
)  # fmt: skip
def test_a_value_that_outputs_hold_too_is_masked_beside_its_name_alone(value: str):
    text = f"the {value} of mlx5_0: {value} 390.1 {value}\n"
    mask = knowing(SITE_PASS=value)
    assert mask.text(text) == text
    assert value not in mask.text(f"SITE_PASS: {value}\n").removeprefix("SITE_PASS")
    assert mask.environment({"SITE_PASS": value}) == {"SITE_PASS": MASK}


def test_a_word_of_prose_is_not_learned():
    mask = Mask()
    mask.learn({"note": "token: required, password: none, see the wiki"})
    assert mask.text("required, ethernet") == "required, ethernet"


def test_a_mask_is_no_secret():
    mask = knowing(SITE_TOKEN=MASK)
    mask.learn({"setup": [f"--token '{MASK}' x", f"password=[{MASK}"]})
    assert mask.text(f"a {MASK} b secret c]") == f"a {MASK} b secret c]"


def test_a_masked_text_stays_masked_when_more_is_known():
    mask = knowing(SITE_TOKEN="hunT3rq7Z")
    masked = mask.text("token=hunT3rq7Z and hunT3rq7Z")
    mask.know({"OTHER_TOKEN": "another-1"})
    assert mask.text(masked) == masked == f"token={MASK} and {MASK}"
    assert mask.text("another-1") == MASK


def test_a_mask_does_not_show_the_length():
    masked = {Mask().text(f"DB_PASS={'xY3' * n}") for n in range(1, 20)}
    assert masked == {f"DB_PASS={MASK}"}


def test_a_recurring_text_is_masked_and_counted_each_time():
    mask = knowing(SITE_TOKEN="s3cret-value")
    masked = mask.data(["innocent", "token=abc123", "has s3cret-value"] * 3)
    assert masked == ["innocent", f"token={MASK}", f"has {MASK}"] * 3
    assert mask.counts["secret value"] == mask.counts["secret variable"] == 3


def test_a_field_with_a_secret_name_is_masked_whatever_it_holds():
    data = {"environment": {"API_TOKEN": 'a"b\\c'}, "stdout": 'password="x y" ok\nnext'}
    masked = Mask().data(data)
    assert masked == {"environment": {"API_TOKEN": MASK}, "stdout": f"password={MASK} ok\nnext"}


def test_rows_cost_next_to_nothing():
    """Most of a run's text: also with values to search for, a fraction of what parsing costs."""
    mask = knowing(**{f"SITE{n}_TOKEN": f"hunT3rq{n}Z!{n:08}" for n in range(20)})
    rows = "".join(f"{n:8} 5000 {n * 7 % 97}.25 390.1{n % 10} 0.7\n" for n in range(40_000))
    mask.text(rows[:10_000])
    began = time.process_time()
    assert mask.text(rows) == rows
    assert time.process_time() - began < 0.25


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("passed DB_PASS=k3yOfIt9", "k3yOfIt9"),
        ("gpu0: passed\tpassed --password k3yOfIt9 passed", "k3yOfIt9"),
        ("passedpassword=k3yOfIt9", "k3yOfIt9"),
        ("keypass: 'passed k3yOfIt9 passed'", "k3yOfIt9"),
        ("password='passed'", "passed"),
        ("pass=passed4Ever", "passed4Ever"),
    ],
)
def test_the_word_of_a_passed_item_hides_no_secret_beside_it(text: str, secret: str):
    assert secret not in Mask().text(text)


@pytest.mark.parametrize("value", ["passed", "passed-x", "x7 passed"])
def test_a_known_value_with_the_word_of_a_passed_item_is_masked(value: str):
    assert knowing(SITE_TOKEN=value).text(f"it has: {value}") == f"it has: {MASK}"


def test_lines_that_recurred_are_masked_once_a_value_in_them_is_known():
    """Their window was looked at before, and had nothing of a form."""
    mask, line = Mask(), "basis: passes on all ports, hunT3rq7Z"
    assert mask.text(f"1\n{line}\n2") == f"1\n{line}\n2"
    mask.know({"SITE_TOKEN": "hunT3rq7Z"})
    assert "hunT3rq7Z" not in mask.text(f"3\n{line}\n4")
