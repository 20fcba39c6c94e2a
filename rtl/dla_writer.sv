// Results on their way to the SRAM's ports: a ring of words, with a strobe for each byte. Results have their place in it
// from the cycle on in which their pixel leaves its accumulators (`put`), and come to it when they are done. Those that
// follow each other in memory share a word, which crosses once: when it is whole, when results go on beyond it, or when
// none follow.

module dla_writer
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned WORDS = 2,  // of a request
    parameter int unsigned CHUNK = 16,  // bytes that come together
    parameter int unsigned DEPTH = 8,  // of the ring
    parameter logic [31:0] PLACE = 32'h000fffff,  // the bits of an address of the SRAM
    // What follows; words have numbers, of which the low bits are the entry.
    parameter int unsigned ENTRY_BITS = $clog2(DEPTH),
    parameter int unsigned LOW = $clog2(BANK_BYTES),
    parameter int unsigned SPAN = CHUNK > BANK_BYTES ? CHUNK : BANK_BYTES,
    parameter int unsigned TURNS = 1 << $clog2(WORDS)
) (
    input logic clock,
    input logic reset,
    /* verilator lint_off UNUSEDSIGNAL */
    input results_t put,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic ends,  // with a put, here or in another writer: no results follow
    output logic room,  // for any chunk
    output logic is_empty,  // no word waits to be asked for, nor for its results
    output logic [ENTRY_BITS+LOW-1:0] place,  // of the put's first byte
    output logic goes_on,  // in a word that has bytes
    output logic [ENTRY_BITS:0] complete,  // the first word that is not complete with the put
    output logic [7:0] words,  // that begin with it
    // Before results come, and in the cycle in which they do
    input logic completes,
    input logic completes_all,
    input logic [ENTRY_BITS:0] completed,
    input logic comes,
    input logic [ENTRY_BITS+LOW-1:0] came_place,
    input logic came_goes_on,
    input logic [SPAN-1:0] came_strobes,  // both rotated to where they lie in as many words
    input logic [8*SPAN-1:0] came_data,
    // To the ports: words of the slot, a cycle after it had them; number `first` is its first one.
    output request_t request,
    input logic takes,
    input logic has_turn,
    output logic [7:0] first,
    output logic [8*BANK_BYTES-1:0] written[TURNS],
    output logic [BANK_BYTES-1:0] strobes[TURNS]
);
  localparam int unsigned MOST = (CHUNK - 1 + BANK_BYTES - 1) / BANK_BYTES + 1;  // words of a chunk
  localparam int unsigned SPAN_WORDS = SPAN / BANK_BYTES, SPAN_BITS = $clog2(SPAN);
  localparam int unsigned BLOCKS = DEPTH / SPAN_WORDS, BLOCK_BITS = $clog2(BLOCKS);
  localparam int unsigned COUNT_BITS = $clog2(CHUNK + 2 * BANK_BYTES);
  typedef logic [ENTRY_BITS-1:0] entry_t;
  typedef logic [ENTRY_BITS:0] number_t;
  number_t tail, ready, asked, handed, crossing;

  // ----------------------------------------------------------------------------------------------- places of results
  logic [31:0] first_word, last_word, newest;
  /* verilator lint_off UNUSEDSIGNAL */  // what rounding up leaves
  logic [COUNT_BITS-1:0] end_, rounded;  // behind the last byte, from the beginning of the first word
  /* verilator lint_on UNUSEDSIGNAL */
  number_t spanned, new_first, beyond;
  logic is_open;  // the newest word has room
  assign first_word = (put.address & PLACE) >> LOW;
  assign end_ = COUNT_BITS'(put.address[LOW-1:0]) + COUNT_BITS'(put.bytes);
  assign rounded = end_ + COUNT_BITS'(BANK_BYTES - 1);
  assign spanned = number_t'(rounded[COUNT_BITS-1:LOW]);
  assign last_word = (first_word + 32'(spanned) - 1) & PLACE >> LOW;
  assign goes_on = is_open && first_word == newest;
  assign new_first = tail - number_t'(goes_on);
  assign beyond = new_first + spanned;
  assign place = {entry_t'(new_first), put.address[LOW-1:0]};
  assign complete = end_[LOW-1:0] == '0 ? beyond : beyond - 1'b1;
  assign words = put.valid ? 8'(spanned) - 8'(goes_on) : '0;
  number_t used;
  assign used = tail - crossing;
  assign room = 32'(used) + MOST <= DEPTH;
  assign is_empty = tail == asked;

  logic [31:0] word[DEPTH];
  logic [DEPTH-1:0] follows;  // the word before, in the SRAM too
  for (genvar e = 0; e < DEPTH; e++) begin : entries
    entry_t nth;  // of the put's words
    assign nth = entry_t'(e) - entry_t'(new_first);
    always_ff @(posedge clock)
      if (put.valid && 32'(nth) < 32'(spanned)) begin
        word[e] <= (first_word + 32'(nth)) & PLACE >> LOW;
        if (nth != 0) follows[e] <= 1'b1;
        else if (!goes_on) follows[e] <= first_word == newest + 1;
      end
  end

  // --------------------------------------------------------------------------------------------------------- requests
  number_t waiting, count;
  assign waiting = ready - asked;
  always_comb begin
    count = '0;
    for (int unsigned i = 0; i < WORDS; i++)
      if (32'(count) == i && i < 32'(waiting) && (i == 0 || follows[entry_t'(asked)+entry_t'(i)])) count = count + 1'b1;
  end
  assign request.address = word[entry_t'(asked)] << LOW;
  assign request.stride = BANK_BYTES;
  assign request.words = 8'(count);
  always_ff @(posedge clock) begin
    if (reset) begin
      {tail, ready, asked, handed, crossing} <= '0;
      {newest, is_open} <= '0;
    end else begin
      if (put.valid) begin
        tail <= beyond;
        newest <= last_word;
      end
      is_open <= (put.valid ? end_[LOW-1:0] != '0 : is_open) && !ends;
      if (completes) ready <= completes_all ? tail : completed;
      if (takes) begin
        handed <= asked;
        if (has_turn) asked <= asked + count;
      end
      crossing <= handed;
    end
  end

  // ----------------------------------------------------------------------------------------------------------- bytes
  // The ring is blocks of as many words as a chunk may fill: a byte lies in the block where its chunk begins or, before
  // that beginning, in the next one.
  logic [DEPTH-1:0][8*BANK_BYTES-1:0] kept;
  logic [DEPTH-1:0][BANK_BYTES-1:0] kept_strobes;
  logic [BLOCK_BITS-1:0] in_block;
  logic [SPAN_BITS-1:0] begins;
  logic [SPAN-1:0] ahead;
  assign {in_block, begins} = came_place;
  assign ahead = (SPAN'(1) << begins) - 1'b1;
  for (genvar g = 0; g < BLOCKS; g++) begin : block
    logic [SPAN-1:0] own;
    assign own = !comes ? '0 : came_strobes
        & (in_block == BLOCK_BITS'(g) ? ~ahead : in_block + 1'b1 == BLOCK_BITS'(g) ? ahead : '0);
    for (genvar w = 0; w < SPAN_WORDS; w++) begin : word_
      localparam int unsigned E = g * SPAN_WORDS + w;
      logic [BANK_BYTES-1:0] new_;
      assign new_ = own[w*BANK_BYTES+:BANK_BYTES];
      for (genvar b = 0; b < BANK_BYTES; b++) begin : lane
        always_ff @(posedge clock) if (new_[b]) kept[E][8*b+:8] <= came_data[8*(w*BANK_BYTES+b)+:8];
      end
      always_ff @(posedge clock)
        if (new_ != '0)
          kept_strobes[E] <= (came_goes_on && came_place[LOW+:ENTRY_BITS] == entry_t'(E) ? kept_strobes[E] : '0) | new_;
    end
  end

  assign first = 8'(32'(crossing) % TURNS);
  for (genvar i = 0; i < TURNS; i++) begin : slot_word
    entry_t group;  // of words of the ring, one of each number
    assign group = entry_t'((32'(crossing) / TURNS + (i < 32'(first) ? 1 : 0)) % (DEPTH / TURNS));
    always_comb begin
      {written[i], strobes[i]} = {kept[i], kept_strobes[i]};
      for (int unsigned e = i; e < DEPTH; e += TURNS)
        if (group == entry_t'(e / TURNS)) {written[i], strobes[i]} = {kept[e], kept_strobes[e]};
    end
  end
endmodule
