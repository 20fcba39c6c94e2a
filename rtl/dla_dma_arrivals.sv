// Bytes from the bus become words, with a strobe for each byte, which wait for the SRAM's ports. A beat's data comes in the
// cycle after its place, and is shifted to the bytes of its words: each of its two pieces by itself.

module dla_dma_arrivals
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned DMA_PORTS = 4,  // that words of transfers may have
    parameter int unsigned BEAT_BYTES = 8,
    parameter logic [31:0] PLACE = 32'h000fffff,  // the bits of an address of the SRAM
    parameter int unsigned WORDS = transfer_words(BANK_BYTES, DMA_PORTS, BEAT_BYTES),  // of a request
    parameter int unsigned DEPTH = ring_words(BANK_BYTES, BEAT_BYTES),  // words that wait
    parameter int unsigned TURNS = 1 << $clog2(WORDS)
) (
    input logic clock,
    input logic reset,
    input logic ends,
    input logic beat,
    input pieces_t pieces,
    input logic flush,
    input logic more,
    input logic reserves,
    input logic [8*BEAT_BYTES-1:0] data,  // of the beat before
    output logic room,
    output logic crossed,
    output request_t request,
    output logic [31:0] crossed_bytes,
    input logic takes,
    // Words of the slot, a cycle after it had them: number `turn` is its first one, and number 0 follows the last.
    output logic [7:0] turn,
    output logic [8*BANK_BYTES-1:0] written[TURNS],
    output logic [BANK_BYTES-1:0] strobes[TURNS]
);
  localparam int unsigned ENTRY_BITS = $clog2(DEPTH), LOW = $clog2(BANK_BYTES);
  localparam int unsigned SPAN_WORDS = 1 << $clog2((BEAT_BYTES + BANK_BYTES - 1) / BANK_BYTES), SPAN = SPAN_WORDS * BANK_BYTES;
  localparam int unsigned TURN_BITS = $clog2(SPAN), BLOCKS = DEPTH / SPAN_WORDS, BLOCK_BITS = $clog2(BLOCKS);
  typedef logic [ENTRY_BITS:0] number_t;
  typedef logic [ENTRY_BITS-1:0] entry_t;
  number_t first, beyond, handed, crossing;
  entry_t second;
  logic goes_on;
  dla_dma_words #(
      .BANK_BYTES(BANK_BYTES),
      .WORDS(WORDS),
      .BEAT_BYTES(BEAT_BYTES),
      .DEPTH(DEPTH),
      .PLACE(PLACE)
  ) ring (
      .clock, .reset, .ends, .beat, .pieces, .flush, .more, .reserves, .oldest(crossing), .room, .crossed,
      .first, .second, .goes_on, .beyond, .handed, .request, .crossed_bytes, .takes
  );
  logic unused;
  assign unused = &{1'b0, beyond, first[ENTRY_BITS]};

  // ---------------------------------------------------------------------------------- the beat whose data is here
  // The ring is blocks of as many words as a beat may fill. Data is rotated to where it lies in a block: a byte has one
  // place there, in the block where its piece begins or, before the piece's beginning, in the next one.
  typedef logic [SPAN-1:0][7:0] span_t;
  typedef logic [TURN_BITS-1:0] turn_t;
  typedef logic [BLOCK_BITS-1:0] block_t;
  typedef struct packed {
    logic [BEAT_BYTES-1:0] bytes;  // of the beat that are in it
    block_t block;
    turn_t begins;  // there
    turn_t turn;  // of the beat's first byte
  } piece_t;
  function automatic piece_t piece_of(input logic [ENTRY_BITS+LOW-1:0] at, input logic [31:0] skipped, bytes);
    {piece_of.block, piece_of.begins} = at;
    piece_of.turn = piece_of.begins - turn_t'(skipped);
    for (int unsigned i = 0; i < BEAT_BYTES; i++) piece_of.bytes[i] = i >= skipped && i < skipped + bytes;
  endfunction
  localparam int unsigned BYTES_BITS = $clog2(BEAT_BYTES + 1);
  logic [31:0] first_bytes, second_bytes;
  assign first_bytes = 32'(BYTES_BITS'(pieces.first_bytes));
  assign second_bytes = 32'(BYTES_BITS'(pieces.second_bytes));
  piece_t first_piece, second_piece;
  logic arrives, joins_word;
  entry_t joined;
  always_ff @(posedge clock) begin
    arrives <= beat && !reset;
    {joined, joins_word} <= {entry_t'(first), goes_on};
    first_piece <= piece_of({entry_t'(first), pieces.place[LOW-1:0]}, 0, first_bytes);
    second_piece <= piece_of({second, pieces.second[LOW-1:0]}, first_bytes, second_bytes);
  end
  span_t first_data, second_data;
  logic [SPAN-1:0] first_strobes, second_strobes, before_first, before_second;
  assign first_data = span_t'({2{span_t'(data)}} >> 8 * (SPAN - 32'(first_piece.turn)));
  assign second_data = span_t'({2{span_t'(data)}} >> 8 * (SPAN - 32'(second_piece.turn)));
  assign first_strobes = SPAN'({2{SPAN'(first_piece.bytes)}} >> (SPAN - 32'(first_piece.turn)));
  assign second_strobes = SPAN'({2{SPAN'(second_piece.bytes)}} >> (SPAN - 32'(second_piece.turn)));
  assign before_first = (SPAN'(1) << first_piece.begins) - 1'b1;
  assign before_second = (SPAN'(1) << second_piece.begins) - 1'b1;

  // ------------------------------------------------------------------------------------------------- the words
  logic [DEPTH-1:0][8*BANK_BYTES-1:0] kept;
  logic [DEPTH-1:0][BANK_BYTES-1:0] kept_strobes;
  for (genvar g = 0; g < BLOCKS; g++) begin : block
    logic [SPAN-1:0] by_first, by_second;
    assign by_first = first_strobes & (first_piece.block == block_t'(g) ? ~before_first
        : first_piece.block + 1'b1 == block_t'(g) ? before_first : '0);
    assign by_second = second_strobes & (second_piece.block == block_t'(g) ? ~before_second
        : second_piece.block + 1'b1 == block_t'(g) ? before_second : '0);
    for (genvar w = 0; w < SPAN_WORDS; w++) begin : word
      localparam int unsigned E = g * SPAN_WORDS + w;
      logic [BANK_BYTES-1:0] new_;
      assign new_ = by_first[w*BANK_BYTES+:BANK_BYTES] | by_second[w*BANK_BYTES+:BANK_BYTES];
      for (genvar b = 0; b < BANK_BYTES; b++) begin : lane
        localparam int unsigned I = w * BANK_BYTES + b;
        always_ff @(posedge clock) if (arrives && new_[b]) kept[E][8*b+:8] <= by_second[I] ? second_data[I] : first_data[I];
      end
      always_ff @(posedge clock)
        if (arrives && new_ != '0) kept_strobes[E] <= (joins_word && joined == entry_t'(E) ? kept_strobes[E] : '0) | new_;
    end
  end

  always_ff @(posedge clock) crossing <= reset ? '0 : handed;
  assign turn = 8'(32'(crossing) % TURNS);
  for (genvar i = 0; i < TURNS; i++) begin : slot_word
    entry_t group;  // of words of the ring, one of each number
    assign group = entry_t'((32'(crossing) / TURNS + (i < 32'(turn) ? 1 : 0)) % (DEPTH / TURNS));
    always_comb begin
      {written[i], strobes[i]} = {kept[i], kept_strobes[i]};
      for (int unsigned e = i; e < DEPTH; e += TURNS)
        if (group == entry_t'(e / TURNS)) {written[i], strobes[i]} = {kept[e], kept_strobes[e]};
    end
  end
endmodule
