"""How a kind of layer looks in every chart and on every page. Knows no drawing library."""

from __future__ import annotations

# Okabe and Ito's colours: apart for every kind of colour vision, and in grey by their order here.
BLUE, ORANGE, GREEN, YELLOW = "#0072B2", "#E69F00", "#009E73", "#F0E442"
SKY, RED, PURPLE, GREY, DARK = "#56B4E9", "#D55E00", "#CC79A7", "#BBBBBB", "#333333"
VIOLET = "#8C3BDC"  # of the colours that all kinds of colour vision tell from the others
HOST, STALL = "CPU", "memory stalls"
# Colour, hatch, marker.
KINDS = {
    "CONV": (BLUE, "", "o"), "REQUANT": (RED, "///", "s"), "DEPTH": (GREEN, "...", "D"),
    "FC": (ORANGE, "\\\\\\", "^"), "POOL": (PURPLE, "xxx", "v"), "ELTWISE": (SKY, "++", "P"),
    "ACT": (YELLOW, "oo", "X"), "OTHER": (VIOLET, "**", "p"), HOST: ("#666666", "--", "*"),
    STALL: ("#CCCCCC", "", "*"),
}  # fmt: skip
OTHER = (DARK, "", "*")  # of what a table from elsewhere may call a kind


def text_color(background: str) -> str:
    """Black or white, whichever is read better on a colour."""
    red, green, blue = (int(background[place : place + 2], 16) for place in (1, 3, 5))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"  # luma of ITU-R BT.601
