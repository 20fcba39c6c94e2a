// The words of a transfer between the bus and the SRAM's ports. Bytes of a beat wait until their word is whole, or
// until the last beat. Words that are not consecutive, because a beat spans runs, are asked for as if they were.

module dla_dma_words
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned BEAT_BYTES = 8,
    parameter int unsigned QUEUE_BYTES = 64  // that may wait, besides a word
) (
    input logic clock,
    input logic reset,
    input logic beat,
    input logic [31:0] beat_bytes,
    input logic [31:0] sram_address[BEAT_BYTES],
    input logic flush,  // no beat follows this cycle's
    output logic room,
    output logic crossed,
    output request_t request,
    output logic [31:0] crossed_bytes,
    input logic takes
);
  logic [31:0] waiting, oldest, newest;  // words that wait; the first and the last of them
  logic has_newest, was_empty;  // before the words that cross now

  logic [31:0] touched, first_touched, last_touched, word, all, whole, taken;
  logic is_whole, known;
  always_comb begin
    touched = '0;
    first_touched = '0;
    last_touched = newest;
    known = has_newest;
    is_whole = 1'b0;
    word = '0;
    for (int unsigned i = 0; i < BEAT_BYTES; i++) begin
      if (beat && i < beat_bytes) begin
        word = sram_address[i] / BANK_BYTES;
        if (!known || word != last_touched) begin
          if (touched == 0) first_touched = word;
          touched = touched + 1;
        end
        known = 1'b1;
        last_touched = word;
        is_whole = sram_address[i] % BANK_BYTES == BANK_BYTES - 1;
      end
    end
  end

  assign all = waiting + touched;
  assign whole = all == 0 || flush || is_whole ? all : all - 1;
  assign request.stride = BANK_BYTES;
  assign request.address = (waiting == 0 ? first_touched : oldest) * BANK_BYTES;
  assign request.words = whole < PORTS ? whole[7:0] : 8'(PORTS);
  assign crossed = all == 0 && was_empty;
  assign taken = takes ? 32'(request.words) : '0;
  assign crossed_bytes = beat ? beat_bytes : '0;
  assign room = waiting * BANK_BYTES < BANK_BYTES + QUEUE_BYTES;
  always_ff @(posedge clock) begin
    if (reset) begin
      {waiting, oldest, newest} <= '0;
      {has_newest, was_empty} <= '0;
    end else begin
      if (takes) was_empty <= all == 0;
      waiting <= all - taken;
      oldest <= (waiting == 0 ? first_touched : oldest) + taken;
      newest <= last_touched;
      has_newest <= known;
    end
  end
endmodule
