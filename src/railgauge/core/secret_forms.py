"""What secrets look like: names of variables, and forms in texts. Pure.

Every expression is linear: what repeats is bounded, or can end in one way only.
"""

from __future__ import annotations

import re
from collections.abc import Set
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
_KEYS = rf"(?:{'|'.join(_OF_KEYS)})[ _-]?key(?:[_-]?id)?|client-key-data"
_NAME_WORDS = rf"(?:{_WORDS}|{_KEYS})"
# Perftest prints an "RKey", of which none of these expressions has to be tried.
NAME_HINTS = (
    *("pass", "secret", "token", "credential", "client-key"),
    *(
        f"{word}{between}key"
        for word in _OF_KEYS
        for between in ("", " ", "_", "-")
        if word != "secret"
    ),
)
# accessToken, secretAccessKey, _authToken: the last word of a name without separators.
_CAMEL = (
    r"(?-i:[A-Za-z_]\w{0,60}"
    r"(?:Token|Secret|SecretString|Password|Passphrase|Passwd|AccessKey|PrivateKey))"
)
# dbpassword, Dpassword, identitytoken: these words name a secret whatever stands before them.
LONG_NAME = rf"(?i:{_WORDS})|(?<![A-Za-z0-9])(?i:{_KEYS})|(?:AccessKey|PrivateKey|SecretString)"
# Words that name a secret at the end of a longer name only: a table has a "key", a test a "pass".
_LAST_WORDS = r"(?:pass|pwd|auth|cookies?|key|pat|jwt)"
_LAST_OF_UPPER = (
    *("pass", "passwd", "password", "pwd", "auth", "cookie", "key", "token", "secret"),
    *("_pat", "_jwt"),
)
UPPER_NAME = rf"[A-Z][A-Z0-9_]{{0,80}}(?:{'|'.join(_LAST_OF_UPPER).upper()})"
_ASSIGNED = tuple(f"{word}=" for word in _LAST_OF_UPPER)
# The working directory, InfiniBand's keys of partitions and memory, and words that end like one.
HARMLESS = r"(?:OLDPWD|PWD|(?:\w*_)?[PRLQ]_?KEY|\w*(?:BYPASS|COMPASS))"
_SECRET_NAME = re.compile(
    rf"(?i)(?!{HARMLESS}$)(?:(?:.*[_.-])?{_NAME_WORDS}|.*(?:password|passwd|passphrase|secret)|.*[a-z0-9][_.-]{_LAST_WORDS}"
    rf"|(?-i:{UPPER_NAME})|{_CAMEL})"
)
# A field of the suite's own files that ends like the name of a secret is none.
SECRET_FIELD = re.compile(rf"(?i)(?:.*[_.-])?{_NAME_WORDS}")

# Quoted as shells quote: a backslash keeps the next character in the value.
_QUOTED = r"""\$?'[^'\n]{0,2000}'(?:\\''[^'\n]{0,2000}')*|"(?:[^"\\\n]|\\.){0,2000}\""""
# In a document a quote of the value has three backslashes, or nothing of the document behind it.
VALUE = rf"""(?:{_QUOTED}|(?:\\\\\\"(?!\s?[,:}}\]])|\\[^\n"]|[^\s'",;&<>\\])+)"""
# Quotes as programs write them in texts, pages and addresses.
QUOTE = r"(?:\\{0,4}['\"]|&quot;|&#3[49];|%2[27])?"
# := of make, += of a shell, => of Ruby and Perl, ??= of C#, = in an address.
_SETS = r"\s?(?:[:+?]?=>?|\?\?=|%3[Dd]|\\u003d)\s?(?:\\{1,4}['\"])?"
# What may stand before a value: a type of Python, a letter of its quotes, a tag of YAML.
OPENED = (
    r"(?:[A-Za-z]{1,16}\((?=[ubrfUBRF]{0,2}['\"]))?(?:[ubrfUBRF]{1,2}(?=['\"]))?"
    r"(?:[!&]\w{1,40}\s{1,4}|[|>][+-]?\s{1,8})?[<`]?"
)
CLOSED = rf"(?:['\"]\]|{QUOTE})"  # of a name: os.environ['HF_TOKEN']
AFTER_NAME = rf"{CLOSED}(?:{_SETS}|%3[Aa]{QUOTE}|\s?:\s{{0,4}}){OPENED}"
# Not what is masked already, whatever was kept of its beginning.
NEW = (
    rf"(?!(?:[A-Za-z]{{1,16}}\()?{OPENED}[\[({{]{{0,2}}(?:[ubrfUBRF]{{1,2}}(?=['\"]))?"
    r"(?:[\\'\"`<]|&quot;|&#3[49];|%2[27]|[ubrfUBRF](?=\[)){0,6}\[secret\])"
)


@dataclass(frozen=True, slots=True)
class Form:
    """What a kind of secret looks like: all of the match, or what follows its ``head``.

    One of ``hints`` is in every text that has one, in lower case, and one of ``beside`` if there
    are any: most texts have none, and looking for them costs a fraction of the expression.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    instead: str = rf"\g<head>{MASK}"
    beside: tuple[str, ...] = ()

    def may_be_in(self, hints: Set[str]) -> bool:
        """Return whether a text with these hints may have one."""
        has_beside = not self.beside or not hints.isdisjoint(self.beside)
        return has_beside and not hints.isdisjoint(self.hints)


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
        re.compile(rf"(?i)(?P<head>\b(?:set-)?cookie:\s{{0,4}}){NEW}[^\s'\"][^\n'\"\x1f]*"),
    ),
    Form(
        "authorization",
        ("authorization",),
        re.compile(
            r"(?i)(?P<head>\b(?:proxy-)?authorization['\"]?\s?[:=]\s{0,4}['\"]?"
            rf"(?![\w-]{{1,20}}\s{{1,4}}\[secret\])"
            r"(?:(?:bearer|basic|digest|token|apikey|negotiate|ntlm|aws4-hmac-sha256)\s{1,4})?)"
            rf"{NEW}[^\s'\"]{{6,}}"
        ),
    ),
    Form(
        "secret variable",  # a line of env, of csh, fish or a Dockerfile: the value is the rest
        (*_ASSIGNED, "setenv", "set -", "env"),
        re.compile(
            rf"(?m)(?P<head>^(?!(?i:{HARMLESS})=){UPPER_NAME}="
            r"|\b(?:setenv|set -\w{1,3}|ENV)[ \t\x1f]"
            rf"(?!(?i:{HARMLESS})\s){UPPER_NAME}[ \t\x1f])"
            rf"{NEW}(?!0x|[\d.]+(?:[\s,;]|$))(?:\\.|\S)+"
        ),
    ),
    Form(
        "secret variable",
        NAME_HINTS,
        re.compile(rf"(?P<head>(?:{LONG_NAME}){CLOSED}{_SETS}{OPENED}){NEW}{VALUE}"),
    ),
    Form(
        "secret variable",
        _ASSIGNED,
        re.compile(
            rf"(?P<head>\b(?!(?i:{HARMLESS})=)(?:{UPPER_NAME}"
            r"|[A-Za-z]\w{0,80}_(?:pass|pwd|auth|cookie|key)"
            rf"|[A-Z][A-Za-z]{{0,40}}(?:Key|Pwd|Pass|Secret|Token|Cookie))(?:['\"]\]\s?)?=\s?(?:\\{{1,4}}['\"])?){NEW}"
            rf"(?!0x|[\d.]+(?:[\s,;]|$)){VALUE}"
        ),
    ),
    Form(
        "secret field",
        ("pass", "pwd", "auth", "cookie"),
        re.compile(
            rf"""(?P<head>\b(?:{UPPER_NAME}|[A-Za-z]\w{{0,80}}_(?:pass|pwd|auth|cookie))"""
            rf"""\\{{0,4}}['"]?\s?:\s{{1,4}}\\{{0,4}}['"]?|"auth"\s?:\s{{0,4}}"(?=[\w+/]{{12}}))"""
            rf"""{NEW}(?=[^\s'",]*[A-Za-z])[^\s'",;&<>\\()]{{{LEAST_SECRET},}}"""
        ),
    ),
    Form(
        "secret field",
        NAME_HINTS,
        re.compile(
            rf"""(?P<head>(?:{LONG_NAME})"""
            rf"""{QUOTE}\s?(?::|%3[Aa])\s{{0,4}}{OPENED}{QUOTE})"""
            rf"""{NEW}(?=[^\s'",]*[A-Za-z][^\s'",]*)[^\s'",;&<>\\()]{{{LEAST_SECRET},}}"""
        ),
    ),
    Form(
        "secret element",
        ("password>", "secret>", "token>", "key>"),
        re.compile(rf"(?i)(?P<head><(?:\w{{1,40}}_)?{_NAME_WORDS}>){NEW}[^<\n]{{1,400}}(?=</)"),
    ),
    Form(
        "secret option",
        NAME_HINTS,
        re.compile(
            r"(?i)(?P<head>(?<![\w-])--?(?:[a-z]{1,20}-){0,3}"
            rf"(?:{_NAME_WORDS}|pass(?:in|out)?)(?:[ \t\x1f]{{1,4}}|=)){NEW}"
            rf"(?!-|[\d.]+(?:\s|$))(?:pass:)?{VALUE}"
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
            rf"[^\n;|&]{{0,300}}?\s-[pPawAXc]\s?){NEW}(?!-){VALUE}"
        ),
    ),
    Form(
        "password option",
        ("-p",),
        re.compile(
            rf"(?P<head>\s-p\s){NEW}(?=\S{{0,80}}[a-z])(?=\S{{0,80}}[A-Z])(?=\S{{0,80}}\d)"
            r"[\w!@#$%^*+=]{8,}(?=[\s'\"]|$)"
        ),
    ),
    Form(
        "user and password",
        ("-u", "user"),
        re.compile(
            r"(?P<head>(?<![\w-])(?:-u|-U|--user|--proxy-user)[ =\x1f]?['\"]?"
            r"[A-Za-z][\w.@\\-]{0,63}['\"]?[:%]['\"]?)"
            rf"{NEW}(?!\d{{1,5}}(?:\s|$)|//)[^\s'\"]+"
        ),
    ),
    Form(
        "user and password",
        ("login", "password"),
        re.compile(
            rf"(?m)(?P<head>^\s{{0,20}}password\s{{1,8}}(?=\S+$)|\blogin\s{{1,8}}\S{{1,80}}\s{{1,8}}password\s{{1,8}}){NEW}\S+"
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
            rf"(?i)(?P<head>(?:[?&]sig|\b(?:x-(?:amz|goog)-)?signature)=){NEW}[^\s&'\"<>]{{6,}}"
        ),
    ),
    Form(
        "URL userinfo",
        ("://",),
        re.compile(
            r"(?P<head>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"<>]{0,100}:)"
            rf"{NEW}[^\s/'\"<>]+(?=@)"
        ),
    ),
)


def is_secret_name(name: str) -> bool:
    """Return whether a variable of this name is a secret: ``HF_TOKEN``, ``DB_PASS``."""
    return bool(_SECRET_NAME.fullmatch(name))
