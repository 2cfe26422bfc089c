"""Kinds of secret as they stand in texts. The values are made up."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass

_LETTERS = string.ascii_letters + string.digits


@dataclass(frozen=True)
class Planted:
    """``text`` is one line that holds ``value``, which nobody may read; without it the line says
    the same of any other secret of the kind."""

    kind: str
    text: str
    value: str


def _value(seed: int, length: int, letters: str = _LETTERS) -> str:
    made = random.Random(seed)
    return "".join(made.choice(letters) for _ in range(length - 3)) + "q7Z"


_HEX = "0123456789abcdef"
_UPPER = string.ascii_uppercase + string.digits
# Name of a variable, for values that only their names give away.
NAMES = (
    *("HF_TOKEN", "DB_PASSWORD", "PGPASSWORD", "SSHPASS", "MYSQL_PWD", "SMB_AUTH", "XAUTH_COOKIE"),
    *("WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "APP_SECRET", "NGC_API_KEY", "REGISTRY_AUTH"),
    *("VAULT_TOKEN", "DBPASS", "SESSION_COOKIE", "SIGNING_KEY", "IPMI_PASS", "SNMP_PASSPHRASE"),
    *("GOOGLE_CREDENTIALS", "LDAP_PASSWD", "db_pass", "smb_pwd", "ACCOUNTKEY"),
    *("GITHUB_PAT", "CI_JOB_JWT"),
)
# Texts with {} where the value stands; the number is the value's length.
_TEXTS = (
    ("--token {}", 12),
    ("--token={}", 12),
    ("tool --api-key {} --size 8", 16),
    ("tool --password {}", 10),
    ("openssl rsa -passin pass:{}", 10),
    ("sshpass -p {} ssh n1", 9),
    ("mysql -u root -p{} db", 9),
    ("docker login -u bot -p {} registry.example", 14),
    ("ipmitool -H bmc -U admin -P {} power status", 9),
    ("curl -u admin:{} https://bmc.example/", 9),
    ("curl --user admin:{} https://bmc.example/", 9),
    ("curl -su bmc:{} https://bmc.example/", 9),
    ("keytool -list -storepass {} -keystore k", 12),
    ("CREATE ROLE a LOGIN PASSWORD '{}';", 12),
    ('{{"kty": "RSA", "d": "{}"}}', 40),
    ("name: HF_TOKEN value: {}", 12),
    ("curl --proxy-user me:{} https://x.example/", 9),
    ("git clone https://bot:{}@git.example/x", 12),
    ("HTTPS_PROXY=http://me:{}@proxy.example:3128", 12),
    ("postgresql://app:{}@db.example/x", 12),
    ("Authorization: Bearer {}", 24),
    ("Authorization: Basic {}", 20),
    ("authorization: {}", 20),
    ("Bearer {}", 24),
    ("X-Api-Key: {}", 20),
    ("Cookie: session={}; lang=en", 20),
    ("Set-Cookie: sid={}; Path=/", 20),
    ('{{"password": "{}"}}', 10),
    ("password: {}", 10),
    ("token: {}", 10),
    ("client_secret: '{}'", 10),
    ("<password>{}</password>", 10),
    ("Server=db;User Id=sa;Password={};", 10),
    ("DefaultEndpointsProtocol=https;AccountKey={}==;", 30),
    ("https://x.example/a?access_token={}&b=1", 16),
    ("https://x.example/a?sv=1&sig={}", 20),
    ("https://x.example/a?X-Amz-Signature={}", 40),
    ("PrivateKey = {}=", 40),
    ("root:$6$saltsalt${}:19000:0:99999:7:::", 40),
    ("DB_PASS: {}", 11),
    ("ansible_ssh_pass: {}", 11),
    ('{{"auth": "{}"}}', 20),
    ("//registry.example/:_authToken={}", 14),
    ('{{"accessToken":"{}"}}', 14),
    ('{{"secretAccessKey" : "{}"}}', 14),
    ('{{\\\\\\"password\\\\\\": \\\\\\"{}\\\\\\"}}', 10),
    ("postgresql://app:p@{}@db.example/x", 12),
    ("Authorization: Negotiate {}", 20),
    ("Authorization: AWS4-HMAC-SHA256 SignedHeaders=host, Signature={}", 40),
    ("smbclient -U user%{} //fs/x", 10),
    ("curl -u 'admin':'{}' https://bmc.example/", 9),
    ("snmpwalk -v3 -u x -A {} switch1", 10),
    ("sqlcmd -U sa -P {}", 10),
    ("kubeadm join n1 --certificate-key {}", 20),
    ("client-key-data: {}", 40),
    ("PresharedKey = {}=", 40),
    ("HF_TOKEN := {}", 12),
    (":password=>{}", 10),
    ("https://x.example/login?user=a&password%3D{}", 12),
    ("SITE_TOKEN='a'\\''{}'", 12),
    ('SITE_TOKEN="a\\"{}"', 12),
    ("SITE_TOKEN=$'a\\n{}'", 12),
    ("htpasswd me:$apr1$abcdefgh${}", 22),
)
# Values that are known by what they begin with: prefix, length of the rest, its letters.
_FORMS = (
    *(("ghp_", 36, _LETTERS), ("gho_", 36, _LETTERS), ("ghs_", 36, _LETTERS)),
    *(("github_pat_", 40, _LETTERS), ("glpat-", 20, _LETTERS), ("hf_", 34, _LETTERS)),
    *(("xoxb-", 24, _LETTERS), ("sk-", 40, _LETTERS), ("sk_live_", 24, _LETTERS)),
    *(("nvapi-", 40, _LETTERS), ("pypi-", 60, _LETTERS), ("npm_", 36, _LETTERS)),
    *(("AIza", 35, _LETTERS), ("ya29.", 40, _LETTERS), ("dckr_pat_", 27, _LETTERS)),
    *(("glsa_", 32, _LETTERS), ("sk-ant-", 40, _LETTERS), ("hvs.", 24, _LETTERS)),
    ("AGE-SECRET-KEY-1", 58, _UPPER),
)


def _kinds() -> list[Planted]:
    made = []
    for number, name in enumerate(NAMES):
        value = _value(number, 11)
        made.append(Planted(name, f"{name}={value}", value))
    for number, (text, length) in enumerate(_TEXTS, 100):
        value = _value(number, length)
        made.append(Planted(text, text.format(value), value))
    for number, (prefix, length, letters) in enumerate(_FORMS, 200):
        made_of = random.Random(number)
        rest = "".join(made_of.choice(letters) for _ in range(length))
        made.append(Planted(prefix, f"found {prefix}{rest} there", rest))
    key = "".join(random.Random(1).choice(_UPPER) for _ in range(16))
    made.append(Planted("AKIA", f"id AKIA{key} of the site", key))
    parts = [_value(300 + i, 24) for i in range(3)]
    made.append(Planted("JWT", f"eyJ{parts[0]}.{parts[1]}.{parts[2]}", parts[2]))
    body = _value(310, 60)
    text = f"-----BEGIN OPENSSH PRIVATE KEY----- {body} -----END OPENSSH PRIVATE KEY-----"
    made.append(Planted("private key", text, body))
    digits = "".join(random.Random(2).choice(_HEX) for _ in range(32))
    made.append(Planted("dapi", f"dapi{digits}", digits))
    return made


KINDS = _kinds()
