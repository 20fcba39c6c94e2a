; ReLU of 64 int8 values in four tiles: a macro for a tile, and a repetition that calls it.
;   dlasim asm examples/macros.s -o macros.bin && dlasim disasm macros.bin       shows what they expand to

.program "macros"
.config pes=64 parallel=output sram=1KiB

.tensor x, int8, input,  INPUTS,  shape=1x16x4x1, scale=0.1, zero_point=0
.tensor y, int8, output, OUTPUTS, shape=1x16x4x1, scale=0.1, zero_point=0

.equ TILE, 16                       ; bytes: 4 rows of 4 values
.equ X, 0x000                       ; SRAM addresses of x and y
.equ Y, 0x100

; A transfer of `bytes` at `offset` of a region; `direction` is IN or OUT.
.macro transfer direction, region, offset, address, bytes=TILE
    CFG DMA_\direction\()_REGION, \region
    CFG DMA_\direction\()_OFFSET, \offset
    CFG DMA_\direction\()_SRAM_ADDR, \address
    CFG DMA_\direction\()_RUN_BYTES, \bytes
    CFG DMA_\direction\()_RUNS, 1
    CFG DMA_\direction\()_PLANES, 1
.endm

.macro relu number
    transfer IN, INPUTS, \number * TILE, X + \number * TILE
    OP_DMA_READ
    CFG IN_ADDR, X + \number * TILE
    CFG OUT_ADDR, Y + \number * TILE
    WAIT dma_in, 0                  ; the tile of x has arrived
    OP_ACT_RELU
    transfer OUT, OUTPUTS, address=Y + \number * TILE, offset=\number * TILE
    WAIT vector, 0                  ; the tile of y is complete
    OP_DMA_WRITE
.endm

.stream
    CFG REQUIRE_CONFIG, FINGERPRINT
.layer "relu", RELU, ACT
    CFG IN_PIXEL_STRIDE, 1
    CFG IN_ROW_STRIDE, 4
    CFG OUT_PIXEL_STRIDE, 1
    CFG OUT_ROW_STRIDE, 4
    CFG OUT_SIZE, height=4, width=4
    CFG OUT_CHANNELS, 1
    CFG IN_ZP, 0
    CFG OUT_ZP, 0
    CFG OUT_MULT, 1 * 0x40000000    ; with shift 1, this multiplies by 1
    CFG OUT_SHIFT, 1
    CFG ACT_MIN, -128
    CFG ACT_MAX, 127
.rept 4
    relu \+                         ; 0, 1, 2 and 3
.endr
.endlayer
    HALT
