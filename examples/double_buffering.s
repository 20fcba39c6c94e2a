; Double buffering by hand: a 1x1 convolution whose weights are loaded in four tiles of 8 output channels.
;
; There are two tile buffers, A and B. While MAC works on one, DMA_IN fills the other and DMA_OUT stores the
; previous result. MAC's next tile is in its queue before the current one is done, so MAC is never idle:
;
;   DMA_IN   x 0  1      2         3
;   MAC             0 (A)    1 (B)    2 (A)    3 (B)
;   DMA_OUT                  0        1        2      3
;
; The WAITs make this correct. `WAIT unit, n` blocks issue until at most n operations of that unit are
; incomplete; with 1 instead of 0, the newest one may still run. If you remove any WAIT, `dlasim run` rejects
; the program: see race.s.

.program "double buffering"
.config pes=64 parallel=output sram=4KiB

.tensor x, int8, input,  INPUTS,  shape=1x4x4x16, scale=1, zero_point=0
.tensor y, int8, output, OUTPUTS, shape=1x4x4x32, scale=1, zero_point=0

.equ PIXELS, 4 * 4
.equ IN, 16                         ; input channels
.equ TILE, 8                        ; output channels per tile
.equ OUT, 4 * TILE
.equ RECORD_BYTES, 12 * TILE
.equ TILE_BYTES, TILE * IN + RECORD_BYTES ; a tile's records and weights are adjacent: one transfer

.equ X, 0x000
.equ A, 0x400                       ; records, then weights
.equ B, 0x500
.equ RESULT_A, 0x600                ; 16 pixels of 8 channels
.equ RESULT_B, 0x680

.stream
    CFG REQUIRE_CONFIG, FINGERPRINT

.layer "conv", CONV_2D, CONV, macs=8192
    ; Parameters that all tiles share.
    CFG IN_ADDR, X
    CFG IN_PIXEL_STRIDE, IN
    CFG IN_ROW_STRIDE, 4 * IN
    CFG IN_SIZE, height=4, width=4
    CFG IN_CHANNELS, IN
    CFG OUT_PIXEL_STRIDE, TILE
    CFG OUT_ROW_STRIDE, 4 * TILE
    CFG OUT_SIZE, height=4, width=4
    CFG OUT_CHANNELS, TILE
    CFG KERNEL, height=1, width=1
    CFG STRIDE, height=1, width=1
    CFG DILATION, height=1, width=1
    CFG PAD, top=0, left=0
    CFG PAD_VALUE, 0
    CFG IN_ZP, 0
    CFG OUT_ZP, 0
    CFG ACT_MIN, -128
    CFG ACT_MAX, 127
    CFG DMA_IN_RUNS, 1
    CFG DMA_IN_PLANES, 1
    CFG DMA_OUT_REGION, OUTPUTS
    CFG DMA_OUT_RUN_BYTES, TILE     ; 8 channels of a pixel, then the next pixel:
    CFG DMA_OUT_RUNS, PIXELS
    CFG DMA_OUT_RUN_STRIDE, OUT     ; every 32 bytes in y,
    CFG DMA_OUT_RUN_SRAM_STRIDE, TILE ; every 8 in SRAM
    CFG DMA_OUT_PLANES, 1

    ; Load x and the first two tiles.
    CFG DMA_IN_REGION, INPUTS
    CFG DMA_IN_OFFSET, 0
    CFG DMA_IN_SRAM_ADDR, X
    CFG DMA_IN_RUN_BYTES, PIXELS * IN
    OP_DMA_READ
    CFG DMA_IN_REGION, CONSTANTS
    CFG DMA_IN_RUN_BYTES, TILE_BYTES
    CFG DMA_IN_OFFSET, tile0
    CFG DMA_IN_SRAM_ADDR, A
    OP_DMA_READ
    CFG DMA_IN_OFFSET, tile1
    CFG DMA_IN_SRAM_ADDR, B
    OP_DMA_READ

    ; Compute tile 0 in A.
    CFG PARAM_ADDR, A
    CFG WEIGHT_ADDR, A + RECORD_BYTES
    CFG OUT_ADDR, RESULT_A
    WAIT dma_in, 1                  ; x and tile 0 are loaded; tile 1 may still be in flight
    OP_CONV init=bias out=int8 quant=channel

    ; Queue tile 1 in B behind tile 0. An operation uses the register values at its issue.
    CFG PARAM_ADDR, B
    CFG WEIGHT_ADDR, B + RECORD_BYTES
    CFG OUT_ADDR, RESULT_B
    WAIT dma_in, 0                  ; tile 1 is loaded
    OP_CONV init=bias out=int8 quant=channel

    ; Once tile 0 is done (tile 1 may run): store its result, load tile 2 into A, and queue tile 2.
    WAIT mac, 1
    CFG DMA_IN_OFFSET, tile2
    CFG DMA_IN_SRAM_ADDR, A
    OP_DMA_READ
    CFG DMA_OUT_OFFSET, 0 * TILE
    CFG DMA_OUT_SRAM_ADDR, RESULT_A
    OP_DMA_WRITE
    CFG PARAM_ADDR, A
    CFG WEIGHT_ADDR, A + RECORD_BYTES
    CFG OUT_ADDR, RESULT_A
    WAIT dma_in, 0                  ; tile 2 is loaded
    WAIT dma_out, 0                 ; result 0 is stored, so result 2 may overwrite it
    OP_CONV init=bias out=int8 quant=channel

    ; The same for tile 3, with A and B exchanged.
    WAIT mac, 1
    CFG DMA_IN_OFFSET, tile3
    CFG DMA_IN_SRAM_ADDR, B
    OP_DMA_READ
    CFG DMA_OUT_OFFSET, 1 * TILE
    CFG DMA_OUT_SRAM_ADDR, RESULT_B
    OP_DMA_WRITE
    CFG PARAM_ADDR, B
    CFG WEIGHT_ADDR, B + RECORD_BYTES
    CFG OUT_ADDR, RESULT_B
    WAIT dma_in, 0
    WAIT dma_out, 0
    OP_CONV init=bias out=int8 quant=channel

    ; Store the last two results.
    CFG DMA_OUT_OFFSET, 2 * TILE
    CFG DMA_OUT_SRAM_ADDR, RESULT_A
    WAIT mac, 1
    OP_DMA_WRITE
    CFG DMA_OUT_OFFSET, 3 * TILE
    CFG DMA_OUT_SRAM_ADDR, RESULT_B
    WAIT mac, 0
    OP_DMA_WRITE
.endlayer
    HALT

; Weights that are easy to check. Each filter selects one input channel: tile 0 selects channels 0 to 7, tile 1
; channels 8 to 15, tile 2 channels 0 to 7, doubled, and tile 3 channels 8 to 15, negated, plus 100.
.data
tile0:
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .i8 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0
tile1:
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .record 0, 0x40000000, 1
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1
tile2:
    .record 0, 0x40000000, 2
    .record 0, 0x40000000, 2
    .record 0, 0x40000000, 2
    .record 0, 0x40000000, 2
    .record 0, 0x40000000, 2
    .record 0, 0x40000000, 2
    .record 0, 0x40000000, 2
    .record 0, 0x40000000, 2
    .i8 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0
tile3:
    .record 100, 0x40000000, 1
    .record 100, 0x40000000, 1
    .record 100, 0x40000000, 1
    .record 100, 0x40000000, 1
    .record 100, 0x40000000, 1
    .record 100, 0x40000000, 1
    .record 100, 0x40000000, 1
    .record 100, 0x40000000, 1
    .i8 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0
    .i8 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1
