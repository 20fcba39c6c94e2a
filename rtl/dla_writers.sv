// The writers of a unit's results: one, or one for each row of a turn of MAC, as the pixels of a row follow each other in
// memory. They take turns at the ports. A chunk of results comes DELAY cycles after its place is known (`put`); meanwhile
// that goes down a line. All writers share what rotates a chunk to its place.

module dla_writers
  import dla_words::*;
#(
    parameter int unsigned ROWS = 1,
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned WORDS = 2,  // of a request
    parameter int unsigned CHUNK = 16,  // bytes that come together
    parameter int unsigned DEPTH = 8,  // words of a ring
    parameter int unsigned DELAY = 6,  // at least 4
    parameter int unsigned LONGER = 0,  // cycles, if the operation is longer
    parameter int unsigned SELECT_BITS = 1,
    parameter logic [31:0] PLACE = 32'h000fffff,  // the bits of an address of the SRAM
    parameter int unsigned TURNS = 1 << $clog2(WORDS)
) (
    input logic clock,
    input logic reset,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic is_longer,
    /* verilator lint_on UNUSEDSIGNAL */
    input results_t put,
    input logic [ROWS-1:0] put_row,  // in which they lie
    input logic [SELECT_BITS-1:0] put_select,  // which these are
    output logic room,
    output logic written,  // all that was put has crossed
    // The chunk that must be here in this cycle, and whether it is the operation's last
    output logic [SELECT_BITS-1:0] select,
    output logic ends,
    input logic [8*CHUNK-1:0] data,
    // To the ports
    output request_t request,
    output logic [31:0] crossed_bytes,  // the operation does not end before they have come
    output logic [7:0] crossed_words,
    input logic takes,
    output logic [7:0] slot_first,
    output logic [8*BANK_BYTES-1:0] slot_words[TURNS],
    output logic [BANK_BYTES-1:0] slot_strobes[TURNS]
);
  localparam int unsigned PLACE_BITS = $clog2(DEPTH) + $clog2(BANK_BYTES), NUMBER_BITS = $clog2(DEPTH) + 1;
  localparam int unsigned SPAN = CHUNK > BANK_BYTES ? CHUNK : BANK_BYTES, SPAN_BITS = $clog2(SPAN);
  localparam int unsigned BYTES_BITS = $clog2(CHUNK + 1);
  typedef struct packed {
    logic valid;
    logic ends;
    logic [ROWS-1:0] row;
    logic [SELECT_BITS-1:0] select;
    logic [BYTES_BITS-1:0] bytes;
    logic [PLACE_BITS-1:0] place;
    logic goes_on;
    logic [NUMBER_BITS-1:0] complete;
  } chunk_t;

  // ------------------------------------------------------------------------------------------------- until they come
  localparam int unsigned STAGES = DELAY - 2 + LONGER;
  chunk_t new_, line[STAGES], near, next;
  /* verilator lint_off UNUSEDSIGNAL */
  chunk_t here;  // its word is complete since a cycle
  /* verilator lint_on UNUSEDSIGNAL */
  if (LONGER == 0) begin : one_length
    assign near = line[STAGES-1];
  end else begin : two_lengths
    assign near = is_longer ? line[STAGES-1] : line[DELAY-3];
  end
  always_ff @(posedge clock) begin
    line[0] <= new_;
    for (int unsigned i = 1; i < STAGES; i++) begin
      line[i] <= line[i-1];
      if (LONGER != 0 && i == DELAY - 2 && !is_longer) line[i].valid <= 1'b0;  // it has come
    end
    next <= near;
    here <= next;
    if (reset) begin
      for (int unsigned i = 0; i < STAGES; i++) line[i].valid <= 1'b0;
      {next.valid, here.valid} <= '0;
    end
  end
  assign select = here.select;
  assign ends = here.valid && here.ends;
  assign crossed_bytes = put.valid ? put.bytes : '0;

  logic [SPAN_BITS-1:0] turned;
  logic [CHUNK-1:0] are_here;
  logic [SPAN-1:0] strobes;
  logic [8*SPAN-1:0] rotated;
  assign turned = here.place[SPAN_BITS-1:0];
  for (genvar i = 0; i < CHUNK; i++) begin : byte_
    assign are_here[i] = i < here.bytes;
  end
  assign strobes = SPAN'({2{SPAN'(are_here)}} >> (SPAN - 32'(turned)));
  assign rotated = (8 * SPAN)'({2{(8 * SPAN)'(data)}} >> 8 * (SPAN - 32'(turned)));

  // --------------------------------------------------------------------------------------------------------- writers
  logic [ROWS-1:0] has_room, are_empty, asks, turn, slot_row, access_row;
  logic slot_is_empty;
  chunk_t placed[ROWS];
  logic [7:0] words[ROWS], firsts[ROWS];
  request_t requests[ROWS];
  logic [8*BANK_BYTES-1:0] row_words[ROWS][TURNS];
  logic [BANK_BYTES-1:0] row_strobes[ROWS][TURNS];
  for (genvar r = 0; r < ROWS; r++) begin : row
    results_t own;
    always_comb begin
      own = put;
      own.valid = put.valid && put_row[r];
      placed[r].valid = own.valid;
      placed[r].ends = put.ends;
      placed[r].row = ROWS'(1) << r;
      placed[r].select = put_select;
      placed[r].bytes = BYTES_BITS'(put.bytes);
    end
    dla_writer #(
        .BANK_BYTES(BANK_BYTES),
        .WORDS(WORDS),
        .CHUNK(CHUNK),
        .DEPTH(DEPTH),
        .PLACE(PLACE)
    ) writer (
        .clock,
        .reset,
        .put(own),
        .ends(put.valid && put.ends),
        .room(has_room[r]),
        .is_empty(are_empty[r]),
        .place(placed[r].place),
        .goes_on(placed[r].goes_on),
        .complete(placed[r].complete),
        .words(words[r]),
        .completes(near.valid && (near.row[r] || near.ends)),
        .completes_all(near.ends),
        .completed(near.complete),
        .comes(here.valid && here.row[r]),
        .came_place(here.place),
        .came_goes_on(here.goes_on),
        .came_strobes(strobes),
        .came_data(rotated),
        .request(requests[r]),
        .takes,
        .has_turn(turn[r]),
        .first(firsts[r]),
        .written(row_words[r]),
        .strobes(row_strobes[r])
    );
    assign asks[r] = requests[r].words != 0;
  end
  assign room = &has_room;
  assign written = &are_empty && slot_is_empty;
  always_comb begin
    {new_, request, crossed_words, slot_first} = '0;
    for (int unsigned r = 0; r < ROWS; r++) begin
      if (put_row[r]) new_ = placed[r];
      if (turn[r]) request = requests[r];
      if (access_row[r]) slot_first = firsts[r];
      crossed_words = crossed_words + words[r];
    end
    for (int unsigned i = 0; i < TURNS; i++) begin
      {slot_words[i], slot_strobes[i]} = '0;
      for (int unsigned r = 0; r < ROWS; r++)
        if (access_row[r]) {slot_words[i], slot_strobes[i]} = {row_words[r][i], row_strobes[r][i]};
    end
  end
  always_ff @(posedge clock) begin
    if (reset) slot_is_empty <= 1'b1;
    else if (takes) slot_is_empty <= request.words == 0;
  end

  // A writer keeps its turn as long as it asks for words that are not taken.
  if (ROWS == 1) begin : alone
    assign {turn, slot_row, access_row} = '1;
    logic unused;
    assign unused = &{1'b0, asks, slot_row};
  end else begin : in_turns
    always_ff @(posedge clock) begin
      if (reset) turn <= ROWS'(1);
      else if (takes || (asks & turn) == 0) turn <= turn[ROWS-1] ? ROWS'(1) : turn << 1;
      if (takes) slot_row <= turn;
      access_row <= slot_row;
    end
  end
endmodule
