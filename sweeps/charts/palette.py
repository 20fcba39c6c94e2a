"""How a kind of layer looks in every chart and on every page. Knows no drawing library."""

from __future__ import annotations

# Okabe and Ito's colours: apart for every kind of colour vision, and in grey by their order here.
BLUE, ORANGE, GREEN, YELLOW = "#0072B2", "#E69F00", "#009E73", "#F0E442"
SKY, RED, PURPLE, GREY, DARK = "#56B4E9", "#D55E00", "#CC79A7", "#BBBBBB", "#333333"
HOST, STALL = "CPU", "memory stalls"
# Colour, hatch, marker.
KINDS = {
    "CONV": (BLUE, "", "o"), "REQUANT": (RED, "///", "s"), "DEPTH": (GREEN, "...", "D"),
    "FC": (ORANGE, "\\\\\\", "^"), "POOL": (PURPLE, "xxx", "v"), "ELTWISE": (SKY, "++", "P"),
    "ACT": (YELLOW, "oo", "X"), HOST: ("#777777", "--", "*"), STALL: ("#CCCCCC", "", "*"),
}  # fmt: skip
OTHER = (DARK, "", "*")
