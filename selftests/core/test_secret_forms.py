"""A secret with a known name or form is masked however it is written, and no value of a tool is."""

from __future__ import annotations

import json
import time

import pytest
from testing.places import ROOT, SHARED
from testing.secret_kinds import KINDS, NAMES, Planted

from railgauge.core.masking import Mask
from railgauge.core.secret_forms import FORMS, MASK, is_secret_name

AROUND = ("{}", "  {}  ", "[12.5] node03: {}", "error: cannot run '{}'", "a\n{}\nb", "$ {} # note")

WAYS = (ROOT / "selftests/testing/secret_writings.txt").read_text(encoding="utf-8")
BY_NAME, IF_KNOWN = WAYS.partition("== by its name\n")[2].split("== if the value is known\n")
SHORT, LONG, CODED = "hunT3rq7Z", "hunT3rq7ZabcDEF012345", "aHVuVDNycTdaYWJjREVGMDEyMzQ1"
LEFT = ("q7Z", CODED[4:])


def written(block: str) -> list[str]:
    plain = block.replace("{{", "{").replace("}}", "}").replace("\\x1f", "\x1f")
    plain = plain.replace("{V}", SHORT).replace("{L}", LONG).replace("{B}", CODED)
    return [line for line in plain.split("\n") if line]


def is_left(masked: str) -> bool:
    return any(part in masked for part in LEFT)


def test_there_are_hundreds_of_ways_and_sixty_kinds():
    assert len(set(written(BY_NAME))) > 380
    assert len({planted.kind for planted in KINDS}) >= 60


@pytest.mark.parametrize("text", written(BY_NAME))
def test_a_name_gives_its_value_away(text: str):
    for around in ("{}", "  {}", "[12.5] node03: {}", "a\n{}\nb"):
        masked = Mask().text(around.replace("{}", text))
        assert not is_left(masked), masked
        assert MASK in masked
        assert Mask().text(masked) == masked


def test_the_rest_is_known_not_to_be_masked_unless_the_value_is_known():
    """If this fails, one is masked now: move it in the list of ways."""
    assert [text for text in written(IF_KNOWN) if not is_left(Mask().text(text))] == []


def test_a_value_that_is_known_is_masked_in_all_ways():
    mask = Mask()
    mask.know({"SITE_TOKEN": SHORT, "OTHER_TOKEN": LONG})
    ways = written(BY_NAME) + written(IF_KNOWN)
    left = [text for text in ways if SHORT in text and SHORT in mask.text(text)]
    assert left == []
    assert CODED[:-1] not in mask.text(f"{{'auth': '{CODED}'}} and {CODED}")


@pytest.mark.parametrize("planted", KINDS, ids=lambda planted: planted.kind)
def test_a_secret_is_masked_wherever_it_stands(planted: Planted):
    for around in AROUND:
        mask = Mask()
        masked = mask.text(around.format(planted.text))
        assert planted.value not in masked
        assert MASK in masked
        assert mask.counts.total() >= 1
        assert Mask().text(masked) == masked


_CLEAN = "".join(f"65536  5000  {n}.25  390.1  0.7\n" for n in range(40))


@pytest.mark.parametrize("planted", KINDS, ids=lambda planted: planted.kind)
def test_a_secret_among_lines_that_were_seen_before_is_masked(planted: Planted):
    mask = Mask()
    assert mask.text(_CLEAN) == _CLEAN
    for end in ("", "once more\n"):
        masked = mask.text(f"{_CLEAN}{planted.text}\n{_CLEAN}{end}")
        assert planted.value not in masked
        assert masked.startswith(_CLEAN)
        assert masked.endswith(f"{_CLEAN}{end}")


@pytest.mark.parametrize("planted", KINDS, ids=lambda planted: planted.kind)
def test_a_secret_is_masked_in_the_words_of_a_command(planted: Planted):
    words = [planted.text] if planted.kind == "private key" else planted.text.split(" ")
    argv = ("tool", *words, "--size", "8")
    masked = Mask().words(argv)
    assert planted.value not in " ".join(masked)
    assert len(masked) == len(argv)
    assert masked[-2:] == ("--size", "8")


@pytest.mark.parametrize("every", range(1, 30))
def test_no_secret_hides_the_name_of_another_one_in_the_same_line(every: int):
    for first in range(every):
        line = "; ".join(planted.text for planted in KINDS[first::every])
        shown = Mask().text(line)
        assert [one.kind for one in KINDS[first::every] if one.value in shown] == []


def test_a_word_with_blanks_is_masked_whole():
    assert Mask().words(("x", "--password", "a q7Z", "y")) == ("x", "--password", MASK, "y")
    assert Mask().words(("x", "API_KEY=a q7Z", "y")) == ("x", f"API_KEY={MASK}", "y")


@pytest.mark.parametrize("rest", ["a,{}", "a;{}", "a&{}", "a<{}", "a'{}", r"a\ {}"])
def test_the_value_in_a_line_of_env_is_all_that_follows(rest: str):
    masked = Mask().text(f"SHELL=/bin/sh\nHF_TOKEN={rest.format('hunT3rq7Z')}\nHOME=/root\n")
    assert masked == f"SHELL=/bin/sh\nHF_TOKEN={MASK}\nHOME=/root\n"


@pytest.mark.parametrize("name", ["HF_TOKEN", "DB_PASS", "accessToken", "API_KEY"])
@pytest.mark.parametrize(
    "value", ["hunT3rq7Z", "'hunT3rq7Z'", '"hunT3rq7Z"', "$'hunT3rq7Z'", "a=b"]
)
@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_a_mask_leaves_a_document_what_it_is(name: str, value: str, separators: tuple[str, str]):
    """The whole environment is in the JSON of nccl-tests: the text beside a secret is kept."""
    document = {"env": ["A=1", f"{name}={value}", "B=2"], "args": f"{name}={value}", "c": [1, 2]}
    masked = json.loads(Mask().text(json.dumps(document, separators=separators)))
    assert "q7Z" not in str(masked)
    assert (masked["env"][0], masked["env"][2], masked["c"]) == ("A=1", "B=2", [1, 2])
    assert masked["env"][1].startswith(f"{name}=")


@pytest.mark.parametrize(
    "document",
    [
        {"password": 'a "q7Z", b', "next": "kept"},
        {"env": [{"name": "HF_TOKEN", "value": SHORT}, {"name": "A", "value": "kept"}]},
        {"auths": {"registry.example": {"auth": CODED}}, "next": "kept"},
        {"headers": {"Cookie": f"sid={LONG}", "Authorization": f"Basic {CODED}"}, "n": "kept"},
        {"kty": "RSA", "n": "kept", "d": LONG, "e": "AQAB"},
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_masked_document_stays_one(document, indent):
    masked = Mask().text(json.dumps(document, indent=indent))
    assert not is_left(masked), masked
    assert list(json.loads(masked)) == list(document)
    assert "kept" in masked


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_variable_gives_its_value_away(name: str):
    assert is_secret_name(name)
    assert Mask().environment({name: "0"}) == {name: MASK}


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
    '"time_to_first_token": ["p99 within 2 s"]', "time_per_output_token: 12ms34",
    "DB_PASSWORD_FILE=/run/secrets/db", "password_file: /run/secrets/db", "pwd=/root/x1",
    "pass: TRUE", "name: mlx5_0 value: 12", '{"name": "NCCL_DEBUG", "value": "INFO"}',
    '{"key": "rank", "value": "12"}', '("size", "8388608")', "str = 'abc'", "echo done | tee log",
    "https://gpu001.example:8080/x?node=n1&size=8", "session 12 of user root", '"auth": "none"',
    "token ring 4 Mb/s", "zip -r out.zip logs", "ssh://gpu-node-01@host", "authentic: 12",
    "Total generated tokens:                  21000", "Output token throughput (tok/s): 1024.55",
    "-----Time per Output Token (excl. 1st token)------", "---------------Inter-token Latency---",
    "NCCL_IB_PKEY=0 NCCL_DEBUG=INFO MCCL_IB_HCA=mlx5_0,mlx5_1", "# in-place out-of-place",
    "ssh: {user: root, key: /home/me/.ssh/id_ed25519}", "rsync -au n1:/data n2:/data",
    "tests/x.py::test_token[viper:columbia-mlx5_0-8MiB]", '{"d": "kept, for there is no key type"}',
    "LID 0x01 QPN 0x0879 PSN 0x6f2378 RKey 0x1fff00 VAddr 0x007f4084d65000", "sk-learn disk-0 SKU",
)  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_texts_without_a_secret_stay(text: str):
    assert Mask().text(text) == text


FOLDERS = [SHARED / name for name in ("transcripts", "corpus", "seeds")]


@pytest.mark.skipif(not FOLDERS[0].is_dir(), reason="the shared documents are not here")
def test_no_recorded_output_of_a_tool_changes():
    """An unchanged output is parsed as before; masked values would be missing or wrong."""
    paths = [path for folder in FOLDERS for path in folder.rglob("*") if path.is_file()]
    given = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    assert len(given) > 100
    mask = Mask()
    assert [text[:80] for text in given if mask.text(text) != text] == []


def test_what_the_suite_itself_puts_on_its_pages_stays():
    pages = [
        *(ROOT / "src/railgauge/report").rglob("*.css"),
        *(ROOT / "thresholds").rglob("*.json"),
    ]
    pages += (ROOT / "src/railgauge/report").rglob("*.js")
    texts = [path.read_text(encoding="utf-8") for path in pages]
    assert len(texts) > 10
    assert [text[:80] for text in texts if Mask().text(text) != text] == []


@pytest.mark.parametrize(
    "piece",
    ["a_", "A_KEY", "token ", "-p ", "login ", "://a:", "cookie", "user:", "'\"", "=", "eyJa.",
     "-----BEGIN PRIVATE KEY-----", "mysql ", "password", "authorization:", "key=", "bearer ",
     "password['", "token=['", "name=HF_TOKEN value=", '{"name": "A_KEY", ', "<password ",
     "snmpwalk -A ", "curl -u ", "set-cookie=[", "password: str=", '"token": "\\', "api key",
     "&quot;password&quot;", "a_pass", "cookies={", "password: !a ", "://a1", '"d": "', "--a-a-a",
     "identified by '", "sk-", "[[", "eyJaaaaaaaaaaa.", "\x1f-u a:"],
)  # fmt: skip
def test_a_hostile_line_costs_time_in_proportion_to_its_length(piece: str):
    def cost_s(size: int) -> float:
        line = (piece * (size // len(piece) + 1))[:size]
        began = time.process_time()
        Mask().text(line)
        return time.process_time() - began

    short_s = cost_s(25_000)
    assert short_s < 1.0
    assert min(cost_s(200_000) for _ in range(2)) < max(24 * short_s, 0.2)


def test_a_key_that_is_cut_off_before_another_one_is_masked():
    whole = "-----BEGIN RSA PRIVATE KEY-----\nBBB\n-----END RSA PRIVATE KEY-----\n"
    masked = Mask().text(f"-----BEGIN PRIVATE KEY-----\nAAA\nn2: {whole}x")
    assert "AAA" not in masked
    assert "BBB" not in masked
    assert masked.endswith("\nx")


HEX, ALNUM = "0123456789abcdef" * 4, "a1B2c3D4e5F6g7H8i9J0" * 4
TOKENS = (
    *(f"gh{kind}_{ALNUM[:36]}" for kind in "pousr"), f"github_pat_{ALNUM[:22]}_{ALNUM[:40]}",
    *(f"gl{kind}-{ALNUM[:20]}" for kind in
      ("pat", "dt", "rt", "cbt", "ptt", "ft", "imt", "agent", "soat", "oas", "ffct")),
    f"glsa_{ALNUM[:32]}_{HEX[:8]}", f"glc_{ALNUM[:40]}", f"hf_{ALNUM[:34]}",
    f"api_org_{ALNUM[:34]}",
    f"AKIA{ALNUM[:16].upper()}", f"ASIA{ALNUM[:16].upper()}", f"xoxb-1234-5678-{ALNUM[:24]}",
    f"xapp-1-A0-{ALNUM[:24]}", f"https://hooks.slack.com/services/T00/B00/{ALNUM[:24]}",
    f"sk-{ALNUM[:48]}", f"sk-proj-{ALNUM[:48]}", f"sk-ant-api03-{ALNUM[:60]}", f"xai-{ALNUM}",
    f"gsk_{ALNUM[:52]}", f"pplx-{ALNUM[:48]}", f"lsv2_pt_{ALNUM[:32]}", f"nvapi-{ALNUM[:64]}",
    f"AIza{ALNUM[:35]}", f"ya29.{ALNUM[:40]}", f"GOCSPX-{ALNUM[:28]}", f"abc8Q~{ALNUM[:34]}",
    f"eyJ{ALNUM[:20]}.eyJ{ALNUM[:20]}.{ALNUM[:20]}", f"pypi-AgEI{ALNUM[:60]}", f"npm_{ALNUM[:36]}",
    f"rubygems_{HEX[:48]}", f"dckr_pat_{ALNUM[:27]}", f"dckr_oat_{ALNUM[:32]}",
    f"sk_live_{ALNUM[:24]}", f"rk_test_{ALNUM[:24]}", f"whsec_{ALNUM[:32]}", f"SK{HEX[:32]}",
    f"SG.{ALNUM[:22]}.{ALNUM[:43]}", f"hvs.{ALNUM[:24]}", f"hvb.{ALNUM}", f"hvr.{ALNUM}",
    f"{ALNUM[:14]}.atlasv1.{ALNUM[:60]}", f"dapi{HEX[:32]}", *(f"do{k}_v1_{HEX}" for k in "opr"),
    f"ATATT3{ALNUM}", f"ATBB{ALNUM[:32]}", f"tskey-auth-{ALNUM[:24]}", f"ops_eyJ{ALNUM}",
    f"dt0c01.{ALNUM[:24]}.{ALNUM[:64]}", f"PMAK-{HEX[:24]}-{HEX[:34]}", f"NRAK-{ALNUM[:27]}",
    f"lin_api_{ALNUM[:40]}", f"ntn_{ALNUM[:46]}", *(f"shp{k}_{HEX[:32]}" for k in
      ("at", "ss", "ca", "pa")), f"sntrys_{ALNUM}", f"sntryu_{HEX}", f"pul-{HEX[:40]}",
    f"sbp_{HEX[:40]}", f"FlyV1 {ALNUM}", f"AKCp{ALNUM[:69]}", f"sha256~{ALNUM[:43]}",
    f"1234567890:AA{ALNUM[:33]}", f"AGE-SECRET-KEY-1{ALNUM[:58].upper()}", f"$6$salt${ALNUM}",
    f"$2b$12${ALNUM[:53]}", f"$argon2id$v=19$m=65536,t=3,p=4${ALNUM}", f"$y$j9T$salt${ALNUM[:43]}",
)  # fmt: skip


@pytest.mark.parametrize("token", TOKENS, ids=lambda token: token[:12])
def test_a_token_is_known_by_what_it_begins_with(token: str):
    """Whether its hint is in the list is what this asks: without it no form is tried."""
    for around in ("{}", "got '{}', 12", "n1: {}\n", "<td>{}</td>", "a={}"):
        masked = Mask().text(around.format(token))
        assert ALNUM[8:20] not in masked
        assert ALNUM[8:16].upper() not in masked
        assert HEX[16:32] not in masked
        assert MASK in masked


@pytest.mark.parametrize(
    "text",
    ["npm_config_registry_of_the_whole_cluster_of_ours", "sk-learn-on-many-nodes-at-once",
     "hf_hub_download_of_a_model_of_the_site", "sha256:" + HEX, "SKYLAKE 0123", "dapi"],
)  # fmt: skip
def test_a_word_that_begins_like_a_token_stays(text: str):
    assert Mask().text(text) == text


def test_no_hint_has_a_digit_or_a_capital():
    """Lines are searched for them in lower case and without digits."""
    hints = [hint for form in FORMS for hint in (*form.hints, *form.beside)]
    assert [hint for hint in hints if hint != hint.lower() or any(c.isdigit() for c in hint)] == []
    assert all(hint for form in FORMS for hint in form.hints)


@pytest.mark.parametrize(
    "name", ["\u212aeypass", "\u017ftorepass", "\u017fecret_key", "s\u0131gning-key"]
)
def test_letters_that_are_alike_without_regard_to_case_hide_no_name(name: str):
    assert Mask().text(f"{name}=hunter22x") == f"{name}={MASK}"
