/* The DLA's registers: DLA_REG_x is an offset from the base, DLA_RESET_x the value after reset. Generated
   from dlasim/isa/registers.py; edit that, not this. */
#ifndef DLA_REGISTERS_H
#define DLA_REGISTERS_H

#include <stdint.h>

#define DLA_WINDOW_BYTES 0x1000u
#define DLA_REGISTER_BYTES 4u
/* From this offset on: the sticky operand registers, which CFG may write. */
#define DLA_OPERAND_BASE 0x400u
/* The number by which CFG names the register at an offset. */
#define DLA_REGISTER_NUMBER(offset) ((uint32_t)(offset) / DLA_REGISTER_BYTES)

/* The windows of system memory that a program names. */
enum dla_region {
    DLA_REGION_CONSTANTS = 0,
    DLA_REGION_ARENA = 1,
    DLA_REGION_INPUTS = 2,
    DLA_REGION_OUTPUTS = 3,
    DLA_REGION_COMMANDS = 4,
    DLA_REGION_CURSOR0 = 5,
    DLA_REGION_CURSOR1 = 6,
};

#define DLA_REGION_COUNT 7u

/* RO: identification. */
#define DLA_REG_ID 0x000u
#define DLA_RESET_ID 0x31414c44u

/* RO: version of the instruction set. */
#define DLA_REG_ISA_VERSION 0x004u
#define DLA_RESET_ISA_VERSION 0x00010002u
#define DLA_ISA_VERSION_MINOR_SHIFT 0
#define DLA_ISA_VERSION_MINOR_MASK 0xffffu
#define DLA_ISA_VERSION_MAJOR_SHIFT 16
#define DLA_ISA_VERSION_MAJOR_MASK 0xffff0000u

/* RO: number of processing elements of this machine. */
#define DLA_REG_CAP_PES 0x008u
#define DLA_RESET_CAP_PES 0x00000000u

/* RO: how the processing elements spread over channels. */
#define DLA_REG_CAP_GRID 0x00cu
#define DLA_RESET_CAP_GRID 0x00000000u
#define DLA_CAP_GRID_INPUT_LANES_SHIFT 0
#define DLA_CAP_GRID_INPUT_LANES_MASK 0xffffu
#define DLA_CAP_GRID_OUTPUT_LANES_SHIFT 16
#define DLA_CAP_GRID_OUTPUT_LANES_MASK 0xffff0000u

/* RO: size of the accelerator's memory in bytes. */
#define DLA_REG_CAP_SRAM_BYTES 0x010u
#define DLA_RESET_CAP_SRAM_BYTES 0x00000000u

/* RO: fingerprint of what a program is lowered for (PEs, grid, SRAM size). */
#define DLA_REG_CAP_CONFIG 0x014u
#define DLA_RESET_CAP_CONFIG 0x00000000u

/* WO: commands to the whole DLA. */
#define DLA_REG_CONTROL 0x020u
#define DLA_RESET_CONTROL 0x00000000u
#define DLA_CONTROL_RESET_SHIFT 0
#define DLA_CONTROL_RESET_MASK 0x1u

/* RO: state of the DLA. */
#define DLA_REG_STATUS 0x024u
#define DLA_RESET_STATUS 0x00000000u
#define DLA_STATUS_BUSY_SHIFT 0
#define DLA_STATUS_BUSY_MASK 0x1u
#define DLA_STATUS_FAULT_SHIFT 1
#define DLA_STATUS_FAULT_MASK 0x2u
#define DLA_STATUS_REFUSED_SHIFT 2
#define DLA_STATUS_REFUSED_MASK 0x4u

/* RO: interrupts pending. */
#define DLA_REG_IRQ_STATUS 0x028u
#define DLA_RESET_IRQ_STATUS 0x00000000u
#define DLA_IRQ_STATUS_DONE_SHIFT 0
#define DLA_IRQ_STATUS_DONE_MASK 0x1u
#define DLA_IRQ_STATUS_MARKER_SHIFT 1
#define DLA_IRQ_STATUS_MARKER_MASK 0x2u
#define DLA_IRQ_STATUS_FAULT_SHIFT 2
#define DLA_IRQ_STATUS_FAULT_MASK 0x4u

/* RW: interrupts that raise the line. */
#define DLA_REG_IRQ_ENABLE 0x02cu
#define DLA_RESET_IRQ_ENABLE 0x00000000u
#define DLA_IRQ_ENABLE_DONE_SHIFT 0
#define DLA_IRQ_ENABLE_DONE_MASK 0x1u
#define DLA_IRQ_ENABLE_MARKER_SHIFT 1
#define DLA_IRQ_ENABLE_MARKER_MASK 0x2u
#define DLA_IRQ_ENABLE_FAULT_SHIFT 2
#define DLA_IRQ_ENABLE_FAULT_MASK 0x4u

/* WO: write ones to clear pending interrupts. */
#define DLA_REG_IRQ_ACK 0x030u
#define DLA_RESET_IRQ_ACK 0x00000000u
#define DLA_IRQ_ACK_DONE_SHIFT 0
#define DLA_IRQ_ACK_DONE_MASK 0x1u
#define DLA_IRQ_ACK_MARKER_SHIFT 1
#define DLA_IRQ_ACK_MARKER_MASK 0x2u
#define DLA_IRQ_ACK_FAULT_SHIFT 2
#define DLA_IRQ_ACK_FAULT_MASK 0x4u

/* RO: streams completed since reset; wraps at 2^32. */
#define DLA_REG_STREAMS_DONE 0x034u
#define DLA_RESET_STREAMS_DONE 0x00000000u

/* RW: byte offset of the command queue in region COMMANDS; a multiple of 8. */
#define DLA_REG_QUEUE_BASE 0x040u
#define DLA_RESET_QUEUE_BASE 0x00000000u

/* RW: length of the command queue in instruction words. */
#define DLA_REG_QUEUE_SIZE 0x044u
#define DLA_RESET_QUEUE_SIZE 0x00000000u

/* RW: index of the next instruction word to fetch. */
#define DLA_REG_QUEUE_READ 0x048u
#define DLA_RESET_QUEUE_READ 0x00000000u

/* WO: instruction words below this index may be fetched; starts the DLA, or extends its current queue. */
#define DLA_REG_DOORBELL 0x04cu
#define DLA_RESET_DOORBELL 0x00000000u

/* WO: low half of a single instruction from the host. */
#define DLA_REG_COMMAND_LOW 0x050u
#define DLA_RESET_COMMAND_LOW 0x00000000u

/* WO: high half; writing it executes the instruction. */
#define DLA_REG_COMMAND_HIGH 0x054u
#define DLA_RESET_COMMAND_HIGH 0x00000000u

/* RO: what went wrong; see the table of faults. */
#define DLA_REG_ERROR_CODE 0x060u
#define DLA_RESET_ERROR_CODE 0x00000000u

/* RO: index of the instruction word that faulted. */
#define DLA_REG_ERROR_POSITION 0x064u
#define DLA_RESET_ERROR_POSITION 0x00000000u

/* RO: the SRAM address, region offset or register address at fault. */
#define DLA_REG_ERROR_ADDRESS 0x068u
#define DLA_RESET_ERROR_ADDRESS 0x00000000u

/* RW: system address of region CONSTANTS. */
#define DLA_REG_REGION0_BASE 0x080u
#define DLA_RESET_REGION0_BASE 0x00000000u

/* RW: system address of region ARENA. */
#define DLA_REG_REGION1_BASE 0x088u
#define DLA_RESET_REGION1_BASE 0x00000000u

/* RW: system address of region INPUTS. */
#define DLA_REG_REGION2_BASE 0x090u
#define DLA_RESET_REGION2_BASE 0x00000000u

/* RW: system address of region OUTPUTS. */
#define DLA_REG_REGION3_BASE 0x098u
#define DLA_RESET_REGION3_BASE 0x00000000u

/* RW: system address of region COMMANDS. */
#define DLA_REG_REGION4_BASE 0x0a0u
#define DLA_RESET_REGION4_BASE 0x00000000u

/* RW: system address of region CURSOR0. */
#define DLA_REG_REGION5_BASE 0x0a8u
#define DLA_RESET_REGION5_BASE 0x00000000u

/* RW: system address of region CURSOR1. */
#define DLA_REG_REGION6_BASE 0x0b0u
#define DLA_RESET_REGION6_BASE 0x00000000u

/* RW: size of region CONSTANTS in bytes. */
#define DLA_REG_REGION0_SIZE 0x084u
#define DLA_RESET_REGION0_SIZE 0x00000000u

/* RW: size of region ARENA in bytes. */
#define DLA_REG_REGION1_SIZE 0x08cu
#define DLA_RESET_REGION1_SIZE 0x00000000u

/* RW: size of region INPUTS in bytes. */
#define DLA_REG_REGION2_SIZE 0x094u
#define DLA_RESET_REGION2_SIZE 0x00000000u

/* RW: size of region OUTPUTS in bytes. */
#define DLA_REG_REGION3_SIZE 0x09cu
#define DLA_RESET_REGION3_SIZE 0x00000000u

/* RW: size of region COMMANDS in bytes. */
#define DLA_REG_REGION4_SIZE 0x0a4u
#define DLA_RESET_REGION4_SIZE 0x00000000u

/* RW: size of region CURSOR0 in bytes. */
#define DLA_REG_REGION5_SIZE 0x0acu
#define DLA_RESET_REGION5_SIZE 0x00000000u

/* RW: size of region CURSOR1 in bytes. */
#define DLA_REG_REGION6_SIZE 0x0b4u
#define DLA_RESET_REGION6_SIZE 0x00000000u

/* RO: cycles from doorbell to HALT, summed over streams, bits 0 to 31. */
#define DLA_REG_COUNT_CYCLES_LOW 0x100u
#define DLA_RESET_COUNT_CYCLES_LOW 0x00000000u

/* RO: cycles from doorbell to HALT, summed over streams, bits 32 to 47. */
#define DLA_REG_COUNT_CYCLES_HIGH 0x104u
#define DLA_RESET_COUNT_CYCLES_HIGH 0x00000000u

/* RO: multiply-accumulates done, bits 0 to 31. */
#define DLA_REG_COUNT_MACS_LOW 0x108u
#define DLA_RESET_COUNT_MACS_LOW 0x00000000u

/* RO: multiply-accumulates done, bits 32 to 47. */
#define DLA_REG_COUNT_MACS_HIGH 0x10cu
#define DLA_RESET_COUNT_MACS_HIGH 0x00000000u

/* RO: multiply-accumulates that the PEs could have done while the MAC unit was busy, bits 0 to 31. */
#define DLA_REG_COUNT_MACS_POSSIBLE_LOW 0x110u
#define DLA_RESET_COUNT_MACS_POSSIBLE_LOW 0x00000000u

/* RO: multiply-accumulates that the PEs could have done while the MAC unit was busy, bits 32 to 47. */
#define DLA_REG_COUNT_MACS_POSSIBLE_HIGH 0x114u
#define DLA_RESET_COUNT_MACS_POSSIBLE_HIGH 0x00000000u

/* RO: bytes moved from system memory into SRAM, bits 0 to 31. */
#define DLA_REG_COUNT_BYTES_READ_LOW 0x118u
#define DLA_RESET_COUNT_BYTES_READ_LOW 0x00000000u

/* RO: bytes moved from system memory into SRAM, bits 32 to 47. */
#define DLA_REG_COUNT_BYTES_READ_HIGH 0x11cu
#define DLA_RESET_COUNT_BYTES_READ_HIGH 0x00000000u

/* RO: bytes moved from SRAM to system memory, bits 0 to 31. */
#define DLA_REG_COUNT_BYTES_WRITTEN_LOW 0x120u
#define DLA_RESET_COUNT_BYTES_WRITTEN_LOW 0x00000000u

/* RO: bytes moved from SRAM to system memory, bits 32 to 47. */
#define DLA_REG_COUNT_BYTES_WRITTEN_HIGH 0x124u
#define DLA_RESET_COUNT_BYTES_WRITTEN_HIGH 0x00000000u

/* RO: cycles in which DMA_IN worked, bits 0 to 31. */
#define DLA_REG_COUNT_DMA_IN_BUSY_LOW 0x128u
#define DLA_RESET_COUNT_DMA_IN_BUSY_LOW 0x00000000u

/* RO: cycles in which DMA_IN worked, bits 32 to 47. */
#define DLA_REG_COUNT_DMA_IN_BUSY_HIGH 0x12cu
#define DLA_RESET_COUNT_DMA_IN_BUSY_HIGH 0x00000000u

/* RO: cycles in which DMA_OUT worked, bits 0 to 31. */
#define DLA_REG_COUNT_DMA_OUT_BUSY_LOW 0x130u
#define DLA_RESET_COUNT_DMA_OUT_BUSY_LOW 0x00000000u

/* RO: cycles in which DMA_OUT worked, bits 32 to 47. */
#define DLA_REG_COUNT_DMA_OUT_BUSY_HIGH 0x134u
#define DLA_RESET_COUNT_DMA_OUT_BUSY_HIGH 0x00000000u

/* RO: cycles in which MAC worked, bits 0 to 31. */
#define DLA_REG_COUNT_MAC_BUSY_LOW 0x138u
#define DLA_RESET_COUNT_MAC_BUSY_LOW 0x00000000u

/* RO: cycles in which MAC worked, bits 32 to 47. */
#define DLA_REG_COUNT_MAC_BUSY_HIGH 0x13cu
#define DLA_RESET_COUNT_MAC_BUSY_HIGH 0x00000000u

/* RO: cycles in which VECTOR worked, bits 0 to 31. */
#define DLA_REG_COUNT_VECTOR_BUSY_LOW 0x140u
#define DLA_RESET_COUNT_VECTOR_BUSY_LOW 0x00000000u

/* RO: cycles in which VECTOR worked, bits 32 to 47. */
#define DLA_REG_COUNT_VECTOR_BUSY_HIGH 0x144u
#define DLA_RESET_COUNT_VECTOR_BUSY_HIGH 0x00000000u

/* RO: cycles in which the issue stage worked, bits 0 to 31. */
#define DLA_REG_COUNT_ISSUE_BUSY_LOW 0x148u
#define DLA_RESET_COUNT_ISSUE_BUSY_LOW 0x00000000u

/* RO: cycles in which the issue stage worked, bits 32 to 47. */
#define DLA_REG_COUNT_ISSUE_BUSY_HIGH 0x14cu
#define DLA_RESET_COUNT_ISSUE_BUSY_HIGH 0x00000000u

/* RO: cycles in which issue was blocked by WAIT, IRQ or HALT, bits 0 to 31. */
#define DLA_REG_COUNT_STALL_WAIT_LOW 0x150u
#define DLA_RESET_COUNT_STALL_WAIT_LOW 0x00000000u

/* RO: cycles in which issue was blocked by WAIT, IRQ or HALT, bits 32 to 47. */
#define DLA_REG_COUNT_STALL_WAIT_HIGH 0x154u
#define DLA_RESET_COUNT_STALL_WAIT_HIGH 0x00000000u

/* RO: cycles in which issue was blocked by a full unit queue, bits 0 to 31. */
#define DLA_REG_COUNT_STALL_QUEUE_LOW 0x158u
#define DLA_RESET_COUNT_STALL_QUEUE_LOW 0x00000000u

/* RO: cycles in which issue was blocked by a full unit queue, bits 32 to 47. */
#define DLA_REG_COUNT_STALL_QUEUE_HIGH 0x15cu
#define DLA_RESET_COUNT_STALL_QUEUE_HIGH 0x00000000u

/* RO: cycles that operations lost to others on the DMA bus or at the SRAM's ports, bits 0 to 31. */
#define DLA_REG_COUNT_STALL_CONTENTION_LOW 0x160u
#define DLA_RESET_COUNT_STALL_CONTENTION_LOW 0x00000000u

/* RO: cycles that operations lost to others on the DMA bus or at the SRAM's ports, bits 32 to 47. */
#define DLA_REG_COUNT_STALL_CONTENTION_HIGH 0x164u
#define DLA_RESET_COUNT_STALL_CONTENTION_HIGH 0x00000000u

/* RO: cycles that compute operations lost to SRAM bandwidth, alone, bits 0 to 31. */
#define DLA_REG_COUNT_STALL_SRAM_LOW 0x168u
#define DLA_RESET_COUNT_STALL_SRAM_LOW 0x00000000u

/* RO: cycles that compute operations lost to SRAM bandwidth, alone, bits 32 to 47. */
#define DLA_REG_COUNT_STALL_SRAM_HIGH 0x16cu
#define DLA_RESET_COUNT_STALL_SRAM_HIGH 0x00000000u

/* RO: cycles with MAC or VECTOR busy and no DMA, bits 0 to 31. */
#define DLA_REG_COUNT_ONLY_COMPUTE_LOW 0x170u
#define DLA_RESET_COUNT_ONLY_COMPUTE_LOW 0x00000000u

/* RO: cycles with MAC or VECTOR busy and no DMA, bits 32 to 47. */
#define DLA_REG_COUNT_ONLY_COMPUTE_HIGH 0x174u
#define DLA_RESET_COUNT_ONLY_COMPUTE_HIGH 0x00000000u

/* RO: cycles with DMA busy and neither MAC nor VECTOR, bits 0 to 31. */
#define DLA_REG_COUNT_ONLY_DMA_LOW 0x178u
#define DLA_RESET_COUNT_ONLY_DMA_LOW 0x00000000u

/* RO: cycles with DMA busy and neither MAC nor VECTOR, bits 32 to 47. */
#define DLA_REG_COUNT_ONLY_DMA_HIGH 0x17cu
#define DLA_RESET_COUNT_ONLY_DMA_HIGH 0x00000000u

/* RO: cycles with compute and DMA busy, bits 0 to 31. */
#define DLA_REG_COUNT_BOTH_LOW 0x180u
#define DLA_RESET_COUNT_BOTH_LOW 0x00000000u

/* RO: cycles with compute and DMA busy, bits 32 to 47. */
#define DLA_REG_COUNT_BOTH_HIGH 0x184u
#define DLA_RESET_COUNT_BOTH_HIGH 0x00000000u

/* RO: cycles with neither; these four add up to CYCLES, bits 0 to 31. */
#define DLA_REG_COUNT_NEITHER_LOW 0x188u
#define DLA_RESET_COUNT_NEITHER_LOW 0x00000000u

/* RO: cycles with neither; these four add up to CYCLES, bits 32 to 47. */
#define DLA_REG_COUNT_NEITHER_HIGH 0x18cu
#define DLA_RESET_COUNT_NEITHER_HIGH 0x00000000u

/* RW: fingerprint the program was lowered for; writing another one than CAP_CONFIG faults, 0 always
   passes. */
#define DLA_REG_REQUIRE_CONFIG 0x400u
#define DLA_RESET_REQUIRE_CONFIG 0x00000000u

/* RW: region of system memory. */
#define DLA_REG_DMA_IN_REGION 0x404u
#define DLA_RESET_DMA_IN_REGION 0x00000000u

/* RW: byte offset in the region. */
#define DLA_REG_DMA_IN_OFFSET 0x408u
#define DLA_RESET_DMA_IN_OFFSET 0x00000000u

/* RW: SRAM address. */
#define DLA_REG_DMA_IN_SRAM_ADDR 0x40cu
#define DLA_RESET_DMA_IN_SRAM_ADDR 0x00000000u

/* RW: contiguous bytes of one run. */
#define DLA_REG_DMA_IN_RUN_BYTES 0x410u
#define DLA_RESET_DMA_IN_RUN_BYTES 0x00000001u

/* RW: runs in a plane. */
#define DLA_REG_DMA_IN_RUNS 0x414u
#define DLA_RESET_DMA_IN_RUNS 0x00000001u

/* RW: bytes from run to run in system memory. */
#define DLA_REG_DMA_IN_RUN_STRIDE 0x418u
#define DLA_RESET_DMA_IN_RUN_STRIDE 0x00000000u

/* RW: bytes from run to run in SRAM. */
#define DLA_REG_DMA_IN_RUN_SRAM_STRIDE 0x41cu
#define DLA_RESET_DMA_IN_RUN_SRAM_STRIDE 0x00000000u

/* RW: planes. */
#define DLA_REG_DMA_IN_PLANES 0x420u
#define DLA_RESET_DMA_IN_PLANES 0x00000001u

/* RW: bytes from plane to plane in system memory. */
#define DLA_REG_DMA_IN_PLANE_STRIDE 0x424u
#define DLA_RESET_DMA_IN_PLANE_STRIDE 0x00000000u

/* RW: bytes from plane to plane in SRAM. */
#define DLA_REG_DMA_IN_PLANE_SRAM_STRIDE 0x428u
#define DLA_RESET_DMA_IN_PLANE_SRAM_STRIDE 0x00000000u

/* RW: region of system memory. */
#define DLA_REG_DMA_OUT_REGION 0x42cu
#define DLA_RESET_DMA_OUT_REGION 0x00000000u

/* RW: byte offset in the region. */
#define DLA_REG_DMA_OUT_OFFSET 0x430u
#define DLA_RESET_DMA_OUT_OFFSET 0x00000000u

/* RW: SRAM address. */
#define DLA_REG_DMA_OUT_SRAM_ADDR 0x434u
#define DLA_RESET_DMA_OUT_SRAM_ADDR 0x00000000u

/* RW: contiguous bytes of one run. */
#define DLA_REG_DMA_OUT_RUN_BYTES 0x438u
#define DLA_RESET_DMA_OUT_RUN_BYTES 0x00000001u

/* RW: runs in a plane. */
#define DLA_REG_DMA_OUT_RUNS 0x43cu
#define DLA_RESET_DMA_OUT_RUNS 0x00000001u

/* RW: bytes from run to run in system memory. */
#define DLA_REG_DMA_OUT_RUN_STRIDE 0x440u
#define DLA_RESET_DMA_OUT_RUN_STRIDE 0x00000000u

/* RW: bytes from run to run in SRAM. */
#define DLA_REG_DMA_OUT_RUN_SRAM_STRIDE 0x444u
#define DLA_RESET_DMA_OUT_RUN_SRAM_STRIDE 0x00000000u

/* RW: planes. */
#define DLA_REG_DMA_OUT_PLANES 0x448u
#define DLA_RESET_DMA_OUT_PLANES 0x00000001u

/* RW: bytes from plane to plane in system memory. */
#define DLA_REG_DMA_OUT_PLANE_STRIDE 0x44cu
#define DLA_RESET_DMA_OUT_PLANE_STRIDE 0x00000000u

/* RW: bytes from plane to plane in SRAM. */
#define DLA_REG_DMA_OUT_PLANE_SRAM_STRIDE 0x450u
#define DLA_RESET_DMA_OUT_PLANE_SRAM_STRIDE 0x00000000u

/* RW: SRAM address of the input. */
#define DLA_REG_IN_ADDR 0x454u
#define DLA_RESET_IN_ADDR 0x00000000u

/* RW: bytes from pixel to pixel of the input. */
#define DLA_REG_IN_PIXEL_STRIDE 0x458u
#define DLA_RESET_IN_PIXEL_STRIDE 0x00000000u

/* RW: bytes from row to row of the input. */
#define DLA_REG_IN_ROW_STRIDE 0x45cu
#define DLA_RESET_IN_ROW_STRIDE 0x00000000u

/* RW: SRAM address of the second input of an element-wise operation; strides of 0 broadcast. */
#define DLA_REG_IN2_ADDR 0x460u
#define DLA_RESET_IN2_ADDR 0x00000000u

/* RW: bytes from pixel to pixel of the second input of an element-wise operation; strides of 0 broadcast. */
#define DLA_REG_IN2_PIXEL_STRIDE 0x464u
#define DLA_RESET_IN2_PIXEL_STRIDE 0x00000000u

/* RW: bytes from row to row of the second input of an element-wise operation; strides of 0 broadcast. */
#define DLA_REG_IN2_ROW_STRIDE 0x468u
#define DLA_RESET_IN2_ROW_STRIDE 0x00000000u

/* RW: SRAM address of the output. */
#define DLA_REG_OUT_ADDR 0x46cu
#define DLA_RESET_OUT_ADDR 0x00000000u

/* RW: bytes from pixel to pixel of the output. */
#define DLA_REG_OUT_PIXEL_STRIDE 0x470u
#define DLA_RESET_OUT_PIXEL_STRIDE 0x00000000u

/* RW: bytes from row to row of the output. */
#define DLA_REG_OUT_ROW_STRIDE 0x474u
#define DLA_RESET_OUT_ROW_STRIDE 0x00000000u

/* RW: SRAM address of the int32 partial result that init=partial starts from, or the int8 tensor of
   sum=tensor. */
#define DLA_REG_ACC_ADDR 0x478u
#define DLA_RESET_ACC_ADDR 0x00000000u

/* RW: bytes from pixel to pixel of the int32 partial result that init=partial starts from, or the int8
   tensor of sum=tensor. */
#define DLA_REG_ACC_PIXEL_STRIDE 0x47cu
#define DLA_RESET_ACC_PIXEL_STRIDE 0x00000000u

/* RW: bytes from row to row of the int32 partial result that init=partial starts from, or the int8 tensor
   of sum=tensor. */
#define DLA_REG_ACC_ROW_STRIDE 0x480u
#define DLA_RESET_ACC_ROW_STRIDE 0x00000000u

/* RW: SRAM address of the weights. */
#define DLA_REG_WEIGHT_ADDR 0x484u
#define DLA_RESET_WEIGHT_ADDR 0x00000000u

/* RW: SRAM address of the per-channel records {i32 bias, i32 multiplier, i32 shift}; a multiple of 4. */
#define DLA_REG_PARAM_ADDR 0x488u
#define DLA_RESET_PARAM_ADDR 0x00000000u

/* RW: SRAM address of the table: of 256 bytes, indexed by q + 128, or of 256 words, a multiple of 4. */
#define DLA_REG_LUT_ADDR 0x48cu
#define DLA_RESET_LUT_ADDR 0x00000000u

/* RW: size of the input in pixels. */
#define DLA_REG_IN_SIZE 0x490u
#define DLA_RESET_IN_SIZE 0x00010001u
#define DLA_IN_SIZE_HEIGHT_SHIFT 0
#define DLA_IN_SIZE_HEIGHT_MASK 0xffffu
#define DLA_IN_SIZE_WIDTH_SHIFT 16
#define DLA_IN_SIZE_WIDTH_MASK 0xffff0000u

/* RW: channels of the input. */
#define DLA_REG_IN_CHANNELS 0x494u
#define DLA_RESET_IN_CHANNELS 0x00000001u

/* RW: size of the output in pixels. */
#define DLA_REG_OUT_SIZE 0x498u
#define DLA_RESET_OUT_SIZE 0x00010001u
#define DLA_OUT_SIZE_HEIGHT_SHIFT 0
#define DLA_OUT_SIZE_HEIGHT_MASK 0xffffu
#define DLA_OUT_SIZE_WIDTH_SHIFT 16
#define DLA_OUT_SIZE_WIDTH_MASK 0xffff0000u

/* RW: channels of the output. */
#define DLA_REG_OUT_CHANNELS 0x49cu
#define DLA_RESET_OUT_CHANNELS 0x00000001u

/* RW: size of the window. */
#define DLA_REG_KERNEL 0x4a0u
#define DLA_RESET_KERNEL 0x00010001u
#define DLA_KERNEL_HEIGHT_SHIFT 0
#define DLA_KERNEL_HEIGHT_MASK 0xffffu
#define DLA_KERNEL_WIDTH_SHIFT 16
#define DLA_KERNEL_WIDTH_MASK 0xffff0000u

/* RW: step of the window in input pixels. */
#define DLA_REG_STRIDE 0x4a4u
#define DLA_RESET_STRIDE 0x00010001u
#define DLA_STRIDE_HEIGHT_SHIFT 0
#define DLA_STRIDE_HEIGHT_MASK 0xffffu
#define DLA_STRIDE_WIDTH_SHIFT 16
#define DLA_STRIDE_WIDTH_MASK 0xffff0000u

/* RW: distance of the window's taps in input pixels. */
#define DLA_REG_DILATION 0x4a8u
#define DLA_RESET_DILATION 0x00010001u
#define DLA_DILATION_HEIGHT_SHIFT 0
#define DLA_DILATION_HEIGHT_MASK 0xffffu
#define DLA_DILATION_WIDTH_SHIFT 16
#define DLA_DILATION_WIDTH_MASK 0xffff0000u

/* RW: pixels before the first row and column; those at the end follow from OUT_SIZE. */
#define DLA_REG_PAD 0x4acu
#define DLA_RESET_PAD 0x00000000u
#define DLA_PAD_TOP_SHIFT 0
#define DLA_PAD_TOP_MASK 0xffffu
#define DLA_PAD_LEFT_SHIFT 16
#define DLA_PAD_LEFT_MASK 0xffff0000u

/* RW: value of the pixels outside the input. */
#define DLA_REG_PAD_VALUE 0x4b0u
#define DLA_RESET_PAD_VALUE 0x00000000u

/* RW: zero point of the input. */
#define DLA_REG_IN_ZP 0x4b4u
#define DLA_RESET_IN_ZP 0x00000000u

/* RW: zero point of the second input. */
#define DLA_REG_IN2_ZP 0x4b8u
#define DLA_RESET_IN2_ZP 0x00000000u

/* RW: zero point of the output. */
#define DLA_REG_OUT_ZP 0x4bcu
#define DLA_RESET_OUT_ZP 0x00000000u

/* RW: smallest output value. */
#define DLA_REG_ACT_MIN 0x4c0u
#define DLA_RESET_ACT_MIN 0xffffff80u

/* RW: largest output value. */
#define DLA_REG_ACT_MAX 0x4c4u
#define DLA_RESET_ACT_MAX 0x0000007fu

/* RW: multiplier of the input (E_ADD, E_SUB, E_SQDIFF, E16_ADD, E16_SIGMOID), of the result (sum=tensor),
   of negative values (ACT_LRELU). */
#define DLA_REG_IN_MULT 0x4c8u
#define DLA_RESET_IN_MULT 0x40000000u

/* RW: its shift. */
#define DLA_REG_IN_SHIFT 0x4ccu
#define DLA_RESET_IN_SHIFT 0x00000001u

/* RW: multiplier of the second input (E_ADD, E_SUB, E_SQDIFF, E16_ADD) or of the tensor of sum=tensor. */
#define DLA_REG_IN2_MULT 0x4d0u
#define DLA_RESET_IN2_MULT 0x40000000u

/* RW: its shift. */
#define DLA_REG_IN2_SHIFT 0x4d4u
#define DLA_RESET_IN2_SHIFT 0x00000001u

/* RW: multiplier of the output. */
#define DLA_REG_OUT_MULT 0x4d8u
#define DLA_RESET_OUT_MULT 0x40000000u

/* RW: its shift: left before the multiplication if positive, right after it if negative. */
#define DLA_REG_OUT_SHIFT 0x4dcu
#define DLA_RESET_OUT_SHIFT 0x00000001u

/* RW: shift of both inputs before rescaling (E_ADD, E_SUB, E_SQDIFF). */
#define DLA_REG_LEFT_SHIFT 0x4e0u
#define DLA_RESET_LEFT_SHIFT 0x00000000u

/* RW: number of bits by which E32_SHIFT and E16_SIGMOID shift. */
#define DLA_REG_SHIFT_AMOUNT 0x4e4u
#define DLA_RESET_SHIFT_AMOUNT 0x00000000u

/* RW: byte that FILL writes. */
#define DLA_REG_FILL_VALUE 0x4e8u
#define DLA_RESET_FILL_VALUE 0x00000000u

/* RW: zero point of the weights or of the matrix. */
#define DLA_REG_WEIGHT_ZP 0x4ecu
#define DLA_RESET_WEIGHT_ZP 0x00000000u

/* RW: greatest magnitude of a result of E16_ADD. */
#define DLA_REG_LIMIT 0x4f0u
#define DLA_RESET_LIMIT 0x00008000u

/* RW: zero point of the output of sum=tensor. */
#define DLA_REG_SUM_ZP 0x4f4u
#define DLA_RESET_SUM_ZP 0x00000000u

/* RW: smallest output value of sum=tensor. */
#define DLA_REG_SUM_MIN 0x4f8u
#define DLA_RESET_SUM_MIN 0xffffff80u

/* RW: largest output value of sum=tensor. */
#define DLA_REG_SUM_MAX 0x4fcu
#define DLA_RESET_SUM_MAX 0x0000007fu

#endif
