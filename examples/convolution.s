; A 3x3 convolution by hand: four filters on an image of 4x4 pixels, with zero points, padding, and a bias and
; a rescaling for each output channel. Try it:
;   dlasim asm examples/convolution.s -o conv.bin && dlasim run conv.bin --input x.npy --output results
;
; Each pixel of output channel o is computed as follows (docs/isa.md, OP_CONV):
;   acc = bias[o] + sum over the 9 taps of (pixel - IN_ZP) * weight[o][tap]
;   out = clamp(OUT_ZP + requant(acc, multiplier[o], shift[o]), ACT_MIN, ACT_MAX)
; A tap outside the image reads PAD_VALUE. It is set to the input's zero point, so such a tap adds nothing.

.program "convolution"
.config pes=64 parallel=output sram=1KiB

.tensor x, int8, input,  INPUTS,  shape=1x4x4x1, scale=1, zero_point=10
.tensor y, int8, output, OUTPUTS, shape=1x4x4x4, scale=1, zero_point=-1

; SRAM addresses. Records must be aligned to 4 bytes.
.equ CHANNELS, 4
.equ PIXELS, 4 * 4
.equ X, 0x000                       ; 16 bytes: the image
.equ W, 0x040                       ; 36 bytes: weights [output channel][row][column][input channel]
.equ RECORDS, 0x080                 ; 48 bytes: {bias, multiplier, shift} for each output channel
.equ Y, 0x100                       ; 64 bytes: the result, channels side by side

.stream
    CFG REQUIRE_CONFIG, FINGERPRINT ; faults at once on a machine with another configuration

.layer "conv", CONV_2D, CONV, macs=576 ; 16 pixels x 9 taps x 1 input channel x 4 output channels
    ; Three transfers into SRAM. The DMA_IN unit executes them in order while issue continues.
    CFG DMA_IN_REGION, INPUTS
    CFG DMA_IN_OFFSET, 0
    CFG DMA_IN_SRAM_ADDR, X
    CFG DMA_IN_RUN_BYTES, PIXELS
    CFG DMA_IN_RUNS, 1
    CFG DMA_IN_PLANES, 1
    OP_DMA_READ

    CFG DMA_IN_REGION, CONSTANTS
    CFG DMA_IN_OFFSET, weights      ; a label of .data is an offset in region CONSTANTS
    CFG DMA_IN_SRAM_ADDR, W
    CFG DMA_IN_RUN_BYTES, 9 * CHANNELS
    OP_DMA_READ                     ; unchanged registers need no new CFG

    CFG DMA_IN_OFFSET, records
    CFG DMA_IN_SRAM_ADDR, RECORDS
    CFG DMA_IN_RUN_BYTES, 12 * CHANNELS
    OP_DMA_READ

    ; The layer. Sizes are in pixels, strides in bytes.
    CFG IN_ADDR, X
    CFG IN_PIXEL_STRIDE, 1
    CFG IN_ROW_STRIDE, 4
    CFG IN_SIZE, height=4, width=4
    CFG IN_CHANNELS, 1
    CFG OUT_ADDR, Y
    CFG OUT_PIXEL_STRIDE, CHANNELS
    CFG OUT_ROW_STRIDE, 4 * CHANNELS
    CFG OUT_SIZE, height=4, width=4
    CFG OUT_CHANNELS, CHANNELS
    CFG WEIGHT_ADDR, W
    CFG PARAM_ADDR, RECORDS
    CFG KERNEL, height=3, width=3
    CFG STRIDE, height=1, width=1
    CFG DILATION, height=1, width=1
    CFG PAD, top=1, left=1          ; TensorFlow's SAME: the output is as large as the input
    CFG PAD_VALUE, 10
    CFG IN_ZP, 10
    CFG OUT_ZP, -1
    CFG ACT_MIN, -128
    CFG ACT_MAX, 127
    WAIT dma_in, 0                  ; MAC must not start before all three transfers are complete
    OP_CONV init=bias out=int8 quant=channel

    CFG DMA_OUT_REGION, OUTPUTS
    CFG DMA_OUT_OFFSET, 0
    CFG DMA_OUT_SRAM_ADDR, Y
    CFG DMA_OUT_RUN_BYTES, PIXELS * CHANNELS
    CFG DMA_OUT_RUNS, 1
    CFG DMA_OUT_PLANES, 1
    WAIT mac, 0                     ; the result is complete
    OP_DMA_WRITE
.endlayer
    HALT                            ; waits for the last transfer, then raises the interrupt

.data
weights:
    .i8  0,  0,  0,  0, 1, 0,  0,  0,  0    ; channel 0: identity
    .i8  1,  1,  1,  1, 1, 1,  1,  1,  1    ; channel 1: the sum of the window
    .i8 -1,  0,  1, -2, 0, 2, -1,  0,  1    ; channel 2: horizontal gradient (Sobel)
    .i8  0, -1,  0, -1, 5, -1, 0, -1,  0    ; channel 3: sharpen
records:                            ; a multiplier of 2^30 with shift s is 2^(s-1)
    .record  0, 0x40000000,  1      ; times 1
    .record  0, 0x40000000, -2      ; divided by 8
    .record 16, 0x40000000,  0      ; plus 16, divided by 2
    .record  0, 0x40000000,  4      ; times 8, which exceeds the range of int8 and is clamped
