// Results on their way to the SRAM's ports. Those that follow each other in memory are one run, whose words cross
// once; a word is asked for when results go on beyond it, or when none follows.

module dla_writer
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned DEPTH = 4,  // runs that wait, besides the one that grows
    parameter int unsigned ROOM = 8,  // words of that one, beyond which there is no room
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    input results_t put,
    output logic room,  // for one more
    output logic written,  // all that came has crossed
    output request_t request,
    output logic [31:0] crossed_bytes,
    input logic takes
);
  localparam int unsigned BITS = $clog2(DEPTH);
  logic [31:0] first[DEPTH], last[DEPTH];  // words of the runs that wait
  logic [BITS:0] waiting;
  logic [BITS-1:0] head, tail;
  logic is_open, is_empty, was_empty;  // the latter before the words that cross now
  logic [31:0] open_first, open_last, put_first, put_last;  // of the run that grows

  assign put_first = (put.address & PLACE) / BANK_BYTES;
  assign put_last = ((put.address + put.bytes - 1) & PLACE) / BANK_BYTES;
  assign crossed_bytes = put.valid ? put.bytes : '0;  // the operation does not end before they have
  assign room = waiting < (BITS + 1)'(DEPTH) && (!is_open || open_last - open_first < ROOM);
  assign is_empty = waiting == 0 && !is_open;
  assign written = is_empty && was_empty;
  always_ff @(posedge clock) begin
    if (reset) was_empty <= 1'b1;
    else if (takes) was_empty <= is_empty;
  end

  logic flush;  // no results follow
  always_ff @(posedge clock) begin
    if (reset) flush <= 1'b0;
    else if (put.ends) flush <= 1'b1;  // also when they come to another writer
  end

  logic [31:0] next, left, taken;
  logic from_open;
  assign from_open = waiting == 0;
  assign next = from_open ? open_first : first[head];
  assign left = from_open ? (is_open ? open_last - open_first + 32'(flush) : 0) : last[head] - first[head] + 1;
  assign request.address = next * BANK_BYTES;
  assign request.stride = BANK_BYTES;
  assign request.words = left < PORTS ? left[7:0] : 8'(PORTS);
  assign taken = takes ? 32'(request.words) : '0;

  logic grows, closes, pops;
  assign grows = is_open && (put_first == open_last || put_first == open_last + 1);
  assign closes = put.valid && is_open && !grows;
  assign pops = !from_open && takes && left <= PORTS;
  for (genvar i = 0; i < DEPTH; i++) begin : slots
    always_ff @(posedge clock) begin
      if (closes && tail == BITS'(i)) begin
        first[i] <= (from_open ? open_first + taken : open_first) & PLACE;
        last[i] <= open_last;
      end else if (!from_open && head == BITS'(i)) first[i] <= (first[i] + taken) & PLACE;
    end
  end

  always_ff @(posedge clock) begin
    if (reset) begin
      {waiting, head, tail} <= '0;
      is_open <= 1'b0;
      {open_first, open_last} <= '0;
    end else begin
      waiting <= waiting + (BITS + 1)'(closes) - (BITS + 1)'(pops);
      if (closes) tail <= tail + 1'b1;
      if (pops) head <= head + 1'b1;
      if (put.valid) begin
        is_open <= 1'b1;
        open_last <= put_last;
        if (!grows) open_first <= put_first;
        else if (from_open) open_first <= (open_first + taken) & PLACE;
      end else if (from_open && is_open) begin
        open_first <= (open_first + taken) & PLACE;
        if (flush && takes && left <= PORTS) is_open <= 1'b0;
      end
    end
  end
endmodule
