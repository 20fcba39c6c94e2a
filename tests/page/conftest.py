"""A headless Chromium, Debian's, and pages in it; one that logs an error or asks for anything fails."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dlasim.api import run
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.result import RunResult

Open = Callable[..., Any]
# The texts that a canvas writes when it is drawn again.
WRITTEN = """canvas => {
    const found = [];
    const plain = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        found.push(text);
        plain.call(this, text, ...rest);
    };
    canvas.redraw();
    CanvasRenderingContext2D.prototype.fillText = plain;
    return found;
}"""


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ds_cnn with seeded weights."""
    path = tmp_path_factory.mktemp("models") / "ds_cnn.tflite"
    path.write_bytes(write_tflite(build_topology("ds_cnn")))
    return path


@pytest.fixture(scope="session")
def result(model: Path) -> RunResult:
    return run(model, timing_only=True, sram_bytes=64 << 10)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Debian's package chromium is not installed")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to sandbox as root
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=chromium, args=options)
        yield found
        found.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens the text of a page; afterwards nothing may have gone wrong in it."""
    contexts, mistakes = [], []

    def opened(text: str, **settings: Any) -> Any:
        path = tmp_path / f"page-{len(contexts)}.html"
        path.write_text(text, encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": 1280, "height": 900}, **settings))
        page = contexts[-1].new_page()
        page.on("console", lambda message: mistakes.append(message.text))
        page.on("pageerror", lambda error: mistakes.append(str(error)))
        page.on("request", lambda request: request.url == path.as_uri() or mistakes.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=60_000)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert mistakes == []
