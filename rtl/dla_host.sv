// The register window: what the host reads and writes, the command queue's pointers, interrupts, counters.
//
// A write takes effect with the next cycle; one that the table does not allow sets STATUS.refused. While a stream
// runs, counters and operand registers show how far it has come.

module dla_host
  import dla_isa::*;
#(
    parameter int unsigned PES = 64,
    parameter int unsigned INPUT_LANES = 1,
    parameter int unsigned OUTPUT_LANES = 64,
    parameter int unsigned SRAM_BYTES = 524288,
    parameter logic [31:0] FINGERPRINT = '0
) (
    input logic clock,
    input logic reset,
    output logic soft_reset,  // CONTROL.reset is written
    // The bus: whole registers only
    input logic write,
    input logic [ADDRESS_BITS-1:0] address,
    input logic [31:0] write_data,
    output logic [31:0] read_data,
    output logic irq,
    // System memory as the registers describe it
    output logic [31:0] region_base[REGION_COUNT],
    output logic [31:0] region_bytes[REGION_COUNT],
    output logic [31:0] queue_base,
    // The issue stage
    output logic start,
    output logic start_from_queue,
    output logic [31:0] start_index,
    output logic [31:0] start_limit,
    output logic [63:0] host_word,
    output logic write_operand,
    output logic [OPERAND_INDEX_BITS-1:0] operand_index,
    input operand_words_t operand_words,
    input logic running,
    input logic from_queue,
    input logic [31:0] index,
    input logic marker,
    input logic halts,
    input logic faults,
    input fault_t fault,
    input logic [31:0] fault_address,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic [31:0] count[COUNTER_COUNT]  // what this cycle adds to each counter
    /* verilator lint_on UNUSEDSIGNAL */
);
  localparam int unsigned MOST_LANES = 65535;
  localparam logic [15:0] SHOWN_INPUTS = INPUT_LANES < MOST_LANES ? 16'(INPUT_LANES) : 16'(MOST_LANES);
  localparam logic [15:0] SHOWN_OUTPUTS = OUTPUT_LANES < MOST_LANES ? 16'(OUTPUT_LANES) : 16'(MOST_LANES);

  logic has_faulted, refused, irq_done, irq_marker, irq_fault, rung;
  logic [2:0] irq_enable;
  logic [31:0] streams_done, queue_size, queue_read, tail, command_low;
  fault_t error_code;
  logic [31:0] error_position, error_address;
  logic [COUNTER_BITS-1:0] counters[COUNTER_COUNT];

  // ------------------------------------------------------------------------------------- which writes are allowed
  logic is_stopped;  // on a fault; shown in the cycle in which it is found
  assign is_stopped = has_faulted || faults;
  logic is_operand, is_known, is_locked, is_accepted, rings, commands;
  logic [ADDRESS_BITS-1:0] operand_offset;
  assign operand_offset = address - ADDRESS_OPERANDS;
  assign operand_index = operand_offset[2+:OPERAND_INDEX_BITS];
  assign is_operand = address >= ADDRESS_OPERANDS && address[1:0] == 0
      && 32'(operand_offset) < 4 * OPERAND_COUNT;
  assign is_locked = (running || is_stopped) && !is_writable_while_busy(address);
  always_comb begin
    is_known = is_operand
        ? is_legal_operand(operand_index, write_data)
            && (32'(operand_index) != OPERAND_REQUIRE_CONFIG || write_data == 0 || write_data == FINGERPRINT)
        : is_writable(address) && is_legal_control(address, write_data);
    if (address == ADDRESS_DOORBELL && (write_data > queue_size || is_stopped)) is_known = 1'b0;
  end
  assign is_accepted = write && is_known && !is_locked;
  assign soft_reset = is_accepted && address == ADDRESS_CONTROL && write_data[0];
  assign write_operand = is_accepted && is_operand;
  assign rings = is_accepted && address == ADDRESS_DOORBELL;
  assign commands = is_accepted && address == ADDRESS_COMMAND_HIGH;

  // ------------------------------------------------------------------- the next stream: at a doorbell, or at HALT
  logic looks, is_due, queue_is_bad, finishes;
  logic [31:0] next_read, next_tail;
  assign finishes = halts && from_queue;
  assign next_read = finishes ? index + 1 : queue_read;
  assign next_tail = rings ? write_data : tail;
  assign looks = halts || (rings && !running);
  assign is_due = looks && (rings || rung) && next_read < next_tail;
  assign queue_is_bad = queue_base[2:0] != 0
      || 36'(queue_base) + 36'(next_tail) * WORD_BYTES > 36'(region_bytes[REGION_COMMANDS]);
  assign start = commands || (is_due && !queue_is_bad);
  assign start_from_queue = !commands;
  assign start_index = next_read;
  assign start_limit = next_tail;
  assign host_word = {write_data, command_low};

  // -------------------------------------------------------------------------------------------------- the registers
  always_ff @(posedge clock) begin
    if (reset) begin
      {has_faulted, refused, irq_done, irq_marker, irq_fault, rung} <= '0;
      irq_enable <= '0;
      {streams_done, queue_base, queue_size, queue_read, tail, command_low} <= '0;
      error_code <= FAULT_NONE;
      {error_position, error_address} <= '0;
    end else begin
      if (write && !is_accepted) refused <= 1'b1;
      if (is_accepted)
        case (address)
          ADDRESS_IRQ_ENABLE: irq_enable <= write_data[2:0];
          ADDRESS_IRQ_ACK: begin
            if (write_data[0]) irq_done <= 1'b0;
            if (write_data[1]) irq_marker <= 1'b0;
            if (write_data[2]) irq_fault <= 1'b0;
          end
          ADDRESS_QUEUE_BASE: queue_base <= write_data;
          ADDRESS_QUEUE_SIZE: queue_size <= write_data;
          ADDRESS_QUEUE_READ: queue_read <= write_data;
          ADDRESS_COMMAND_LOW: command_low <= write_data;
          default: ;
        endcase
      tail <= next_tail;
      if (looks) rung <= is_due;
      else if (rings) rung <= 1'b1;
      if (marker) irq_marker <= 1'b1;
      if (halts) irq_done <= 1'b1;
      if (finishes) begin
        queue_read <= next_read;
        streams_done <= streams_done + 1;
      end
      if (faults || (is_due && queue_is_bad)) begin
        has_faulted <= 1'b1;
        irq_fault <= 1'b1;
        error_code <= faults ? fault : FAULT_QUEUE;
        error_position <= faults ? index : next_read;
        error_address <= faults ? fault_address : queue_base;
      end
    end
  end
  for (genvar r = 0; r < REGION_COUNT; r++) begin : region
    localparam logic [ADDRESS_BITS-1:0] BASE = ADDRESS_REGION0_BASE + ADDRESS_BITS'(8 * r);
    localparam logic [ADDRESS_BITS-1:0] SIZE = ADDRESS_REGION0_SIZE + ADDRESS_BITS'(8 * r);
    always_ff @(posedge clock) begin
      if (reset) begin
        region_base[r] <= '0;
        region_bytes[r] <= '0;
      end else if (is_accepted) begin
        if (address == BASE) region_base[r] <= write_data;
        if (address == SIZE) region_bytes[r] <= write_data;
      end
    end
  end
  // Most count cycles, two at a time where two units may wait. The high half is counted without waiting for the carry.
  localparam int unsigned LOW_BITS = COUNTER_BITS / 2;
  function automatic int unsigned count_bits(input int unsigned counter);
    case (counter)
      COUNT_MACS, COUNT_MACS_POSSIBLE: return $clog2(PES + 1);
      COUNT_BYTES_READ, COUNT_BYTES_WRITTEN: return LOW_BITS;
      default: return 2;
    endcase
  endfunction
  for (genvar c = 0; c < COUNTER_COUNT; c++) begin : counter
    localparam int unsigned BITS = count_bits(c);
    logic [LOW_BITS:0] low;  // with the carry
    assign low = (LOW_BITS + 1)'(counters[c][LOW_BITS-1:0]) + (LOW_BITS + 1)'(count[c][BITS-1:0]);
    always_ff @(posedge clock) begin
      if (reset) counters[c] <= '0;
      else begin
        counters[c][LOW_BITS-1:0] <= low[LOW_BITS-1:0];
        if (low[LOW_BITS]) counters[c][COUNTER_BITS-1:LOW_BITS] <= counters[c][COUNTER_BITS-1:LOW_BITS] + 1'b1;
      end
    end
  end
  assign irq = |({irq_fault || faults, irq_marker, irq_done} & irq_enable);

  // --------------------------------------------------------------------------------------------------------- reads
  logic [ADDRESS_BITS-1:0] counter_offset, region_offset;
  assign counter_offset = address - ADDRESS_COUNTERS;
  assign region_offset = address - ADDRESS_REGION0_BASE;
  always_comb begin
    read_data = '0;
    if (is_operand) read_data = operand_words[operand_index];
    else if (address >= ADDRESS_COUNTERS && 32'(counter_offset) < 8 * COUNTER_COUNT && address[1:0] == 0)
      read_data = address[2] ? 32'(counters[counter_offset[7:3]][COUNTER_BITS-1:32]) : counters[counter_offset[7:3]][31:0];
    else if (address >= ADDRESS_REGION0_BASE && 32'(region_offset) < 8 * REGION_COUNT && address[1:0] == 0)
      read_data = address[2] ? region_bytes[region_offset[5:3]] : region_base[region_offset[5:3]];
    else
      case (address)
        ADDRESS_ID: read_data = RESET_ID;
        ADDRESS_ISA_VERSION: read_data = RESET_ISA_VERSION;
        ADDRESS_CAP_PES: read_data = PES;
        ADDRESS_CAP_GRID: read_data = {SHOWN_OUTPUTS, SHOWN_INPUTS};
        ADDRESS_CAP_SRAM_BYTES: read_data = SRAM_BYTES;
        ADDRESS_CAP_CONFIG: read_data = FINGERPRINT;
        ADDRESS_STATUS: read_data = {29'b0, refused, is_stopped, running && !faults};
        ADDRESS_IRQ_STATUS: read_data = {29'b0, irq_fault || faults, irq_marker, irq_done};
        ADDRESS_IRQ_ENABLE: read_data = {29'b0, irq_enable};
        ADDRESS_STREAMS_DONE: read_data = streams_done;
        ADDRESS_QUEUE_BASE: read_data = queue_base;
        ADDRESS_QUEUE_SIZE: read_data = queue_size;
        ADDRESS_QUEUE_READ: read_data = queue_read;
        ADDRESS_ERROR_CODE: read_data = faults ? 32'(fault) : 32'(error_code);
        ADDRESS_ERROR_POSITION: read_data = faults ? index : error_position;
        ADDRESS_ERROR_ADDRESS: read_data = faults ? fault_address : error_address;
        default: ;
      endcase
  end
endmodule
