"""What secrets look like: names of variables, and forms in texts. Pure.

A form is a name with its value (``HF_TOKEN=…``, ``"password": "…"``, ``--api-key …``), or a value
that its own prefix or structure gives away (``glsa_…``, a private key). There is no grammar of
every shell and language: what no form finds is masked if its value is known (``core.masking``).

Every expression is linear: what repeats is bounded, or can end in one way only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MASK = "[secret]"

_KEY_WORDS = "api|access|private|secret|auth|account|encryption|signing|certificate|shared"
_KEYS = rf"(?:{_KEY_WORDS})[ _-]?key(?:[_-]?id)?|client-key-data"
# Words that name a secret whatever precedes them: dbpassword, identitytoken, -storepass.
_PASSWORDS = "password|passwd|passphrase|passcode|storepass|keypass"
_NO_FIGURE = "(?<!(?:first|utput|input|inter)[_ -])"  # time_to_first_token
_WORDS = rf"(?:{_PASSWORDS}|secret(?:string)?|{_NO_FIGURE}token|credentials?|{_KEYS})"
# Words that name a secret only at the end of a longer name: a table has a "key", a test a "pass".
_LAST = r"(?:pass|pwd|psk|auth|cookies?|key|pat|jwt|otp)"
_LAST_OF_UPPER = r"(?:PASS(?:WD|WORD|PHRASE)?|PWD|PSK|AUTH|COOKIE|KEY|TOKEN|SECRET|_PAT|_JWT|_OTP)"
_CAMEL = r"(?:Token|Secret|SecretString|Password|Passphrase|Passwd|AccessKey|PrivateKey)"
# The working directory, InfiniBand's keys of partitions and memory, and words that end like one.
_HARMLESS = r"(?:OLDPWD|PWD|(?:\w{0,80}_)?[PRLQ]_?KEY|\w{0,80}(?:BYPASS|COMPASS))"
_SECRET_NAME = re.compile(
    rf"(?!(?i:{_HARMLESS})$)(?:(?i:(?:.*[_.-])?{_WORDS}|.*(?:{_PASSWORDS}|secret)|.*[a-z0-9][_.-]{_LAST})"
    rf"|[A-Z][A-Z0-9_]*{_LAST_OF_UPPER}|[A-Za-z_]\w*{_CAMEL})"
)
_SECRET_FIELD = re.compile(rf"(?i)(?:.*[_.-])?{_WORDS}")


def is_secret_name(name: str) -> bool:
    """Return whether a variable of this name is a secret: ``HF_TOKEN``, ``DB_PASS``."""
    return bool(_SECRET_NAME.fullmatch(name))


def is_secret_field(name: str) -> bool:
    """Return whether a field of this name is a secret; the suite's own have a "key"."""
    return bool(_SECRET_FIELD.fullmatch(name))


# Quotes as programs write them in texts, documents, pages and addresses.
_QUOTE = r"(?:\\{0,4}['\"]|&quot;|&#3[49];|%2[27])"
_QUOTED = r"""\$?'[^'\n\x1f]{0,2000}'(?:\\''[^'\n\x1f]{0,2000}')*|"(?:[^"\\\n\x1f]|\\.){0,2000}\""""
# In a document a quote of the value has three backslashes, or nothing of the document behind it.
_VALUE = rf"""(?:{_QUOTED}|(?:\\\\\\"(?!\s?[,:}}\]])|\\[^\n"]|[^\s'",;&<>\\])+)"""
# All to the quote that closes the value; a backslash keeps the next character in it.
_TO_QUOTE = r"(?:(?!(?P=q))(?:\\.|[^\n\\\x1f])){1,4000}(?=(?P=q))"
_EQUALS = r"\s?(?:[:+?]?=>?|\?\?=|%3[Dd]|\\u003d)\s?"
_COLON = r"\s?(?::|%3[Aa])\s{0,4}(?:[Ss]tr(?:ing)?\s?=\s?)?"  # and a type of its own
# What may stand before a value: a type or a call, a tag of YAML, brackets, letters of its quotes.
_OPENED = (
    r"(?:(?:[A-Za-z]{1,16}\(|[!&]\w{1,40}\s|[|>][+-]?\s{1,8})(?=\s{0,8}\S))?[\[({<`]{0,2}\s{0,20}"
    r"(?:[ubrfUBRF]{1,2}(?=['\"]))?"
)
_NUMBER = r"(?:0x|[\d.]+(?:[\s,;)]|$))"
# The value of a weak name, such as that of a test's "pass": it has letters and digits.
_MIXED = r"(?=[^\s'\",;&]{0,80}[A-Za-z])(?=[^\s'\",;&]{0,80}\d)(?!0x|/)[^\s'\",;&<>]{6,}"
_WEAK = (
    r"(?:(?<![\w./-])(?i:pwd|pass|pw|_?auth|psk|otp|jwt|sig|csrftoken"
    r"|\w{0,20}sess(?:ion)?_?id)|(?<=[?&])(?i:key|code)|(?i:signature))"
)
_OTHER_NAMES = (
    r"(?<=[A-Z0-9_])(?:(?<!OLD)PWD|(?<!BY)(?<!COM)PASS|AUTH|COOKIE|PSK|OTP)"
    r"|(?<=[A-Z0-9_])(?<![PRLQ])(?<![PRLQ]_)KEY|(?<=[A-Z0-9]_)(?:PAT|JWT)|(?<=[a-z])(?:Pass|Pwd|Key)"
    rf"|(?<=[a-z0-9][_.-]){_LAST}"
)
# What each name begins with: this excludes most places of a text faster than the names do. Without
# regard to case, other letters are an s, a k and an i as well: U+017F, U+212A, U+0130 and U+0131.
_BEGINS = (
    "(?=[aA][cCpPuU]|[cC][eElLoOrR]|[eE][nN]|[jJ][wW]|[kK\u212a][eE]|[oO][tT]|[pP][aArRsSwW]"
    "|[sS\u017f][eEhHiItT\u0130\u0131]|[tT][oO])"
)
_NAME = rf"{_BEGINS}(?:(?P<surely>(?i:{_WORDS}))|{_OTHER_NAMES})"
_CLOSED = rf"(?:['\"]\]|{_QUOTE}?)"  # of a name: os.environ['HF_TOKEN']
# Perftest prints an "RKey" and nccl-tests "out-of-place": no form has to be tried for them.
_OF_KEYS = [f"{word}{gap}key" for word in _KEY_WORDS.split("|") for gap in ("", " ", "_", "-")]
_NAMES = (
    "pass|secret|token|credential|client-key|pwd|psk|auth|cookie|_pat|_jwt|otp|_key|-key|key="
    + ("|key =|key:|key'|key\"|key%|key\\|" + "|".join(_OF_KEYS))
)
_HEADERS = "bearer|basic|digest|token|apikey|negotiate|ntlm|aws4-hmac-sha256"
_LOGINS = (
    "sshpass|mysql\\w{0,10}|mariadb|ipmitool|ldap\\w{1,10}|smbclient|sqlcmd|snmp\\w{1,10}"
    "|(?:docker|podman|nerdctl|oc|helm|crane|skopeo|az|oras)\\s(?:\\w{1,20}\\s)?login"
)
PRIVATE_KEY = re.compile(
    # A key that is cut off ends where the next one begins: no text is looked at twice.
    r"(?P<head>)-----BEGIN (?P<kind>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:[^-]|-(?!----BEGIN )){0,20000}?(?:-----END (?P=kind)-----|(?=-----BEGIN )|\Z)"
)
# What tokens begin with and what follows, as their providers' documentation has it.
_PREFIXED = {
    r"gh[pousr]_": r"[A-Za-z0-9]{30,}",  # GitHub
    r"github_pat_": r"\w{30,}",
    r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas|ffct)-": r"[\w.-]{18,}",  # GitLab
    r"gl(?:sa|c)_": r"[\w+/=]{30,}",  # Grafana
    r"hf_|api_org_": r"[A-Za-z0-9]{30,}",  # Hugging Face
    r"(?:AKIA|ASIA)": r"[0-9A-Z]{16}\b",  # AWS
    r"xox[abeprs]-|xapp-": r"[\w-]{10,}",  # Slack
    r"hooks\.slack\.com/services/": r"[\w/]{20,}",
    r"sk-": r"(?=[\w-]{0,60}\d)[\w-]{20,}",  # OpenAI, Anthropic (sk-ant-), OpenRouter, DeepSeek
    r"xai-|gsk_|pplx-|lsv2_": r"\w{30,}",  # xAI, Groq, Perplexity, LangSmith
    r"nvapi-": r"[\w-]{20,}",  # NVIDIA NGC
    r"AIza|ya29\.|GOCSPX-": r"[\w-]{20,}",  # Google
    r"\w{3}\dQ~": r"[\w.~-]{30,}",  # Microsoft Entra
    r"eyJ[\w-]{10,}\.": r"[\w-]{4,}\.[\w.-]{5,}",  # JWT and JWE (RFC 7519)
    r"pypi-": r"[\w-]{30,}",
    r"npm_|rubygems_": r"[A-Za-z0-9]{36,}",
    r"dckr_(?:pat|oat)_": r"[\w-]{20,}",  # Docker
    r"[sr]k_(?:live|test)_|whsec_": r"[A-Za-z0-9+/=]{16,}",  # Stripe
    r"SK": r"[0-9a-f]{32}\b",  # Twilio
    r"SG\.": r"[\w-]{16,}\.[\w-]{16,}",  # SendGrid
    r"hv[sbr]\.": r"[\w-]{20,}",  # HashiCorp Vault
    r"\w{14}\.atlasv1\.": r"[\w-]{40,}",  # HCP Terraform
    r"dapi": r"[0-9a-f]{32}",  # Databricks
    r"do[opr]_v1_": r"[0-9a-f]{40,}",  # DigitalOcean
    r"ATATT3|ATBB": r"[\w=-]{20,}",  # Atlassian
    r"tskey-|ops_eyJ|dt0c01\.|PMAK-|NRAK-|lin_api_|ntn_": r"[\w.-]{20,}",  # Tailscale, 1Password, …
    r"shp(?:at|ss|ca|pa)_|sntry[su]_|pul-|sbp_|FlyV1 ": r"[\w+/=]{20,}",  # Shopify, Sentry, …
    r"AKCp|sha256~": r"[\w-]{40,}",  # Artifactory, OpenShift
    r"\d{8,10}:AA": r"[\w-]{33}",  # Telegram
    r"AGE-SECRET-KEY-1": r"[0-9A-Z]{20,100}",
    r"\$(?:1|2[aby]|5|6|y|apr1|argon2\w{0,2})\$": r"[./A-Za-z0-9$=,+]{20,}",  # crypt(5)
}
_PREFIX_HINTS = (
    "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|gldt-|glrt-|glcbt-|glptt-|glft-|glimt-"
    "|glagent-|glsoat-|gloas-|glffct-|glsa_|glc_|hf_|api_org_|akia|asia|xox|xapp-|hooks.slack"
    "|sk-|xai-|gsk_|pplx-|lsv_|nvapi-|aiza|ya.|gocspx-|q~|eyj|pypi-|npm_|rubygems_|dckr_"
    "|k_live_|k_test_|whsec_|sk|sg.|hvs.|hvb.|hvr.|.atlasv.|dapi|_v_|atatt|atbb|tskey-|ops_"
    "|dtc.|pmak-|nrak-|lin_|ntn_|shpat_|shpss_|shpca_|shppa_|sntry|pul-|sbp_|flyv|akcp|sha~"
    "|:aa|age-secret|$$|$a$|$b$|$y$|$apr$|$argon"
)


@dataclass(frozen=True, slots=True)
class Form:
    """What a kind of secret looks like: what follows the ``head`` of a match.

    Every text with such a secret contains one of ``hints`` (in lower case and without digits) and
    one of ``beside``. Most texts have none, and the search for them is much faster than the
    expression.
    """

    kind: str
    hints: tuple[str, ...]
    beside: tuple[str, ...]
    pattern: re.Pattern[str]


# Kind, hints, what is beside them, head, value.
_ROWS = (
    (
        "bearer token", "bearer|basic", "",
        r"(?i:\b(?:bearer|basic)\s{1,4})", r"(?=\S{0,400}\d)[\w.~+/=-]{12,}",
    ),
    (  # a line of env: the value is the rest
        "secret variable", _NAMES, "=",
        rf"(?m:^)(?!(?i:{_HARMLESS})=)[A-Z][A-Z0-9_]{{0,80}}{_LAST_OF_UPPER}=",
        rf"(?!{_NUMBER})(?:\\.|\S)+",
    ),
    (  # name and value are fields of their own
        "secret field", _NAMES, "value",
        rf"\b(?i:name|key){_QUOTE}?\s?[:=]\s{{0,4}}{_QUOTE}?[\w.-]{{0,80}}?{_NAME}{_QUOTE}?\s{{0,4}},?"
        rf"\s{{0,40}}{_QUOTE}?(?i:value){_QUOTE}?\s?[:=]\s{{0,4}}{_QUOTE}?",
        r"(?!null|None)[^\s'\",;&<>}\\]{1,4000}",
    ),
    (  # a number too, unless it may be that of a setting
        "secret variable", _NAMES, "=|%d|\\ud",
        rf"{_NAME}{_CLOSED}{_EQUALS}{_OPENED}", rf"(?(surely)|(?!{_NUMBER})){_VALUE}",
    ),
    (
        "secret field", _NAMES, "'|\"|&|%",
        rf"{_NAME}{_CLOSED}(?:{_EQUALS}|{_COLON}){_OPENED}(?P<q>{_QUOTE})", _TO_QUOTE,
    ),
    (
        "secret field", _NAMES, ":|=|%",
        rf"{_NAME}{_CLOSED}(?:{_EQUALS}|{_COLON}){_OPENED}{_QUOTE}?",
        r"(?=[^\s'\",]*[A-Za-z])[^\s'\",;&<>\\()]{6,}",
    ),
    (
        "secret variable", "pwd|pass|pw|auth|psk|otp|jwt|sig=|signature|sess|csrf|key=|code=", "",
        rf"{_WEAK}{_CLOSED}(?:{_EQUALS}|{_COLON}){_QUOTE}?", _MIXED,
    ),
    (
        "secret element", _NAMES, "</",
        rf"{_NAME}['\"]?(?:\s[^<>\n]{{0,200}})?>(?:<!\[CDATA\[)?", r"[^<\]\n]{1,400}(?=\]\]>|</)",
    ),
    (  # CREATE USER … PASSWORD '…', IDENTIFIED BY '…'
        "SQL password", "password|identified", "'|\"",
        r"(?i:\b(?:password|identified\sby)\s{1,4})(?P<q>['\"])", _TO_QUOTE,
    ),
    (  # the argument after a flag
        "secret option", f"{_NAMES}|pw|jwt|bearer", "-",
        rf"(?<![\w-])--?(?=\w)[\w-]{{0,40}}?(?i:{_WORDS}|(?<!by)(?<!com)pass(?:in|out)?"
        r"|(?P<weak>pw|auth|jwt|otp|psk|bearer))(?:\s{1,4}|=)",
        rf"(?(weak)(?=['\"]?{_MIXED}))(?!-|{_NUMBER})(?:pass:)?{_VALUE}",
    ),
    (
        "user and password", "-u|user|curl|wget", ":|%",
        r"(?:(?<![\w-])(?:-u|-U|--user|--proxy-user)|\b(?:curl|wget)\b[^\n;|&]{0,300}?\s-[a-zA-Z]{1,8}u)"
        r"[ =\x1f]?['\"]?[A-Za-z][\w.@\\-]{0,63}['\"]?[:%]['\"]?",
        r"(?!\d{1,5}(?:\s|$)|//)[^\s'\"]+",
    ),
    (
        "password option", "sshpass|mysql|maria|ipmitool|ldap|smbclient|sqlcmd|snmp|login", "-",
        rf"\b(?:{_LOGINS})\b[^\n;|&]{{0,300}}?\s-[pPwAXc]\s?", rf"(?!-|\d+(?:\s|$)){_VALUE}",
    ),
    (
        "URL userinfo", "://", "@",
        r"\b[a-z][a-z0-9+.-]{1,20}://(?:[^\s/:@'\"<>]{0,100}:)?",
        r"(?:(?<=:)[^\s/'\"<>]+|(?=[\w-]{0,80}\d)(?=[\w-]{0,80}[A-Za-z])[\w-]{16,200})(?=@)",
    ),
    (  # a private key as JSON (RFC 7517)
        "private key", "kty", ":",
        r"\"(?:d|p|q|dp|dq|qi|k)\\{0,4}\"\s?:\s{0,4}\\{0,4}\"", r"[\w-]{20,}",
    ),
    (
        "access token", _PREFIX_HINTS, "",
        r"(?<![A-Za-z0-9])", f"(?:{'|'.join(f'(?:{a}){b}' for a, b in _PREFIXED.items())})",
    ),
    # The last ones, since what they hide may hold the name of another secret with a quoted value.
    (
        "cookie", "cookie", "=",
        rf"(?i:\b(?:set-)?cookies?{_QUOTE}?(?:{_COLON}|{_EQUALS}){_OPENED}{_QUOTE}?)",
        r"(?=[^\s=]{1,60}=)[^\n'\"\\\x1f]+",
    ),
    (
        "authorization", "authori", "",
        rf"(?i:\b(?:proxy-)?authorization{_QUOTE}?(?:{_COLON}|{_EQUALS}|,\s?){_OPENED}{_QUOTE}?"
        rf"(?:(?:{_HEADERS})\s{{1,4}})?)",
        r"""[^\s'"\\]{6,}(?:[^\n\x1f\\'"]|(?<==)"[^"\n]{0,400}"(?=[,\s]|$)){0,2000}""",
    ),
)  # fmt: skip
FORMS = tuple(
    Form(
        kind,
        tuple(hints.split("|")),
        tuple(beside.split("|")),
        re.compile(f"(?P<head>{head}){value}"),
    )
    for kind, hints, beside, head, value in _ROWS
)
