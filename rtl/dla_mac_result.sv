// From a complete sum to a result of the MAC unit: with the names of the pipeline's stages, a sum leaves in `start`, and the
// result is ready in `write`. Each lane has one here; a chip has as many as results leave in a cycle.

module dla_mac_result
  import dla_isa::*;
  import dla_fixed_point::*;
#(
    parameter int unsigned BITS = 32  // of a sum
) (
    input logic clock,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic int16,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic start,
    input logic start_again,  // with the sum that was written before this cycle
    input logic signed [BITS-1:0] newest,
    input logic signed [BITS-1:0] complete,  // otherwise with this one
    input logic [1:0] init,
    input logic wide,  // out=int32
    input logic by_channel,  // quant=channel
    input logic signed [31:0] partial,  // in start: what the SRAM holds for this lane
    input logic signed [31:0] bias,
    input logic signed [31:0] record_multiplier,
    input logic signed [31:0] record_shift,
    input logic signed [31:0] multiplier,
    input logic signed [31:0] shift,
    input logic signed [31:0] zero_point,
    input logic signed [31:0] lowest,
    input logic signed [31:0] highest,
    output logic [31:0] result  // in write
);
  /* verilator no_inline_module */  // compiled once for all lanes
  logic signed [31:0] rescaled16;  // of int16
  logic signed [31:0] started, multiplier_started, multiplier_shifted, rescaled, rounded;
  logic signed [31:0] sums_kept[3];  // what leaves as it is, beside the rescaling
  logic signed [6:0] shift_started;

  logic signed [BITS-1:0] whole;
  assign whole = start_again ? newest : complete;

  dla_rescale rescale (
      .clock,
      .value(started),
      .shift(shift_started),
      .replaces(1'b0),
      .unshifted('0),
      .replacement('0),
      .multiplier(multiplier_shifted),
      .added(zero_point),
      .result(rescaled)
  );
  always_ff @(posedge clock) begin
    if (start) begin
      started <= 32'(whole) + (init == INIT_BIAS ? bias : init == INIT_PARTIAL ? partial : 0);
      multiplier_started <= by_channel ? record_multiplier : multiplier;
      shift_started <= limit_shift(by_channel ? record_shift : shift);
    end
    multiplier_shifted <= multiplier_started;
    sums_kept[0] <= started;
    sums_kept[1] <= sums_kept[0];
    sums_kept[2] <= sums_kept[1];
    rounded <= wide ? sums_kept[2] : BITS > 32 && int16 ? rescaled16 : rescaled;
  end

  // Of int16: a bias of 48 bits, a multiplier of 16 without a sign, and one rounding
  if (BITS == 32) begin : narrow
    assign rescaled16 = '0;
  end else begin : with_int16
    logic signed [BITS-1:0] started16;
    logic signed [BITS+16:0] multiplied, raised;
    logic [BITS+16:0] product;
    logic [5:0] drop, drop_multiplied, drop_raised;  // bits that are lost
    function automatic logic [5:0] lost(input logic signed [31:0] left);
      return left > 32'sd14 ? 6'd1 : left < -32'sd31 ? 6'd46 : 6'(32'sd15 - left);
    endfunction
    dla_multiplier #(
        .VALUE_BITS(BITS),
        .DIGITS_BITS(17)
    ) multiply (
        .value(started16), .digits($signed({1'b0, multiplier_started[15:0]})), .added('0), .product
    );
    always_ff @(posedge clock) begin
      if (start) started16 <= whole + (init == INIT_BIAS ? {record_multiplier[31:16], bias} : '0);
      if (start) drop <= lost(by_channel ? record_shift : shift);
      multiplied <= $signed(product);
      drop_multiplied <= drop;
      raised <= multiplied + $signed((BITS + 17)'(1) << (drop_multiplied - 1'b1));
      drop_raised <= drop_multiplied;
      rescaled16 <= 32'(raised >>> drop_raised);
    end
  end
  assign result = wide ? rounded : clamp(rounded, lowest, highest);
endmodule
