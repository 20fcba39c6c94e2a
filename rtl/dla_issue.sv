// The issue stage: takes the words of a stream in order, ISSUE_CYCLES each, executes CFG, WAIT, IRQ, HALT and NOP,
// and hands operations to their units' queues.
//
// A word acts at the end of its last cycle, or as soon after as nothing holds it up. A word at fault takes no
// time: the cycle in which it shows is not one of the stream's unless a unit still works.

module dla_issue
  import dla_isa::*;
  import dla_memory::*;
  import dla_words::*;
#(
    parameter int unsigned SRAM_BYTES = 524288,
    parameter int unsigned INT16 = 0,
    parameter int unsigned MAC_SUMS = 0,
    parameter int unsigned PIXEL_ROWS = 1,
    parameter int unsigned PIXEL_COLUMNS = 1,
    parameter region_beats_t REGION_BEATS = {REGIONS{32'd8}},
    parameter int unsigned ISSUE_CYCLES = 1,
    parameter int unsigned CHECK_CYCLES = 16,  // of an operation, before its word's own
    parameter int unsigned QUEUE_DEPTH = 3,
    parameter int unsigned COMPUTE_OVERLAP = 1,  // 0: MAC and VECTOR take turns
    parameter bit UNPACKS = 0,  // OP_DMA_UNPACK is an instruction
    parameter bit DECODES = 0,  // OP_DMA_DECODE is
    parameter logic [31:0] FINGERPRINT = '0
) (
    input logic clock,
    input logic reset,
    // A stream begins with the next cycle: words [start_index, start_limit) of the queue, or one word of the host.
    input logic start,
    input logic start_from_queue,
    input logic [31:0] start_index,
    input logic [31:0] start_limit,
    input logic [63:0] host_word,
    // The fetch of the next cycle's word: what lies at fetch_index is taken at the end of this cycle.
    output logic [31:0] fetch_index,
    input logic [63:0] fetch_data,
    output logic [31:0] index,  // of the word at hand
    input logic [31:0] region_bytes[REGION_COUNT],
    // The host's access to the operand registers, while no stream runs
    input logic write_operand,
    input logic [OPERAND_INDEX_BITS-1:0] operand_index,
    input logic [31:0] operand_value,
    output operand_words_t words,
    // The units
    output logic [UNIT_COUNT-1:0] push,
    output logic [63:0] word,
    output products_t products,  // of the operation that is pushed
    output merged_t merged,
    input logic [8:0] outstanding[UNIT_COUNT],
    input logic [8:0] remaining[UNIT_COUNT],
    input logic settles,  // results of operations that have ended are on their way to the SRAM
    // What happens in this cycle
    output logic running,
    output logic from_queue,
    output logic counts,  // the cycle is one of the stream's
    output logic issuing,
    output logic waits,  // held up by WAIT, IRQ, HALT or a fault
    output logic waits_for_queue,
    output logic marker,  // IRQ is executed
    output logic halts,  // the stream ends
    output logic faults,  // the stream ends so
    output fault_t fault,
    output logic [31:0] fault_address
);
  localparam int unsigned LEAST_CHECKS = 16;
  if (ISSUE_CYCLES < 1) $error("issue_cycles must be at least 1: a word takes time");
  if (CHECK_CYCLES < LEAST_CHECKS) $error("check_cycles must be at least 16: an operand takes a cycle");

  operand_file_t file;
  logic [63:0] command, fetched;
  logic [31:0] limit, spent, own_cycles;
  assign file = operand_file_t'(words);

  // --------------------------------------------------------------------------------------------- the word at hand
  logic is_second;  // of a word that the host gave: HALT follows it
  logic [7:0] opcode;
  unit_t unit;
  assign is_second = index[0];
  assign word = from_queue ? fetched : is_second ? 64'(OPCODE_HALT) : command;
  assign opcode = word[OPCODE_LOW+:OPCODE_BITS];
  assign unit = unit_of(opcode);

  logic [CFG_REGISTER_BITS-1:0] cfg_number;
  logic [CFG_VALUE_BITS-1:0] cfg_value;
  logic [OPERAND_INDEX_BITS-1:0] cfg_index;
  assign cfg_number = word[CFG_REGISTER_LOW+:CFG_REGISTER_BITS] - FIRST_REGISTER;
  assign cfg_value = word[CFG_VALUE_LOW+:CFG_VALUE_BITS];
  assign cfg_index = cfg_number[OPERAND_INDEX_BITS-1:0];

  logic [WAIT_UNIT_BITS-1:0] wait_unit;
  logic [8:0] most_outstanding;
  assign wait_unit = word[WAIT_UNIT_LOW+:WAIT_UNIT_BITS];
  assign most_outstanding = 9'(word[WAIT_MAX_OUTSTANDING_LOW+:WAIT_MAX_OUTSTANDING_BITS]);

  // ------------------------------------------------------------------------------------------------------- faults
  logic is_operation;
  fault_t operand_fault;
  logic [31:0] operand_address;
  assign is_operation = unit != UNIT_ISSUE;
  dla_checks #(
      .SRAM_BYTES(SRAM_BYTES),
      .INT16(INT16),
      .MAC_SUMS(MAC_SUMS),
      .PIXEL_ROWS(PIXEL_ROWS),
      .PIXEL_COLUMNS(PIXEL_COLUMNS),
      .REGION_BEATS(REGION_BEATS),
      .CYCLES(LEAST_CHECKS),
      .UNPACKS(UNPACKS),
      .DECODES(DECODES)
  ) checks (
      .clock,
      .step(spent),
      .word,
      .file,
      .region_bytes,
      .fault(operand_fault),
      .address(operand_address),
      .products,
      .merged
  );

  logic is_absent;  // an instruction that this machine does not have
  assign is_absent = (opcode == OPCODE_OP_DMA_UNPACK && !UNPACKS) || (opcode == OPCODE_OP_DMA_DECODE && !DECODES);
  always_comb begin
    fault = FAULT_NONE;
    fault_address = '0;
    if (from_queue && index >= limit) fault = FAULT_QUEUE;
    else if (!is_instruction(word) || is_absent) fault = FAULT_ILLEGAL_INSTRUCTION;
    else if (opcode == OPCODE_CFG) begin
      fault_address = 32'(word[CFG_REGISTER_LOW+:CFG_REGISTER_BITS]) * 4;
      if (32'(cfg_number) >= OPERAND_COUNT) fault = FAULT_BAD_REGISTER;
      else if (!is_legal_operand(cfg_index, cfg_value)) fault = FAULT_BAD_VALUE;
      else if (32'(cfg_index) == OPERAND_REQUIRE_CONFIG && cfg_value != 0 && cfg_value != FINGERPRINT)
        fault = FAULT_CONFIG_MISMATCH;
    end else if (is_operation && spent >= CHECK_CYCLES) begin
      fault = operand_fault;
      fault_address = operand_address;
    end
  end

  // --------------------------------------------------------------------------------------------- what holds it up
  logic units_idle, units_idle_next, is_faulty, held, acts;
  logic ready, waits_long;  // the last of the word's own cycles; all of them have passed
  always_comb begin
    units_idle = 1'b1;
    units_idle_next = 1'b1;
    for (int unsigned u = 0; u < UNIT_COUNT; u++) begin
      if (outstanding[u] != 0) units_idle = 1'b0;
      if (remaining[u] != 0) units_idle_next = 1'b0;
    end
  end

  always_comb begin
    case (opcode)
      OPCODE_WAIT: held = remaining[wait_unit] > most_outstanding;
      OPCODE_IRQ, OPCODE_HALT: held = !units_idle_next;
      default:
      held = is_operation && (settles || remaining[unit[1:0]] >= 9'(QUEUE_DEPTH)
          || (COMPUTE_OVERLAP == 0 && unit == UNIT_MAC && remaining[UNIT_VECTOR[1:0]] != 0)
          || (COMPUTE_OVERLAP == 0 && unit == UNIT_VECTOR && remaining[UNIT_MAC[1:0]] != 0));
    endcase
  end

  assign is_faulty = running && fault != FAULT_NONE;
  assign faults = is_faulty && units_idle;
  assign counts = running && !faults;
  assign own_cycles = ISSUE_CYCLES + (is_operation ? CHECK_CYCLES : 0);
  assign ready = spent == own_cycles - 1;
  assign waits_long = spent == own_cycles;
  assign acts = running && !is_faulty && (ready || waits_long) && !held;
  assign issuing = counts && !is_faulty && !waits_long;
  assign waits_for_queue = counts && !is_faulty && waits_long && is_operation;
  assign waits = counts && (is_faulty || (waits_long && !is_operation));

  // ------------------------------------------------------------------------------------------------- what it does
  assign marker = acts && opcode == OPCODE_IRQ;
  assign halts = acts && opcode == OPCODE_HALT;
  for (genvar u = 0; u < UNIT_COUNT; u++) begin : pushes
    assign push[u] = acts && 32'(unit) == u;
  end

  // The operand registers: the bits of legal values, as others are refused.
  logic writes;
  logic [OPERAND_INDEX_BITS-1:0] written;
  logic [31:0] value;
  assign writes = write_operand || (acts && opcode == OPCODE_CFG);
  assign {written, value} = write_operand ? {operand_index, operand_value} : {cfg_index, 32'(cfg_value)};
  for (genvar i = 0; i < OPERAND_COUNT; i++) begin : operand
    localparam int unsigned BITS = OPERAND_KEPT_BITS[i];
    logic [BITS-1:0] kept;
    if (OPERAND_SIGNED[i]) assign words[i] = 32'($signed(kept));
    else assign words[i] = 32'(kept);
    always_ff @(posedge clock) begin
      if (reset) kept <= OPERAND_RESET[i][BITS-1:0];
      else if (writes && written == OPERAND_INDEX_BITS'(i)) kept <= value[BITS-1:0];
    end
  end

  assign fetch_index = start ? start_index : acts ? index + 1 : index;
  always_ff @(posedge clock) fetched <= fetch_data;

  always_ff @(posedge clock) begin
    if (reset) begin
      running <= 1'b0;
      from_queue <= 1'b0;
      {index, limit, spent} <= '0;
      command <= '0;
    end else begin
      if (start) begin
        running <= 1'b1;
        from_queue <= start_from_queue;
        index <= start_from_queue ? start_index : '0;
        limit <= start_limit;
        command <= host_word;
        spent <= '0;
      end else if (halts || faults) running <= 1'b0;
      else if (acts) begin
        index <= index + 1;
        spent <= '0;
      end else if (running && !is_faulty && !waits_long) spent <= spent + 1;
    end
  end
endmodule
