"""tools/synthesis.py maps a block to gates; what comes out is bounded by hand."""

from types import ModuleType

import pytest

from dlasim.sim.physical import block_areas


def test_a_processing_element(synthesis: ModuleType) -> None:
    """81 products of bits, at least 63 full adders of 6 GE, and 17 flip-flops with an enable, 8 GE each."""
    kge, flip_flops = synthesis.synthesise(synthesis.BLOCKS["pe"], {})
    assert flip_flops == 17
    assert 0.6 < kge < 1.0


@pytest.mark.parametrize("block", ["mac_lane", "dma_bus", "requantizer"])
def test_the_table_has_what_synthesis_gives(block: str, synthesis: ModuleType) -> None:
    """The points that ship are those of today's RTL, by versions of the tools that may differ a little."""
    point = next(point for point in block_areas.measured_points() if point.block == block)
    kge, flip_flops = synthesis.synthesise(synthesis.BLOCKS[block], point.parameters)
    assert kge == pytest.approx(point.area.kge, rel=0.02)
    assert flip_flops == point.area.flip_flops
