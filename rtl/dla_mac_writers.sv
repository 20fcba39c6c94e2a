// The writers of MAC's results: one for each row of a turn, as the pixels of a row follow each other in memory. They take
// turns at the ports.

module dla_mac_writers
  import dla_words::*;
#(
    parameter int unsigned ROWS = 1,
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    input results_t put,
    input logic [ROWS-1:0] put_row,  // in which they lie
    output logic room,
    output logic written,
    output request_t request,
    output logic [31:0] crossed_bytes,
    input logic takes
);
  logic [ROWS-1:0] has_room, has_written, asks, turn;
  request_t requests[ROWS];
  logic [31:0] bytes[ROWS];
  for (genvar r = 0; r < ROWS; r++) begin : row
    results_t own;
    always_comb begin
      own = put;
      own.valid = put.valid && put_row[r];
    end
    dla_writer #(
        .BANK_BYTES(BANK_BYTES),
        .PORTS(PORTS),
        .PLACE(PLACE)
    ) writer (
        .clock,
        .reset,
        .put(own),
        .room(has_room[r]),
        .written(has_written[r]),
        .request(requests[r]),
        .crossed_bytes(bytes[r]),
        .takes(takes && turn[r])
    );
    assign asks[r] = requests[r].words != 0;
  end
  assign room = &has_room;
  assign written = &has_written;

  // A writer keeps its turn as long as it asks for words that are not taken.
  always_comb begin
    {request, crossed_bytes} = '0;
    for (int unsigned r = 0; r < ROWS; r++) begin
      if (turn[r]) request = requests[r];
      crossed_bytes = crossed_bytes + bytes[r];
    end
  end
  if (ROWS == 1) begin : alone
    assign turn = '1;
    logic unused;
    assign unused = &{1'b0, asks};
  end else begin : in_turns
    always_ff @(posedge clock) begin
      if (reset) turn <= ROWS'(1);
      else if (takes || (asks & turn) == 0) turn <= turn[ROWS-1] ? ROWS'(1) : turn << 1;
    end
  end
endmodule
