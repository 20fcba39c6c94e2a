; ReLU of 16 int8 values: the smallest complete program. Assemble and run it with
;   dlasim asm examples/relu.s -o relu.bin && dlasim run relu.bin --report relu.json

.program "relu"
.config pes=64 parallel=output sram=512KiB

.tensor x, int8, input,  INPUTS,  shape=1x4x4x1, scale=0.1, zero_point=0
.tensor y, int8, output, OUTPUTS, shape=1x4x4x1, scale=0.1, zero_point=0

.equ BYTES, 16
.equ X, 0x0                 ; SRAM addresses of x and y
.equ Y, X + BYTES

.stream
    CFG REQUIRE_CONFIG, FINGERPRINT

.layer "relu", RELU, ACT
    CFG DMA_IN_REGION, INPUTS
    CFG DMA_IN_OFFSET, 0
    CFG DMA_IN_SRAM_ADDR, X
    CFG DMA_IN_RUN_BYTES, BYTES
    CFG DMA_IN_RUNS, 1
    CFG DMA_IN_PLANES, 1
    OP_DMA_READ

    CFG IN_ADDR, X
    CFG IN_PIXEL_STRIDE, 1
    CFG IN_ROW_STRIDE, 4
    CFG OUT_ADDR, Y
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
    WAIT dma_in, 0                  ; x has arrived
    OP_ACT_RELU

    CFG DMA_OUT_REGION, OUTPUTS
    CFG DMA_OUT_OFFSET, 0
    CFG DMA_OUT_SRAM_ADDR, Y
    CFG DMA_OUT_RUN_BYTES, BYTES
    CFG DMA_OUT_RUNS, 1
    CFG DMA_OUT_PLANES, 1
    WAIT vector, 0                  ; y is complete
    OP_DMA_WRITE
.endlayer
    HALT
