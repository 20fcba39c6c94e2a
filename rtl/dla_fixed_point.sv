// The fixed point of int8 TensorFlow Lite, as docs/isa.md defines it under "Arithmetic".

package dla_fixed_point;

  // Of a negated shift the low five bits matter.
  /* verilator lint_off UNUSEDSIGNAL */

  // A shift as requant takes it: beyond 31 either way it counts as 31.
  function automatic logic signed [6:0] limit_shift(input logic signed [31:0] shift);
    return shift > 32'sd31 ? 7'sd31 : shift < -32'sd31 ? -7'sd31 : shift[6:0];
  endfunction

  // value / 2^exponent, rounded to nearest, halves away from zero: the number below it, and a bit by which it is rounded.
  function automatic logic signed [32:0] shifted(input logic signed [31:0] value, input logic [4:0] exponent);
    logic signed [32:0] wide;  // with the bit below the result
    logic [31:0] below;  // that bit, and those under it
    wide = $signed({value, 1'b0}) >>> exponent;
    below = ~(32'hffffffff << exponent);
    return {wide[32:1], wide[0] && (value >= 0 || ($unsigned(value) & (below >> 1)) != 0)};
  endfunction

  // The same as a number, and what is added to it.
  function automatic logic signed [31:0] rounding_shift(input logic signed [31:0] value, input logic [4:0] exponent,
                                                        input logic signed [31:0] added);
    logic [32:0] parts;
    parts = shifted(value, exponent);
    return $signed(parts[32:1]) + added + 32'(parts[0]);
  endfunction

  /* verilator lint_on UNUSEDSIGNAL */

  // Where ReLU's lowest lies above highest, highest wins.
  function automatic logic signed [31:0] clamp(input logic signed [31:0] value, lowest, highest);
    logic signed [31:0] raised;
    raised = value < lowest ? lowest : value;
    return raised > highest ? highest : raised;
  endfunction

  // Of such parts, limited to int16.
  function automatic logic [32:0] limit16_parts(input logic [32:0] parts);
    logic is_inside;
    is_inside = parts[32:16] == '0 || parts[32:16] == '1;
    return is_inside ? {parts[32:1], parts[0] && parts[16:1] != 16'h7fff} : {{17{parts[32]}}, {15{!parts[32]}}, 1'b0};
  endfunction

  // Limited to int16.
  function automatic logic signed [31:0] limit16(input logic signed [31:0] value);
    return value[31:15] == '0 || value[31:15] == '1 ? value : {{17{value[31]}}, {15{!value[31]}}};
  endfunction

  function automatic logic signed [31:0] larger(input logic signed [31:0] a, b);
    return a > b ? a : b;
  endfunction

endpackage
