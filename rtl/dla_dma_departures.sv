// Words from the SRAM's ports become bytes for the bus. A beat asks for its words and waits until they have come; its bytes
// are shifted out of them, those of each of its two pieces by itself. What goes to memory comes some cycles after its beat.

module dla_dma_departures
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,  // that words come from
    parameter int unsigned DMA_PORTS = PORTS,  // that words of transfers may have
    parameter int unsigned BEAT_BYTES = 8,
    parameter int unsigned BEATS = 6,  // that wait
    parameter logic [31:0] PLACE = 32'h000fffff,  // the bits of an address of the SRAM
    parameter int unsigned WORDS = transfer_words(BANK_BYTES, DMA_PORTS, BEAT_BYTES),  // of a request
    parameter int unsigned DEPTH = ring_words(BANK_BYTES, BEAT_BYTES)  // words that are here or have been asked for
) (
    input logic clock,
    input logic reset,
    input logic ends,
    input logic beat,
    input pieces_t pieces,
    input logic [31:0] system_address,
    input logic flush,
    output logic room,
    output logic crossed,  // and the last beats are on their way
    output request_t request,
    output logic [31:0] crossed_bytes,
    input logic takes,
    // From each port, two cycles after the slot had it: whether it is a word of this stream, which of the slot, and the word
    input logic [PORTS-1:0] arrives,
    input logic [7:0] number[PORTS],
    input logic [8*BANK_BYTES-1:0] read[PORTS],
    output logic [BEAT_BYTES-1:0] leaving,
    output logic [31:0] leaving_address,
    output logic [8*BEAT_BYTES-1:0] leaving_data
);
  localparam int unsigned ENTRY_BITS = $clog2(DEPTH), LOW = $clog2(BANK_BYTES), BEAT_BITS = $clog2(BEATS + 1);
  localparam int unsigned SPAN_WORDS = 1 << $clog2((BEAT_BYTES + BANK_BYTES - 1) / BANK_BYTES), SPAN = SPAN_WORDS * BANK_BYTES;
  localparam int unsigned TURN_BITS = $clog2(SPAN), BLOCKS = DEPTH / SPAN_WORDS, BLOCK_BITS = $clog2(BLOCKS);
  localparam int unsigned TURNS = 1 << $clog2(WORDS), LENGTH_BITS = $clog2(BEAT_BYTES + 1);
  typedef logic [ENTRY_BITS:0] number_t;
  typedef logic [ENTRY_BITS-1:0] entry_t;
  typedef logic [BLOCK_BITS-1:0] block_t;
  typedef logic [TURN_BITS-1:0] turn_t;
  typedef struct packed {
    logic [31:0] address;  // in system memory
    number_t first;
    entry_t second;
    number_t beyond;
    logic [LOW-1:0] first_place;
    logic [LOW-1:0] second_place;
    logic [LENGTH_BITS-1:0] first_bytes;
    logic [LENGTH_BITS-1:0] bytes;  // of both pieces
  } waiting_t;
  number_t first, beyond, handed, chosen, come;
  entry_t second;
  waiting_t waiting[BEATS], head;
  logic [BEAT_BITS-1:0] oldest, next, beats;
  logic goes_on, has_room, have_crossed;
  dla_dma_words #(
      .BANK_BYTES(BANK_BYTES),
      .WORDS(WORDS),
      .BEAT_BYTES(BEAT_BYTES),
      .DEPTH(DEPTH),
      .READS(1'b1),
      .PLACE(PLACE)
  ) ring (
      .clock, .reset, .ends, .beat, .pieces, .flush, .more(1'b0), .reserves(1'b0), .oldest(beats != 0 ? head.first : first),
      .room(has_room), .crossed(have_crossed), .first, .second, .goes_on, .beyond, .handed, .request, .crossed_bytes, .takes
  );
  logic unused;
  assign unused = &{1'b0, goes_on};

  // ------------------------------------------------------------------------------------------------- the words
  // Words of the slot come from any port, each to its place among as many.
  logic [DEPTH-1:0][8*BANK_BYTES-1:0] kept;
  for (genvar i = 0; i < TURNS; i++) begin : slot_word
    logic comes;
    logic [8*BANK_BYTES-1:0] word;
    always_comb begin
      {comes, word} = '0;
      for (int unsigned p = 0; p < PORTS; p++)
        if (arrives[p] && (32'(come) + 32'(number[p])) % TURNS == i) begin
          comes = 1'b1;
          word = word | read[p];
        end
    end
    for (genvar e = i; e < DEPTH; e += TURNS) begin : entry
      always_ff @(posedge clock)
        if (comes && (32'(come) / TURNS + (i < 32'(come) % TURNS ? 1 : 0)) % (DEPTH / TURNS) == e / TURNS) kept[e] <= word;
    end
  end

  // ------------------------------------------------------------------------------------------- beats that wait
  // All words before those in the slot have been chosen; so those before `come` are here.
  number_t ahead;  // negative where words are to come
  logic leaves;
  assign head = waiting[oldest];
  assign ahead = come - head.beyond;
  assign leaves = beats != 0 && !ahead[ENTRY_BITS];
  assign room = has_room && beats < BEAT_BITS'(BEATS);
  localparam int unsigned ON_THEIR_WAY = 3;  // beats, which leave while the next operation is checked
  assign crossed = have_crossed && 32'(beats) <= ON_THEIR_WAY;
  for (genvar i = 0; i < BEATS; i++) begin : slots
    always_ff @(posedge clock)
      if (beat && next == BEAT_BITS'(i))
        waiting[i] <= '{
            address: system_address,
            first: first,
            second: second,
            beyond: beyond,
            first_place: pieces.place[LOW-1:0],
            second_place: pieces.second[LOW-1:0],
            first_bytes: LENGTH_BITS'(pieces.first_bytes),
            bytes: LENGTH_BITS'(pieces.first_bytes + pieces.second_bytes)
        };
  end
  function automatic logic [BEAT_BITS-1:0] after(input logic [BEAT_BITS-1:0] slot);
    after = slot == BEAT_BITS'(BEATS - 1) ? '0 : slot + 1'b1;
  endfunction
  always_ff @(posedge clock) begin
    if (reset) begin
      {oldest, next, beats} <= '0;
      {chosen, come} <= '0;
    end else begin
      {chosen, come} <= {handed, chosen};
      beats <= beats + BEAT_BITS'(beat) - BEAT_BITS'(leaves);
      if (beat) next <= after(next);
      if (leaves) oldest <= after(oldest);
    end
  end

  // -------------------------------------------------------------------------------------------------- their bytes
  // The ring is blocks of as many words as a beat may fill. Each byte of a block has a place in a piece: in that block where
  // the piece begins or, before its beginning, in the next one. All are rotated.
  typedef logic [BEAT_BYTES-1:0][7:0] beat_t;
  beat_t first_data, second_data;
  function automatic beat_t piece_of(input logic [BLOCKS-1:0][SPAN-1:0][7:0] blocks,
                                     input logic [ENTRY_BITS+LOW-1:0] at, input turn_t skipped);
    logic [SPAN-1:0][7:0] found;
    logic [SPAN-1:0] is_before;
    block_t block;
    turn_t begins, turn;
    {block, begins} = at;
    is_before = (SPAN'(1) << begins) - 1'b1;
    found = '0;
    for (int unsigned i = 0; i < SPAN; i++)
      for (int unsigned g = 0; g < BLOCKS; g++)
        if (block_t'(g) == block + block_t'(is_before[i])) found[i] = found[i] | blocks[g][i];
    turn = begins - skipped;
    piece_of = (8 * BEAT_BYTES)'({found, found} >> {turn, 3'd0});
  endfunction
  assign first_data = piece_of(kept, {entry_t'(head.first), head.first_place}, '0);
  assign second_data = piece_of(kept, {head.second, head.second_place}, turn_t'(head.first_bytes));
  always_ff @(posedge clock) leaving_address <= head.address;
  for (genvar i = 0; i < BEAT_BYTES; i++) begin : byte_
    always_ff @(posedge clock) begin
      leaving[i] <= !reset && leaves && i < 32'(head.bytes);
      leaving_data[8*i+:8] <= i < 32'(head.first_bytes) ? first_data[i] : second_data[i];
    end
  end
endmodule
