// The DLA's instructions and registers. Generated from the tables in dlasim/isa; edit those.

// The package names all of the table, used or not, and its functions look at parts of their arguments.
/* verilator lint_off UNUSEDPARAM */
/* verilator lint_off UNUSEDSIGNAL */
package dla_isa;
  localparam int unsigned WORD_BYTES = 8;
  localparam int unsigned RECORD_BYTES = 12;
  localparam int unsigned SOFTMAX_PASSES = 3;
  localparam int unsigned ADDRESS_BITS = 12;
  localparam int unsigned REGION_COUNT = 7;

  typedef enum logic [2:0] {
    UNIT_DMA_IN = 3'd0,
    UNIT_DMA_OUT = 3'd1,
    UNIT_MAC = 3'd2,
    UNIT_VECTOR = 3'd3,
    UNIT_ISSUE = 3'd4
  } unit_t;
  localparam int unsigned UNIT_COUNT = 4;

  typedef enum logic [3:0] {
    FAULT_NONE = 4'd0,
    FAULT_ILLEGAL_INSTRUCTION = 4'd1,
    FAULT_QUEUE = 4'd2,
    FAULT_BAD_REGISTER = 4'd3,
    FAULT_BAD_VALUE = 4'd4,
    FAULT_CONFIG_MISMATCH = 4'd5,
    FAULT_BAD_OPERANDS = 4'd6,
    FAULT_MISALIGNED = 4'd7,
    FAULT_SRAM_RANGE = 4'd8,
    FAULT_OVERLAP = 4'd9,
    FAULT_REGION_RANGE = 4'd10,
    FAULT_REGION_READ_ONLY = 4'd11
  } fault_t;

  localparam logic [1:0] INIT_ZERO = 2'h0;
  localparam logic [1:0] INIT_BIAS = 2'h1;
  localparam logic [1:0] INIT_PARTIAL = 2'h2;
  localparam logic [0:0] OUT_INT8 = 1'h0;
  localparam logic [0:0] OUT_INT32 = 1'h1;
  localparam logic [0:0] QUANT_TENSOR = 1'h0;
  localparam logic [0:0] QUANT_CHANNEL = 1'h1;
  localparam logic [0:0] ELEMENTS_INT8 = 1'h0;
  localparam logic [0:0] ELEMENTS_INT16 = 1'h1;
  localparam logic [0:0] WEIGHTS_INT8 = 1'h0;
  localparam logic [0:0] WEIGHTS_INT16 = 1'h1;
  localparam logic [0:0] SUM_NONE = 1'h0;
  localparam logic [0:0] SUM_TENSOR = 1'h1;
  localparam logic [1:0] POOL_MAX = 2'h0;
  localparam logic [1:0] POOL_AVERAGE = 2'h1;
  localparam logic [1:0] POOL_MEAN = 2'h2;
  localparam logic [1:0] POOL_AVERAGE_UP = 2'h3;
  localparam logic [1:0] SHIFT_LEFT = 2'h0;
  localparam logic [1:0] SHIFT_RIGHT = 2'h1;
  localparam logic [1:0] SHIFT_RIGHT_ROUND = 2'h2;
  localparam logic [0:0] SIGMOID_LOGISTIC = 1'h0;
  localparam logic [0:0] SIGMOID_TANH = 1'h1;
  localparam logic [2:0] REGION_CONSTANTS = 3'h0;
  localparam logic [2:0] REGION_ARENA = 3'h1;
  localparam logic [2:0] REGION_INPUTS = 3'h2;
  localparam logic [2:0] REGION_OUTPUTS = 3'h3;
  localparam logic [2:0] REGION_COMMANDS = 3'h4;
  localparam logic [2:0] REGION_CURSOR0 = 3'h5;
  localparam logic [2:0] REGION_CURSOR1 = 3'h6;

  localparam logic [7:0] OPCODE_NOP = 8'h01;
  localparam logic [7:0] OPCODE_CFG = 8'h02;
  localparam logic [7:0] OPCODE_WAIT = 8'h03;
  localparam logic [7:0] OPCODE_IRQ = 8'h04;
  localparam logic [7:0] OPCODE_HALT = 8'h05;
  localparam logic [7:0] OPCODE_OP_DMA_READ = 8'h10;
  localparam logic [7:0] OPCODE_OP_DMA_WRITE = 8'h11;
  localparam logic [7:0] OPCODE_OP_DMA_UNPACK = 8'h14;
  localparam logic [7:0] OPCODE_OP_DMA_DECODE = 8'h15;
  localparam logic [7:0] OPCODE_OP_FILL = 8'h12;
  localparam logic [7:0] OPCODE_OP_E16_ADD = 8'h18;
  localparam logic [7:0] OPCODE_OP_E16_MUL = 8'h19;
  localparam logic [7:0] OPCODE_OP_E16_SIGMOID = 8'h1a;
  localparam logic [7:0] OPCODE_OP_E16_SOFTMAX = 8'h1b;
  localparam logic [7:0] OPCODE_OP_E16_LUT = 8'h1c;
  localparam logic [7:0] OPCODE_OP_CONV = 8'h20;
  localparam logic [7:0] OPCODE_OP_CONV_RELU = 8'h21;
  localparam logic [7:0] OPCODE_OP_DEPTH_CONV = 8'h22;
  localparam logic [7:0] OPCODE_OP_MAT_MUL = 8'h23;
  localparam logic [7:0] OPCODE_OP_REQUANT = 8'h30;
  localparam logic [7:0] OPCODE_OP_E32_SHIFT = 8'h31;
  localparam logic [7:0] OPCODE_OP_E32_ADD = 8'h32;
  localparam logic [7:0] OPCODE_OP_POOL = 8'h33;
  localparam logic [7:0] OPCODE_OP_ACT_RELU = 8'h34;
  localparam logic [7:0] OPCODE_OP_ACT_LRELU = 8'h35;
  localparam logic [7:0] OPCODE_OP_ACT_LUT = 8'h36;
  localparam logic [7:0] OPCODE_OP_E_ADD = 8'h37;
  localparam logic [7:0] OPCODE_OP_E_SUB = 8'h38;
  localparam logic [7:0] OPCODE_OP_E_MUL = 8'h39;
  localparam logic [7:0] OPCODE_OP_E_ABS = 8'h3a;
  localparam logic [7:0] OPCODE_OP_C_MIN = 8'h3b;
  localparam logic [7:0] OPCODE_OP_C_MAX = 8'h3c;
  localparam logic [7:0] OPCODE_OP_SOFTMAX = 8'h3d;
  localparam logic [7:0] OPCODE_OP_E_SQDIFF = 8'h3e;

  // Where the fields of a command word lie. NAME_LOW +: NAME_BITS selects one.
  localparam int unsigned OPCODE_LOW = 0;
  localparam int unsigned OPCODE_BITS = 8;
  localparam int unsigned CFG_REGISTER_LOW = 8;
  localparam int unsigned CFG_REGISTER_BITS = 10;
  localparam int unsigned CFG_VALUE_LOW = 32;
  localparam int unsigned CFG_VALUE_BITS = 32;
  localparam int unsigned WAIT_UNIT_LOW = 8;
  localparam int unsigned WAIT_UNIT_BITS = 2;
  localparam int unsigned WAIT_MAX_OUTSTANDING_LOW = 16;
  localparam int unsigned WAIT_MAX_OUTSTANDING_BITS = 8;
  localparam int unsigned PACKED_LOW = 8;
  localparam int unsigned PACKED_BITS = 24;
  localparam int unsigned WORDS_LOW = 8;
  localparam int unsigned WORDS_BITS = 20;
  localparam int unsigned STEPS_LOW = 28;
  localparam int unsigned STEPS_BITS = 20;
  localparam int unsigned COPIED_LOW = 48;
  localparam int unsigned COPIED_BITS = 16;
  localparam int unsigned MODE_LOW = 8;
  localparam int unsigned MODE_BITS = 2;
  localparam int unsigned ELEMENTS_LOW = 12;
  localparam int unsigned ELEMENTS_BITS = 1;
  localparam int unsigned INIT_LOW = 8;
  localparam int unsigned INIT_BITS = 2;
  localparam int unsigned OUT_LOW = 10;
  localparam int unsigned OUT_BITS = 1;
  localparam int unsigned QUANT_LOW = 11;
  localparam int unsigned QUANT_BITS = 1;
  localparam int unsigned SUM_LOW = 13;
  localparam int unsigned SUM_BITS = 1;
  localparam int unsigned WEIGHTS_LOW = 14;
  localparam int unsigned WEIGHTS_BITS = 1;

  function automatic unit_t unit_of(input logic [7:0] opcode);
    case (opcode)
      OPCODE_OP_DMA_READ, OPCODE_OP_DMA_UNPACK, OPCODE_OP_DMA_DECODE: return UNIT_DMA_IN;
      OPCODE_OP_DMA_WRITE: return UNIT_DMA_OUT;
      OPCODE_OP_CONV, OPCODE_OP_CONV_RELU, OPCODE_OP_DEPTH_CONV, OPCODE_OP_MAT_MUL: return UNIT_MAC;
      OPCODE_OP_FILL, OPCODE_OP_E16_ADD, OPCODE_OP_E16_MUL, OPCODE_OP_E16_SIGMOID, OPCODE_OP_E16_SOFTMAX,
        OPCODE_OP_E16_LUT, OPCODE_OP_REQUANT, OPCODE_OP_E32_SHIFT, OPCODE_OP_E32_ADD, OPCODE_OP_POOL,
        OPCODE_OP_ACT_RELU, OPCODE_OP_ACT_LRELU, OPCODE_OP_ACT_LUT, OPCODE_OP_E_ADD, OPCODE_OP_E_SUB,
        OPCODE_OP_E_MUL, OPCODE_OP_E_ABS, OPCODE_OP_C_MIN, OPCODE_OP_C_MAX, OPCODE_OP_SOFTMAX,
        OPCODE_OP_E_SQDIFF: return UNIT_VECTOR;
      default: return UNIT_ISSUE;
    endcase
  endfunction

  // Whether a word is an instruction: opcode, reserved bits, values of its fields.
  function automatic logic is_instruction(input logic [63:0] word);
    case (word[7:0])
      OPCODE_NOP: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_CFG: return (word & 64'h00000000fffc0000) == '0;
      OPCODE_WAIT: return (word & 64'hffffffffff00fc00) == '0;
      OPCODE_IRQ: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_HALT: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_DMA_READ: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_DMA_WRITE: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_DMA_UNPACK: return (word & 64'hffffffff00000000) == '0;
      OPCODE_OP_DMA_DECODE: return 1'b1;
      OPCODE_OP_FILL: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_E16_ADD: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_E16_MUL: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_E16_SIGMOID: return (word & 64'hffffffffffffec00) == '0 && word[9:8] <= 2'h1;
      OPCODE_OP_E16_SOFTMAX: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_E16_LUT: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_CONV: return (word & 64'hffffffffffffc000) == '0 && word[9:8] <= 2'h2;
      OPCODE_OP_CONV_RELU: return (word & 64'hfffffffffffff400) == '0 && word[9:8] <= 2'h2;
      OPCODE_OP_DEPTH_CONV: return (word & 64'hffffffffffffc000) == '0 && word[9:8] <= 2'h2;
      OPCODE_OP_MAT_MUL: return (word & 64'hffffffffffff8000) == '0 && word[9:8] <= 2'h2;
      OPCODE_OP_REQUANT: return (word & 64'hfffffffffffff700) == '0;
      OPCODE_OP_E32_SHIFT: return (word & 64'hfffffffffffffc00) == '0 && word[9:8] <= 2'h2;
      OPCODE_OP_E32_ADD: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_POOL: return (word & 64'hffffffffffffec00) == '0;
      OPCODE_OP_ACT_RELU: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_ACT_LRELU: return (word & 64'hffffffffffffef00) == '0;
      OPCODE_OP_ACT_LUT: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_E_ADD: return (word & 64'hffffffffffffef00) == '0;
      OPCODE_OP_E_SUB: return (word & 64'hffffffffffffef00) == '0;
      OPCODE_OP_E_MUL: return (word & 64'hffffffffffffef00) == '0;
      OPCODE_OP_E_ABS: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_C_MIN: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_C_MAX: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_SOFTMAX: return (word & 64'hffffffffffffff00) == '0;
      OPCODE_OP_E_SQDIFF: return (word & 64'hffffffffffffef00) == '0;
      default: return 1'b0;
    endcase
  endfunction

  // Offsets of registers in the host's window, and values after reset.
  localparam logic [11:0] ADDRESS_ID = 12'h000;
  localparam logic [11:0] ADDRESS_ISA_VERSION = 12'h004;
  localparam logic [11:0] ADDRESS_CAP_PES = 12'h008;
  localparam logic [11:0] ADDRESS_CAP_GRID = 12'h00c;
  localparam logic [11:0] ADDRESS_CAP_SRAM_BYTES = 12'h010;
  localparam logic [11:0] ADDRESS_CAP_CONFIG = 12'h014;
  localparam logic [11:0] ADDRESS_CONTROL = 12'h020;
  localparam logic [11:0] ADDRESS_STATUS = 12'h024;
  localparam logic [11:0] ADDRESS_IRQ_STATUS = 12'h028;
  localparam logic [11:0] ADDRESS_IRQ_ENABLE = 12'h02c;
  localparam logic [11:0] ADDRESS_IRQ_ACK = 12'h030;
  localparam logic [11:0] ADDRESS_STREAMS_DONE = 12'h034;
  localparam logic [11:0] ADDRESS_QUEUE_BASE = 12'h040;
  localparam logic [11:0] ADDRESS_QUEUE_SIZE = 12'h044;
  localparam logic [11:0] ADDRESS_QUEUE_READ = 12'h048;
  localparam logic [11:0] ADDRESS_DOORBELL = 12'h04c;
  localparam logic [11:0] ADDRESS_COMMAND_LOW = 12'h050;
  localparam logic [11:0] ADDRESS_COMMAND_HIGH = 12'h054;
  localparam logic [11:0] ADDRESS_ERROR_CODE = 12'h060;
  localparam logic [11:0] ADDRESS_ERROR_POSITION = 12'h064;
  localparam logic [11:0] ADDRESS_ERROR_ADDRESS = 12'h068;
  localparam logic [11:0] ADDRESS_REGION0_BASE = 12'h080;
  localparam logic [11:0] ADDRESS_REGION1_BASE = 12'h088;
  localparam logic [11:0] ADDRESS_REGION2_BASE = 12'h090;
  localparam logic [11:0] ADDRESS_REGION3_BASE = 12'h098;
  localparam logic [11:0] ADDRESS_REGION4_BASE = 12'h0a0;
  localparam logic [11:0] ADDRESS_REGION5_BASE = 12'h0a8;
  localparam logic [11:0] ADDRESS_REGION6_BASE = 12'h0b0;
  localparam logic [11:0] ADDRESS_REGION0_SIZE = 12'h084;
  localparam logic [11:0] ADDRESS_REGION1_SIZE = 12'h08c;
  localparam logic [11:0] ADDRESS_REGION2_SIZE = 12'h094;
  localparam logic [11:0] ADDRESS_REGION3_SIZE = 12'h09c;
  localparam logic [11:0] ADDRESS_REGION4_SIZE = 12'h0a4;
  localparam logic [11:0] ADDRESS_REGION5_SIZE = 12'h0ac;
  localparam logic [11:0] ADDRESS_REGION6_SIZE = 12'h0b4;
  localparam logic [31:0] RESET_ID = 32'h31414c44;
  localparam logic [31:0] RESET_ISA_VERSION = 32'h00010002;

  localparam logic [11:0] ADDRESS_COUNTERS = 12'h100;  // low and high half of each in turn
  localparam int unsigned COUNTER_COUNT = 18;
  localparam int unsigned COUNTER_BITS = 48;
  localparam int unsigned COUNT_CYCLES = 0;
  localparam int unsigned COUNT_MACS = 1;
  localparam int unsigned COUNT_MACS_POSSIBLE = 2;
  localparam int unsigned COUNT_BYTES_READ = 3;
  localparam int unsigned COUNT_BYTES_WRITTEN = 4;
  localparam int unsigned COUNT_DMA_IN_BUSY = 5;
  localparam int unsigned COUNT_DMA_OUT_BUSY = 6;
  localparam int unsigned COUNT_MAC_BUSY = 7;
  localparam int unsigned COUNT_VECTOR_BUSY = 8;
  localparam int unsigned COUNT_ISSUE_BUSY = 9;
  localparam int unsigned COUNT_STALL_WAIT = 10;
  localparam int unsigned COUNT_STALL_QUEUE = 11;
  localparam int unsigned COUNT_STALL_CONTENTION = 12;
  localparam int unsigned COUNT_STALL_SRAM = 13;
  localparam int unsigned COUNT_ONLY_COMPUTE = 14;
  localparam int unsigned COUNT_ONLY_DMA = 15;
  localparam int unsigned COUNT_BOTH = 16;
  localparam int unsigned COUNT_NEITHER = 17;

  // What the host may write, at all and while a stream runs or after a fault.
  function automatic logic is_writable(input logic [11:0] address);
    case (address)
      ADDRESS_CONTROL, ADDRESS_IRQ_ENABLE, ADDRESS_IRQ_ACK, ADDRESS_QUEUE_BASE, ADDRESS_QUEUE_SIZE,
        ADDRESS_QUEUE_READ, ADDRESS_DOORBELL, ADDRESS_COMMAND_LOW, ADDRESS_COMMAND_HIGH, ADDRESS_REGION0_BASE,
        ADDRESS_REGION1_BASE, ADDRESS_REGION2_BASE, ADDRESS_REGION3_BASE, ADDRESS_REGION4_BASE,
        ADDRESS_REGION5_BASE, ADDRESS_REGION6_BASE, ADDRESS_REGION0_SIZE, ADDRESS_REGION1_SIZE,
        ADDRESS_REGION2_SIZE, ADDRESS_REGION3_SIZE, ADDRESS_REGION4_SIZE, ADDRESS_REGION5_SIZE,
        ADDRESS_REGION6_SIZE: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  function automatic logic is_writable_while_busy(input logic [11:0] address);
    case (address)
      ADDRESS_CONTROL, ADDRESS_IRQ_ENABLE, ADDRESS_IRQ_ACK, ADDRESS_DOORBELL: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  function automatic logic is_legal_control(input logic [11:0] address, input logic [31:0] value);
    case (address)
      ADDRESS_CONTROL: return (value & 32'hfffffffe) == '0;
      ADDRESS_IRQ_ENABLE: return (value & 32'hfffffff8) == '0;
      ADDRESS_IRQ_ACK: return (value & 32'hfffffff8) == '0;
      ADDRESS_QUEUE_BASE: return 1'b1;
      ADDRESS_QUEUE_SIZE: return 1'b1;
      ADDRESS_QUEUE_READ: return 1'b1;
      ADDRESS_DOORBELL: return 1'b1;
      ADDRESS_COMMAND_LOW: return 1'b1;
      ADDRESS_COMMAND_HIGH: return 1'b1;
      ADDRESS_REGION0_BASE: return 1'b1;
      ADDRESS_REGION1_BASE: return 1'b1;
      ADDRESS_REGION2_BASE: return 1'b1;
      ADDRESS_REGION3_BASE: return 1'b1;
      ADDRESS_REGION4_BASE: return 1'b1;
      ADDRESS_REGION5_BASE: return 1'b1;
      ADDRESS_REGION6_BASE: return 1'b1;
      ADDRESS_REGION0_SIZE: return 1'b1;
      ADDRESS_REGION1_SIZE: return 1'b1;
      ADDRESS_REGION2_SIZE: return 1'b1;
      ADDRESS_REGION3_SIZE: return 1'b1;
      ADDRESS_REGION4_SIZE: return 1'b1;
      ADDRESS_REGION5_SIZE: return 1'b1;
      ADDRESS_REGION6_SIZE: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  // The operand registers. operand_file_t names what operand_words_t numbers: word i is the register at
  // ADDRESS_OPERANDS + 4 i, which CFG calls FIRST_REGISTER + i.
  localparam logic [11:0] ADDRESS_OPERANDS = 12'h400;
  localparam logic [9:0] FIRST_REGISTER = 10'h100;
  localparam int unsigned OPERAND_COUNT = 64;
  localparam int unsigned OPERAND_INDEX_BITS = 7;
  localparam int unsigned OPERAND_REQUIRE_CONFIG = 0;

  typedef struct packed {
    logic [15:0] width;
    logic [15:0] height;
  } extent_t;
  typedef struct packed {
    logic [15:0] left;
    logic [15:0] top;
  } offset_t;
  typedef logic [63:0][31:0] operand_words_t;
  typedef struct packed {
    logic signed [31:0] sum_max;
    logic signed [31:0] sum_min;
    logic signed [31:0] sum_zp;
    logic [31:0] limit;
    logic signed [31:0] weight_zp;
    logic signed [31:0] fill_value;
    logic [31:0] shift_amount;
    logic [31:0] left_shift;
    logic signed [31:0] out_shift;
    logic [31:0] out_mult;
    logic signed [31:0] in2_shift;
    logic [31:0] in2_mult;
    logic signed [31:0] in_shift;
    logic [31:0] in_mult;
    logic signed [31:0] act_max;
    logic signed [31:0] act_min;
    logic signed [31:0] out_zp;
    logic signed [31:0] in2_zp;
    logic signed [31:0] in_zp;
    logic signed [31:0] pad_value;
    offset_t pad;
    extent_t dilation;
    extent_t stride;
    extent_t kernel;
    logic [31:0] out_channels;
    extent_t out_size;
    logic [31:0] in_channels;
    extent_t in_size;
    logic [31:0] lut_addr;
    logic [31:0] param_addr;
    logic [31:0] weight_addr;
    logic [31:0] acc_row_stride;
    logic [31:0] acc_pixel_stride;
    logic [31:0] acc_addr;
    logic [31:0] out_row_stride;
    logic [31:0] out_pixel_stride;
    logic [31:0] out_addr;
    logic [31:0] in2_row_stride;
    logic [31:0] in2_pixel_stride;
    logic [31:0] in2_addr;
    logic [31:0] in_row_stride;
    logic [31:0] in_pixel_stride;
    logic [31:0] in_addr;
    logic [31:0] dma_out_plane_sram_stride;
    logic [31:0] dma_out_plane_stride;
    logic [31:0] dma_out_planes;
    logic [31:0] dma_out_run_sram_stride;
    logic [31:0] dma_out_run_stride;
    logic [31:0] dma_out_runs;
    logic [31:0] dma_out_run_bytes;
    logic [31:0] dma_out_sram_addr;
    logic [31:0] dma_out_offset;
    logic [31:0] dma_out_region;
    logic [31:0] dma_in_plane_sram_stride;
    logic [31:0] dma_in_plane_stride;
    logic [31:0] dma_in_planes;
    logic [31:0] dma_in_run_sram_stride;
    logic [31:0] dma_in_run_stride;
    logic [31:0] dma_in_runs;
    logic [31:0] dma_in_run_bytes;
    logic [31:0] dma_in_sram_addr;
    logic [31:0] dma_in_offset;
    logic [31:0] dma_in_region;
    logic [31:0] require_config;
  } operand_file_t;

  localparam operand_words_t OPERAND_RESET = {
    32'h0000007f, 32'hffffff80, 32'h00000000, 32'h00008000, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000,
    32'h00000001, 32'h40000000, 32'h00000001, 32'h40000000, 32'h00000001, 32'h40000000, 32'h0000007f, 32'hffffff80,
    32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00010001, 32'h00010001, 32'h00010001,
    32'h00000001, 32'h00010001, 32'h00000001, 32'h00010001, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000,
    32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000,
    32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00000001, 32'h00000000, 32'h00000000,
    32'h00000001, 32'h00000001, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00000001,
    32'h00000000, 32'h00000000, 32'h00000001, 32'h00000001, 32'h00000000, 32'h00000000, 32'h00000000, 32'h00000000
  };

  localparam int unsigned OPERAND_KEPT_BITS[64] = '{
    32, 3, 31, 31, 31, 24, 31, 31, 24, 31, 31, 3, 31, 31, 31, 24, 31, 31, 24, 31, 31, 31, 31, 31, 31, 31, 31,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 32, 24, 32, 24, 32, 32, 32, 32, 8, 8, 8, 8, 8, 8, 31, 6, 31, 6, 31, 6,
    5, 5, 8, 8, 16, 8, 8, 8
  };
  localparam bit OPERAND_SIGNED[64] = '{
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1
  };

  function automatic logic is_legal_operand(input logic [6:0] index, input logic [31:0] value);
    case (index)
      7'd0, 7'd43: return 1'b1;
      7'd1, 7'd11: return value[31:0] <= 32'h00000006;
      7'd2, 7'd3, 7'd6, 7'd7, 7'd9, 7'd10, 7'd12, 7'd13, 7'd16, 7'd17, 7'd19, 7'd20, 7'd21, 7'd22, 7'd23,
        7'd24, 7'd25, 7'd26, 7'd27, 7'd28, 7'd29, 7'd30, 7'd31, 7'd32, 7'd33, 7'd34, 7'd35, 7'd50, 7'd52,
        7'd54: return value[31:0] <= 32'h7fffffff;
      7'd4, 7'd14: return (value[31:0] - 32'h00000001) <= 32'h7ffffffe;
      7'd5, 7'd8, 7'd15, 7'd18, 7'd37, 7'd39: return (value[31:0] - 32'h00000001) <= 32'h00fffffe;
      7'd36, 7'd38, 7'd40, 7'd41, 7'd42: return (value[15:0] - 16'h0001) <= 16'hfffe && (value[31:16] -
        16'h0001) <= 16'hfffe;
      7'd44, 7'd45, 7'd46, 7'd47, 7'd48, 7'd49, 7'd58, 7'd59, 7'd61, 7'd62, 7'd63: return (value[31:0] -
        32'hffffff80) <= 32'h000000ff;
      7'd51, 7'd53, 7'd55: return (value[31:0] - 32'hffffffe1) <= 32'h0000003e;
      7'd56, 7'd57: return value[31:0] <= 32'h0000001f;
      7'd60: return value[31:0] <= 32'h00008000;
      default: return 1'b0;
    endcase
  endfunction

  // What an operation of MAC reads of the registers at issue.
  typedef struct packed {
    logic [31:0] in_pixel_stride;
    logic [31:0] out_addr;
    logic [31:0] out_pixel_stride;
    logic [31:0] out_row_stride;
    logic [31:0] acc_addr;
    logic [31:0] acc_pixel_stride;
    logic [31:0] acc_row_stride;
    logic [31:0] weight_addr;
    logic [31:0] param_addr;
    extent_t in_size;
    logic [31:0] in_channels;
    extent_t out_size;
    logic [31:0] out_channels;
    extent_t kernel;
    extent_t stride;
    extent_t dilation;
    offset_t pad;
    logic signed [31:0] pad_value;
    logic signed [31:0] in_zp;
    logic signed [31:0] in2_zp;
    logic signed [31:0] out_zp;
    logic signed [31:0] act_min;
    logic signed [31:0] act_max;
    logic [31:0] in_mult;
    logic signed [31:0] in_shift;
    logic [31:0] in2_mult;
    logic signed [31:0] in2_shift;
    logic [31:0] out_mult;
    logic signed [31:0] out_shift;
    logic signed [31:0] weight_zp;
    logic signed [31:0] sum_zp;
    logic signed [31:0] sum_min;
    logic signed [31:0] sum_max;
  } mac_operands_t;

  // What its queue keeps of them: the bits of legal values, of places in SRAM those of `place`.
  typedef struct packed {
    logic [31:0] in_pixel_stride;
    logic [31:0] out_addr;
    logic [31:0] out_pixel_stride;
    logic [31:0] out_row_stride;
    logic [31:0] acc_addr;
    logic [31:0] acc_pixel_stride;
    logic [31:0] acc_row_stride;
    logic [31:0] weight_addr;
    logic [31:0] param_addr;
    logic [31:0] in_size;
    logic [23:0] in_channels;
    logic [31:0] out_size;
    logic [23:0] out_channels;
    logic [31:0] kernel;
    logic [31:0] stride;
    logic [31:0] dilation;
    logic [31:0] pad;
    logic [7:0] pad_value;
    logic [7:0] in_zp;
    logic [7:0] in2_zp;
    logic [7:0] out_zp;
    logic [7:0] act_min;
    logic [7:0] act_max;
    logic [30:0] in_mult;
    logic [5:0] in_shift;
    logic [30:0] in2_mult;
    logic [5:0] in2_shift;
    logic [30:0] out_mult;
    logic [5:0] out_shift;
    logic [7:0] weight_zp;
    logic [7:0] sum_zp;
    logic [7:0] sum_min;
    logic [7:0] sum_max;
  } mac_slot_t;
  function automatic mac_slot_t mac_slot(input operand_file_t file, input logic [31:0] place, input logic sums);
    mac_slot_t kept;
    kept.in_pixel_stride = file.in_pixel_stride & place;
    kept.out_addr = file.out_addr & place;
    kept.out_pixel_stride = file.out_pixel_stride & place;
    kept.out_row_stride = file.out_row_stride & place;
    kept.acc_addr = file.acc_addr & place;
    kept.acc_pixel_stride = file.acc_pixel_stride & place;
    kept.acc_row_stride = file.acc_row_stride & place;
    kept.weight_addr = file.weight_addr & place;
    kept.param_addr = file.param_addr & place;
    kept.in_size = file.in_size[31:0];
    kept.in_channels = file.in_channels[23:0];
    kept.out_size = file.out_size[31:0];
    kept.out_channels = file.out_channels[23:0];
    kept.kernel = file.kernel[31:0];
    kept.stride = file.stride[31:0];
    kept.dilation = file.dilation[31:0];
    kept.pad = file.pad[31:0];
    kept.pad_value = file.pad_value[7:0];
    kept.in_zp = file.in_zp[7:0];
    kept.in2_zp = sums ? file.in2_zp[7:0] : '0;
    kept.out_zp = file.out_zp[7:0];
    kept.act_min = file.act_min[7:0];
    kept.act_max = file.act_max[7:0];
    kept.in_mult = sums ? file.in_mult[30:0] : '0;
    kept.in_shift = sums ? file.in_shift[5:0] : '0;
    kept.in2_mult = sums ? file.in2_mult[30:0] : '0;
    kept.in2_shift = sums ? file.in2_shift[5:0] : '0;
    kept.out_mult = file.out_mult[30:0];
    kept.out_shift = file.out_shift[5:0];
    kept.weight_zp = file.weight_zp[7:0];
    kept.sum_zp = sums ? file.sum_zp[7:0] : '0;
    kept.sum_min = sums ? file.sum_min[7:0] : '0;
    kept.sum_max = sums ? file.sum_max[7:0] : '0;
    return kept;
  endfunction
  function automatic mac_operands_t mac_kept(input mac_slot_t kept);
    mac_operands_t read;
    read.in_pixel_stride = kept.in_pixel_stride;
    read.out_addr = kept.out_addr;
    read.out_pixel_stride = kept.out_pixel_stride;
    read.out_row_stride = kept.out_row_stride;
    read.acc_addr = kept.acc_addr;
    read.acc_pixel_stride = kept.acc_pixel_stride;
    read.acc_row_stride = kept.acc_row_stride;
    read.weight_addr = kept.weight_addr;
    read.param_addr = kept.param_addr;
    read.in_size = kept.in_size;
    read.in_channels = 32'(kept.in_channels);
    read.out_size = kept.out_size;
    read.out_channels = 32'(kept.out_channels);
    read.kernel = kept.kernel;
    read.stride = kept.stride;
    read.dilation = kept.dilation;
    read.pad = kept.pad;
    read.pad_value = 32'($signed(kept.pad_value));
    read.in_zp = 32'($signed(kept.in_zp));
    read.in2_zp = 32'($signed(kept.in2_zp));
    read.out_zp = 32'($signed(kept.out_zp));
    read.act_min = 32'($signed(kept.act_min));
    read.act_max = 32'($signed(kept.act_max));
    read.in_mult = 32'(kept.in_mult);
    read.in_shift = 32'($signed(kept.in_shift));
    read.in2_mult = 32'(kept.in2_mult);
    read.in2_shift = 32'($signed(kept.in2_shift));
    read.out_mult = 32'(kept.out_mult);
    read.out_shift = 32'($signed(kept.out_shift));
    read.weight_zp = 32'($signed(kept.weight_zp));
    read.sum_zp = 32'($signed(kept.sum_zp));
    read.sum_min = 32'($signed(kept.sum_min));
    read.sum_max = 32'($signed(kept.sum_max));
    return read;
  endfunction

  // What an operation of VECTOR reads of the registers at issue.
  typedef struct packed {
    logic [31:0] in_pixel_stride;
    logic [31:0] in2_addr;
    logic [31:0] in2_pixel_stride;
    logic [31:0] in2_row_stride;
    logic [31:0] out_addr;
    logic [31:0] out_pixel_stride;
    logic [31:0] out_row_stride;
    logic [31:0] param_addr;
    logic [31:0] lut_addr;
    extent_t in_size;
    logic [31:0] in_channels;
    extent_t out_size;
    logic [31:0] out_channels;
    extent_t kernel;
    extent_t stride;
    extent_t dilation;
    offset_t pad;
    logic signed [31:0] in_zp;
    logic signed [31:0] in2_zp;
    logic signed [31:0] out_zp;
    logic signed [31:0] act_min;
    logic signed [31:0] act_max;
    logic [31:0] in_mult;
    logic signed [31:0] in_shift;
    logic [31:0] in2_mult;
    logic signed [31:0] in2_shift;
    logic [31:0] out_mult;
    logic signed [31:0] out_shift;
    logic [31:0] left_shift;
    logic [31:0] shift_amount;
    logic signed [31:0] fill_value;
    logic [31:0] limit;
  } vector_operands_t;

  // What its queue keeps of them: the bits of legal values, of places in SRAM those of `place`.
  typedef struct packed {
    logic [31:0] in_pixel_stride;
    logic [31:0] in2_addr;
    logic [31:0] in2_pixel_stride;
    logic [31:0] in2_row_stride;
    logic [31:0] out_addr;
    logic [31:0] out_pixel_stride;
    logic [31:0] out_row_stride;
    logic [31:0] param_addr;
    logic [31:0] lut_addr;
    logic [31:0] in_size;
    logic [23:0] in_channels;
    logic [31:0] out_size;
    logic [23:0] out_channels;
    logic [31:0] kernel;
    logic [31:0] stride;
    logic [31:0] dilation;
    logic [31:0] pad;
    logic [7:0] in_zp;
    logic [7:0] in2_zp;
    logic [7:0] out_zp;
    logic [7:0] act_min;
    logic [7:0] act_max;
    logic [30:0] in_mult;
    logic [5:0] in_shift;
    logic [30:0] in2_mult;
    logic [5:0] in2_shift;
    logic [30:0] out_mult;
    logic [5:0] out_shift;
    logic [4:0] left_shift;
    logic [4:0] shift_amount;
    logic [7:0] fill_value;
    logic [15:0] limit;
  } vector_slot_t;
  function automatic vector_slot_t vector_slot(input operand_file_t file, input logic [31:0] place);
    vector_slot_t kept;
    kept.in_pixel_stride = file.in_pixel_stride & place;
    kept.in2_addr = file.in2_addr & place;
    kept.in2_pixel_stride = file.in2_pixel_stride & place;
    kept.in2_row_stride = file.in2_row_stride & place;
    kept.out_addr = file.out_addr & place;
    kept.out_pixel_stride = file.out_pixel_stride & place;
    kept.out_row_stride = file.out_row_stride & place;
    kept.param_addr = file.param_addr & place;
    kept.lut_addr = file.lut_addr & place;
    kept.in_size = file.in_size[31:0];
    kept.in_channels = file.in_channels[23:0];
    kept.out_size = file.out_size[31:0];
    kept.out_channels = file.out_channels[23:0];
    kept.kernel = file.kernel[31:0];
    kept.stride = file.stride[31:0];
    kept.dilation = file.dilation[31:0];
    kept.pad = file.pad[31:0];
    kept.in_zp = file.in_zp[7:0];
    kept.in2_zp = file.in2_zp[7:0];
    kept.out_zp = file.out_zp[7:0];
    kept.act_min = file.act_min[7:0];
    kept.act_max = file.act_max[7:0];
    kept.in_mult = file.in_mult[30:0];
    kept.in_shift = file.in_shift[5:0];
    kept.in2_mult = file.in2_mult[30:0];
    kept.in2_shift = file.in2_shift[5:0];
    kept.out_mult = file.out_mult[30:0];
    kept.out_shift = file.out_shift[5:0];
    kept.left_shift = file.left_shift[4:0];
    kept.shift_amount = file.shift_amount[4:0];
    kept.fill_value = file.fill_value[7:0];
    kept.limit = file.limit[15:0];
    return kept;
  endfunction
  function automatic vector_operands_t vector_kept(input vector_slot_t kept);
    vector_operands_t read;
    read.in_pixel_stride = kept.in_pixel_stride;
    read.in2_addr = kept.in2_addr;
    read.in2_pixel_stride = kept.in2_pixel_stride;
    read.in2_row_stride = kept.in2_row_stride;
    read.out_addr = kept.out_addr;
    read.out_pixel_stride = kept.out_pixel_stride;
    read.out_row_stride = kept.out_row_stride;
    read.param_addr = kept.param_addr;
    read.lut_addr = kept.lut_addr;
    read.in_size = kept.in_size;
    read.in_channels = 32'(kept.in_channels);
    read.out_size = kept.out_size;
    read.out_channels = 32'(kept.out_channels);
    read.kernel = kept.kernel;
    read.stride = kept.stride;
    read.dilation = kept.dilation;
    read.pad = kept.pad;
    read.in_zp = 32'($signed(kept.in_zp));
    read.in2_zp = 32'($signed(kept.in2_zp));
    read.out_zp = 32'($signed(kept.out_zp));
    read.act_min = 32'($signed(kept.act_min));
    read.act_max = 32'($signed(kept.act_max));
    read.in_mult = 32'(kept.in_mult);
    read.in_shift = 32'($signed(kept.in_shift));
    read.in2_mult = 32'(kept.in2_mult);
    read.in2_shift = 32'($signed(kept.in2_shift));
    read.out_mult = 32'(kept.out_mult);
    read.out_shift = 32'($signed(kept.out_shift));
    read.left_shift = 32'(kept.left_shift);
    read.shift_amount = 32'(kept.shift_amount);
    read.fill_value = 32'($signed(kept.fill_value));
    read.limit = 32'(kept.limit);
    return read;
  endfunction

  // What a transfer reads of the registers at issue.
  typedef struct packed {
    logic [31:0] region;
    logic [31:0] offset;
    logic [31:0] sram_addr;
    logic [31:0] run_bytes;
    logic [31:0] runs;
    logic [31:0] run_stride;
    logic [31:0] run_sram_stride;
    logic [31:0] planes;
    logic [31:0] plane_stride;
    logic [31:0] plane_sram_stride;
  } dma_operands_t;

  function automatic dma_operands_t dma_in_operands(input operand_file_t file);
    dma_operands_t taken;
    taken.region = file.dma_in_region;
    taken.offset = file.dma_in_offset;
    taken.sram_addr = file.dma_in_sram_addr;
    taken.run_bytes = file.dma_in_run_bytes;
    taken.runs = file.dma_in_runs;
    taken.run_stride = file.dma_in_run_stride;
    taken.run_sram_stride = file.dma_in_run_sram_stride;
    taken.planes = file.dma_in_planes;
    taken.plane_stride = file.dma_in_plane_stride;
    taken.plane_sram_stride = file.dma_in_plane_sram_stride;
    return taken;
  endfunction

  function automatic dma_operands_t dma_out_operands(input operand_file_t file);
    dma_operands_t taken;
    taken.region = file.dma_out_region;
    taken.offset = file.dma_out_offset;
    taken.sram_addr = file.dma_out_sram_addr;
    taken.run_bytes = file.dma_out_run_bytes;
    taken.runs = file.dma_out_runs;
    taken.run_stride = file.dma_out_run_stride;
    taken.run_sram_stride = file.dma_out_run_sram_stride;
    taken.planes = file.dma_out_planes;
    taken.plane_stride = file.dma_out_plane_stride;
    taken.plane_sram_stride = file.dma_out_plane_sram_stride;
    return taken;
  endfunction

  // What its queue keeps of them: the bits of legal values, of places in SRAM those of `place`.
  typedef struct packed {
    logic [2:0] region;
    logic [30:0] offset;
    logic [31:0] sram_addr;
    logic [31:0] run_bytes;
    logic [23:0] runs;
    logic [30:0] run_stride;
    logic [31:0] run_sram_stride;
    logic [23:0] planes;
    logic [30:0] plane_stride;
    logic [31:0] plane_sram_stride;
  } dma_slot_t;
  function automatic dma_slot_t dma_in_slot(input operand_file_t file, input logic [31:0] place);
    dma_slot_t kept;
    kept.region = file.dma_in_region[2:0];
    kept.offset = file.dma_in_offset[30:0];
    kept.sram_addr = file.dma_in_sram_addr & place;
    kept.run_bytes = file.dma_in_run_bytes & place;
    kept.runs = file.dma_in_runs[23:0];
    kept.run_stride = file.dma_in_run_stride[30:0];
    kept.run_sram_stride = file.dma_in_run_sram_stride & place;
    kept.planes = file.dma_in_planes[23:0];
    kept.plane_stride = file.dma_in_plane_stride[30:0];
    kept.plane_sram_stride = file.dma_in_plane_sram_stride & place;
    return kept;
  endfunction
  function automatic dma_slot_t dma_out_slot(input operand_file_t file, input logic [31:0] place);
    dma_slot_t kept;
    kept.region = file.dma_out_region[2:0];
    kept.offset = file.dma_out_offset[30:0];
    kept.sram_addr = file.dma_out_sram_addr & place;
    kept.run_bytes = file.dma_out_run_bytes & place;
    kept.runs = file.dma_out_runs[23:0];
    kept.run_stride = file.dma_out_run_stride[30:0];
    kept.run_sram_stride = file.dma_out_run_sram_stride & place;
    kept.planes = file.dma_out_planes[23:0];
    kept.plane_stride = file.dma_out_plane_stride[30:0];
    kept.plane_sram_stride = file.dma_out_plane_sram_stride & place;
    return kept;
  endfunction
  function automatic dma_operands_t dma_kept(input dma_slot_t kept);
    dma_operands_t read;
    read.region = 32'(kept.region);
    read.offset = 32'(kept.offset);
    read.sram_addr = kept.sram_addr;
    read.run_bytes = kept.run_bytes;
    read.runs = 32'(kept.runs);
    read.run_stride = 32'(kept.run_stride);
    read.run_sram_stride = kept.run_sram_stride;
    read.planes = 32'(kept.planes);
    read.plane_stride = 32'(kept.plane_stride);
    read.plane_sram_stride = kept.plane_sram_stride;
    return read;
  endfunction

  typedef enum logic [3:0] {
    EXTENT_INPUT = 4'd0,
    EXTENT_OUTPUT = 4'd1,
    EXTENT_ROWS_OF_INPUT = 4'd2,
    EXTENT_CONV_WEIGHTS = 4'd3,
    EXTENT_DEPTH_WEIGHTS = 4'd4,
    EXTENT_MATRIX = 4'd5,
    EXTENT_RECORDS = 4'd6,
    EXTENT_TABLE = 4'd7,
    EXTENT_EXPONENTIALS = 4'd8,
    EXTENT_CURVE = 4'd9,
    EXTENT_CURVES = 4'd10,
    EXTENT_SEGMENTS = 4'd11
  } extent_kind_t;
  // An SRAM operand: whether the operation has it, what it covers, its elements' bytes as a power of 2, and
  // whether it must not overlap itself.
  typedef struct packed {
    logic present;
    logic [1:0] size;
    logic disjoint;
    extent_kind_t extent;
  } operand_use_t;
  function automatic logic [31:0] table_bytes(input extent_kind_t extent);
    case (extent)
      EXTENT_TABLE: return 256;
      EXTENT_EXPONENTIALS: return 1024;
      EXTENT_CURVE: return 2048;
      EXTENT_CURVES: return 4096;
      EXTENT_SEGMENTS: return 1024;
      default: return 0;
    endcase
  endfunction
  typedef struct packed {
    operand_use_t in;
    operand_use_t in2;
    operand_use_t weight;
    operand_use_t acc;
    operand_use_t param;
    operand_use_t lut;
    operand_use_t out;
  } operand_uses_t;

  function automatic operand_uses_t operand_uses(input logic [63:0] word);
    operand_uses_t uses;
    uses = '0;
    case (word[7:0])
      OPCODE_OP_FILL: begin
        uses.out = {1'b1, 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_E16_ADD: begin
        uses.in = {1'b1, 2'd2, 1'b0, EXTENT_OUTPUT};
        uses.in2 = {1'b1, 2'd2, 1'b0, EXTENT_OUTPUT};
        uses.out = {1'b1, 2'd2, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_E16_MUL: begin
        uses.in = {1'b1, 2'd2, 1'b0, EXTENT_OUTPUT};
        uses.in2 = {1'b1, 2'd2, 1'b0, EXTENT_OUTPUT};
        uses.out = {1'b1, 2'd2, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_E16_SIGMOID: begin
        uses.in = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd2, 1'b0, EXTENT_OUTPUT};
        uses.lut = {1'b1, 2'd2, 1'b0, EXTENT_SEGMENTS};
        uses.out = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd2, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_E16_SOFTMAX: begin
        uses.in = {1'b1, 2'd1, 1'b0, EXTENT_OUTPUT};
        uses.lut = {1'b1, 2'd2, 1'b0, EXTENT_CURVES};
        uses.out = {1'b1, 2'd1, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_E16_LUT: begin
        uses.in = {1'b1, 2'd1, 1'b0, EXTENT_OUTPUT};
        uses.lut = {1'b1, 2'd2, 1'b0, EXTENT_CURVE};
        uses.out = {1'b1, 2'd1, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_CONV: begin
        uses.in = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b1, EXTENT_INPUT};
        uses.weight = {1'b1, 2'd0, 1'b0, EXTENT_CONV_WEIGHTS};
        uses.acc = {word[9:8] == 2'h2 || word[13] == 1'h1, word[13] == 1'h1 ? 2'd0 : 2'd2, 1'b0, EXTENT_OUTPUT};
        uses.param = {word[9:8] == 2'h1 || word[11] == 1'h1, 2'd2, 1'b0, EXTENT_RECORDS};
        uses.out = {1'b1, word[12] == 1'h1 ? 2'd1 : word[10] == 1'h1 ? 2'd2 : 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_CONV_RELU: begin
        uses.in = {1'b1, 2'd0, 1'b1, EXTENT_INPUT};
        uses.weight = {1'b1, 2'd0, 1'b0, EXTENT_CONV_WEIGHTS};
        uses.acc = {word[9:8] == 2'h2, 2'd2, 1'b0, EXTENT_OUTPUT};
        uses.param = {word[9:8] == 2'h1 || word[11] == 1'h1, 2'd2, 1'b0, EXTENT_RECORDS};
        uses.out = {1'b1, 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_DEPTH_CONV: begin
        uses.in = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b1, EXTENT_INPUT};
        uses.weight = {1'b1, 2'd0, 1'b0, EXTENT_DEPTH_WEIGHTS};
        uses.acc = {word[9:8] == 2'h2 || word[13] == 1'h1, word[13] == 1'h1 ? 2'd0 : 2'd2, 1'b0, EXTENT_OUTPUT};
        uses.param = {word[9:8] == 2'h1 || word[11] == 1'h1, 2'd2, 1'b0, EXTENT_RECORDS};
        uses.out = {1'b1, word[12] == 1'h1 ? 2'd1 : word[10] == 1'h1 ? 2'd2 : 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_MAT_MUL: begin
        uses.in = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b0, EXTENT_ROWS_OF_INPUT};
        uses.weight = {1'b1, word[14] == 1'h1 ? 2'd1 : 2'd0, 1'b0, EXTENT_MATRIX};
        uses.acc = {word[9:8] == 2'h2 || word[13] == 1'h1, word[13] == 1'h1 ? 2'd0 : 2'd2, 1'b0, EXTENT_OUTPUT};
        uses.param = {word[9:8] == 2'h1 || word[11] == 1'h1, 2'd2, 1'b0, EXTENT_RECORDS};
        uses.out = {1'b1, word[12] == 1'h1 ? 2'd1 : word[10] == 1'h1 ? 2'd2 : 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_REQUANT: begin
        uses.in = {1'b1, 2'd2, 1'b0, EXTENT_OUTPUT};
        uses.param = {word[11] == 1'h1, 2'd2, 1'b0, EXTENT_RECORDS};
        uses.out = {1'b1, 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_E32_SHIFT: begin
        uses.in = {1'b1, 2'd2, 1'b0, EXTENT_OUTPUT};
        uses.out = {1'b1, 2'd2, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_E32_ADD: begin
        uses.in = {1'b1, 2'd2, 1'b0, EXTENT_OUTPUT};
        uses.in2 = {1'b1, 2'd2, 1'b0, EXTENT_OUTPUT};
        uses.out = {1'b1, 2'd2, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_POOL: begin
        uses.in = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b1, EXTENT_INPUT};
        uses.out = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_ACT_RELU: begin
        uses.in = {1'b1, 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.out = {1'b1, 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_ACT_LRELU: begin
        uses.in = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.out = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_ACT_LUT: begin
        uses.in = {1'b1, 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.lut = {1'b1, 2'd0, 1'b0, EXTENT_TABLE};
        uses.out = {1'b1, 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_E_ADD: begin
        uses.in = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.in2 = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.out = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_E_SUB: begin
        uses.in = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.in2 = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.out = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_E_MUL: begin
        uses.in = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.in2 = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.out = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_E_ABS: begin
        uses.in = {1'b1, 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.out = {1'b1, 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_C_MIN: begin
        uses.in = {1'b1, 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.in2 = {1'b1, 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.out = {1'b1, 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_C_MAX: begin
        uses.in = {1'b1, 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.in2 = {1'b1, 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.out = {1'b1, 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_SOFTMAX: begin
        uses.in = {1'b1, 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.lut = {1'b1, 2'd2, 1'b0, EXTENT_EXPONENTIALS};
        uses.out = {1'b1, 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      OPCODE_OP_E_SQDIFF: begin
        uses.in = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.in2 = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b0, EXTENT_OUTPUT};
        uses.out = {1'b1, word[12] == 1'h1 ? 2'd1 : 2'd0, 1'b1, EXTENT_OUTPUT};
      end
      default: ;
    endcase
    return uses;
  endfunction

  // Whether an operation reads ACT_MIN; has elements of its choice; has those of int16 alone; has weights of
  // its choice; may add a tensor; has a kernel; sums over input channels.
  function automatic logic is_clamped(input logic [7:0] opcode);
    case (opcode)
      OPCODE_OP_CONV, OPCODE_OP_CONV_RELU, OPCODE_OP_DEPTH_CONV, OPCODE_OP_MAT_MUL, OPCODE_OP_REQUANT,
        OPCODE_OP_POOL, OPCODE_OP_ACT_RELU, OPCODE_OP_ACT_LRELU, OPCODE_OP_E_ADD, OPCODE_OP_E_SUB,
        OPCODE_OP_E_MUL, OPCODE_OP_E_ABS, OPCODE_OP_E_SQDIFF: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  function automatic logic has_elements(input logic [7:0] opcode);
    case (opcode)
      OPCODE_OP_E16_SIGMOID, OPCODE_OP_CONV, OPCODE_OP_DEPTH_CONV, OPCODE_OP_MAT_MUL, OPCODE_OP_POOL,
        OPCODE_OP_ACT_LRELU, OPCODE_OP_E_ADD, OPCODE_OP_E_SUB, OPCODE_OP_E_MUL, OPCODE_OP_E_SQDIFF: return
        1'b1;
      default: return 1'b0;
    endcase
  endfunction

  function automatic logic needs_int16(input logic [7:0] opcode);
    case (opcode)
      OPCODE_OP_E16_SOFTMAX, OPCODE_OP_E16_LUT: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  function automatic logic has_weights(input logic [7:0] opcode);
    case (opcode)
      OPCODE_OP_MAT_MUL: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  function automatic logic has_sum(input logic [7:0] opcode);
    case (opcode)
      OPCODE_OP_CONV, OPCODE_OP_DEPTH_CONV, OPCODE_OP_MAT_MUL: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  function automatic logic has_kernel(input logic [7:0] opcode);
    case (opcode)
      OPCODE_OP_CONV, OPCODE_OP_CONV_RELU, OPCODE_OP_DEPTH_CONV, OPCODE_OP_POOL: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  function automatic logic sums_channels(input logic [7:0] opcode);
    case (opcode)
      OPCODE_OP_CONV, OPCODE_OP_CONV_RELU, OPCODE_OP_MAT_MUL: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

endpackage

/* verilator lint_on UNUSEDPARAM */
/* verilator lint_on UNUSEDSIGNAL */
