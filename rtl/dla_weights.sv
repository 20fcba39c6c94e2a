// Asks the SRAM for the weights of the MAC unit, and for the records of their channels, ahead of the array.
//
// Of a convolution a chunk is a word of each lane's filter, and a pass needs all chunks up to its input channels;
// filters shorter than a word make one chunk. Of a depthwise convolution a chunk is a tap. All chunks cross for
// the first block of pixels, and for each further one those that BUFFER_BYTES do not hold.
//
// Words of different filters often lie in one bank, those that follow each other in a filter never. So after the first
// chunks, which the array waits for, PORTS chunks cross together: as many words of each filter after the other.
//
// What decides whether a word is the last one stands in registers: the lanes of a group, which are found while the group
// before is read, the bytes of a chunk, and how far the array lets the reader go. The first words of an operation are asked
// for before its lanes are known.

module dla_weights
  import dla_isa::RECORD_BYTES;
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned BUFFER_BYTES = 0,  // 0: no limit
    parameter int unsigned LANES = 1,
    parameter int unsigned BLOCK = 1,  // pixels
    parameter bit IN_BLOCKS = 0,  // which are handed over whole
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    input logic enable,
    input logic holds,  // it asks for nothing
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
  localparam int unsigned CHUNK_BITS = $clog2(LANES * BANK_BYTES + 1);
  logic whole;  // a group is one chunk
  logic [31:0] shift, chunks, lanes, chunk_bytes;
  // A cycle later: `chunks`, the last of them, the first of the last PORTS, and the bytes of one
  logic [31:0] all_chunks, last_chunk, last_burst;
  logic [CHUNK_BITS-1:0] each_bytes;
  // Registers have the bits that they can need: of a picture's pixels, of channels.
  localparam logic [31:0] CHANNELS = 32'h01ffffff;
  localparam int unsigned WORD_BITS = $clog2(BANK_BYTES), LANE_BITS = $clog2(LANES + 1);
  localparam logic [31:0] EARLY = (PORTS * BANK_BYTES - 1) / RECORD_BYTES + 1;  // lanes whose records have PORTS words
  assign whole = !depthwise && filter_bytes < BANK_BYTES;
  assign shift = filter_bytes % BANK_BYTES == 0 ? weight_address % BANK_BYTES : BANK_BYTES - 1;  // the most of a lane
  assign chunks = depthwise ? filter_bytes : whole ? 1 : (shift + filter_bytes + (BANK_BYTES - 1)) / BANK_BYTES;

  // ------------------------------------------------------------------------------------------------------ chunks
  // A run has at most so many words, those of the records of a group or a word of each lane.
  localparam int unsigned MOST_WORDS = LANES * (RECORD_BYTES > BANK_BYTES ? RECORD_BYTES : BANK_BYTES) / BANK_BYTES + 1;
  localparam int unsigned COUNT_BITS = $clog2(MOST_WORDS + PORTS + 1);
  typedef logic [COUNT_BITS-1:0] count_t;
  localparam count_t AT_ONCE = COUNT_BITS'(PORTS);
  count_t remaining, record_words, chunk_words, records_left, chunk_left, left;
  logic [31:0] pixel, chunk, sequence_, used, step_chunk, first, bytes, stride, lane, together, record_bytes;
  // Where the group's filters and records lie, its chunk, and the next word of that from there
  logic [31:0] group_place, next_group_place, record_place, chunk_place, lane_place, sent_place;
  logic records_done, at_records, is_later, finished, active, is_begun, is_held, records_end, chunk_ends;
  logic run_done, chunk_done, pass_done, group_done;
  logic may_burst, bursts, chunk_fits, may_read, burst_fits, waits;
  assign at_records = has_records && !records_done;

  // The lanes of the group, and of the one that begins with channel `next_group`
  logic [31:0] next_group, next_lanes, following, following_lanes;
  logic has_lanes, is_settled, begins, is_early;  // is_early: words were taken before the lanes were known
  assign following = channels - next_group;
  assign following_lanes = 32'(LANE_BITS'(following < group_step ? following : group_step));
  assign begins = enable && !has_lanes && next_group == 0 && has_records && channels >= EARLY && group_step >= EARLY;
  always_ff @(posedge clock) begin
    next_lanes <= following_lanes;
    each_bytes <= chunk_bytes[CHUNK_BITS-1:0];
    is_settled <= !reset && has_lanes && !group_done;  // for a cycle
    if (reset) begin
      has_lanes <= 1'b0;
      next_group <= '0;
    end else if (group_done || (enable && !has_lanes)) begin
      has_lanes <= !group_done || is_settled;
      lanes <= group_done ? next_lanes : following_lanes;
      record_bytes <= RECORD_BYTES * (group_done ? next_lanes : following_lanes);
      if (!group_done || is_settled) next_group <= (next_group + group_step) & CHANNELS;
    end
  end
  assign chunk_bytes = depthwise ? lanes
      : whole ? lanes * (filter_bytes % (1 << WORD_BITS)) : lanes * BANK_BYTES;  // a filter then is shorter than a word
  always_comb begin
    stride = BANK_BYTES;
    if (at_records) begin
      first = (record_address + record_place) & PLACE;
      bytes = record_bytes;
    end else begin
      first = (weight_address + chunk_place) & PLACE;
      bytes = whole ? 32'(each_bytes) : chunk_bytes;
      if (!depthwise && !whole && !bursts) stride = filter_bytes & PLACE;
    end
  end
  assign record_words = words_of(record_address[WORD_BITS-1:0] + record_place[WORD_BITS-1:0], record_bytes);
  assign chunk_words = depthwise || whole
      ? words_of(weight_address[WORD_BITS-1:0] + chunk_place[WORD_BITS-1:0], whole ? 32'(each_bytes) : lanes)
      : COUNT_BITS'(lanes);
  function automatic count_t words_of(input logic [WORD_BITS-1:0] low, input logic [31:0] run_bytes);
    return COUNT_BITS'((32'(low) + run_bytes + (BANK_BYTES - 1)) / BANK_BYTES);
  endfunction
  assign is_held = !at_records && pixel != 0 && chunk_fits;
  assign active = enable && !holds && has_lanes && !finished && may_read
      && (at_records || !(whole && !is_settled) && !(waits && pixel != 0));
  assign bursts = lane != 0 || (may_burst && !is_begun && !at_records && !is_held && burst_fits);
  assign together = bursts ? PORTS : 1;
  // Words of the run at hand; `remaining`: when some have been taken. Records apart, as only chunks end a group.
  assign records_left = is_begun ? remaining : is_early ? record_words - AT_ONCE : record_words;
  assign chunk_left = is_held ? '0 : bursts ? AT_ONCE : is_begun ? remaining : chunk_words;
  assign left = at_records ? records_left : chunk_left;
  assign request.address = (first + sent_place) & PLACE;
  assign request.stride = stride;
  assign request.words = begins ? 8'(PORTS) : !active ? '0 : left < AT_ONCE ? 8'(left) : 8'(PORTS);
  assign run_done = at_records ? records_end : chunk_ends;
  assign chunk_done = at_records ? records_end : chunk_ends && (!bursts || lane + 1 == lanes);
  assign records_end = active && (records_left == 0 || (takes && records_left <= AT_ONCE));
  assign chunk_ends = active && (is_held || (takes && (bursts || (is_begun ? remaining : chunk_words) <= AT_ONCE)));
  assign pass_done = !at_records && chunk_ends && (!bursts || lane + 1 == lanes)
      && (bursts ? chunk == last_burst : chunk == last_chunk);
  assign group_done = pass_done && (pixels <= BLOCK || pixel >= pixels - BLOCK);
  assign next_group_place = (group_place + (depthwise ? group_step : group_bytes)) & PLACE;

  // How many of the group's chunks the buffer holds is counted, one in each cycle; until then none of those beyond is read
  // ahead. Against the array's place a cycle ago, which is never beyond today's.
  if (BUFFER_BYTES == 0) begin : all_fit
    assign {chunk_fits, may_read, burst_fits} = '1;
    assign waits = 1'b0;
  end else begin : some_fit
    localparam int unsigned ENOUGH_BITS = $clog2(BUFFER_BYTES + 1);
    logic [ENOUGH_BITS-1:0] fitting, fitting_bytes;
    logic [31:0] next_bytes, next_reach, reach, burst_reach;  // reach: chunks up to the last that fits, or to the next that the array needs
    logic [31:0] first_chunks;  // that the first step of a group needs, the records among them; in whole blocks one
    logic counts, is_known, has_first, may_reach;  // is_known: the bytes of a chunk; may_reach: PORTS chunks
    assign next_reach = used + step_chunk + (32'(fitting) > first_chunks ? 32'(fitting) : first_chunks);
    assign next_bytes = 32'(fitting_bytes) + 32'(each_bytes);
    always_ff @(posedge clock) begin
      reach <= reset ? '0 : next_reach;
      burst_reach <= next_reach - (PORTS - 1);
      if (is_settled && !has_first) first_chunks <= step_chunk + 1;
      if (reset || IN_BLOCKS) first_chunks <= 1;
      has_first <= !reset && (has_first || is_settled);
      may_reach <= !reset && next_reach >= (PORTS > 1 ? PORTS - 1 : 1);  // it is never 0
      if (reset || !enable || (is_known && 32'(each_bytes) != chunk_bytes)) begin
        {fitting, fitting_bytes, is_known} <= '0;
        counts <= 1'b1;
      end else if (!is_known) is_known <= is_settled;
      else if (counts && next_bytes <= BUFFER_BYTES) begin
        fitting <= fitting + 1'b1;
        fitting_bytes <= next_bytes[ENOUGH_BITS-1:0];
      end else counts <= 1'b0;
    end
    assign chunk_fits = chunk < 32'(fitting);
    assign waits = counts && !chunk_fits;
    assign may_read = sequence_ <= reach;
    assign burst_fits = may_reach && sequence_ <= burst_reach;
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
      {pixel, chunk, lane, remaining, sequence_} <= '0;
      {group_place, record_place, chunk_place, lane_place, sent_place} <= '0;
      {finished, records_done, is_begun, is_early, is_later, may_burst} <= '0;
    end else if (chunk_done) begin
      {is_begun, is_early, lane, lane_place, sent_place} <= '0;
      sequence_ <= sequence_ + together;
      if (at_records) records_done <= 1'b1;
      else if (pass_done) begin
        chunk <= '0;
        chunk_place <= group_done ? next_group_place : group_place;
        may_burst <= PORTS > 1 && !depthwise && !whole && all_chunks >= PORTS;
        pixel <= group_done ? '0 : pixel + BLOCK;
        if (group_done) begin
          group_place <= next_group_place;
          is_later <= 1'b1;
          record_place <= (record_place + RECORD_BYTES * group_step) & PLACE;
          records_done <= 1'b0;
          finished <= next_group >= channels;
        end
      end else begin
        chunk <= (bursts ? chunk + PORTS : chunk + 1) & PLACE;
        chunk_place <= (chunk_place + (depthwise ? channels : bursts ? PORTS * BANK_BYTES : BANK_BYTES)) & PLACE;
        // The array waits for the operation's first chunks.
        may_burst <= PORTS > 1 && !depthwise && !whole && (bursts ? chunk + 2 * PORTS <= all_chunks : chunk + 1 + PORTS <= all_chunks)
            && (bursts || is_later || pixel != 0 || chunk + 1 >= PORTS || LANES < PORTS);
      end
    end else if (run_done) begin
      lane <= 32'(LANE_BITS'(lane + 1));
      {lane_place, sent_place} <= {2{next_lane_place}};
    end else if ((active || begins) && takes) begin
      {is_begun, is_early} <= {!begins, begins};
      remaining <= left - AT_ONCE;
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
    all_chunks <= chunks;
    last_chunk <= chunks - 1;
    last_burst <= chunks - PORTS;
    if (reset) used <= '0;
    else if (block_ends) used <= used + all_chunks + 32'(group_ends && has_records);
  end
endmodule
