"""What Allure's generator makes, without its calls to the outside. Pure."""

from __future__ import annotations

import re

# Allure 3 writes both into index.html: the script of its analytics, and what starts it.
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
    """The page without the scripts that report its reader to somebody."""
    return _ANALYTICS.sub("", page)


def loaded_from_outside(page: str) -> list[str]:
    """Every address outside that the page's own markup would load."""
    return _LOADED.findall(page)
