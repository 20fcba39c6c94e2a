"""The compulsory work of a placed network, for section WORK of the program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.live_ranges import reads, variables, writes
from dlasim.compiler_shim.calls.nodes import DlaNode, PlacedNetwork, root_of
from dlasim.compiler_shim.facts import once
from dlasim.compiler_shim.lowering.addresses.weight_codes import whole_weights
from dlasim.isa.file_records import WORK
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.registers import Region
from dlasim.isa.weight_code import CODE_BYTES
from dlasim.named_tuple import NamedTuple

_READ, _WRITE = BY_MNEMONIC["OP_DMA_READ"].opcode, BY_MNEMONIC["OP_DMA_WRITE"].opcode
_Row = tuple[int, int, int, int, int, int]


class _ReadPart(NamedTuple):
    """What a node reads of a tensor: from which byte to which, how many of these at least, and its layer."""

    first: int
    end: int
    size_bytes: int
    layer: int


def list_work(network: PlacedNetwork, packs: bool, keeps: bool) -> NDArray[np.void]:
    """Every computation on whole tensors, every constant, and the tensors that not only the DLA uses; with
    packed weights or not, and without constants that stay in SRAM, so that no inference must load them."""
    whole = _whole_work(network)
    work = whole.rows.copy()
    for row, size in whole.packed.items() if packs else ():
        work["count"][row] -= size
    return np.delete(work, whole.constants) if keeps else work


class _WholeWork(NamedTuple):
    """The rows of a network where nothing is packed or kept: which of them are constants, and by row the
    bytes that packed weights are fewer."""

    rows: NDArray[np.void]
    constants: list[int]
    packed: dict[int, int]


@once
def _whole_work(network: PlacedNetwork) -> _WholeWork:
    rows, constants, packed = list[_Row](), list[int](), dict[int, int]()
    known: set[int] = set()  # constants: the images of a batch share them
    for node in network.nodes:
        if not isinstance(node, DlaNode):
            continue
        height, width, channels = node.out_shape
        pixels = height * width
        if node.is_channel_by_channel:
            pixels, channels = pixels * channels, 1
        taps = node.kernel[0] * node.kernel[1]
        rows.append((node.layer, BY_MNEMONIC[node.mnemonic].opcode, pixels, taps, node.depth, channels))
        used = {each for each in (node.weights, node.records, node.table) if each is not None} - known
        known |= used
        size = sum(network.values[number].size_bytes for number in used)
        if not size:
            continue
        if node.weights in used:
            size -= _spared_bytes(network, node)
            if node.packs_weights:
                packed[len(rows)] = network.values[node.weights].size_bytes // 2
        constants.append(len(rows))
        rows.append(_transfer(node.layer, _READ, size, Region.CONSTANTS))
    return _WholeWork(np.array([*rows, *_transfers(network)], WORK.dtype), constants, packed)


def _spared_bytes(network: PlacedNetwork, node: DlaNode) -> int:
    """How many bytes the code of all of a node's weights is fewer: that of parts has no fewer words."""
    if not (node.code_parts and network.codes):
        return 0
    whole = whole_weights(node)
    words: int = network.codes.measure(node, [whole])[0, 0].item()
    return max(whole.size_bytes - CODE_BYTES * words, 0)


def _transfers(network: PlacedNetwork) -> Iterator[_Row]:
    """The tensors that the DLA reads but does not compute, and those that not only the DLA reads."""
    nodes = [node for node in network.nodes if isinstance(node, DlaNode)]
    kept = variables(network)
    computed = {value for node in nodes for value in writes(node, network)} - kept
    wanted = {root_of(network.values, value) for value in network.outputs} | kept
    for other in network.nodes:
        if not isinstance(other, DlaNode):
            wanted.update(reads(other, network))
    read = defaultdict[int, list[_ReadPart]](list)
    for node in nodes:
        for number, value in enumerate(node.sources):
            base = root_of(network.values, value)
            if base not in computed:
                size = min(_read_bytes(node, number, value, network), network.values[base].size_bytes)
                read[base].append(_ReadPart(*_span(node, number), size, node.layer))
        if root_of(network.values, node.output) in wanted:
            height, width, channels = node.out_shape
            size = height * width * channels * node.out_element_bytes
            yield _transfer(node.layer, _WRITE, size, _region(network, root_of(network.values, node.output)))
    for base, parts in read.items():
        for part in _apart(parts):
            yield _transfer(part.layer, _READ, part.size_bytes, _region(network, base))


def _apart(parts: list[_ReadPart]) -> Iterator[_ReadPart]:
    """Of parts that may have common bytes the largest: each byte is read once at least."""
    most, end = None, 0
    for part in sorted(parts):
        if most is not None and part.first >= end:
            yield most
            most = None
        most = part if most is None else max(most, part, key=lambda each: each.size_bytes)
        end = max(end, part.end)
    if most is not None:
        yield most


def _span(node: DlaNode, number: int) -> tuple[int, int]:
    """From which byte of a tensor to which a node may read its input, or its matrix, which follows them."""
    rows, columns, channels = (*node.images[:-1], node.matrix_image)[number]
    layout = node.operand_layouts[number]
    end = layout.offset + (rows - 1) * layout.line + (columns - 1) * layout.pixel + channels
    return layout.offset * node.in_element_bytes, end * node.in_element_bytes


def _region(network: PlacedNetwork, base: int) -> Region:
    """Where a tensor lies that is not only the DLA's."""
    if network.values[base].data is not None:
        return Region.CONSTANTS
    for region, values in ((Region.INPUTS, network.inputs), (Region.OUTPUTS, network.outputs)):
        if base in {root_of(network.values, value) for value in values}:
            return region
    return Region.ARENA


def _read_bytes(node: DlaNode, number: int, value: int, network: PlacedNetwork) -> int:
    """The bytes of an input from the first to the last row and column that a node reads."""
    if number:
        return network.values[value].size_bytes
    size = node.in_shape[2] * node.in_element_bytes
    for axis in (0, 1):
        reach = (node.out_shape[axis] - 1) * node.stride[axis] + (node.kernel[axis] - 1) * node.dilation[axis]
        size *= max(min(reach + 1 - node.pad[axis], node.in_shape[axis]), 1)
    return size


def _transfer(layer: int, opcode: int, size_bytes: int, region: Region) -> _Row:
    return layer, opcode, size_bytes, region, 0, 0
