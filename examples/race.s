; A race, and how dlasim finds it. The program computes ReLU of the two halves of x, through the same 16 bytes of
; SRAM. One WAIT is missing (marked below), so DMA_IN may load the second half while VECTOR still reads the first.
; On a machine with a long DMA latency the outputs happen to be right; on another one they are wrong. Therefore
; `dlasim run` rejects the program and names both operations, the bytes, and the WAIT to insert:
;   dlasim asm examples/race.s -o race.bin && dlasim run race.bin
; `dlasim run race.bin --no-races` runs it anyway.

.program "race"
.config pes=64 parallel=output sram=1KiB

.tensor x, int8, input,  INPUTS,  shape=1x1x32x1, scale=1, zero_point=0
.tensor y, int8, output, OUTPUTS, shape=1x1x32x1, scale=1, zero_point=0

.equ HALF, 16
.equ BUFFER, 0x00                   ; one half of x
.equ FIRST, 0x10                    ; the results
.equ SECOND, 0x20

.stream
    CFG REQUIRE_CONFIG, FINGERPRINT

.layer "relu", RELU, ACT
    CFG DMA_IN_REGION, INPUTS
    CFG DMA_IN_SRAM_ADDR, BUFFER
    CFG DMA_IN_RUN_BYTES, HALF
    CFG DMA_IN_RUNS, 1
    CFG DMA_IN_PLANES, 1
    CFG IN_ADDR, BUFFER
    CFG IN_PIXEL_STRIDE, 1
    CFG IN_ROW_STRIDE, HALF
    CFG OUT_PIXEL_STRIDE, 1
    CFG OUT_ROW_STRIDE, HALF
    CFG OUT_SIZE, height=1, width=HALF
    CFG OUT_CHANNELS, 1
    CFG IN_ZP, 0
    CFG OUT_ZP, 0
    CFG OUT_MULT, 0x40000000
    CFG OUT_SHIFT, 1
    CFG ACT_MIN, -128
    CFG ACT_MAX, 127

    CFG DMA_IN_OFFSET, 0
    OP_DMA_READ                     ; the first half
    CFG OUT_ADDR, FIRST
    WAIT dma_in, 0
    OP_ACT_RELU

    CFG DMA_IN_OFFSET, HALF
    ; `WAIT vector, 0` is missing here.
    OP_DMA_READ                     ; the second half, which overwrites the first
    CFG OUT_ADDR, SECOND
    WAIT dma_in, 0
    OP_ACT_RELU

    CFG DMA_OUT_REGION, OUTPUTS
    CFG DMA_OUT_OFFSET, 0
    CFG DMA_OUT_SRAM_ADDR, FIRST
    CFG DMA_OUT_RUN_BYTES, 2 * HALF
    CFG DMA_OUT_RUNS, 1
    CFG DMA_OUT_PLANES, 1
    WAIT vector, 0
    OP_DMA_WRITE
.endlayer
    HALT
