"""Texts that run a script or make an element wherever a page takes them as HTML.

Each calls ``pwned()`` or makes an element ``x-pwned`` or one with ``data-pwned``, which a test
looks for: a text that is shown as text does neither.
"""

from __future__ import annotations

_RUN = "pwned()"
_ENDS = (
    *("script", "style", "title", "textarea", "pre", "svg", "template", "noscript", "select"),
    *("option", "details", "iframe", "xmp", "math", "table", "summary"),
)
_BREAKS = (
    *("", '"', "'", "`", '">', "'>", "-->", "]]>", "*/", "\\", '\\"', "%22%3E", "\n", "\r\n"),
    *("{{", "{%", "${", "#{", "<%=", "\x00", "\u2028", "\ufeff", "\u00bb"),
    *(f"</{name}>" for name in _ENDS),
)
_HANDLERS = (
    "<img src=x onerror={run}>",
    "<img src=x:x onerror={run}//",
    "<IMG SRC=x OnErRoR={run}>",
    "<img/src=x/onerror={run}>",
    "<img\tsrc=x\nonerror\r=\n{run}>",
    "<svg onload={run}>",
    "<svg/onload={run}//",
    "<svg><script>{run}</script></svg>",
    "<svg><script href=data:text/javascript,{run}></script></svg>",
    "<svg><animate onbegin={run} attributeName=x dur=1s>",
    "<svg><set onbegin={run} attributeName=x>",
    "<svg><image href=x onerror={run}>",
    "<svg><a xlink:href=javascript:{run}><text data-pwned>x</text></a></svg>",
    "<body onload={run}>",
    "<body onpageshow={run}>",
    "<details open ontoggle={run}>",
    "<video><source onerror={run}></video>",
    "<video src=x onerror={run}></video>",
    "<audio src=x onerror={run}></audio>",
    "<input autofocus onfocus={run}>",
    "<select autofocus onfocus={run}>",
    "<textarea autofocus onfocus={run}>",
    "<button autofocus onfocus={run}>x</button>",
    "<marquee onstart={run}>",
    "<object data=x onerror={run}></object>",
    "<object data=javascript:{run}></object>",
    "<embed src=javascript:{run}>",
    "<iframe src=javascript:parent.{run}></iframe>",
    "<iframe srcdoc='<script>parent.{run}</script>'></iframe>",
    "<iframe onload={run}></iframe>",
    "<script>{run}</script>",
    "<script\n>{run}</script\n>",
    "<scr<script>ipt>{run}</scr</script>ipt>",
    "<script src=data:text/javascript,{run}></script>",
    "<script type=module>{run}</script>",
    "<style onload={run}></style>",
    "<style>@import 'x'</style><x-pwned>",
    "<link rel=stylesheet href=x onerror={run}>",
    "<meta http-equiv=refresh content='0;url=javascript:{run}'>",
    "<base href=javascript:{run}//>",
    "<form action=javascript:{run}><button data-pwned>x</button></form>",
    "<a href=javascript:{run} data-pwned>x</a>",
    "<a href='java&#x09;script:{run}' data-pwned>x</a>",
    "<a href=JaVaScRiPt:{run} data-pwned>x</a>",
    "<a href=data:text/html,<script>{run}</script> data-pwned>x</a>",
    "<math><mtext><table><mglyph><style><img src=x onerror={run}>",
    "<math href=javascript:{run} data-pwned>x</math>",
    "<noscript><p title='</noscript><img src=x onerror={run}>'>",
    "<template><x-pwned></template><x-pwned>",
    "<xmp><img src=x onerror={run}></xmp><x-pwned>",
    "<p title='x' onmouseover={run} data-pwned>",
    "<table background=javascript:{run} data-pwned>",
    "<div style=width:expression({run}) data-pwned>",
    "<div style='background:url(javascript:{run})' data-pwned>",
    "<dialog open onclose={run} data-pwned>",
    "<isindex type=image src=x onerror={run}><x-pwned>",
    "<keygen autofocus onfocus={run}><x-pwned>",
    "<![CDATA[<img src=x onerror={run}>]]>",
    "<!--[if gte IE 4]><script>{run}</script><![endif]--><x-pwned>",
    "<?xml version='1.0'?><x-pwned>",
    "<!DOCTYPE html><x-pwned>",
    "&lt;img src=x onerror={run}&gt;",
    "&#60;img src=x onerror={run}&#62;",
    "\\u003cimg src=x onerror={run}\\u003e",
    "%3Cimg src=x onerror={run}%3E",
    "\uff1cimg src=x onerror={run}\uff1e",
    "javascript:{run}",
    "data:text/html,<script>{run}</script>",
    "[x](javascript:{run})",
    "![x](x\"onerror={run})",
    "{{{{constructor.constructor('{run}')()}}}}",
    "{{{{7*7}}}}{{% raw %}}<x-pwned>{{% endraw %}}",
    "${{{run}}}",
    "\" onload={run} data-pwned=\"",
    "' onerror={run} data-pwned='",
    "` onfocus={run} autofocus data-pwned=`",
)  # fmt: skip

PAYLOADS: tuple[str, ...] = tuple(
    dict.fromkeys(
        (
            *(text.format(run=_RUN) for text in _HANDLERS),
            *(f"{text}<img src=x onerror={_RUN}><x-pwned data-pwned>" for text in _BREAKS),
        )
    )
)
