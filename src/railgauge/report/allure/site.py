"""Remove from Allure's pages what they would load from outside. Pure."""

from __future__ import annotations

import re

# Allure 3 writes two scripts into index.html: one loads its analytics, the other starts them.
_ANALYTICS = re.compile(
    r"\s*<script[^>]*\ssrc=[\"']https?://www\.googletagmanager\.com/[^>]*>\s*</script>"
    r"|\s*<script>(?:(?!</script>).)*?\bgtag\((?:(?!</script>).)*?</script>",
    re.DOTALL,
)
_LOADED = re.compile(
    r"<(?:script|link|img|iframe|source|video|audio|embed|object)\b[^>]*?"
    r"\s(?:src|href|data)=[\"']?(https?://[^\"'\s>]+)"
)


def without_analytics(page: str) -> str:
    """Return the page without the analytics scripts."""
    return _ANALYTICS.sub("", page)


def loaded_from_outside(page: str) -> list[str]:
    """Return every outside address that the page's own markup would load."""
    return _LOADED.findall(page)
