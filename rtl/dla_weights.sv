// Asks the SRAM for the weights of the MAC unit, and for the records of their channels, ahead of the array.
//
// Of a convolution a chunk is a word of each lane's filter, and a pass needs all chunks up to its input channels;
// filters shorter than a word make one chunk. Of a depthwise convolution a chunk is a tap. All chunks cross for
// the first block of pixels, and for each further one those that BUFFER_BYTES do not hold.

module dla_weights
  import dla_isa::RECORD_BYTES;
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned BUFFER_BYTES = 0,  // 0: no limit
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
    input logic [31:0] pixels,
    // What the array needs now: bytes of a filter up to the end of this pass, or the tap; the end of a block or group
    input logic [31:0] step_bytes,
    input logic [31:0] step_tap,
    input logic block_ends,
    input logic group_ends,
    output logic ready,
    output request_t request,
    output logic [31:0] crossed_bytes,
    input logic [7:0] granted
);
  // ------------------------------------------------------------------------------------------------------- shape
  logic whole;  // a group is one chunk
  logic [31:0] shift, chunks, lanes, chunk_bytes;
  // Registers have the bits that they can need: of a picture's pixels, of channels.
  localparam logic [31:0] CHANNELS = 32'h01ffffff;
  // What is compared with the buffer counts no further than beyond it.
  localparam int unsigned ENOUGH_BITS = $clog2(BUFFER_BYTES + 2);
  typedef logic [ENOUGH_BITS-1:0] enough_t;
  function automatic enough_t enough(input logic [31:0] count);
    return count > BUFFER_BYTES ? enough_t'(BUFFER_BYTES + 1) : enough_t'(count);
  endfunction
  function automatic logic holds(input logic [31:0] number, input logic [31:0] bytes_each);
    return BUFFER_BYTES == 0
        || (2 * ENOUGH_BITS)'(enough(number)) * (2 * ENOUGH_BITS)'(enough(bytes_each)) <= (2 * ENOUGH_BITS)'(BUFFER_BYTES);
  endfunction
  assign whole = !depthwise && filter_bytes < BANK_BYTES;
  assign shift = filter_bytes % BANK_BYTES == 0 ? weight_address % BANK_BYTES : BANK_BYTES - 1;  // the most of a lane
  assign chunks = depthwise ? filter_bytes : whole ? 1 : (shift + filter_bytes - 1) / BANK_BYTES + 1;

  // ------------------------------------------------------------------------------------------------------ chunks
  logic [31:0] group, pixel, chunk, sent, sequence_, used, step_chunk, first, bytes, count, left, stride;
  logic records_done, at_records, finished, active, is_held, chunk_done;
  assign at_records = has_records && !records_done;
  assign lanes = channels - group < group_step ? channels - group : group_step;
  assign chunk_bytes = depthwise ? lanes
      : whole ? lanes * (filter_bytes % (1 << $clog2(BANK_BYTES))) : lanes * BANK_BYTES;  // a filter then is shorter than a word
  always_comb begin
    stride = BANK_BYTES;
    if (at_records) begin
      first = (record_address + RECORD_BYTES * group) & PLACE;
      bytes = RECORD_BYTES * lanes;
    end else begin
      first = (weight_address + (depthwise ? chunk * channels + group : group * filter_bytes + chunk * BANK_BYTES)) & PLACE;
      bytes = chunk_bytes;
      if (!depthwise && !whole) stride = filter_bytes & PLACE;
    end
    count = at_records || depthwise || whole ? ((first + bytes - 1) & PLACE) / BANK_BYTES - first / BANK_BYTES + 1 : lanes;
  end
  assign is_held = !at_records && pixel != 0 && holds(chunk + 1, chunk_bytes);
  assign active = enable && !finished
      && (sequence_ <= used + step_chunk + 1 || holds(sequence_ - used - step_chunk, chunk_bytes));
  assign left = is_held ? '0 : count - sent;
  assign request.address = (first + sent * stride) & PLACE;
  assign request.stride = stride;
  assign request.words = !active ? '0 : left < PORTS ? left[7:0] : 8'(PORTS);
  assign chunk_done = active && 32'(granted) == left;

  // Of a word of each lane's filter count the bytes that the filter still has there.
  logic [31:0] done_bytes, own_bytes;
  assign done_bytes = chunk * BANK_BYTES;
  assign own_bytes = filter_bytes <= done_bytes ? '0
      : filter_bytes - done_bytes < BANK_BYTES ? filter_bytes - done_bytes : BANK_BYTES;
  assign crossed_bytes = !chunk_done || is_held ? '0 : at_records || depthwise || whole ? bytes : lanes * own_bytes;

  always_ff @(posedge clock) begin
    if (reset) begin
      {group, pixel, chunk, sent, sequence_} <= '0;
      finished <= 1'b0;
      records_done <= 1'b0;
    end else if (chunk_done) begin
      sent <= '0;
      sequence_ <= sequence_ + 1;
      if (at_records) records_done <= 1'b1;
      else begin
        chunk <= chunk + 1 == chunks ? '0 : (chunk + 1) & PLACE;
        if (chunk + 1 == chunks) begin
          pixel <= pixel + BLOCK >= pixels ? '0 : pixel + BLOCK;
          if (pixel + BLOCK >= pixels) begin
            group <= (group + group_step) & CHANNELS;
            records_done <= 1'b0;
            finished <= group + group_step >= channels;
          end
        end
      end
    end else if (active) sent <= (sent + 32'(granted)) & PLACE;
  end

  // ------------------------------------------------------------------------------------------- what the array uses
  // `used`: chunks before those of the array's block
  assign step_chunk = 32'(has_records)
      + (depthwise ? step_tap : whole ? 0 : (shift + step_bytes - 1) / BANK_BYTES);
  assign ready = finished || sequence_ > used + step_chunk;
  always_ff @(posedge clock) begin
    if (reset) used <= '0;
    else if (block_ends) used <= used + chunks + 32'(group_ends && has_records);
  end
endmodule
