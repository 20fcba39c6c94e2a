// The words of a transfer between the bus and the SRAM's ports. Bytes of a beat wait until their word is whole, or
// until the last beat. Words that are not consecutive, because a beat spans runs, are asked for as if they were.

module dla_dma_words
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned BEAT_BYTES = 8,
    parameter int unsigned QUEUE_BYTES = 64,  // that may wait, besides a word
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    input logic beat,
    input logic [31:0] beat_bytes,
    input logic [31:0] sram_address[BEAT_BYTES],
    input logic flush,  // no beat follows this cycle's
    input logic more,  // bytes come in the next cycle
    output logic room,
    output logic crossed,
    output request_t request,
    output logic [31:0] crossed_bytes,
    input logic takes
);
  localparam int unsigned COUNT_BITS = $clog2(QUEUE_BYTES / BANK_BYTES + BEAT_BYTES + 3);
  typedef logic [COUNT_BITS-1:0] count_t;
  count_t waiting, touched, all, whole, rest;  // words: those that wait, with this beat's, and without one that may grow
  logic [31:0] oldest, newest, first_touched, last_touched, start, word;
  logic has_newest, was_empty, is_whole, known;  // was_empty: before the words that cross now
  always_comb begin
    touched = '0;
    first_touched = '0;
    last_touched = newest;
    known = has_newest;
    is_whole = 1'b0;
    word = '0;
    for (int unsigned i = 0; i < BEAT_BYTES; i++) begin
      if (beat && i < beat_bytes) begin
        word = (sram_address[i] & PLACE) / BANK_BYTES;
        if (!known || word != last_touched) begin
          if (touched == 0) first_touched = word;
          touched = touched + 1'b1;
        end
        known = 1'b1;
        last_touched = word;
        is_whole = sram_address[i] % BANK_BYTES == BANK_BYTES - 1;
      end
    end
  end

  assign all = waiting + touched;
  assign whole = all == 0 || flush || is_whole ? all : all - 1'b1;
  assign start = waiting == 0 ? first_touched : oldest;
  assign request.stride = BANK_BYTES;
  assign request.address = start * BANK_BYTES;
  assign request.words = 32'(whole) < PORTS ? 8'(whole) : 8'(PORTS);
  assign rest = 32'(whole) < PORTS ? all - whole : count_t'(32'(all) - PORTS);
  assign crossed = all == 0 && was_empty && !more;
  assign crossed_bytes = beat ? beat_bytes : '0;
  assign room = 32'(waiting) * BANK_BYTES < BANK_BYTES + QUEUE_BYTES;
  always_ff @(posedge clock) begin
    if (reset) begin
      {waiting, oldest, newest} <= '0;
      {has_newest, was_empty} <= '0;
    end else begin
      if (takes) was_empty <= all == 0;
      waiting <= takes ? rest : all;
      oldest <= takes ? (start + 32'(request.words)) & PLACE : start;
      newest <= last_touched;
      has_newest <= known;
    end
  end
endmodule
