"""What secrets look like: names of variables, and forms in texts. Pure.

Every expression is linear: what repeats is bounded, or can end in one way only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MASK = "[secret]"
# Short values and numbers occur in outputs with other meanings: they are masked only beside their
# variable's name.
LEAST_SECRET = 6

_WORDS = r"(?:password|passwd|passphrase|passcode|secret|token|credentials?)"
_OF_KEYS = (
    *("api", "access", "private", "secret", "auth", "account", "encryption", "signing"),
    *("certificate", "shared", "preshared"),
)
_KEYS = rf"(?:{'|'.join(_OF_KEYS)})[_-]?key(?:[_-]?id)?|client-key-data"
_NAME_WORDS = rf"(?:{_WORDS}|{_KEYS})"
# Perftest prints an "RKey", of which none of these expressions has to be tried.
_NAME_HINTS = (
    *("pass", "secret", "token", "credential", "client-key"),
    *(f"{word}{between}key" for word in _OF_KEYS for between in ("", "_", "-") if word != "secret"),
)
# accessToken, secretAccessKey, _authToken: the last word of a name without separators.
_CAMEL = r"(?-i:[a-z_]\w{0,60}(?:Token|Secret|Password|Passphrase|Passwd|AccessKey|PrivateKey))"
# Words that name a secret at the end of a longer name only: a table has a "key", a test a "pass".
_LAST_WORDS = r"(?:pass|pwd|auth|cookies?|key|pat|jwt)"
_LAST_OF_UPPER = (
    *("pass", "passwd", "password", "pwd", "auth", "cookie", "key", "token", "secret"),
    *("_pat", "_jwt"),
)
_UPPER_NAME = rf"[A-Z][A-Z0-9_]{{0,80}}(?:{'|'.join(_LAST_OF_UPPER).upper()})"
_ASSIGNED = tuple(f"{word}=" for word in _LAST_OF_UPPER)
# The working directory, InfiniBand's keys of partitions and memory, and words that end like one.
_HARMLESS = r"(?:OLDPWD|PWD|(?:\w*_)?[PRLQ]_?KEY|\w*(?:BYPASS|COMPASS))"
_SECRET_NAME = re.compile(
    rf"(?i)(?!{_HARMLESS}$)(?:(?:.*[_.-])?{_NAME_WORDS}|.*[a-z0-9][_.-]{_LAST_WORDS}"
    rf"|(?-i:{_UPPER_NAME})|{_CAMEL})"
)
# A field of the suite's own files that ends like the name of a secret is none.
SECRET_FIELD = re.compile(rf"(?i)(?:.*[_.-])?{_NAME_WORDS}")

# Quoted as shells quote: a backslash keeps the next character in the value.
_QUOTED = r"""\$?'[^'\n]{0,2000}'(?:\\''[^'\n]{0,2000}')*|"(?:[^"\\\n]|\\.){0,2000}\""""
# In a document a quote of the value has three backslashes, or nothing of the document behind it.
_VALUE = rf"""(?:{_QUOTED}|(?:\\\\\\"(?!\s?[,:}}\]])|\\[^\n"]|[^\s'",;&<>\\])+)"""
# := of make, += of a shell, => of Ruby and Perl, = in an address.
_SETS = r"\s?(?:[:+?]?=>?|%3[Dd])\s?(?:\\{1,4}['\"])?"
_NEW = r"(?!['\"]?\[secret\])"


@dataclass(frozen=True, slots=True)
class Form:
    """What a kind of secret looks like: all of the match, or what follows its ``head``.

    One of ``hints`` is in every text that has one, in lower case: most texts have none, and looking
    for them costs a fraction of the expression.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    instead: str = rf"\g<head>{MASK}"


FORMS: tuple[Form, ...] = (
    Form(
        "private key",
        ("private key", "age-secret-key-"),
        re.compile(
            # A key that is cut off ends where the next one begins: no text is looked at twice.
            r"-----BEGIN (?P<kind>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
            r"(?:[^-]|-(?!----BEGIN )){0,20000}?(?:-----END (?P=kind)-----|(?=-----BEGIN )|\Z)"
            r"|AGE-SECRET-KEY-1[0-9A-Z]{20,100}",
        ),
        MASK,
    ),
    Form(
        "cookie",
        ("cookie:",),
        re.compile(rf"(?i)(?P<head>\b(?:set-)?cookie:\s{{0,4}}){_NEW}[^\s'\"][^\n'\"\x1f]*"),
    ),
    Form(
        "authorization",
        ("authorization",),
        re.compile(
            r"(?i)(?P<head>\b(?:proxy-)?authorization['\"]?\s?[:=]\s{0,4}['\"]?"
            rf"(?![\w-]{{1,20}}\s{{1,4}}\[secret\])"
            r"(?:(?:bearer|basic|digest|token|apikey|negotiate|ntlm|aws4-hmac-sha256)\s{1,4})?)"
            rf"{_NEW}[^\s'\"]{{6,}}"
        ),
    ),
    Form(
        "secret variable",  # a line of env, of csh, fish or a Dockerfile: the value is the rest
        (*_ASSIGNED, "setenv", "set -", "env"),
        re.compile(
            rf"(?m)(?P<head>^(?!(?i:{_HARMLESS})=){_UPPER_NAME}="
            r"|\b(?:setenv|set -\w{1,3}|ENV)[ \t\x1f]"
            rf"(?!(?i:{_HARMLESS})\s){_UPPER_NAME}[ \t\x1f])"
            rf"{_NEW}(?!0x|[\d.]+(?:[\s,;]|$))(?:\\.|\S)+"
        ),
    ),
    Form(
        "secret variable",
        _NAME_HINTS,
        re.compile(
            rf"(?i)(?P<head>\b(?:(?:\w{{1,80}}_)?{_NAME_WORDS}|{_CAMEL})['\"]?{_SETS}){_NEW}{_VALUE}"
        ),
    ),
    Form(
        "secret variable",
        _ASSIGNED,
        re.compile(
            rf"(?P<head>\b(?!(?i:{_HARMLESS})=)(?:{_UPPER_NAME}"
            r"|[A-Za-z]\w{0,80}_(?:pass|pwd|auth|cookie|key)"
            rf"|[A-Z][A-Za-z]{{0,40}}(?:Key|Pwd|Pass|Secret|Token|Cookie))=(?:\\{{1,4}}['\"])?){_NEW}"
            rf"(?!0x|[\d.]+(?:[\s,;]|$)){_VALUE}"
        ),
    ),
    Form(
        "secret field",
        ("pass", "pwd", "auth", "cookie"),
        re.compile(
            rf"""(?P<head>\b(?:{_UPPER_NAME}|[A-Za-z]\w{{0,80}}_(?:pass|pwd|auth|cookie))"""
            rf"""\\{{0,4}}['"]?\s?:\s{{1,4}}\\{{0,4}}['"]?|"auth"\s?:\s{{0,4}}"(?=[\w+/]{{12}}))"""
            rf"""{_NEW}(?=[^\s'",]*[A-Za-z])[^\s'",;&<>\\()]{{{LEAST_SECRET},}}"""
        ),
    ),
    Form(
        "secret field",
        _NAME_HINTS,
        re.compile(
            rf"""(?i)(?P<head>\b(?:(?:[\w-]{{1,80}}[_-])?{_NAME_WORDS}|{_CAMEL})"""
            rf"""\\{{0,4}}['"]?\s?:\s{{0,4}}\\{{0,4}}['"]?)"""
            rf"""{_NEW}(?=[^\s'",]*[A-Za-z][^\s'",]*)[^\s'",;&<>\\()]{{{LEAST_SECRET},}}"""
        ),
    ),
    Form(
        "secret element",
        ("password>", "secret>", "token>", "key>"),
        re.compile(rf"(?i)(?P<head><(?:\w{{1,40}}_)?{_NAME_WORDS}>){_NEW}[^<\n]{{1,400}}(?=</)"),
    ),
    Form(
        "secret option",
        _NAME_HINTS,
        re.compile(
            r"(?i)(?P<head>(?<![\w-])--?(?:[a-z]{1,20}-){0,3}"
            rf"(?:{_NAME_WORDS}|pass(?:in|out)?)(?:[ \t\x1f]{{1,4}}|=)){_NEW}"
            rf"(?!-|[\d.]+(?:\s|$))(?:pass:)?{_VALUE}"
        ),
    ),
    Form(
        "password option",
        (
            *("sshpass", "mysql", "maria", "login", "ipmitool", "redis-cli", "ldap", "smbclient"),
            *("snmp", "sqlcmd"),
        ),
        re.compile(
            r"(?P<head>\b(?:sshpass|mysql\w{0,10}|mariadb|ipmitool|redis-cli|ldap\w{1,10}|smbclient"
            r"|sqlcmd|snmp\w{1,10}"
            r"|(?:docker|podman|nerdctl|oc|helm|crane|skopeo|az|oras)\s(?:\w{1,20}\s)?login)\b"
            rf"[^\n;|&]{{0,300}}?\s-[pPawAXc]\s?){_NEW}(?!-){_VALUE}"
        ),
    ),
    Form(
        "password option",
        ("-p",),
        re.compile(
            rf"(?P<head>\s-p\s){_NEW}(?=\S{{0,80}}[a-z])(?=\S{{0,80}}[A-Z])(?=\S{{0,80}}\d)"
            r"[\w!@#$%^*+=]{8,}(?=[\s'\"]|$)"
        ),
    ),
    Form(
        "user and password",
        ("-u", "user"),
        re.compile(
            r"(?P<head>(?<![\w-])(?:-u|-U|--user|--proxy-user)[ =\x1f]?['\"]?"
            r"[A-Za-z][\w.@\\-]{0,63}['\"]?[:%]['\"]?)"
            rf"{_NEW}(?!\d{{1,5}}(?:\s|$)|//)[^\s'\"]+"
        ),
    ),
    Form(
        "user and password",
        ("login", "password"),
        re.compile(
            rf"(?m)(?P<head>^\s{{0,20}}password\s{{1,8}}(?=\S+$)|\blogin\s{{1,8}}\S{{1,80}}\s{{1,8}}password\s{{1,8}}){_NEW}\S+"
        ),
    ),
    Form(
        "bearer token",
        ("bearer", "basic"),
        re.compile(r"(?i)\b(?P<head>(?:bearer|basic)\s+)(?=\S*[0-9])[A-Za-z0-9._~+/=-]{12,}"),
    ),
    Form("access key", ("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), MASK),
    Form(
        "access token",
        (
            *(
                "gh",
                "github_pat_",
                "glpat-",
                "hf_",
                "xox",
                "sk-",
                "sk_",
                "rk_",
                "eyj",
                "nvapi-",
                "pypi-",
                "npm_",
            ),
            *("aiza", "ya29.", "sg.", "dop_v1_", "dckr_", "hvs.", "dapi", "atlasv1", "hooks.slack"),
        ),
        re.compile(
            r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|gl(?:pat|ptt|dt)-[\w-]{18,}"
            r"|hf_[A-Za-z0-9]{30,}|xox[abeprs]-[\w-]{10,}|sk-[A-Za-z0-9_-]{20,}"
            r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|nvapi-[\w-]{20,}|pypi-[\w-]{30,}"
            r"|npm_[A-Za-z0-9]{30,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}"
            r"|dop_v1_[0-9a-f]{40,}|dckr_pat_[\w-]{20,}|hvs\.[\w-]{20,}|dapi[0-9a-f]{32}"
            r"|\w{14}\.atlasv1\.[\w-]{40,}|(?<=hooks\.slack\.com/services/)[\w/]{20,}"
            r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"
        ),
        MASK,
    ),
    Form(
        "password hash",
        ("$1$", "$2", "$5$", "$6$", "$y$", "$apr1$", "$argon2"),
        re.compile(r"\$(?:1|2[aby]|5|6|y|apr1|argon2\w{0,2})\$[./A-Za-z0-9$=,+]{20,}"),
        MASK,
    ),
    Form(
        "signed address",
        ("sig=", "signature="),
        re.compile(
            rf"(?i)(?P<head>(?:[?&]sig|\b(?:x-(?:amz|goog)-)?signature)=){_NEW}[^\s&'\"<>]{{6,}}"
        ),
    ),
    Form(
        "URL userinfo",
        ("://",),
        re.compile(
            r"(?P<head>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"<>]{0,100}:)"
            rf"{_NEW}[^\s/'\"<>]+(?=@)"
        ),
    ),
)


def is_secret_name(name: str) -> bool:
    """Return whether a variable of this name is a secret: ``HF_TOKEN``, ``DB_PASS``."""
    return bool(_SECRET_NAME.fullmatch(name))
