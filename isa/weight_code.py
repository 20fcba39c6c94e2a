"""The code of compressed weights: words of 16 bytes, each of which stands for some weights by itself.

`docs/weight-code.md` defines it. The four low bits of a word are its mode, the others are its body.
"""

from __future__ import annotations

CODE_BYTES = 16  # of a word
MODE_BITS = 4
BODY_BITS = 8 * CODE_BYTES - MODE_BITS
STEP_WEIGHTS = 64  # that a step of the decoder gives at most
RICE_MODES = 7  # from 0 on: the mode is how many low bits a weight has
PLAIN_MODE = 7  # the body has bytes
FIRST_SPARSE_MODE, SPARSE_MODES = 8, 7  # a weight other than 0 has two bits in the first, eight in the last
FEWEST_SPARSE_BITS = 2
RUN_MODE = 15  # of zeros
RUN_BITS = 24  # of their number
PLAIN_WEIGHTS = BODY_BITS // 8
