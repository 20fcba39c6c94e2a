// Where the runs of a transfer begin, in system memory or in the SRAM. The place of the next one stands in a register,
// so that a beat may go on there at once.

module dla_runs #(
    parameter logic [31:0] PLACE = '1,  // the bits of an address
    parameter bit AT_ONCE = 1'b0  // a step may come with the start
) (
    input logic clock,
    input logic starts,
    input logic [31:0] first,  // where the first run begins
    input logic [31:0] runs,
    input logic [31:0] run_stride,
    input logic [31:0] plane_stride,
    input logic step,  // to the next run
    output logic [31:0] next,  // the run after the one at hand
    output logic ends_plane  // with the one at hand
);
  // Of runs there are less than 2^24.
  localparam logic [31:0] COUNT = 32'h00ffffff;
  typedef struct packed {
    logic [31:0] left;  // runs after the one at hand in its plane
    logic [31:0] next;
    logic [31:0] next_plane;  // after that of the next run
  } place_t;
  place_t kept, start, at, after;
  logic is_last;  // the next run of its plane
  assign start.left = (runs - 1) & COUNT;
  assign start.next = (first + (runs == 1 ? plane_stride : run_stride)) & PLACE;
  assign start.next_plane = (first + (runs == 1 ? plane_stride << 1 : plane_stride)) & PLACE;
  assign at = AT_ONCE && starts ? start : kept;
  assign is_last = runs == 1 || at.left == 1;
  assign after.left = ends_plane ? start.left : (at.left - 1) & COUNT;
  assign after.next = is_last ? at.next_plane : (at.next + run_stride) & PLACE;
  assign after.next_plane = is_last ? (at.next_plane + plane_stride) & PLACE : at.next_plane;
  assign {next, ends_plane} = {at.next, at.left == 0};
  always_ff @(posedge clock) begin
    if (starts && !(AT_ONCE && step)) kept <= start;
    else if (step) kept <= after;
  end
endmodule
