"""Views of tensors against the same elements picked by index."""

import random

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.views import View, composed, image_layout, merged, sliced


def _elements(view: View) -> NDArray[np.int64]:
    numbers = np.array(view.offset)
    for count, step in zip(view.size, view.stride, strict=True):
        numbers = numbers[..., None] + np.arange(count) * step
    return numbers


def _random_view(make: random.Random, shape: list[int]) -> View:
    begin = [make.randrange(size) if make.random() < 0.4 else 0 for size in shape]
    step = [make.choice((1, 1, 2)) for _ in shape]
    counts = [(size - first - 1) // by + 1 for size, first, by in zip(shape, begin, step, strict=True)]
    view = sliced(shape, begin, counts, step)
    order = list(range(len(shape)))
    if make.random() < 0.3:
        make.shuffle(order)
    return View(view.offset, tuple(view.size[n] for n in order), tuple(view.stride[n] for n in order))


def test_a_view_of_a_view_and_its_image_have_the_elements_that_indexing_gives() -> None:
    make, combined, images = random.Random(0), 0, 0
    for _ in range(2000):
        base = _random_view(make, [make.randint(1, 6) for _ in range(make.randint(1, 4))])
        view = _random_view(make, list(base.size))
        wanted = _elements(base).ravel()[_elements(view)]
        both = composed(merged(view), base)
        if both is None:
            continue
        combined += 1
        assert np.array_equal(_elements(both).ravel(), wanted.ravel())
        rows, columns, channels = wanted.reshape(-1, *(1, 1, *wanted.shape)[-2:]).shape
        layout = image_layout(both, (rows, columns, channels))
        if layout is not None:
            images += 1
            image = View(layout.offset, (rows, columns, channels), (layout.line, layout.pixel, 1))
            assert np.array_equal(_elements(image).ravel(), wanted.ravel())
    assert combined > 1500
    assert images > 500
