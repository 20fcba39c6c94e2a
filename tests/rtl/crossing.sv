// Follows each word through the SRAM's ports, and stops the simulation where the MAC or the VECTOR unit uses a byte that
// has not crossed in the same operation, or that a line buffer of the stated size would have lost; and where a unit says
// that results have crossed, or reads, before they have. So the bytes of operands could take the way whose cycles
// `dla_ports` counts.
//
// The line buffer is one that forgets what crossed first, where it can hold the lines under a window. A block of pixels
// in several rows needs the lines of each of its rows, for which the check allows more.

module dla_crossing
  import dla_isa::*;
  import dla_words::*;
#(
    parameter int unsigned SRAM_BYTES = 0,
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned INPUT_LANES = 1,
    parameter int unsigned OUTPUT_LANES = 1,
    parameter int unsigned PIXEL_ROWS = 1,
    parameter int unsigned PIXEL_COLUMNS = 1,
    parameter int unsigned PIXELS = 1,
    parameter int unsigned LANES = 1,  // of MAC
    parameter int unsigned INPUTS = 1,
    parameter int unsigned OFFSET_BITS = 1,
    parameter int unsigned VECTOR_LANES = 1,
    parameter int unsigned LINE_BUFFER_BYTES = 0,
    parameter int unsigned ACCUMULATORS = 1
) (
    input logic clock,
    input logic [UNIT_COUNT-1:0] done,
    input logic [1:0] settled,  // results of MAC's and VECTOR's operations that are done have crossed
    input request_t request[UNIT_COUNT][4],
    input logic [3:0] takes[UNIT_COUNT],
    input logic [31:0] crossed_bytes[UNIT_COUNT][4],
    // MAC: the operation, the step that reads, the pixel that leaves, what is written
    input logic [7:0] mac_opcode,
    input logic [5:0] mac_fields,  // of the instruction word, above its opcode
    input mac_operands_t mac_registers,
    input logic mac_fits,  // the lines under a window, into the line buffer; not before that is known
    input logic mac_shares,  // a run that is read now begins in the word that the reader has held since the run before
    input logic [31:0] mac_held_word,
    input logic mac_read,
    input logic [PIXELS-1:0] mac_meets,
    input logic [31:0] mac_output_channel,
    input logic [31:0] mac_input_channel,
    input logic [31:0] mac_input_address,
    input logic [31:0] mac_input_at[PIXELS],
    input logic [OFFSET_BITS-1:0] mac_input_offset[INPUTS],
    input logic [31:0] mac_weight_address,
    input logic [31:0] mac_filter_step,
    input logic mac_leaves,
    input logic [PIXELS-1:0] mac_leaving,
    input logic [31:0] mac_leaving_channel,
    input logic [31:0] mac_partial_address,
    input logic [31:0] mac_partial_at[PIXELS],
    input logic [31:0] mac_record_address,
    input logic [PIXELS*LANES-1:0] mac_write,
    input logic [1:0] mac_write_size,
    input logic [31:0] mac_result_address,
    input logic [31:0] mac_result_at[PIXELS],
    // VECTOR
    input logic [7:0] vector_opcode,
    input logic [4:0] vector_fields,
    input vector_operands_t vector_registers,
    input logic vector_fits,
    input logic vector_fits2,
    input logic vector_shares,
    input logic vector_shares2,
    input logic [31:0] vector_held_word,
    input logic [31:0] vector_held_word2,
    input logic vector_read,
    input logic [1:0] vector_read_size,
    input logic vector_meets,
    input logic [31:0] vector_channel,
    input logic [31:0] vector_in_address,
    input logic [31:0] vector_in2_address,
    input logic vector_looks_up,
    input logic [31:0] vector_looked_up_channel,
    input logic [31:0] vector_table_address[VECTOR_LANES],
    input logic [31:0] vector_record_address,
    input logic [VECTOR_LANES-1:0] vector_write,
    input logic [1:0] vector_write_size,
    input logic [31:0] vector_result_address
);
  localparam int unsigned MAC = 32'(UNIT_MAC), VECTOR = 32'(UNIT_VECTOR);
  localparam int unsigned RESULTS = 0, PARAMETERS = 1, INPUT = 2, INPUT2 = 3;  // streams; the last also partial sums, or a tensor
  localparam int unsigned WORDS = SRAM_BYTES / BANK_BYTES + 1;
  localparam logic [31:0] PLACE = (32'd2 << $clog2(SRAM_BYTES)) - 1;  // the bits of an address, as in dla.sv

  // Of each word of each stream: the operation in which it crossed last, counted from 1, and the bytes before it
  int unsigned operation[2] = '{1, 1};
  int unsigned result_operation[2] = '{1, 1};  // behind it until its results have crossed
  int unsigned crossed_in[2*4*WORDS];
  int unsigned crossed_after[2*4*WORDS];
  int unsigned total[2][4];
  request_t taken[2][4];  // words of each stream that may not have crossed, and the bytes before them
  int unsigned taken_after[2][4];
  int unsigned written[2][$];  // words with results

  function automatic int unsigned place(input int unsigned u, input int unsigned s, input int unsigned word);
    return ((u - MAC) * 4 + s) * WORDS + word;
  endfunction

  function automatic void must_have(
      input int unsigned u, input int unsigned s, input logic [31:0] address, input int unsigned bytes,
      input int unsigned buffer_bytes);
    for (int unsigned word = address / BANK_BYTES; word <= (address + bytes - 1) / BANK_BYTES; word++) begin
      int unsigned at;
      int ago;
      at = place(u, s, word);
      if (crossed_in[at] != operation[u-MAC])
        $fatal(1, "unit %0d, stream %0d, operation %0d: byte %0d has not crossed the ports", u, s, operation[u-MAC],
               address);
      // The bytes of its word before it crossed at the same time, if they did.
      ago = int'(total[u-MAC][s] - crossed_after[at]);
      if (buffer_bytes != 0 && ago > int'(buffer_bytes + address % BANK_BYTES))
        $fatal(1, "unit %0d, stream %0d, operation %0d: byte %0d crossed %0d bytes ago", u, s, operation[u-MAC],
               address, ago);
    end
  endfunction

  function automatic void writes(input int unsigned u, input logic [31:0] address, input int unsigned bytes);
    for (int unsigned word = address / BANK_BYTES; word <= (address + bytes - 1) / BANK_BYTES; word++)
      written[u-MAC].push_back(word);
  endfunction

  operand_uses_t mac_uses, vector_uses;
  logic depthwise, pool, softmax;
  int unsigned vector_bytes, vector_buffer, vector_buffer2;  // of an element; of the buffers, 0 where a line is longer
  int unsigned line_bytes, block_bytes;  // of MAC's input; of the lines of a block besides those under its first window
  assign mac_uses = operand_uses(64'({mac_fields, mac_opcode}));
  assign depthwise = mac_opcode == OPCODE_OP_DEPTH_CONV;
  assign vector_uses = operand_uses(64'({vector_fields, vector_opcode}));
  assign pool = vector_opcode == OPCODE_OP_POOL;
  assign softmax = vector_opcode == OPCODE_OP_SOFTMAX;
  assign line_bytes = 32'(mac_opcode == OPCODE_OP_MAT_MUL ? mac_registers.out_size.width : mac_registers.in_size.width)
      * (mac_registers.in_channels << mac_uses.in.size);
  assign block_bytes = LINE_BUFFER_BYTES == 0 ? 0
      : ((ACCUMULATORS - 1) / ((32'(mac_registers.out_size.width) + PIXEL_COLUMNS - 1) / PIXEL_COLUMNS) + 1) * PIXEL_ROWS
        * 32'(mac_registers.stride.height) * line_bytes;
  assign vector_bytes = 1 << vector_read_size;

  function automatic int unsigned held(input logic fits, input logic [15:0] width);
    held = fits && 32'(width) * vector_registers.out_channels * vector_bytes <= LINE_BUFFER_BYTES ? LINE_BUFFER_BYTES : 0;
  endfunction
  assign vector_buffer = held(vector_fits, pool ? vector_registers.in_size.width : vector_registers.out_size.width);
  assign vector_buffer2 = held(vector_fits2, vector_registers.out_size.width);

  function automatic void look_at_mac();
    if (mac_read) begin
      for (int unsigned p = 0; p < PIXELS; p++)
        for (int unsigned i = 0; i < INPUTS; i++)
          if (!mac_meets[p]) break;
          else if (depthwise ? i < LANES && mac_output_channel + i < mac_registers.out_channels
              : i < INPUT_LANES && mac_input_channel + i < mac_registers.in_channels)
            must_have(MAC, INPUT, (mac_input_address + mac_input_at[p] + 32'(mac_input_offset[i])) & PLACE, 1, mac_fits ? LINE_BUFFER_BYTES + block_bytes : 0);
      for (int unsigned p = 0; p < INPUT_LANES * OUTPUT_LANES; p++) begin
        if (depthwise ? (OUTPUT_LANES == 1 || p % INPUT_LANES == 0)
            && mac_output_channel + (OUTPUT_LANES == 1 ? p : p / INPUT_LANES) < mac_registers.out_channels
            : mac_output_channel + p / INPUT_LANES < mac_registers.out_channels
            && mac_input_channel + p % INPUT_LANES < mac_registers.in_channels)
          must_have(MAC, PARAMETERS, mac_weight_address + p / INPUT_LANES * mac_filter_step + p % INPUT_LANES, 1, 0);
      end
    end
    if (mac_leaves)
      for (int unsigned l = 0; l < LANES; l++)
        if ((depthwise || l < OUTPUT_LANES) && mac_leaving_channel + l < mac_registers.out_channels) begin
          for (int unsigned p = 0; p < PIXELS; p++)
            if (mac_uses.acc.present && mac_leaving[p])
              must_have(MAC, INPUT2, mac_partial_address + mac_partial_at[p] + (l << mac_uses.acc.size), 1 << mac_uses.acc.size, 0);
          if (mac_uses.param.present) must_have(MAC, PARAMETERS, mac_record_address + RECORD_BYTES * l, RECORD_BYTES, 0);
        end
    for (int unsigned i = 0; i < PIXELS * LANES; i++)
      if (mac_write[i])
        writes(MAC, mac_result_address + mac_result_at[i/LANES] + ((i % LANES) << mac_write_size), 1 << mac_write_size);
  endfunction

  function automatic void look_at_vector();
    for (int unsigned l = 0; l < VECTOR_LANES; l++) begin
      if (vector_read && vector_channel + l < vector_registers.out_channels) begin
        if (vector_uses.in.present && (!pool || vector_meets))
          must_have(VECTOR, INPUT, vector_in_address + vector_bytes * l, vector_bytes, vector_buffer);
        if (vector_uses.in2.present)
          must_have(VECTOR, INPUT2, vector_in2_address + vector_bytes * l, vector_bytes, vector_buffer2);
      end
      if (vector_looks_up && vector_looked_up_channel + l < vector_registers.out_channels) begin
        if (vector_uses.lut.present) must_have(VECTOR, PARAMETERS, vector_table_address[l], softmax ? 4 : 1, 0);
        if (vector_uses.param.present)
          must_have(VECTOR, PARAMETERS, vector_record_address + RECORD_BYTES * l, RECORD_BYTES, 0);
      end
      if (vector_write[l]) writes(VECTOR, vector_result_address + (l << vector_write_size), 1 << vector_write_size);
    end
  endfunction

  // A word that two runs share crosses once. For the second one it counts anew, as the reader holds it until then.
  function automatic void look_at_shared(input int unsigned u, input int unsigned s);
    if (u == MAC && s == INPUT && mac_shares) crossed_after[place(u, s, mac_held_word)] = total[u-MAC][s];
    if (u == VECTOR && s == INPUT && vector_shares) crossed_after[place(u, s, vector_held_word)] = total[u-MAC][s];
    if (u == VECTOR && s == INPUT2 && vector_shares2) crossed_after[place(u, s, vector_held_word2)] = total[u-MAC][s];
  endfunction

  // A stream's words are taken when all before them cross at the latest in this cycle; those serve steps after it.
  function automatic void note(input int unsigned u);
    for (int unsigned s = 0; s < 4; s++) begin
      if (takes[u][s]) begin
        for (int unsigned i = 0; i < 32'(taken[u-MAC][s].words); i++) begin
          int unsigned at;
          at = place(u, s, (taken[u-MAC][s].address + i * taken[u-MAC][s].stride) / BANK_BYTES);
          crossed_in[at] = s == RESULTS ? result_operation[u-MAC] : operation[u-MAC];
          crossed_after[at] = taken_after[u-MAC][s];
          if (i != 0 && taken[u-MAC][s].stride == BANK_BYTES) crossed_after[at] += (i - 1) * BANK_BYTES;
        end
        taken[u-MAC][s] = request[u][s];
        taken_after[u-MAC][s] = total[u-MAC][s];
      end
      look_at_shared(u, s);
      total[u-MAC][s] = total[u-MAC][s] + crossed_bytes[u][s];
    end
  endfunction

  function automatic void settle(input int unsigned u);
    while (written[u-MAC].size() != 0) begin
      int unsigned word;
      word = written[u-MAC].pop_front();
      if (crossed_in[place(u, RESULTS, word)] != result_operation[u-MAC])
        $fatal(1, "unit %0d, operation %0d: results at byte %0d have not crossed the ports", u, result_operation[u-MAC],
               word * BANK_BYTES);
    end
    result_operation[u-MAC] = result_operation[u-MAC] + 1;
  endfunction

  function automatic void finish(input int unsigned u);
    operation[u-MAC] = operation[u-MAC] + 1;
    for (int unsigned s = RESULTS + 1; s < 4; s++) taken[u-MAC][s] = '0;
  endfunction

  always @(posedge clock) begin
    for (int unsigned u = MAC; u <= VECTOR; u++)
      if (result_operation[u-MAC] != operation[u-MAC]) begin
        if (settled[u-MAC]) settle(u);
        else if (u == MAC ? mac_read || mac_leaves : vector_read || vector_looks_up)
          $fatal(1, "unit %0d, operation %0d: reads before results have crossed", u, operation[u-MAC]);
      end
    look_at_mac();
    look_at_vector();
    note(MAC);
    note(VECTOR);
    if (done[MAC]) finish(MAC);
    if (done[VECTOR]) finish(VECTOR);
  end
endmodule

bind dla dla_crossing #(
    .SRAM_BYTES(SRAM_BYTES),
    .BANK_BYTES(SRAM_BANDWIDTH),
    .INPUT_LANES(INPUT_LANES),
    .OUTPUT_LANES(OUTPUT_LANES),
    .PIXEL_ROWS(PIXEL_ROWS),
    .PIXEL_COLUMNS(PIXEL_COLUMNS),
    .PIXELS(PIXELS),
    .LANES(MAC_LANES),
    .INPUTS(INPUTS),
    .OFFSET_BITS(OFFSET_BITS),
    .VECTOR_LANES(VECTOR_LANES),
    .LINE_BUFFER_BYTES(LINE_BUFFER_BYTES),
    .ACCUMULATORS(ACCUMULATORS)
) crossing (
    .clock,
    .done,
    .settled({vector_settled, mac_settled}),
    .request,
    .takes,
    .crossed_bytes,
    .mac_opcode(mac_head.opcode),
    .mac_fields(6'(mac_head.fields)),
    .mac_registers(mac_kept(mac_head.slot)),
    .mac_fits(mac.limits.shared.traffic.pixels.fits && !mac.limits.shared.traffic.pixels.waits),
    .mac_shares(mac.limits.shared.traffic.pixels.crossed_bytes != 0 && mac.limits.shared.traffic.pixels.skips_word),
    .mac_held_word(mac.limits.shared.traffic.pixels.held_word),
    .mac_read,
    .mac_meets(mac.read_s.meets),
    .mac_output_channel(mac.read_s.output_channel),
    .mac_input_channel(mac.read_s.input_channel),
    .mac_input_address,
    .mac_input_at,
    .mac_input_offset,
    .mac_weight_address,
    .mac_filter_step,
    .mac_leaves(mac_finish_read),
    .mac_leaving(mac.leave_s.lies),
    .mac_leaving_channel(mac.leave_s.output_channel),
    .mac_partial_address,
    .mac_partial_at,
    .mac_record_address,
    .mac_write,
    .mac_write_size,
    .mac_result_address,
    .mac_result_at,
    .vector_opcode(vector_head.opcode),
    .vector_fields(vector_head.fields),
    .vector_registers(vector_kept(vector_head.slot)),
    .vector_fits(vector.shared.traffic.inputs.fits && !vector.shared.traffic.inputs.waits),
    .vector_fits2(vector.shared.traffic.inputs2.fits && !vector.shared.traffic.inputs2.waits),
    .vector_shares(vector.shared.traffic.inputs.crossed_bytes != 0 && vector.shared.traffic.inputs.skips_word),
    .vector_shares2(vector.shared.traffic.inputs2.crossed_bytes != 0 && vector.shared.traffic.inputs2.skips_word),
    .vector_held_word(vector.shared.traffic.inputs.held_word),
    .vector_held_word2(vector.shared.traffic.inputs2.held_word),
    .vector_read,
    .vector_read_size,
    .vector_meets(vector.read_s.meets),
    .vector_channel(vector.read_s.channel),
    .vector_in_address,
    .vector_in2_address,
    .vector_looks_up(vector_finish_read && (!vector.softmax || vector.compute_s.pass != 0)),
    .vector_looked_up_channel(vector.compute_s.channel),
    .vector_table_address,
    .vector_record_address,
    .vector_write,
    .vector_write_size,
    .vector_result_address
);
