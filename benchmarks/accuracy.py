"""Writes docs/accuracy.md: dlasim's figures next to published ones and those of other tools.

Prints the page; with --write it goes where it belongs, and with --statements the other pages get the figures
that follow from measured files and from the machine's tables, without measuring. Fails if a finding of the
paper no longer holds. The prose is compared/accuracy.md.in.
"""

from __future__ import annotations

import sys
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory

from compared import areas, ethos_u55, gap9, nvdla, paper, queue_depths, rtl, statements
from compared.common import Networks

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "accuracy.md"


def main(arguments: list[str]) -> int:
    """Print or write the page."""
    if arguments not in ([], ["--write"], ["--statements"]):
        print("usage: python benchmarks/accuracy.py [--write | --statements]", file=sys.stderr)
        return 2
    if arguments == ["--statements"]:
        statements.write_all()
        return 0
    with TemporaryDirectory() as folder:
        return write(Networks(Path(folder)), bool(arguments))


def write(networks: Networks, to_file: bool) -> int:
    """Make the page, and tell whether the paper's findings hold."""
    print(ethos_u55.check_recorded(networks), file=sys.stderr)
    tables = paper.render(networks) | ethos_u55.render(networks) | nvdla.render(networks)
    tables |= gap9.render(networks) | areas.render() | rtl.render()
    page = Template((HERE / "compared" / "accuracy.md.in").read_text(encoding="utf-8")).substitute(tables)
    if to_file:
        PAGE.write_text(page, encoding="utf-8")
        queue_depths.measure(networks)
        statements.keep(tables)
        statements.write_all()
        print(f"wrote docs/{PAGE.name}", file=sys.stderr)
    else:
        print(page)
    return int(tables["paper_verdict"] == paper.BROKEN)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
