"""What holds for the texts of every chart that is fit for print."""

from typing import Any

from dlasim.sweeps.charts import canvas


def check_labels(figure: Any) -> None:
    """None touches another or leaves the picture."""
    assert canvas.overlaps(figure) == []
    box = figure.bbox
    for text in canvas.visible_texts(figure):
        inner = text.get_window_extent(figure.canvas.get_renderer())
        assert box.x0 - 1 <= inner.x0, text.get_text()
        assert inner.x1 <= box.x1 + 1, text.get_text()
