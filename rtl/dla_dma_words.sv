// The words of a transfer between the bus and the SRAM's ports: in a ring, each from the beat that touches it first until
// nobody needs it. A beat has a piece of the SRAM, or two; those that go on in the newest word share it.
//
// Words to be written wait until they are whole, or until the last beat; those to be read are asked for at once. A
// request has words that follow each other in the SRAM.

module dla_dma_words
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned WORDS = 2,  // of a request
    parameter int unsigned BEAT_BYTES = 8,
    parameter int unsigned DEPTH = 4,  // of the ring, a power of 2
    parameter bit READS = 1'b0,
    parameter logic [31:0] PLACE = 32'h000fffff,  // the bits of an address of the SRAM
    parameter int unsigned ENTRY_BITS = $clog2(DEPTH)
) (
    input logic clock,
    input logic reset,
    input logic ends,  // a transfer, with this cycle
    input logic beat,
    input pieces_t pieces,
    input logic flush,  // no beat follows this cycle's
    input logic more,  // bytes come in the next cycle
    input logic reserves,  // there must be room for the bytes of two beats
    // Words have numbers; the low bits of one are its entry.
    input logic [ENTRY_BITS:0] oldest,  // that is needed
    output logic room,
    output logic crossed,
    // Of the beat: the words where its pieces begin, whether the first one goes on in a word, and the word after
    output logic [ENTRY_BITS:0] first,
    output logic [ENTRY_BITS-1:0] second,  // its entry
    output logic goes_on,
    output logic [ENTRY_BITS:0] beyond,
    output logic [ENTRY_BITS:0] handed,  // the first one in the slot
    output request_t request,
    output logic [31:0] crossed_bytes,
    input logic takes
);
  typedef logic [ENTRY_BITS-1:0] entry_t;
  typedef logic [ENTRY_BITS:0] number_t;
  localparam int unsigned LOW = $clog2(BANK_BYTES);
  localparam int unsigned MOST = (BEAT_BYTES - 1 + BANK_BYTES - 1) / BANK_BYTES + 1;  // words of a piece
  localparam int unsigned BYTES_BITS = $clog2(BEAT_BYTES + 1);
  localparam int unsigned COUNT_BITS = $clog2(BEAT_BYTES + 2 * BANK_BYTES);

  // ------------------------------------------------------------------------------------------------ of this beat
  /* verilator lint_off UNUSEDSIGNAL */  // what rounding up leaves
  function automatic logic [31:0] words_of(input logic [LOW-1:0] place, input logic [31:0] bytes);
    logic [COUNT_BITS-1:0] up_to;  // from the beginning of the first word, rounded up
    up_to = COUNT_BITS'(place) + COUNT_BITS'(bytes) + COUNT_BITS'(BANK_BYTES - 1);
    words_of = bytes == 0 ? '0 : 32'(up_to[COUNT_BITS-1:LOW]);
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */
  logic [31:0] newest, first_word, second_word, last_word, first_words, second_words, first_bytes, second_bytes;
  number_t tail, asked, waiting;
  logic [LOW-1:0] end_;  // behind the beat's last byte, in its word
  logic joins, has_newest, is_whole, newest_whole, was_empty;
  assign first_bytes = 32'(BYTES_BITS'(pieces.first_bytes));
  assign second_bytes = 32'(BYTES_BITS'(pieces.second_bytes));
  assign first_word = (pieces.place & PLACE) >> LOW;
  assign second_word = (pieces.second & PLACE) >> LOW;
  assign first_words = words_of(pieces.place[LOW-1:0], first_bytes);
  assign second_words = words_of(pieces.second[LOW-1:0], second_bytes);
  assign last_word = first_word + first_words - 1;
  assign goes_on = first_bytes != 0 && (READS ? has_newest : waiting != 0) && first_word == newest;
  assign joins = second_bytes != 0 && second_word == last_word;
  assign first = tail - number_t'(goes_on);
  number_t second_number;
  assign second_number = first + number_t'(first_words) - number_t'(joins);
  assign second = entry_t'(second_number);
  assign beyond = first_bytes == 0 ? tail : second_number + number_t'(second_words);
  assign end_ = LOW'(second_bytes != 0 ? pieces.second + second_bytes : pieces.place + first_bytes);
  assign is_whole = beat ? end_ == 0 : newest_whole;

  // ------------------------------------------------------------------------------------------------- the ring
  logic [31:0] word[DEPTH], word_after[DEPTH];
  logic [DEPTH-1:0] follows, follows_after;  // the word before, in the SRAM too
  number_t tail_after;
  assign tail_after = beat ? beyond : tail;
  always_comb begin
    for (int unsigned e = 0; e < DEPTH; e++) begin
      {word_after[e], follows_after[e]} = {word[e], follows[e]};
      for (int unsigned w = 0; w < MOST; w++) begin
        if (beat && entry_t'(e) == entry_t'(first) + entry_t'(w) && w < first_words) begin
          word_after[e] = first_word + w;
          if (w != 0) follows_after[e] = 1'b1;
          else if (!goes_on) follows_after[e] = first_word == newest + 1;
        end
        if (beat && entry_t'(e) == second + entry_t'(w) && w < second_words) begin
          word_after[e] = second_word + w;
          if (w != 0) follows_after[e] = 1'b1;
          else if (!joins) follows_after[e] = second_word == last_word + 1;
        end
      end
    end
  end
  for (genvar e = 0; e < DEPTH; e++) begin : entries
    always_ff @(posedge clock) {word[e], follows[e]} <= {word_after[e], follows_after[e]};
  end

  // ------------------------------------------------------------------------------------------------- requests
  number_t all, ready, count;
  assign waiting = tail - asked;
  assign all = tail_after - asked;
  assign ready = all == 0 || READS || flush || is_whole ? all : all - 1'b1;
  always_comb begin
    count = '0;
    for (int unsigned i = 0; i < WORDS; i++)
      if (number_t'(i) == count && i < 32'(ready) && (i == 0 || follows_after[entry_t'(asked)+entry_t'(i)])) count = count + 1'b1;
  end
  assign request.address = (waiting != 0 ? word[entry_t'(asked)] : !goes_on ? first_word
      : first_words > 1 ? first_word + 1 : second_word + 32'(joins)) << LOW;
  assign request.stride = BANK_BYTES;
  assign request.words = 8'(count);
  assign crossed = all == 0 && was_empty && !more;
  assign crossed_bytes = beat ? first_bytes + second_bytes : '0;
  number_t used, new_;  // words that are needed, and those that the beat adds
  assign used = tail - oldest;
  assign new_ = beyond - tail;
  assign room = 32'(used) + 32'(new_) + (reserves ? 2 * MOST : 0) <= DEPTH;
  always_ff @(posedge clock) begin
    if (reset) begin
      {tail, asked, handed, newest} <= '0;
      {has_newest, newest_whole, was_empty} <= '0;
    end else begin
      if (takes) begin
        was_empty <= all == 0;
        asked <= asked + count;
        handed <= asked;
      end
      if (ends) was_empty <= 1'b0;
      tail <= tail_after;
      has_newest <= (has_newest || beat) && !ends;
      if (beat) begin
        newest <= second_bytes != 0 ? second_word + second_words - 1 : last_word;
        newest_whole <= is_whole;
      end
    end
  end
endmodule
