// A unit's queue: DEPTH operations, the running one included, in the order of their issue.

module dla_queue #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 4
) (
    input logic clock,
    input logic reset,
    input logic push,
    input logic [WIDTH-1:0] pushed,
    input logic pop,  // the running operation ends with this cycle
    output logic valid,  // there is a running operation
    output logic [WIDTH-1:0] head,
    output logic [8:0] outstanding,  // operations that it holds
    output logic [8:0] remaining  // operations that it holds after this cycle, if none is pushed
);
  localparam int unsigned PLACE_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;
  localparam logic [PLACE_BITS-1:0] LAST = PLACE_BITS'(DEPTH - 1);

  logic [WIDTH-1:0] slots[DEPTH];
  logic [PLACE_BITS-1:0] first, free;

  assign valid = outstanding != 0;
  assign head = slots[first];
  assign remaining = outstanding - 9'(pop);

  always_ff @(posedge clock) begin
    if (reset) begin
      first <= '0;
      free <= '0;
      outstanding <= '0;
    end else begin
      outstanding <= remaining + 9'(push);
      if (pop) first <= first == LAST ? '0 : first + 1'b1;
      if (push) free <= free == LAST ? '0 : free + 1'b1;
    end
    if (push) slots[free] <= pushed;
  end
endmodule
