"""One HTML file from data, style sheet and scripts.

Names in models are untrusted. The data are JSON in which no character can end the element around it, the
scripts put text into the document as text only, and the page's own policy lets it run these scripts, load
nothing and talk to nobody.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from dlasim import __version__
from dlasim.errors import printable
from dlasim.sweeps.charts import palette

# In the order in which they build on each other.
SCRIPTS = (
    "elements", "numbers", "state", "table", "bars", "axes", "roofline", "timeline", "sram", "network",
    "run", "comparison", "points", "scatter", "parallel", "sweep", "main",
)  # fmt: skip
_ASSETS = files("dlasim.sweeps.page") / "assets"
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def document(title: str, data: Mapping[str, Any]) -> str:
    """The page; `data` must have a `page` that `assets/main.js` knows."""
    shared = {"title": title, "version": __version__, "kinds": _kinds()}
    style, script = _text("page.css"), _script()
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return "\n".join([
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<meta name="generator" content="dlasim {escape(__version__)}">',
        f"<title>{escape(printable(title))}</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        "<noscript><p>This page needs JavaScript. It loads nothing from the network.</p></noscript>",
        f'<script type="application/json" id="data">{encode({**shared, **data})}</script>',
        f"<script>{script}</script>",
        "</body>",
        "</html>",
        "",
    ])  # fmt: skip


def encode(data: Any) -> str:
    """JSON that may stand inside a script element: numbers that are none become null, and names can neither
    control a terminal nor turn the direction of the text around them."""
    text = json.dumps(_plain(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES).encode("utf-8", "replace").decode()


def _plain(item: Any) -> Any:
    if isinstance(item, float):
        return item if math.isfinite(item) else None
    if isinstance(item, str):
        return printable(item, also="\n\t")
    if isinstance(item, Mapping):
        return {printable(str(name)): _plain(value) for name, value in item.items()}
    if isinstance(item, (list, tuple)):
        return [_plain(value) for value in item]
    return item


def _kinds() -> dict[str, str]:
    """The colour of each kind of layer, as in the other charts."""
    return {name: color for name, (color, *_) in palette.KINDS.items()}


def _script() -> str:
    parts = "\n".join(_text(f"{name}.js") for name in SCRIPTS)
    return f'\n"use strict";\n(() => {{\n{parts}\n}})();\n'


def _text(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    """What a content security policy calls an element with this content."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
