// Asks the SRAM for the weights of the MAC unit, and for the records of their channels, ahead of the array.
//
// Of a convolution a chunk is a word of each lane's filter, and a pass needs all chunks up to its input channels;
// filters shorter than a word make one chunk. Of a depthwise convolution a chunk is a tap. All chunks cross for
// the first block of pixels, and for each further one those that BUFFER_BYTES do not hold.
//
// Words of different filters often lie in one bank, those that follow each other in a filter never. So after the first
// chunks, which the array waits for, PORTS chunks cross together: as many words of each filter after the other.

module dla_weights
  import dla_isa::RECORD_BYTES;
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned BUFFER_BYTES = 0,  // 0: no limit
    parameter int unsigned LANES = 1,
    parameter int unsigned BLOCK = 1,  // pixels
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    input logic enable,
    input logic depthwise,
    input logic has_records,
    input logic [31:0] weight_address,
    input logic [31:0] record_address,
    input logic [31:0] filter_bytes,  // depthwise: taps
    input logic [31:0] channels,
    input logic [31:0] group_step,
    input logic [31:0] group_bytes,  // of the filters of a group
    input logic [31:0] pixels,
    // What the array needs now: bytes of a filter up to the end of this pass, or the tap; the end of a block or group
    input logic [31:0] step_bytes,
    input logic [31:0] step_tap,
    input logic block_ends,
    input logic group_ends,
    output logic ready,
    output request_t request,
    output logic [31:0] crossed_bytes,
    input logic takes
);
  // ------------------------------------------------------------------------------------------------------- shape
  logic whole;  // a group is one chunk
  logic [31:0] shift, chunks, lanes, chunk_bytes;
  // Registers have the bits that they can need: of a picture's pixels, of channels.
  localparam logic [31:0] CHANNELS = 32'h01ffffff;
  localparam int unsigned WORD_BITS = $clog2(BANK_BYTES), LANE_BITS = $clog2(LANES + 1);
  localparam int unsigned CHUNK_BITS = $clog2(LANES * BANK_BYTES + 1);
  assign whole = !depthwise && filter_bytes < BANK_BYTES;
  assign shift = filter_bytes % BANK_BYTES == 0 ? weight_address % BANK_BYTES : BANK_BYTES - 1;  // the most of a lane
  assign chunks = depthwise ? filter_bytes : whole ? 1 : (shift + filter_bytes + (BANK_BYTES - 1)) / BANK_BYTES;

  // ------------------------------------------------------------------------------------------------------ chunks
  logic [31:0] group, pixel, chunk, remaining, sequence_, used, step_chunk, first, bytes, count, left, stride, lane, together;
  // Where the group's filters and records, the chunk, and the next word of it lie, each from the one before
  logic [31:0] group_place, record_place, chunk_place, lane_place, sent_place;
  logic records_done, at_records, finished, active, is_begun, is_held, run_done, chunk_done, pass_done, group_done;
  logic may_burst, bursts, chunk_fits, ahead_fits, burst_fits, waits;
  assign at_records = has_records && !records_done;
  assign lanes = 32'(LANE_BITS'(channels - group < group_step ? channels - group : group_step));
  assign chunk_bytes = depthwise ? lanes
      : whole ? lanes * (filter_bytes % (1 << WORD_BITS)) : lanes * BANK_BYTES;  // a filter then is shorter than a word
  always_comb begin
    stride = BANK_BYTES;
    if (at_records) begin
      first = (record_address + record_place) & PLACE;
      bytes = RECORD_BYTES * lanes;
    end else begin
      first = (weight_address + group_place + chunk_place) & PLACE;
      bytes = chunk_bytes;
      if (!depthwise && !whole && !bursts) stride = filter_bytes & PLACE;
    end
    count = at_records || depthwise || whole
        ? (32'(first[WORD_BITS-1:0]) + bytes + (BANK_BYTES - 1)) / BANK_BYTES : lanes;
  end
  assign is_held = !at_records && pixel != 0 && chunk_fits;
  assign active = enable && !finished && (sequence_ <= used + step_chunk + 1 || ahead_fits)
      && !(waits && !at_records && pixel != 0);
  assign bursts = lane != 0 || (may_burst && !is_begun && !at_records && !is_held && burst_fits);
  assign together = bursts ? PORTS : 1;
  assign left = is_held ? '0 : bursts ? PORTS : is_begun ? remaining : count;  // `remaining`: when some have been taken
  assign request.address = (first + sent_place) & PLACE;
  assign request.stride = stride;
  assign request.words = !active ? '0 : left < PORTS ? left[7:0] : 8'(PORTS);
  assign run_done = active && (left == 0 || (takes && left <= PORTS));
  assign chunk_done = run_done && (!bursts || lane + 1 == lanes);
  assign pass_done = chunk_done && !at_records && (bursts ? chunk + PORTS == chunks : chunk + 1 == chunks);
  assign group_done = pass_done && pixel + BLOCK >= pixels;

  // How many of the group's chunks the buffer holds is counted, one in each cycle; until then none of those beyond is read
  // ahead. Against the array's place a cycle ago, which is never beyond today's.
  if (BUFFER_BYTES == 0) begin : all_fit
    assign {chunk_fits, ahead_fits, burst_fits} = '1;
    assign waits = 1'b0;
  end else begin : some_fit
    localparam int unsigned ENOUGH_BITS = $clog2(BUFFER_BYTES + 1);
    logic [ENOUGH_BITS-1:0] fitting, fitting_bytes;
    logic [CHUNK_BITS-1:0] each_bytes;
    logic [31:0] next_bytes, ahead, used_before;
    logic counts, is_known;  // the bytes of a chunk
    assign next_bytes = 32'(fitting_bytes) + 32'(each_bytes);
    always_ff @(posedge clock) begin
      each_bytes <= chunk_bytes[CHUNK_BITS-1:0];
      used_before <= reset ? '0 : used + step_chunk;
      if (reset || !enable || (is_known && 32'(each_bytes) != chunk_bytes)) begin
        {fitting, fitting_bytes, is_known} <= '0;
        counts <= 1'b1;
      end else if (!is_known) is_known <= 1'b1;
      else if (counts && next_bytes <= BUFFER_BYTES) begin
        fitting <= fitting + 1'b1;
        fitting_bytes <= next_bytes[ENOUGH_BITS-1:0];
      end else counts <= 1'b0;
    end
    assign chunk_fits = chunk < 32'(fitting);
    assign waits = counts && !chunk_fits;
    assign ahead = sequence_ - used_before;
    assign ahead_fits = ahead <= 32'(fitting);
    assign burst_fits = ahead + PORTS - 1 <= 32'(fitting);
  end

  // Of the words of each lane's filter count the bytes that the filter still has there.
  logic [31:0] before_bytes, own_bytes, next_lane_place;
  assign before_bytes = chunk * BANK_BYTES;
  assign own_bytes = filter_bytes <= before_bytes ? '0
      : filter_bytes - before_bytes < together * BANK_BYTES ? filter_bytes - before_bytes : together * BANK_BYTES;
  assign next_lane_place = (lane_place + filter_bytes) & PLACE;
  assign crossed_bytes = !chunk_done || is_held ? '0 : at_records || depthwise || whole ? bytes : lanes * own_bytes;

  always_ff @(posedge clock) begin
    if (reset) begin
      {group, pixel, chunk, lane, remaining, sequence_} <= '0;
      {group_place, record_place, chunk_place, lane_place, sent_place} <= '0;
      {finished, records_done, is_begun, may_burst} <= '0;
    end else if (chunk_done) begin
      {is_begun, lane, lane_place, sent_place} <= '0;
      sequence_ <= sequence_ + together;
      if (at_records) records_done <= 1'b1;
      else if (pass_done) begin
        chunk <= '0;
        chunk_place <= '0;
        may_burst <= PORTS > 1 && !depthwise && !whole && chunks >= PORTS;
        pixel <= group_done ? '0 : pixel + BLOCK;
        if (group_done) begin
          group <= (group + group_step) & CHANNELS;
          group_place <= (group_place + (depthwise ? group_step : group_bytes)) & PLACE;
          record_place <= (record_place + RECORD_BYTES * group_step) & PLACE;
          records_done <= 1'b0;
          finished <= group + group_step >= channels;
        end
      end else begin
        chunk <= (bursts ? chunk + PORTS : chunk + 1) & PLACE;
        chunk_place <= (chunk_place + (depthwise ? channels : bursts ? PORTS * BANK_BYTES : BANK_BYTES)) & PLACE;
        // The array waits for the operation's first chunks.
        may_burst <= PORTS > 1 && !depthwise && !whole && (bursts ? chunk + 2 * PORTS <= chunks : chunk + 1 + PORTS <= chunks)
            && (bursts || group != 0 || pixel != 0 || chunk + 1 >= PORTS || LANES < PORTS);
      end
    end else if (run_done) begin
      lane <= 32'(LANE_BITS'(lane + 1));
      {lane_place, sent_place} <= {2{next_lane_place}};
    end else if (active && takes) begin
      is_begun <= 1'b1;
      remaining <= (left - PORTS) & PLACE;
      sent_place <= (sent_place + PORTS * stride) & PLACE;
    end
  end

  // ------------------------------------------------------------------------------------------- what the array uses
  // `used`: chunks before those of the array's block
  logic has_finished;
  logic [31:0] crossed, block_chunks;
  assign step_chunk = 32'(has_records)
      + (depthwise ? step_tap : whole ? 0 : (shift + step_bytes - 1) / BANK_BYTES);
  assign ready = has_finished || crossed > used + step_chunk;
  always_ff @(posedge clock) begin
    if (reset) {has_finished, crossed} <= '0;
    else if (takes) {has_finished, crossed} <= {finished, sequence_};  // taken before the words that cross now
  end
  always_ff @(posedge clock) begin
    block_chunks <= chunks;
    if (reset) used <= '0;
    else if (block_ends) used <= used + block_chunks + 32'(group_ends && has_records);
  end
endmodule
