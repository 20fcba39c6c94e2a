"""`make docs-site`: docs/*.md, README and CONTRIBUTING as a site in out/site, warnings as errors.

The pages stay plain Markdown. What a site needs besides is made here: a copy of the sources in which links
between pages hold, and the navigation.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE, SITE = ROOT / "out" / "site-source", ROOT / "out" / "site"
# Pages outside docs/, and what they are called in the site.
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
    "examples/bare-metal/README.md": "bare-metal.md",
}
NAVIGATION: dict[str, tuple[str, ...]] = {
    "Start": ("tutorial", "gallery", "examples", "glossary"),
    "How to": (
        *(f"how-to/{name}" for name in (
            "get-an-int8-network", "offload-from-tvm", "feed-inputs", "run-a-language-model",
            "describe-a-machine", "compare-machines", "explore-a-run", "choose-a-machine",
            "find-the-least-energy", "save-energy", "look-at-a-timeline",
            "weights-in-flash",
            "place-operators", "use-the-api", "reproduce-the-paper", "write-a-program",
            "bring-your-own-firmware", "attach-a-device", "add-an-instruction", "add-an-operator",
            "add-a-sweep-column", "add-a-chart",
        )),
        "sweeps", "firmware", "bare-metal", "debugging",
    ),
    "Explanation": (
        "architecture", "timing-model", "cost-model", "area", "rtl", "numerics", "races", "planner",
        "accuracy", "zoo",
    ),
    "Reference": (
        "cli", "api", "isa", "weight-code", "registers", "assembly", "program-format", "graph-format",
        "operators", "host-operators", "figures", "parameters", "sram-ports",
        "virtual-prototype", "driver-api",
    ),
    "Project": ("contributing", "changelog"),
}  # fmt: skip
PICTURES = (".svg", ".png")
# Wide enough for a line of 110 characters of code.
STYLE = """\
:root { --code-font-size: 0.75rem; }
.content { width: 56em; max-width: 100%; }
article table.docutils { margin-left: 0; }
td:first-child code { white-space: nowrap; }
"""
# The prose of a page starts where it needs to: headings may skip a level.
CONFIGURATION = """\
from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, String, Text

project = "dlasim"
html_title = "dlasim"
html_theme = "furo"
html_copy_source = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["wide.css"]
smartquotes = False
highlight_language = "text"
extensions = ["myst_parser"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]


class Assembly(RegexLexer):
    tokens = {
        "root": [
            (r";.*", Comment),
            (r'"[^"]*"', String),
            (r"\\.[a-z]\\w*", Keyword),
            (r"(OP_\\w+|CFG|WAIT|IRQ|HALT|NOP)\\b", Name.Function),
            (r"-?(0x[0-9A-Fa-f]+|\\d\\w*)", Number),
            (r"\\w+|\\s+|.", Text),
        ]
    }


def setup(app):
    app.add_lexer("asm", Assembly)
"""
_LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s#]+)(#[^)\s]*)?\)")


def main() -> int:
    """Build the site; fails on the first warning."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    pages = {name: ROOT / name for name in OUTSIDE if (ROOT / name).exists()}
    pages |= {str(path.relative_to(ROOT)): path for path in sorted((ROOT / "docs").rglob("*.md"))}
    for name, path in pages.items():
        target = SOURCE / place(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(relinked(path.read_text(encoding="utf-8"), name, set(pages)), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "images", SOURCE / "images")
    (SOURCE / "static").mkdir()
    (SOURCE / "static" / "wide.css").write_text(STYLE, encoding="utf-8")
    (SOURCE / "conf.py").write_text(CONFIGURATION, encoding="utf-8")
    with (SOURCE / "index.md").open("a", encoding="utf-8") as index:
        index.write(navigation({place(name).removesuffix(".md") for name in pages}))
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", SOURCE, SITE]
    done = subprocess.run(command, check=False)
    if done.returncode == 0:
        print(f"the site is {(SITE / 'index.html').relative_to(ROOT)}")
    return done.returncode


def place(name: str) -> str:
    """Where a page of the repository lies in the site."""
    return OUTSIDE.get(name, name.removeprefix("docs/"))


def relinked(text: str, name: str, pages: set[str]) -> str:
    """The page with its links as the site has them; a link to a file that is not a page becomes its text."""

    def link(match: re.Match[str]) -> str:
        label, target, anchor = match[1], match[2], match[3] or ""
        if re.match(r"[a-z]+:", target):
            return match[0]
        there = os.path.normpath(Path(name).parent / target)
        if there in pages or there.endswith(PICTURES):
            up = "../" * place(name).count("/")
            return f"{label}({up}{place(there)}{anchor})"
        return label.strip("[]") if (ROOT / there).exists() else match[0]  # the latter is for Sphinx to tell

    return _LINK.sub(link, text)


def navigation(there: set[str]) -> str:
    """The tables of contents: pages that exist, in order. A page in none of them is a warning of Sphinx's."""
    lines = []
    for title, patterns in NAVIGATION.items():
        entries = [name for pattern in patterns for name in sorted(there) if fnmatchcase(name, pattern)]
        lines += ["", "```{toctree}", ":hidden:", f":caption: {title}", "", *entries, "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
