"""Ways to write a secret beside its name: lists, objects, tuples, elements, commands. Pure.

These forms come before the simpler ones of ``secret_forms``, which would mask the beginning alone.
"""

from __future__ import annotations

import re

from railgauge.core import secret_forms
from railgauge.core.secret_forms import (
    AFTER_NAME,
    HARMLESS,
    LONG_NAME,
    MASK,
    NAME_HINTS,
    NEW,
    QUOTE,
    UPPER_NAME,
    VALUE,
    Form,
)

_UPPER_OR_LAST = (
    rf"\b(?!(?i:{HARMLESS})\b)(?:{UPPER_NAME}|[A-Za-z]\w{{0,80}}_(?:pass|pwd|auth|key))"
)
_ANY_NAME = rf"(?:{LONG_NAME}|{_UPPER_OR_LAST})"
_HINTS = (*NAME_HINTS, "pass", "pwd", "auth", "_key", "cookie", "_pat", "_jwt")
# All to the quote that closes the value; a backslash keeps the next character in it.
_TO_QUOTE = r"(?:(?!(?P=q))(?:\\.|[^\n\\])){1,4000}"
# A weak name, such as that of a test's "pass": the value has letters and digits.
_MIXED = r"(?=[^\s'\",;&]{0,80}[A-Za-z])(?=[^\s'\",;&]{0,80}\d)(?!0x|/)[^\s'\",;&]{6,}"

_MORE: tuple[Form, ...] = (
    Form(
        "secret list",
        _HINTS,
        re.compile(
            rf"(?P<head>{_ANY_NAME}{AFTER_NAME})\[\s{{0,40}}(?P<q>\\{{0,4}}['\"])"
            rf"(?!\[secret\]){_TO_QUOTE}(?P=q)(?:\s{{0,4}},\s{{0,40}}(?P=q){_TO_QUOTE}(?P=q)){{0,100}}"
        ),
        rf"\g<head>[\g<q>{MASK}\g<q>",
        beside=("[",),
    ),
    Form(
        "secret field",
        _HINTS,
        re.compile(
            rf"(?P<head>{_ANY_NAME}\\{{0,4}}['\"]\s?(?::|=>)\s{{0,4}}[uUbB]?(?P<q>\\{{0,4}}['\"]))"
            rf"{NEW}{_TO_QUOTE}(?=(?P=q))"
        ),
        beside=('":', "':", '" :', "' :", '"=>', "'=>", '" =>', "' =>"),
    ),
    Form(
        "secret field",  # of a list of variables: name and value are fields of their own
        ("name", "key"),
        re.compile(
            rf"(?P<head>\b(?i:name|key){QUOTE}\s?[:=]\s{{0,4}}{QUOTE}[\w.-]{{0,80}}?{_ANY_NAME}"
            rf"{QUOTE}\s{{0,4}},?\s{{0,40}}{QUOTE}(?i:value){QUOTE}\s?[:=]\s{{0,4}}{QUOTE})"
            rf"{NEW}(?!null|None)[^\s'\",;&<>}}\\]{{1,4000}}"
        ),
        beside=_HINTS,
    ),
    Form(
        "secret element",
        ("name=",),
        re.compile(
            rf"(?P<head>\bname=['\"][\w.-]{{0,80}}?{_ANY_NAME}['\"]\s?>)"
            rf"{NEW}[^<\n]{{1,400}}(?=</)"
        ),
        beside=_HINTS,
    ),
    Form(
        "secret element",
        ("password", "secret", "token", "key"),
        re.compile(
            rf"(?P<head><(?i:[\w.:-]{{0,40}}(?:password|secret|token|api-?key))"
            rf"(?:\s[^<>\n]{{0,200}})?>(?:<!\[CDATA\[)?){NEW}[^<\]\n]{{1,400}}(?=\]\]>|</)"
        ),
        beside=("</",),
    ),
    Form(
        "secret field",
        _HINTS,
        re.compile(
            rf"(?P<head>\([uUbB]?(?P<o>['\"])\w{{0,80}}?{_ANY_NAME}(?P=o),\s{{0,2}}[uUbB]?(?P<q>['\"])){NEW}"
            rf"{_TO_QUOTE}(?=(?P=q))"
        ),
    ),
    Form(
        "authorization",
        ("digest",),
        re.compile(
            rf"(?i)(?P<head>authorization['\"]?\s?[:=]\s{{0,4}}['\"]?digest\s{{1,4}}){NEW}"
            r"\w(?:\\.|[^\n\x1f\"\\]|\"[^\"\n]{0,400}\"(?=[,\s]|$)){1,2000}"
        ),
    ),
    Form(
        "cookie",
        ("cookie",),
        re.compile(
            rf"(?i)(?P<head>\b(?:set-)?cookies?(?:\\{{0,4}}['\"]\s?[:,]|\s?=)\s{{0,4}}(?:\[\s{{0,40}})?[ubrf]?"
            rf"\\{{0,4}}['\"]?){NEW}(?:\{{[^}}\n]{{1,2000}}\}}|(?=[^\s=]{{1,60}}=)[^\s'\"\\{{][^\n'\"\\\x1f]*)"
        ),
    ),
    Form(
        "session",
        ("sess",),
        re.compile(
            rf"(?i)(?P<head>\b(?:jsessionid|phpsessid|session_?id|sessid){QUOTE}\s?[:=]\s{{0,4}}{QUOTE})"
            rf"{NEW}(?=\w{{0,80}}\d)(?=\w{{0,80}}[a-z])[\w.-]{{16,}}"
        ),
    ),
    Form(
        "secret variable",
        ("pwd", "pass", "auth", "psk", "otp", "jwt", "?key=", "&key=", "code="),
        re.compile(
            rf"(?P<head>(?<![\w./-])(?i:pwd|pass|pw|_?auth|psk|otp|jwt)\\{{0,4}}['\"]?\s?[:=]\s{{0,4}}"
            rf"\\{{0,4}}['\"]?|[?&](?i:key|auth|pwd|pass|code|jwt)=){NEW}{_MIXED}"
        ),
    ),
    Form(
        "docker credentials",
        ("auth",),
        re.compile(
            rf"(?P<head>\b_?auth{QUOTE}\s?[:=]\s{{0,4}}{QUOTE}){NEW}"
            r"(?=[\w+/]{0,200}[A-Z])(?=[\w+/]{0,200}[a-z])[\w+/]{16,}={0,2}"
        ),
    ),
    Form(
        "secret option",
        ("--pw", "--auth", "--jwt", "--otp", "--psk"),
        re.compile(rf"(?P<head>(?<![\w-])--(?:pw|auth|jwt|otp|psk)[ =\x1f]['\"]?){NEW}{_MIXED}"),
    ),
    Form(
        "cookie",
        ("curl", "wget"),
        re.compile(
            r"(?P<head>\b(?:curl|wget)\b[^\n;|&]{0,300}?\s(?:-b|--cookie)[ =\x1f]['\"]?)"
            rf"{NEW}(?=[^\s=]{{1,60}}=)[^\n'\"\x1f]{{1,2000}}"
        ),
    ),
    Form(
        "password option",
        ("snmp",),
        re.compile(
            rf"(?P<head>\bsnmp\w{{1,10}}\b[^\n;|&]{{0,300}}?\s-[Ac][ \x1f]){NEW}(?!-){VALUE}"
        ),
    ),
    Form(
        "password option",
        ("snmp",),
        re.compile(rf"(?P<head>\bsnmp\w{{1,10}}\b[^\n;|&]{{0,300}}?\s-X[ \x1f]){NEW}(?!-){VALUE}"),
    ),
    Form(
        "password option",
        ("zip", "7z", "openssl", "htpasswd", "racadm"),
        re.compile(
            r"(?P<head>\b(?:(?:un)?zip\b[^\n;|&]{0,300}?\s-P ?|7z\w?\b[^\n;|&]{0,300}?\s-p"
            r"|openssl\b[^\n;|&]{0,300}?\s-k\s|racadm\b[^\n;|&]{0,300}?\s-p\s"
            rf"|htpasswd\s-\w{{0,8}}b\w{{0,8}}\s\S{{1,200}}\s\S{{1,80}}\s)){NEW}(?!-){VALUE}"
        ),
    ),
    Form(
        "password option",
        ("vault login", "wandb login"),
        re.compile(
            rf"(?P<head>\b(?:vault|wandb)\slogin\s(?:--relogin\s)?){NEW}(?!-)(?=\S*\d)\S{{8,}}"
        ),
    ),
    Form(
        "URL token",
        ("://",),
        re.compile(
            rf"(?P<head>://){NEW}(?=[\w-]{{0,80}}\d)(?=[\w-]{{0,80}}[A-Za-z])[\w-]{{16,200}}(?=@)"
        ),
    ),
    Form(
        "piped password",
        ("echo", "printf"),
        re.compile(
            rf"(?P<head>\b(?:echo|printf)\s(?:-n\s)?['\"]?){NEW}[^\s'\"|]{{1,400}}(?=['\"]?\s{{0,4}}\|\s{{0,4}}"
            r"(?:sudo|docker|podman|nerdctl|helm|crane|skopeo|oras|cryptsetup|kinit|chpasswd|gh)\b)"
        ),
    ),
    Form(
        "user and password",
        ("machine", "thin:", "chpasswd"),
        re.compile(
            r"(?P<head>\bmachine\s{1,8}\S{1,80}\s{1,8}password\s{1,8}|\bthin:\w{1,60}/"
            rf"|\bchpasswd\s<<<\s?['\"]?\w{{1,60}}:){NEW}[^\s@'\"]+"
        ),
    ),
    Form(
        "secret variable",  # a constant or a variable with its type
        ("define", "string", "str"),
        re.compile(
            rf"(?P<head>#define\s{{1,8}}{UPPER_NAME}\s{{1,8}}['\"]|{_ANY_NAME}:?\s"
            rf"(?:[Ss]tring|str)(?:\s\|\sNone)?\s?=\s?['\"]){NEW}[^'\"\n]{{1,400}}"
        ),
        beside=_HINTS,
    ),
)

FORMS: tuple[Form, ...] = (secret_forms.FORMS[0], *_MORE, *secret_forms.FORMS[1:])
