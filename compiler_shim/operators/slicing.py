"""Which elements STRIDED_SLICE takes: its masks, its ellipsis and its new axes spelled out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Require = Callable[[bool, str], None]
MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask", "offset")


def sliced_ranges(
    shape: Sequence[int], bounds: Sequence[Sequence[int]], masks: Mapping[str, int], require: Require
) -> tuple[list[range], tuple[int, ...]]:
    """The indices taken along each dimension of the input, and the output's shape.

    `bounds` are begin, end and strides; what cannot be is refused through `require`.
    """
    begins, ends, strides = bounds
    count = len(begins)
    require(
        len(ends) == len(strides) == count and 0 not in strides,
        f"begin, end and strides must be as many, and no stride 0 (got {begins}, {ends} and {strides})",
    )
    bits = {name: [bool(masks[name] >> bit & 1) for bit in range(count)] for name in MASKS}
    named = count - sum(map(max, zip(bits["ellipsis_mask"], bits["new_axis_mask"], strict=True)))
    rest = len(shape) - named
    ellipses = sum(bits["ellipsis_mask"])
    require(
        rest >= 0,
        f"begin, end and strides must name at most {len(shape)} dimensions (got {begins}, {ends}, {strides})",
    )
    # LiteRT lets an ellipsis stand for one dimension even where there is none left.
    require(ellipses <= min(rest, 1), f"it must have at most {min(rest, 1)} ellipses (got {ellipses})")
    ranges: list[range] = []
    output: list[int] = []
    for bit in range(count):
        if bits["ellipsis_mask"][bit]:
            whole = [range(size) for size in shape[len(ranges) : len(ranges) + rest]]
            ranges += whole
            output += map(len, whole)
        elif bits["new_axis_mask"][bit]:
            output.append(1)
        else:
            begin = None if bits["begin_mask"][bit] else begins[bit]
            end = None if bits["end_mask"][bit] else ends[bit] + (begins[bit] if masks["offset"] else 0)
            size, shrinks = shape[len(ranges)], bits["shrink_axis_mask"][bit]
            ranges.append(_taken(size, begin, end, strides[bit], shrinks, require))
            output += [] if shrinks else [len(ranges[-1])]
    whole = [range(size) for size in shape[len(ranges) :]]
    return [*ranges, *whole], (*output, *map(len, whole))


def _taken(
    size: int, begin: int | None, end: int | None, stride: int, shrinks: bool, require: Require
) -> range:
    if not shrinks:
        return range(*slice(begin, end, stride).indices(size))
    require(stride > 0, f"the stride along a dimension that is removed must be above 0 (got {stride})")
    first = begin or 0
    require(
        -size <= first < size,
        f"the index along a dimension of {size} must be from {-size} to {size - 1} (got {first})",
    )
    return range(first % size, first % size + 1)
