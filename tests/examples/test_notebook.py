"""The notebook runs from top to bottom, and its stored outputs are today's (`make golden` rewrites them)."""

from __future__ import annotations

import ast
import base64
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "explore.ipynb"
FORMS = {"text/html": "_repr_html_", "image/png": "_repr_png_"}


def run(code: str, names: dict[str, Any]) -> Any:
    """Run a cell; returns the value of its last line if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def shown(value: Any) -> dict[str, Any]:
    """What a notebook stores of a value, by its type of data."""
    forms: dict[str, Any] = {"text/plain": repr(value)}
    for kind, method in FORMS.items():
        if hasattr(value, method):
            data = getattr(value, method)()
            forms[kind] = base64.b64encode(data).decode() if isinstance(data, bytes) else data
    return forms


def without_pictures(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Outputs without the bytes of pictures, which depend on the fonts."""
    return [output | {"data": output["data"] | {"image/png": ""}} for output in outputs]


def test_the_notebook_shows_what_it_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    pictures = 0
    for number, cell in enumerate(cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
        value = run("".join(cell["source"]), names)
        outputs = []
        if value is not None:
            outputs = [{"output_type": "execute_result", "execution_count": number + 1, "metadata": {},
                        "data": shown(value)}]  # fmt: skip
            pictures += "image/png" in outputs[0]["data"]
        if request.config.getoption("--update-golden"):
            cell |= {"outputs": outputs, "execution_count": number + 1}
        stored = cell["outputs"]
        assert without_pictures(stored) == without_pictures(outputs), "run `make golden` and read its diff"
    assert pictures >= 2
    if request.config.getoption("--update-golden"):
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def test_it_is_a_notebook_that_jupyter_opens() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in notebook["cells"]:
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | (
            {"outputs", "execution_count"} if cell["cell_type"] == "code" else set()
        )
