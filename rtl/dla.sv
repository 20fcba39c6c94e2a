// The accelerator: register window, issue stage, four units with their queues, the SRAM, and the bus of system
// memory. docs/rtl.md has the picture. The parameters are those of the machine's configuration (sim/configuration/config.py);
// bandwidths are in bytes per cycle, and FINGERPRINT is what a program is lowered for.

module dla
  import dla_isa::*;
  import dla_memory::*;
  import dla_words::*;
#(
    parameter int unsigned INPUT_LANES = 1,
    parameter int unsigned OUTPUT_LANES = 64,
    parameter int unsigned PIXEL_ROWS = 1,  // of the output that MAC computes at once
    parameter int unsigned PIXEL_COLUMNS = 1,
    parameter int unsigned SRAM_BYTES = 524288,
    parameter int unsigned SRAM_BANDWIDTH = 0,  // of each port and bank; 0: no limit
    parameter int unsigned SRAM_PORTS = 4,
    parameter int unsigned SRAM_DMA_PORTS = 0,  // of its own for each direction of the DMA
    parameter int unsigned SRAM_BANKS = 8,
    parameter int unsigned LINE_BUFFER_BYTES = 16384,  // of MAC and of VECTOR; 0: no limit
    parameter int unsigned WEIGHT_BUFFER_BYTES = 8192,
    parameter int unsigned ACCUMULATORS = 32,
    parameter int unsigned MAC_WEIGHTS = 0,  // that reach the array in a cycle; 0: no limit
    parameter int unsigned MAC_STEP_GROUP = 1,
    parameter int unsigned MAC_HANDOVER = 0,  // of sums: 0 one by one, 1 in whole blocks
    // Cycles of a result in the output stage, in parts of 65536; 0: no limit
    parameter int unsigned MAC_RESULT_CYCLES = 0,
    parameter int unsigned VECTOR_REQUANTIZATION_CYCLES = 0,
    parameter int unsigned VECTOR_DIVISION_CYCLES = 0,
    parameter int unsigned DMA_BANDWIDTH = 8,  // each way
    parameter int unsigned DMA_SHARED_BANDWIDTH = 0,  // both ways together; 0: no limit
    parameter int unsigned DMA_LATENCY = 64,
    parameter int unsigned DMA_BURST_BYTES = 64,
    parameter int unsigned DMA_BURST_OVERHEAD = 0,
    parameter int unsigned DMA_UNPACKING = 0,  // packed bytes of a beat; 0: no OP_DMA_UNPACK
    parameter int unsigned DMA_DECODING = 0,  // bytes of code that are decoded in a cycle; 0: no OP_DMA_DECODE
    parameter int unsigned MEMORIES = 1,  // behind the DMA; DMA_... describes the first, number 0
    parameter named_t NAMED_MEMORIES = '0,  // the others
    parameter numbers_t REGION_MEMORIES = '0,  // the number of the memory in which a region lies
    parameter int unsigned VECTOR_LANES = 16,
    parameter int unsigned INT16 = 0,  // whether MAC and VECTOR have elements of int16
    parameter int unsigned MAC_SUMS = 0,  // whether MAC can add a tensor to its results
    parameter int unsigned ISSUE_CYCLES = 1,
    parameter int unsigned CHECK_CYCLES = 16,
    parameter int unsigned QUEUE_DEPTH = 3,
    parameter int unsigned COMPUTE_OVERLAP = 1,
    parameter int unsigned MAC_FILL = 4,
    parameter int unsigned MAC_DRAIN = 6,
    parameter int unsigned VECTOR_FILL = 2,
    parameter int unsigned VECTOR_DRAIN = 8,
    parameter logic [31:0] FINGERPRINT = 32'd1,
    // What follows; a beat is what one transfer alone moves in a cycle at most.
    parameter memories_t MEMORY =
        memories_of(NAMED_MEMORIES, DMA_SHARED_BANDWIDTH, DMA_LATENCY, DMA_BURST_BYTES, DMA_BURST_OVERHEAD),
    parameter int unsigned PORTS = SRAM_PORTS < SRAM_BANKS ? SRAM_PORTS : SRAM_BANKS,  // each of which finds a bank
    parameter int unsigned DMA_WORDS = SRAM_DMA_PORTS != 0 ? 1 : PORTS,  // of a transfer in a cycle
    parameter int unsigned PORT_BYTES = SRAM_BANDWIDTH * DMA_WORDS,
    parameter int unsigned BEAT_BYTES = most_beat_bytes(MEMORY, MEMORIES, DMA_BANDWIDTH, PORT_BYTES)
) (
    input logic clock,
    input logic reset,
    // The host
    input logic host_write,
    input logic [ADDRESS_BITS-1:0] host_address,
    input logic [31:0] host_write_data,
    output logic [31:0] host_read_data,
    output logic irq,
    // Commands: the word at this address of system memory, before this cycle ends
    output logic [31:0] fetch_address,
    input logic [63:0] fetch_data,
    // Data: bytes from an address on, which arrive in the next cycle
    output logic memory_read,
    output logic [31:0] memory_read_address,
    input logic [8*BEAT_BYTES-1:0] memory_read_data,
    // Data: bytes from an address on, those whose bit is set
    output logic [BEAT_BYTES-1:0] memory_write,
    output logic [31:0] memory_write_address,
    output logic [8*BEAT_BYTES-1:0] memory_write_data,
    // For observers: what happens at the end of this cycle
    output logic watch_running,
    output logic watch_counts,  // the cycle is one of the stream's
    output logic [UNIT_COUNT-1:0] watch_issued,
    output logic [UNIT_COUNT-1:0] watch_done,
    output logic watch_marker,
    output logic watch_ends,
    output logic [31:0] watch_sram_bytes[UNIT_COUNT],  // of operands that cross the SRAM's ports
    output logic [31:0] watch_sram_words[UNIT_COUNT]  // that cross them
);
  // The bits of an address of the SRAM, and one more to go beyond it: checks have seen that operands lie in it.
  localparam logic [31:0] PLACE = (32'd2 << $clog2(SRAM_BYTES)) - 1;
  localparam int unsigned PES = INPUT_LANES * OUTPUT_LANES, PIXELS = PIXEL_ROWS * PIXEL_COLUMNS;  // PEs of each pixel
  localparam int unsigned MAC_LANES = OUTPUT_LANES == 1 ? PES : OUTPUT_LANES;
  localparam int unsigned INPUTS = MAC_LANES > INPUT_LANES ? MAC_LANES : INPUT_LANES;
  localparam int unsigned OFFSET_BITS = $clog2(INPUTS + 1) + INT16;  // of an input from the first
  if (SRAM_BANDWIDTH == 1 || (SRAM_BANDWIDTH & (SRAM_BANDWIDTH - 1)) != 0)
    $error("sram_bandwidth must be a power of 2 and not 1: a word's bytes are the low bits of an address");
  if (DMA_BANDWIDTH < 1) $error("dma_bandwidth must be at least 1: a bus has a width");

  // Of a beat that is packed: its bytes, which become twice as many that the SRAM's ports can take
  localparam int unsigned MOST_PACKED = PORT_BYTES != 0 && PORT_BYTES < 2 * BEAT_BYTES ? PORT_BYTES / 2 : BEAT_BYTES;
  localparam int unsigned PACKED_BYTES = DMA_UNPACKING < MOST_PACKED ? DMA_UNPACKING : MOST_PACKED;
  localparam int unsigned SPREAD_BYTES = 2 * PACKED_BYTES < BEAT_BYTES ? BEAT_BYTES : 2 * PACKED_BYTES;
  localparam paces_t PACES = paces_of(MEMORY, MEMORIES, DMA_BANDWIDTH, PORT_BYTES, DMA_UNPACKING, DMA_DECODING);
  localparam int unsigned WRITTEN_BYTES = DMA_DECODING != 0 && SPREAD_BYTES < STEP_WEIGHTS ? STEP_WEIGHTS : SPREAD_BYTES;
  // Banks, for sizes of wires one of a byte where there is no limit
  localparam int unsigned BANK_BYTES = SRAM_BANDWIDTH == 0 ? 1 : SRAM_BANDWIDTH, BANKS = SRAM_BANDWIDTH == 0 ? 1 : SRAM_BANKS;
  // Runs as wide as all banks must not meet one of them twice, however they begin.
  localparam bit SHIFTED = BANKS % 2 == 0 || PORTS < BANKS;
  localparam int unsigned ALL_PORTS = PORTS + 2 * SRAM_DMA_PORTS;
  localparam int unsigned REQUEST_WORDS = transfer_words(BANK_BYTES, DMA_WORDS, WRITTEN_BYTES);
  // Words of results that a unit asks for together, and how many of them it hands over to the ports
  localparam int unsigned MAC_WORDS = writer_words(
      BANK_BYTES, PORTS, mac_chunk(BANK_BYTES, PORTS, MAC_LANES, PIXELS, MAC_HANDOVER != 0 ? 0 : MAC_RESULT_CYCLES), 1);
  localparam int unsigned VECTOR_WORDS =
      writer_words(BANK_BYTES, PORTS, vector_chunk(BANK_BYTES, PORTS, VECTOR_LANES), 2);
  localparam int unsigned MAC_TURNS = 1 << $clog2(MAC_WORDS), VECTOR_TURNS = 1 << $clog2(VECTOR_WORDS);
  localparam int unsigned DMA_IN = 32'(UNIT_DMA_IN), DMA_OUT = 32'(UNIT_DMA_OUT);
  localparam int unsigned MAC = 32'(UNIT_MAC), VECTOR = 32'(UNIT_VECTOR);

  // ---------------------------------------------------------------------------------------------- host and issue
  logic restart, soft_reset;
  assign restart = reset || soft_reset;

  logic start, start_from_queue, write_operand, running, from_queue, issuing, waits, waits_for_queue;
  logic marker, halts, faults;
  logic [31:0] start_index, start_limit, fetch_index, index, fault_address, queue_base;
  logic [63:0] host_word;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [63:0] word;  // operations that compute have no fields beyond bit 14
  /* verilator lint_on UNUSEDSIGNAL */
  logic [OPERAND_INDEX_BITS-1:0] operand_index;
  logic [31:0] region_base[REGION_COUNT], region_bytes[REGION_COUNT];
  operand_words_t operand_words;
  operand_file_t file;
  products_t products;
  merged_t merged;
  fault_t fault;
  logic [UNIT_COUNT-1:0] push, busy, done;
  logic [8:0] outstanding[UNIT_COUNT], remaining[UNIT_COUNT];
  logic [31:0] count[COUNTER_COUNT];

  logic mac_settled, vector_settled;  // results of operations that are done have crossed
  logic [7:0] mac_result_words, vector_result_words, mac_first, vector_first;
  logic [8*BANK_BYTES-1:0] mac_words[MAC_TURNS], vector_words[VECTOR_TURNS];
  logic [BANK_BYTES-1:0] mac_strobes[MAC_TURNS], vector_strobes[VECTOR_TURNS];

  dla_host #(
      .PES(PIXELS * PES),
      .INPUT_LANES(INPUT_LANES),
      .OUTPUT_LANES(OUTPUT_LANES),
      .SRAM_BYTES(SRAM_BYTES),
      .FINGERPRINT(FINGERPRINT)
  ) host (
      .clock,
      .reset(restart),
      .soft_reset,
      .write(host_write),
      .address(host_address),
      .write_data(host_write_data),
      .read_data(host_read_data),
      .irq,
      .region_base,
      .region_bytes,
      .queue_base,
      .start,
      .start_from_queue,
      .start_index,
      .start_limit,
      .host_word,
      .write_operand,
      .operand_index,
      .operand_words,
      .running,
      .from_queue,
      .index,
      .marker,
      .halts,
      .faults,
      .fault,
      .fault_address,
      .count
  );

  dla_issue #(
      .SRAM_BYTES(SRAM_BYTES),
      .INT16(INT16),
      .MAC_SUMS(MAC_SUMS),
      .PIXEL_ROWS(PIXEL_ROWS),
      .PIXEL_COLUMNS(PIXEL_COLUMNS),
      .REGION_BEATS(region_beats(PACES, REGION_MEMORIES)),
      .ISSUE_CYCLES(ISSUE_CYCLES),
      .CHECK_CYCLES(CHECK_CYCLES),
      .QUEUE_DEPTH(QUEUE_DEPTH),
      .COMPUTE_OVERLAP(COMPUTE_OVERLAP),
      .UNPACKS(DMA_UNPACKING != 0),
      .DECODES(DMA_DECODING != 0),
      .FINGERPRINT(FINGERPRINT)
  ) issue (
      .clock,
      .reset(restart),
      .start,
      .start_from_queue,
      .start_index,
      .start_limit,
      .host_word,
      .fetch_index,
      .fetch_data,
      .index,
      .region_bytes,
      .write_operand,
      .operand_index,
      .operand_value(host_write_data),
      .words(operand_words),
      .push,
      .word,
      .products,
      .merged,
      .outstanding,
      .remaining,
      .settles(!(mac_settled && vector_settled)),
      .running,
      .from_queue,
      .counts(watch_counts),
      .issuing,
      .waits,
      .waits_for_queue,
      .marker,
      .halts,
      .faults,
      .fault,
      .fault_address
  );
  assign file = operand_file_t'(operand_words);
  assign fetch_address = region_base[REGION_COMMANDS] + queue_base + WORD_BYTES * fetch_index;
  assign watch_running = running;
  assign watch_issued = push;
  assign watch_done = done;
  assign watch_marker = marker;
  assign watch_ends = halts || faults;

  // ------------------------------------------------------------------------------------------------------- queues
  // Of a word: init or mode, out, quant, and elements if there is a choice; of one of MAC also sum and weights, likewise
  localparam int unsigned FIELD_BITS = (INT16 != 0 ? ELEMENTS_LOW + ELEMENTS_BITS : QUANT_LOW + QUANT_BITS) - INIT_LOW;
  localparam int unsigned MAC_FIELD_BITS = INT16 != 0 ? WEIGHTS_LOW + WEIGHTS_BITS - INIT_LOW
      : MAC_SUMS != 0 ? SUM_LOW + SUM_BITS - INIT_LOW : FIELD_BITS;
  typedef struct packed {
    logic [7:0] opcode;
    logic [MAC_FIELD_BITS-1:0] fields;
    mac_slot_t slot;
    products_t products;
  } mac_operation_t;
  typedef struct packed {
    logic [7:0] opcode;
    logic [FIELD_BITS-1:0] fields;
    vector_slot_t slot;
    walk_t walk;
  } vector_operation_t;
  typedef struct packed {
    dma_slot_t slot;
    merged_t merged;
    logic unpacks;  // then it is one run, and the stride of runs holds its packed bytes
    logic decodes;  // likewise, and it holds the words; that of planes the steps
  } dma_operation_t;
  dma_operation_t dma_issued[2], dma_head[2];
  mac_operation_t mac_issued, mac_head;
  vector_operation_t vector_issued, vector_head;

  always_comb begin
    dma_issued[DMA_IN] = {dma_in_slot(file, PLACE), merged, 2'b0};
    dma_issued[DMA_OUT] = {dma_out_slot(file, PLACE), merged, 2'b0};
    if (DMA_UNPACKING != 0 && word[OPCODE_LOW+:OPCODE_BITS] == OPCODE_OP_DMA_UNPACK) begin
      dma_issued[DMA_IN].unpacks = 1'b1;
      dma_issued[DMA_IN].slot.run_stride = 31'(word[PACKED_LOW+:PACKED_BITS]) << 1;
    end
    if (DMA_DECODING != 0 && word[OPCODE_LOW+:OPCODE_BITS] == OPCODE_OP_DMA_DECODE) begin
      dma_issued[DMA_IN].decodes = 1'b1;
      dma_issued[DMA_IN].slot.run_stride = 31'(word[WORDS_LOW+:WORDS_BITS]);
      dma_issued[DMA_IN].slot.plane_stride = 31'(word[STEPS_LOW+:STEPS_BITS]);
    end
  end
  assign mac_issued = {word[OPCODE_LOW+:OPCODE_BITS], word[INIT_LOW+:MAC_FIELD_BITS], mac_slot(file, PLACE, MAC_SUMS != 0), products};
  // An operation of VECTOR has a window or what follows here, never both: they stand in the same bits of a slot. So do steps
  // from tap to tap and strides of a second operand.
  localparam int unsigned WINDOW_BITS = 112, SCALE_BITS = 116;
  function automatic vector_slot_t put_window(input vector_slot_t slot, input logic has_window);
    put_window = slot;
    if (has_window)
      {put_window.fill_value, put_window.limit, put_window.left_shift, put_window.shift_amount, put_window.in2_zp, put_window.in_mult,
       put_window.in_shift, put_window.in2_mult, put_window.in2_shift} =
          SCALE_BITS'({slot.kernel, slot.stride, slot.dilation, slot.pad[15:0]});
    {put_window.kernel, put_window.stride, put_window.dilation, put_window.pad[15:0]} = '0;
    {put_window.in2_row_stride, put_window.in2_pixel_stride, put_window.in_channels} = '0;
  endfunction
  function automatic vector_slot_t take_window(input vector_slot_t slot, input logic [31:0] row_stride, pixel_stride);
    take_window = slot;
    {take_window.kernel, take_window.stride, take_window.dilation, take_window.pad[15:0]} =
        WINDOW_BITS'({slot.fill_value, slot.limit, slot.left_shift, slot.shift_amount, slot.in2_zp, slot.in_mult, slot.in_shift,
                      slot.in2_mult, slot.in2_shift});
    {take_window.in2_row_stride, take_window.in2_pixel_stride} = {row_stride, pixel_stride};
  endfunction
  logic has_window;
  walk_t vector_walk;
  assign has_window = word[OPCODE_LOW+:OPCODE_BITS] == OPCODE_OP_POOL;
  always_comb begin
    vector_walk = products.walk;
    if (!has_window)
      {vector_walk.tap_row_step, vector_walk.tap_column_step} = {file.in2_row_stride & PLACE, file.in2_pixel_stride & PLACE};
  end
  assign vector_issued = {word[OPCODE_LOW+:OPCODE_BITS], word[INIT_LOW+:FIELD_BITS],
                          put_window(vector_slot(file, PLACE), has_window), vector_walk};

  for (genvar d = 0; d < 2; d++) begin : dma_queue
    dla_queue #(
        .WIDTH($bits(dma_operation_t)),
        .DEPTH(QUEUE_DEPTH)
    ) queue (
        .clock,
        .reset(restart),
        .push(push[d]),
        .pushed(dma_issued[d]),
        .pop(done[d]),
        .valid(busy[d]),
        .head(dma_head[d]),
        .outstanding(outstanding[d]),
        .remaining(remaining[d])
    );
  end
  dla_queue #(
      .WIDTH($bits(mac_operation_t)),
      .DEPTH(QUEUE_DEPTH)
  ) mac_queue (
      .clock,
      .reset(restart),
      .push(push[MAC]),
      .pushed(mac_issued),
      .pop(done[MAC]),
      .valid(busy[MAC]),
      .head(mac_head),
      .outstanding(outstanding[MAC]),
      .remaining(remaining[MAC])
  );
  dla_queue #(
      .WIDTH($bits(vector_operation_t)),
      .DEPTH(QUEUE_DEPTH)
  ) vector_queue (
      .clock,
      .reset(restart),
      .push(push[VECTOR]),
      .pushed(vector_issued),
      .pop(done[VECTOR]),
      .valid(busy[VECTOR]),
      .head(vector_head),
      .outstanding(outstanding[VECTOR]),
      .remaining(remaining[VECTOR])
  );

  // ------------------------------------------------------------------------------------------------------ transfers
  logic [NUMBER_BITS-1:0] memory[2];  // of the region of each transfer
  logic [1:0] wants_bus, delivers, beat, bus_room, crossed, flush;
  logic [1:0] is_packed, is_code, step_ends, dma_starts;
  logic [4:0] step_beat[2];
  logic [1:0] code_crosses;
  logic [6:0] code_bytes;  // that a step writes, the cycle after its last beat
  logic [31:0] code_place;
  logic [31:0] system_address[2], beat_bytes[2];
  pieces_t pieces[2];
  dla_dma_bus #(
      .MEMORIES(MEMORIES),
      .ALONE_OF(alone_of(MEMORY, MEMORIES, DMA_BANDWIDTH, PORT_BYTES)),
      .TOGETHER_OF(together_of(MEMORY, MEMORIES, DMA_BANDWIDTH, PORT_BYTES))
  ) bus (
      .clock,
      .reset(restart),
      .memory,
      .wants(wants_bus),
      .done(done[1:0]),
      .delivers
  );
  for (genvar d = 0; d < 2; d++) begin : dma
    assign memory[d] = REGION_MEMORIES[dma_head[d].slot.region];
    dla_dma #(
        .BEAT_BYTES(BEAT_BYTES),
        .MEMORIES(MEMORIES),
        .PARTS(parts_of(MEMORY, MEMORIES)),
        .PACES(d == DMA_IN ? PACES : copying(PACES)),
        .QUEUE_DEPTH(QUEUE_DEPTH),
        .PLACE(PLACE)
    ) engine (
        .clock,
        .reset(restart),
        .push(push[d]),
        .pushed_memory(REGION_MEMORIES[dma_issued[d].slot.region]),
        .outstanding(outstanding[d]),
        .memory(memory[d]),
        .operands(dma_kept(dma_head[d].slot)),
        .merged(dma_head[d].merged),
        .packed_bytes(dma_head[d].unpacks ? 32'(dma_head[d].slot.run_stride) : '0),
        .decodes(dma_head[d].decodes),
        .code_words(dma_head[d].slot.run_stride[19:0]),
        .code_steps(dma_head[d].slot.plane_stride[19:0]),
        .region_base(region_base[dma_head[d].slot.region]),
        .room(bus_room[d] && !code_crosses[d]),
        .crossed(crossed[d]),
        .starts(dma_starts[d]),
        .wants_bus(wants_bus[d]),
        .delivers(delivers[d]),
        .done(done[d]),
        .flush(flush[d]),
        .beat(beat[d]),
        .system_address(system_address[d]),
        .beat_bytes(beat_bytes[d]),
        .is_packed(is_packed[d]),
        .is_code(is_code[d]),
        .step_beat(step_beat[d]),
        .step_ends(step_ends[d]),
        .pieces(pieces[d])
    );
  end

  // Where the SRAM's ports are limited, the words of beats cross them too.
  localparam int unsigned SLOTS = 4;  // streams of words that a unit can have at the ports
  request_t request[UNIT_COUNT][SLOTS];
  logic [31:0] crossed_bytes[UNIT_COUNT][SLOTS];
  logic [SLOTS-1:0] takes[UNIT_COUNT];
  for (genvar d = 0; d < 2; d++) begin : single
    for (genvar s = 1; s < SLOTS; s++) begin : unused_slot
      assign {request[d][s], crossed_bytes[d][s]} = '0;
      logic unused;
      assign unused = &{1'b0, takes[d][s]};
    end
  end

  always_comb begin
    for (int unsigned u = 0; u < UNIT_COUNT; u++) begin
      watch_sram_bytes[u] = '0;
      watch_sram_words[u] = '0;
`ifndef SYNTHESIS  // a chip has no use for them
      for (int unsigned s = 0; s < SLOTS; s++) begin
        watch_sram_bytes[u] = watch_sram_bytes[u] + crossed_bytes[u][s];
        if (takes[u][s] && (s != 0 || u == DMA_IN || u == DMA_OUT))
          watch_sram_words[u] = watch_sram_words[u] + 32'(request[u][s].words);
      end
      // Those of results count before they have come.
      if (u == MAC) watch_sram_words[u] = watch_sram_words[u] + 32'(mac_result_words);
      if (u == VECTOR) watch_sram_words[u] = watch_sram_words[u] + 32'(vector_result_words);
`endif
    end
  end

  // A beat's data comes from system memory in the cycle after its addresses.
  logic arrives_packed;
  logic [7:0] memory_data[BEAT_BYTES], arriving_data[SPREAD_BYTES];
  logic code_reads;
  logic [31:0] code_address;
  logic [7:0] weights[STEP_WEIGHTS];
  assign memory_read = is_code[DMA_IN] ? code_reads : beat[DMA_IN];
  assign memory_read_address = is_code[DMA_IN] ? code_address : system_address[DMA_IN];
  for (genvar i = 0; i < BEAT_BYTES; i++) begin : beat_byte
    assign memory_data[i] = memory_read_data[8*i+:8];
  end
  if (PACKED_BYTES == 0) begin : copies
    assign arrives_packed = 1'b0;
    assign arriving_data = memory_data;
    logic unused;
    assign unused = &{1'b0, is_packed, arrives_packed};
  end else begin : unpacks
    always_ff @(posedge clock) arrives_packed <= is_packed[DMA_IN];
    dla_unpacker #(
        .BEAT_BYTES(BEAT_BYTES),
        .PACKED_BYTES(PACKED_BYTES),
        .SPREAD_BYTES(SPREAD_BYTES)
    ) unpacker (
        .is_packed(arrives_packed),
        .packed_data(memory_data),
        .data(arriving_data)
    );
    logic unused;
    assign unused = &{1'b0, is_packed[DMA_OUT]};
  end
  if (DMA_DECODING == 0) begin : no_code
    assign {code_reads, code_bytes, code_address, code_place} = '0;
    for (genvar i = 0; i < STEP_WEIGHTS; i++) begin : none
      assign weights[i] = '0;
    end
    logic unused;
    assign unused = &{1'b0, dma_starts, step_beat[0], step_beat[1], step_ends, is_code, code_bytes, code_place};
  end else begin : code
    logic [31:0] room;
    assign room = 32'(dma_head[DMA_IN].slot.run_bytes) + (32'(dma_head[DMA_IN].slot.run_stride) << 4)
        - dma_head[DMA_IN].merged.run_bytes;
    dla_decoding #(
        .BEAT_BYTES(BEAT_BYTES),
        .PLACE(PLACE)
    ) decoding (
        .clock,
        .reset(restart),
        .starts(dma_starts[DMA_IN]),
        .first_address(region_base[dma_head[DMA_IN].slot.region] + 32'(dma_head[DMA_IN].slot.offset)),
        .first_place(dma_head[DMA_IN].slot.sram_addr),
        .first_room(room & PLACE),
        .first_words(dma_head[DMA_IN].slot.run_stride[19:0]),
        .first_steps(dma_head[DMA_IN].slot.plane_stride[19:0]),
        .beat(beat[DMA_IN] && is_code[DMA_IN]),
        .number(step_beat[DMA_IN]),
        .step_ends(step_ends[DMA_IN]),
        .reads(code_reads),
        .address(code_address),
        .data(memory_data),
        .count(code_bytes),
        .place(code_place),
        .weights
    );
    logic unused;
    assign unused = &{1'b0, dma_starts[DMA_OUT], step_beat[DMA_OUT], step_ends[DMA_OUT], is_code[DMA_OUT]};
  end

  // ------------------------------------------------------------------------------- between the bus and the SRAM
  // Where the SRAM's ports are not limited, each byte has its own way into the memory; else words cross the ports.
  logic [WRITTEN_BYTES-1:0] written;
  logic [31:0] written_address[WRITTEN_BYTES], read_address[BEAT_BYTES];
  logic [7:0] written_data[WRITTEN_BYTES], read_data[BEAT_BYTES];
  logic [BANKS-1:0] bank_enable;
  logic [31:0] bank_row[BANKS];
  logic [8*BANK_BYTES-1:0] bank_written[BANKS], bank_read[BANKS];
  logic [BANK_BYTES-1:0] bank_strobes[BANKS];
  if (SRAM_BANDWIDTH == 0) begin : bytes
    logic [SPREAD_BYTES-1:0] arriving;
    logic [31:0] arriving_address[SPREAD_BYTES];
    logic [BEAT_BYTES-1:0] leaving;
    logic [31:0] leaving_address;
    assign {bus_room, crossed} = '1;
    assign code_crosses = '0;
    for (genvar d = 0; d < 2; d++) begin : unit
      assign {request[d][0], crossed_bytes[d][0]} = '0;
    end
    for (genvar u = 0; u < UNIT_COUNT; u++) begin : no_port
      assign takes[u] = '0;
      for (genvar s = 0; s < SLOTS; s++) begin : slot
        logic unused;
        assign unused = &{1'b0, request[u][s]};
      end
    end
    for (genvar i = 0; i < SPREAD_BYTES; i++) begin : spread_byte
      always_ff @(posedge clock) begin
        arriving[i] <= !restart && beat[DMA_IN] && i < pieces[DMA_IN].first_bytes + pieces[DMA_IN].second_bytes;
        arriving_address[i] <= (i < pieces[DMA_IN].first_bytes ? pieces[DMA_IN].place : pieces[DMA_IN].second - pieces[DMA_IN].first_bytes) + i;
      end
    end
    for (genvar i = 0; i < WRITTEN_BYTES; i++) begin : written_byte
      logic by_code;
      assign by_code = i < 32'(code_bytes);
      if (i < SPREAD_BYTES) begin : either
        assign written[i] = arriving[i] || by_code;
        assign written_address[i] = by_code ? code_place + i : arriving_address[i];
        assign written_data[i] = by_code ? weights[i<STEP_WEIGHTS?i : 0] : arriving_data[i];
      end else begin : code_only
        assign written[i] = by_code;
        assign written_address[i] = code_place + i;
        assign written_data[i] = weights[i<STEP_WEIGHTS?i : 0];
      end
    end
    for (genvar i = 0; i < BEAT_BYTES; i++) begin : read_byte
      assign read_address[i] = (i < pieces[DMA_OUT].first_bytes ? pieces[DMA_OUT].place : pieces[DMA_OUT].second - pieces[DMA_OUT].first_bytes) + i;
      assign memory_write_data[8*i+:8] = read_data[i];
      always_ff @(posedge clock) leaving[i] <= !restart && beat[DMA_OUT] && i < beat_bytes[DMA_OUT];
    end
    always_ff @(posedge clock) leaving_address <= system_address[DMA_OUT];
    assign memory_write = leaving;
    assign memory_write_address = leaving_address;
    assign bank_enable = '0;
    for (genvar b = 0; b < BANKS; b++) begin : no_bank
      assign {bank_row[b], bank_written[b], bank_strobes[b]} = '0;
      logic unused;
      assign unused = &{1'b0, bank_read[b]};
    end
    logic unused;
    assign unused = &{1'b0, flush, mac_first, vector_first, mac_words[0], mac_strobes[0], vector_words[0], vector_strobes[0]};
  end else begin : words
    // What a step of code has become is known a cycle later than the bytes of a beat: no such beat goes by then.
    pieces_t carried;
    logic carries;
    logic [8*WRITTEN_BYTES-1:0] carried_data, decoded_data;
    logic is_decoded;
    assign code_crosses = {1'b0, code_bytes != 0 && !is_code[DMA_IN]};
    assign carries = (beat[DMA_IN] && !is_code[DMA_IN]) || code_bytes != 0;
    assign carried = code_bytes == 0 ? pieces[DMA_IN]
        : '{place: code_place, second: '0, first_bytes: 32'(code_bytes), second_bytes: '0};
    always_ff @(posedge clock) is_decoded <= code_bytes != 0;
    for (genvar i = 0; i < WRITTEN_BYTES; i++) begin : carried_byte
      if (i >= STEP_WEIGHTS) assign decoded_data[8*i+:8] = '0;
      else begin : decoded
        always_ff @(posedge clock) decoded_data[8*i+:8] <= weights[i];
      end
      assign carried_data[8*i+:8] = is_decoded || i >= SPREAD_BYTES ? decoded_data[8*i+:8] : arriving_data[i<SPREAD_BYTES?i : 0];
    end
    for (genvar i = 0; i < WRITTEN_BYTES; i++) begin : no_written
      assign {written[i], written_address[i], written_data[i]} = '0;
    end
    for (genvar i = 0; i < BEAT_BYTES; i++) begin : no_read
      assign read_address[i] = '0;
      logic unused;
      assign unused = &{1'b0, read_data[i]};
    end

    // Streams that write, and their words at the ports
    localparam int unsigned WRITERS = 3, TURNS = 1 << $clog2(REQUEST_WORDS);
    localparam int unsigned IN_OR_MAC = TURNS > MAC_TURNS ? TURNS : MAC_TURNS;
    localparam int unsigned MOST_TURNS = IN_OR_MAC > VECTOR_TURNS ? IN_OR_MAC : VECTOR_TURNS;
    logic [7:0] turn[WRITERS];
    logic [8*BANK_BYTES-1:0] in_written[TURNS], slot_words[WRITERS][MOST_TURNS], read[ALL_PORTS];
    logic [BANK_BYTES-1:0] in_strobes[TURNS], slot_strobes[WRITERS][MOST_TURNS];
    assign turn[1] = mac_first;
    assign turn[2] = vector_first;
    for (genvar i = 0; i < MOST_TURNS; i++) begin : written_word
      if (i < TURNS) assign {slot_words[0][i], slot_strobes[0][i]} = {in_written[i], in_strobes[i]};
      else assign {slot_words[0][i], slot_strobes[0][i]} = '0;
      if (i < MAC_TURNS) assign {slot_words[1][i], slot_strobes[1][i]} = {mac_words[i], mac_strobes[i]};
      else assign {slot_words[1][i], slot_strobes[1][i]} = '0;
      if (i < VECTOR_TURNS) assign {slot_words[2][i], slot_strobes[2][i]} = {vector_words[i], vector_strobes[i]};
      else assign {slot_words[2][i], slot_strobes[2][i]} = '0;
    end
    logic [ALL_PORTS-1:0] comes, leaves;
    logic [3:0] stream[ALL_PORTS];
    logic [7:0] number[ALL_PORTS];
    access_t access[BANKS];
    dla_dma_arrivals #(
        .BANK_BYTES(BANK_BYTES),
        .DMA_PORTS(DMA_WORDS),
        .BEAT_BYTES(WRITTEN_BYTES),
        .PLACE(PLACE)
    ) arrivals (
        .clock,
        .reset(restart),
        .ends(done[DMA_IN]),
        .beat(carries),
        .pieces(carried),
        .flush(flush[DMA_IN]),
        .more(step_ends[DMA_IN]),
        .reserves(is_code[DMA_IN]),
        .data(carried_data),
        .room(bus_room[DMA_IN]),
        .crossed(crossed[DMA_IN]),
        .request(request[DMA_IN][0]),
        .crossed_bytes(crossed_bytes[DMA_IN][0]),
        .takes(takes[DMA_IN][0]),
        .turn(turn[0]),
        .written(in_written),
        .strobes(in_strobes)
    );
    dla_dma_departures #(
        .BANK_BYTES(BANK_BYTES),
        .PORTS(ALL_PORTS),
        .DMA_PORTS(DMA_WORDS),
        .BEAT_BYTES(BEAT_BYTES),
        .PLACE(PLACE)
    ) departures (
        .clock,
        .reset(restart),
        .ends(done[DMA_OUT]),
        .beat(beat[DMA_OUT]),
        .pieces(pieces[DMA_OUT]),
        .system_address(system_address[DMA_OUT]),
        .flush(flush[DMA_OUT]),
        .room(bus_room[DMA_OUT]),
        .crossed(crossed[DMA_OUT]),
        .request(request[DMA_OUT][0]),
        .crossed_bytes(crossed_bytes[DMA_OUT][0]),
        .takes(takes[DMA_OUT][0]),
        .arrives(leaves),
        .number,
        .read,
        .leaving(memory_write),
        .leaving_address(memory_write_address),
        .leaving_data(memory_write_data)
    );
    dla_ports #(
        .BANK_BYTES(BANK_BYTES),
        .PORTS(PORTS),
        .OWN_PORTS(2 * SRAM_DMA_PORTS),
        .BANKS(BANKS),
        .SHIFTED(SHIFTED),
        .UNITS(UNIT_COUNT),
        .SLOTS(SLOTS),
        .FIRST_WORDS({8'(VECTOR_WORDS), 8'(MAC_WORDS), {2{8'(REQUEST_WORDS)}}}),
        .PLACE(PLACE)
    ) ports (
        .clock,
        .reset(restart),
        .request,
        .takes,
        .access
    );
    dla_crossbar #(
        .BANK_BYTES(BANK_BYTES),
        .PORTS(ALL_PORTS),
        .BANKS(BANKS),
        .WRITERS(WRITERS),
        .STREAMS({8'(VECTOR * SLOTS), 8'(MAC * SLOTS), 8'(DMA_IN * SLOTS)}),
        .IN_WORDS(TURNS),
        .MAC_WORDS(MAC_TURNS),
        .VECTOR_WORDS(VECTOR_TURNS),
        .WORDS(MOST_TURNS)
    ) crossbar (
        .clock,
        .access,
        .turn,
        .written(slot_words),
        .strobes(slot_strobes),
        .bank_enable,
        .bank_row,
        .bank_written,
        .bank_strobes,
        .bank_read,
        .comes,
        .stream,
        .number,
        .read
    );
    for (genvar p = 0; p < ALL_PORTS; p++) begin : of_port
      assign leaves[p] = comes[p] && stream[p] == 4'(DMA_OUT * SLOTS);
    end
  end

  // -------------------------------------------------------------------------------------------- compute, and SRAM
  logic mac_waits, vector_waits;
  logic mac_read, mac_finish_read, vector_read, vector_finish_read;
  logic [1:0] mac_partial_size, mac_write_size, vector_read_size, vector_write_size;
  logic [31:0] macs, mac_partial_address, mac_record_address;
  logic [31:0] mac_input_address, mac_weight_address, mac_filter_step, mac_result_address;
  logic [OFFSET_BITS-1:0] mac_input_offset[INPUTS];
  logic [31:0] mac_input_at[PIXELS], mac_partial_at[PIXELS], mac_result_at[PIXELS];
  logic [31:0] mac_partial[PIXELS*MAC_LANES], mac_bias[MAC_LANES], mac_multiplier[MAC_LANES], mac_shift[MAC_LANES];
  logic [31:0] mac_result[PIXELS*MAC_LANES];
  logic [7:0] mac_input[PIXELS*INPUTS], mac_weight[PES];
  logic [PIXELS*MAC_LANES-1:0] mac_write;
  logic [31:0] vector_in_address, vector_in2_address, vector_record_address;
  logic [31:0] vector_in[VECTOR_LANES], vector_in2[VECTOR_LANES], vector_table_address[VECTOR_LANES];
  logic [31:0] vector_multiplier[VECTOR_LANES], vector_shift[VECTOR_LANES];
  logic [31:0] vector_result_address, vector_result[VECTOR_LANES];
  logic [31:0] vector_table[VECTOR_LANES];
  logic [VECTOR_LANES-1:0] vector_write;

  dla_mac #(
      .INPUT_LANES(INPUT_LANES),
      .OUTPUT_LANES(OUTPUT_LANES),
      .PIXEL_ROWS(PIXEL_ROWS),
      .PIXEL_COLUMNS(PIXEL_COLUMNS),
      .FILL(MAC_FILL),
      .DRAIN(MAC_DRAIN),
      .BANK_BYTES(SRAM_BANDWIDTH),
      .PORTS(PORTS),
      .LINE_BUFFER_BYTES(LINE_BUFFER_BYTES),
      .WEIGHT_BUFFER_BYTES(WEIGHT_BUFFER_BYTES),
      .ACCUMULATORS(ACCUMULATORS),
      .RESULT_CYCLES(MAC_RESULT_CYCLES),
      .WEIGHTS(MAC_WEIGHTS),
      .STEP_GROUP(MAC_STEP_GROUP),
      .HANDOVER(MAC_HANDOVER),
      .INT16(INT16),
      .SUMS(MAC_SUMS),
      .PLACE(PLACE)
  ) mac (
      .clock,
      .reset(restart),
      .valid(busy[MAC]),
      .opcode(mac_head.opcode),
      .init(mac_head.fields[INIT_BITS-1:0]),
      .wide(mac_head.fields[OUT_LOW-INIT_LOW] == OUT_INT32),
      .by_channel(mac_head.fields[QUANT_LOW-INIT_LOW] == QUANT_CHANNEL),
      .int16(INT16 != 0 && mac_head.fields[FIELD_BITS-1]),
      .adds_tensor(MAC_SUMS != 0 && mac_head.fields[MAC_SUMS!=0?SUM_LOW-INIT_LOW : 0]),
      .wide_matrix(INT16 != 0 && mac_head.fields[MAC_FIELD_BITS-1]),
      .operands(mac_kept(mac_head.slot)),
      .products(mac_head.products),
      .others_settled(COMPUTE_OVERLAP != 0 || vector_settled),
      .done(done[MAC]),
      .settled(mac_settled),
      .waits(mac_waits),
      .request(request[MAC]),
      .crossed_bytes(crossed_bytes[MAC]),
      .takes(takes[MAC]),
      .result_words(mac_result_words),
      .slot_first(mac_first),
      .slot_words(mac_words),
      .slot_strobes(mac_strobes),
      .macs,
      .read(mac_read),
      .input_address(mac_input_address),
      .input_at(mac_input_at),
      .input_offset(mac_input_offset),
      .input_data(mac_input),
      .weight_address(mac_weight_address),
      .filter_step(mac_filter_step),
      .weight_data(mac_weight),
      .finish_read(mac_finish_read),
      .partial_address(mac_partial_address),
      .partial_at(mac_partial_at),
      .partial_size(mac_partial_size),
      .partial_data(mac_partial),
      .record_address(mac_record_address),
      .bias_data(mac_bias),
      .multiplier_data(mac_multiplier),
      .shift_data(mac_shift),
      .write(mac_write),
      .write_size(mac_write_size),
      .result_address(mac_result_address),
      .result_at(mac_result_at),
      .result(mac_result)
  );

  dla_vector #(
      .LANES(VECTOR_LANES),
      .FILL(VECTOR_FILL),
      .DRAIN(VECTOR_DRAIN),
      .COUNT_BITS($clog2(SRAM_BYTES + 1)),
      .INT16(INT16),
      .PLACE(PLACE),
      .BANK_BYTES(SRAM_BANDWIDTH),
      .PORTS(PORTS),
      .LINE_BUFFER_BYTES(LINE_BUFFER_BYTES),
      .REQUANTIZATION_CYCLES(VECTOR_REQUANTIZATION_CYCLES),
      .DIVISION_CYCLES(VECTOR_DIVISION_CYCLES)
  ) vector (
      .clock,
      .reset(restart),
      .valid(busy[VECTOR]),
      .opcode(vector_head.opcode),
      .mode(vector_head.fields[MODE_LOW-INIT_LOW+:MODE_BITS]),
      .by_channel(vector_head.fields[QUANT_LOW-INIT_LOW] == QUANT_CHANNEL),
      .int16(INT16 != 0 && vector_head.fields[FIELD_BITS-1]),
      .operands(vector_kept(take_window(vector_head.slot, vector_head.walk.tap_row_step, vector_head.walk.tap_column_step))),
      .walk(vector_head.walk),
      .others_settled(COMPUTE_OVERLAP != 0 || mac_settled),
      .done(done[VECTOR]),
      .settled(vector_settled),
      .waits(vector_waits),
      .request(request[VECTOR]),
      .crossed_bytes(crossed_bytes[VECTOR]),
      .takes(takes[VECTOR]),
      .result_words(vector_result_words),
      .slot_first(vector_first),
      .slot_words(vector_words),
      .slot_strobes(vector_strobes),
      .read(vector_read),
      .read_size(vector_read_size),
      .in_address(vector_in_address),
      .in_data(vector_in),
      .in2_address(vector_in2_address),
      .in2_data(vector_in2),
      .finish_read(vector_finish_read),
      .table_address(vector_table_address),
      .table_data(vector_table),
      .record_address(vector_record_address),
      .multiplier_data(vector_multiplier),
      .shift_data(vector_shift),
      .write(vector_write),
      .write_size(vector_write_size),
      .result_address(vector_result_address),
      .result(vector_result)
  );

  dla_sram #(
      .BYTES(SRAM_BYTES),
      .INPUTS(INPUTS),
      .INPUT_LANES(INPUT_LANES),
      .PES(PES),
      .MAC_LANES(MAC_LANES),
      .PIXELS(PIXELS),
      .VECTOR_LANES(VECTOR_LANES),
      .BEAT_BYTES(BEAT_BYTES),
      .OFFSET_BITS(OFFSET_BITS),
      .WRITTEN_BYTES(WRITTEN_BYTES),
      .LIMITED(SRAM_BANDWIDTH != 0),
      .BANK_BYTES(BANK_BYTES),
      .BANKS(BANKS),
      .SHIFTED(SHIFTED)
  ) sram (
      .clock,
      .mac_read,
      .mac_input_address,
      .mac_input_at,
      .mac_input_offset,
      .mac_input,
      .mac_weight_address,
      .mac_filter_step,
      .mac_weight,
      .mac_finish_read,
      .mac_partial_address,
      .mac_partial_at,
      .mac_partial_size,
      .mac_partial,
      .mac_record_address,
      .mac_bias,
      .mac_multiplier,
      .mac_shift,
      .mac_write,
      .mac_write_size,
      .mac_result_address,
      .mac_result_at,
      .mac_result,
      .vector_read,
      .vector_read_size,
      .vector_in_address,
      .vector_in,
      .vector_in2_address,
      .vector_in2,
      .vector_finish_read,
      .vector_table_address,
      .vector_table,
      .vector_record_address,
      .vector_multiplier,
      .vector_shift,
      .vector_write,
      .vector_write_size,
      .vector_result_address,
      .vector_result,
      .dma_write(written),
      .dma_write_address(written_address),
      .dma_write_data(written_data),
      .dma_read(beat[DMA_OUT]),
      .dma_read_address(read_address),
      .dma_read_data(read_data),
      .bank_enable,
      .bank_row,
      .bank_written,
      .bank_strobes,
      .bank_read
  );

  // ------------------------------------------------------------------------------------------------- the counters
  logic computes, transfers;
  assign computes = busy[MAC] || busy[VECTOR];
  assign transfers = busy[DMA_IN] || busy[DMA_OUT];
  always_comb begin
    count[COUNT_CYCLES] = 32'(watch_counts);
    count[COUNT_MACS] = macs;
    count[COUNT_MACS_POSSIBLE] = busy[MAC] ? PIXELS * PES : 0;
    count[COUNT_BYTES_READ] = beat[DMA_IN] ? beat_bytes[DMA_IN] : 0;
    count[COUNT_BYTES_WRITTEN] = beat[DMA_OUT] ? beat_bytes[DMA_OUT] : 0;
    count[COUNT_DMA_IN_BUSY] = 32'(busy[DMA_IN]);
    count[COUNT_DMA_OUT_BUSY] = 32'(busy[DMA_OUT]);
    count[COUNT_MAC_BUSY] = 32'(busy[MAC]);
    count[COUNT_VECTOR_BUSY] = 32'(busy[VECTOR]);
    count[COUNT_ISSUE_BUSY] = 32'(issuing);
    count[COUNT_STALL_WAIT] = 32'(waits);
    count[COUNT_STALL_QUEUE] = 32'(waits_for_queue);
    count[COUNT_STALL_CONTENTION] = 32'(wants_bus[0] && !delivers[0]) + 32'(wants_bus[1] && !delivers[1]);
    count[COUNT_STALL_SRAM] = 32'(mac_waits) + 32'(vector_waits);
    count[COUNT_ONLY_COMPUTE] = 32'(computes && !transfers);
    count[COUNT_ONLY_DMA] = 32'(transfers && !computes);
    count[COUNT_BOTH] = 32'(computes && transfers);
    count[COUNT_NEITHER] = 32'(watch_counts && !computes && !transfers);
  end
endmodule
