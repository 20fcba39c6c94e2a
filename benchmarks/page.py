"""Pages in headless Chromium: how long a sweep's page of 10,000 points takes to open and to redraw, and how
long its frames take while a box is dragged.

    python benchmarks/page.py [POINTS]

Needs the extra `test` and Debian's package chromium. Times depend on the computer;
docs/how-to/explore-a-run.md has those of one.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from compared.common import table

from dlasim import api
from dlasim.sweeps.results.csv_table import read_csv, write_csv
from dlasim.sweeps.results.sweep_result import SweepResult

POINTS = 10_000
ROUNDS = 9
# A filter that changes every chart and table, until everything is drawn again.
FILTER = """() => new Promise(done => {
    const began = performance.now();
    document.querySelector("[data-filter='parallel']").click();
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
})"""
# From one frame to the next while something else happens.
WATCH = """() => {
    window.frames_ms = [];
    let last = performance.now();
    const next = () => { const now = performance.now(); window.frames_ms.push(now - last); last = now;
        requestAnimationFrame(next); };
    requestAnimationFrame(next);
}"""


def main(arguments: list[str]) -> int:
    """Print a table."""
    points = int(arguments[0]) if arguments else POINTS
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as temporary, sync_playwright() as driver:
        path = _page(Path(temporary), points)
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        began = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=60_000)
        opened = time.perf_counter() - began
        filters = sorted(page.evaluate(FILTER) for _ in range(ROUNDS))
        frames = _frames_of_a_drag(page)
        rows = [
            ["points", f"{points:,}"],
            ["file", f"{path.stat().st_size:,} bytes"],
            ["open", f"{opened:.2f} s"],
            ["filter, all charts and tables", f"{filters[ROUNDS // 2]:.0f} ms, at most {filters[-1]:.0f} ms"],
            ["frame while dragging", f"{frames[len(frames) // 2]:.0f} ms, 95 % within "
                                     f"{frames[int(0.95 * len(frames))]:.0f} ms"],
        ]  # fmt: skip
        browser.close()
    print(table(("", "median"), rows))
    return 0


def _frames_of_a_drag(page: Any) -> list[float]:
    """The times between frames while a box is dragged over the first front."""
    box = page.locator("canvas.scatter").first.bounding_box()
    page.evaluate(WATCH)
    page.mouse.move(box["x"] + 80, box["y"] + 40)
    page.mouse.down()
    for step in range(60):
        page.mouse.move(box["x"] + 80 + 6 * step, box["y"] + 40 + 3 * step)
    page.mouse.up()
    page.wait_for_timeout(500)
    return sorted(page.evaluate("window.frames_ms"))


def _page(folder: Path, points: int) -> Path:
    """The page of a sweep whose rows are copied, with figures of chance."""
    axes = {"pes": [16, 64], "parallel": ["input", "output"]}
    found = api.sweep("mnist", "ds_cnn", out=folder / "sweep", jobs=1, **axes)
    (folder / "many").mkdir()
    random = np.random.default_rng(0)
    head, lines = read_csv(found.path)
    originals = [dict(zip(head, line, strict=True)) for line in lines]
    rows = []
    for number in range(points):
        row: dict[str, Any] = originals[number % len(originals)] | {
            "point": number,
            "pes": int(random.integers(1, 2000)),
            "cycles_total": int(random.integers(1 << 16, 1 << 24)),
        }
        rows.append([row[name] for name in head])
    write_csv(folder / "many" / "results.csv", head, rows)
    return SweepResult(folder / "many" / "results.csv").to_html(folder / "page.html")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
