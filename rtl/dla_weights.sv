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
  assign whole = !depthwise && filter_bytes < BANK_BYTES;
  assign shift = filter_bytes % BANK_BYTES == 0 ? weight_address % BANK_BYTES : BANK_BYTES - 1;  // the most of a lane
  assign chunks = depthwise ? filter_bytes : whole ? 1 : (shift + filter_bytes - 1) / BANK_BYTES + 1;

  // ------------------------------------------------------------------------------------------------------ chunks
  logic [31:0] group, pixel, chunk, sent, sequence_, used, step_chunk, first, bytes, count, left, stride, lane, together;
  // Where the group's filters and records, the chunk, and the next word of it lie, each from the one before
  logic [31:0] group_place, record_place, chunk_place, lane_place, sent_place;
  logic records_done, at_records, finished, active, is_held, run_done, chunk_done, chunk_fits, ahead_fits, burst_fits, bursts;
  assign at_records = has_records && !records_done;
  localparam int unsigned LANE_BITS = $clog2(LANES + 1);
  assign lanes = 32'(LANE_BITS'(channels - group < group_step ? channels - group : group_step));
  assign chunk_bytes = depthwise ? lanes
      : whole ? lanes * (filter_bytes % (1 << $clog2(BANK_BYTES))) : lanes * BANK_BYTES;  // a filter then is shorter than a word
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
    count = at_records || depthwise || whole ? ((first + bytes - 1) & PLACE) / BANK_BYTES - first / BANK_BYTES + 1 : lanes;
  end
  assign is_held = !at_records && pixel != 0 && chunk_fits;
  assign active = enable && !finished && (sequence_ <= used + step_chunk + 1 || ahead_fits);
  assign bursts = lane != 0 || (PORTS > 1 && sent == 0 && !at_records && !depthwise && !whole && !is_held && burst_fits
      && chunk + PORTS <= chunks && (group != 0 || pixel != 0 || chunk >= PORTS || LANES < PORTS));
  assign together = bursts ? PORTS : 1;
  assign left = is_held ? '0 : bursts ? PORTS : count - sent;
  assign request.address = (first + sent_place) & PLACE;
  assign request.stride = stride;
  assign request.words = !active ? '0 : left < PORTS ? left[7:0] : 8'(PORTS);
  assign run_done = active && (left == 0 || (takes && left <= PORTS));
  assign chunk_done = run_done && (!bursts || lane + 1 == lanes);

  // What is compared with the buffer counts no further than beyond it: the pass's chunks up to this one, and those from the
  // array's to this one.
  if (BUFFER_BYTES == 0) begin : all_fit
    assign {chunk_fits, ahead_fits, burst_fits} = '1;
  end else begin : some_fit
    localparam int unsigned ENOUGH_BITS = $clog2(BUFFER_BYTES + 2), CHUNK_BITS = $clog2(LANES * BANK_BYTES + 1);
    localparam logic [31:0] TOO_MANY = BUFFER_BYTES + 1;
    logic [ENOUGH_BITS-1:0] pass_bytes;  // of the chunks before this one
    logic [31:0] next_bytes, done_bytes, ahead, used_before;
    function automatic logic fits(input logic [31:0] further);  // so many chunks
      return further < TOO_MANY && (ENOUGH_BITS + CHUNK_BITS)'(further[ENOUGH_BITS-1:0])
          * (ENOUGH_BITS + CHUNK_BITS)'(chunk_bytes[CHUNK_BITS-1:0]) < (ENOUGH_BITS + CHUNK_BITS)'(TOO_MANY);
    endfunction
    assign next_bytes = 32'(pass_bytes) + 32'(chunk_bytes[CHUNK_BITS-1:0]);
    assign done_bytes = 32'(pass_bytes) + together * 32'(chunk_bytes[CHUNK_BITS-1:0]);
    assign chunk_fits = next_bytes < TOO_MANY;
    // Against the array's place a cycle ago, which is never beyond today's, so that the product begins at a register
    assign ahead = sequence_ - used_before;
    always_ff @(posedge clock) used_before <= reset ? '0 : used + step_chunk;
    assign ahead_fits = fits(ahead);
    assign burst_fits = fits(ahead + PORTS - 1);
    always_ff @(posedge clock) begin
      if (reset) pass_bytes <= '0;
      else if (chunk_done && !at_records)
        pass_bytes <= chunk + together == chunks ? '0 : ENOUGH_BITS'(done_bytes < TOO_MANY ? done_bytes : TOO_MANY);
    end
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
      {group, pixel, chunk, sent, lane, sequence_} <= '0;
      {group_place, record_place, chunk_place, lane_place, sent_place} <= '0;
      finished <= 1'b0;
      records_done <= 1'b0;
    end else if (chunk_done) begin
      {sent, lane, lane_place, sent_place} <= '0;
      sequence_ <= sequence_ + together;
      if (at_records) records_done <= 1'b1;
      else begin
        chunk <= chunk + together == chunks ? '0 : (chunk + together) & PLACE;
        chunk_place <= chunk + together == chunks ? '0
            : (chunk_place + (depthwise ? channels : together * BANK_BYTES)) & PLACE;
        if (chunk + together == chunks) begin
          pixel <= pixel + BLOCK >= pixels ? '0 : pixel + BLOCK;
          if (pixel + BLOCK >= pixels) begin
            group <= (group + group_step) & CHANNELS;
            group_place <= (group_place + (depthwise ? group_step : group_bytes)) & PLACE;
            record_place <= (record_place + RECORD_BYTES * group_step) & PLACE;
            records_done <= 1'b0;
            finished <= group + group_step >= channels;
          end
        end
      end
    end else if (run_done) begin
      lane <= 32'(LANE_BITS'(lane + 1));
      {lane_place, sent_place} <= {2{next_lane_place}};
    end else if (active && takes) begin
      sent <= (sent + PORTS) & PLACE;
      sent_place <= (sent_place + PORTS * stride) & PLACE;
    end
  end

  // ------------------------------------------------------------------------------------------- what the array uses
  // `used`: chunks before those of the array's block
  logic has_finished;
  logic [31:0] crossed;
  assign step_chunk = 32'(has_records)
      + (depthwise ? step_tap : whole ? 0 : (shift + step_bytes - 1) / BANK_BYTES);
  assign ready = has_finished || crossed > used + step_chunk;
  always_ff @(posedge clock) begin
    if (reset) {has_finished, crossed} <= '0;
    else if (takes) {has_finished, crossed} <= {finished, sequence_};  // taken before the words that cross now
  end
  always_ff @(posedge clock) begin
    if (reset) used <= '0;
    else if (block_ends) used <= used + chunks + 32'(group_ends && has_records);
  end
endmodule
