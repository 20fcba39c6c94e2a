// The fixed point of int8 TensorFlow Lite, as docs/isa.md defines it under "Arithmetic".

package dla_fixed_point;

  // Of the product the high half matters, of a negated shift the low five bits.
  /* verilator lint_off UNUSEDSIGNAL */

  // A shift as requant takes it: beyond 31 either way it counts as 31.
  function automatic logic signed [6:0] limit_shift(input logic signed [31:0] shift);
    return shift > 32'sd31 ? 7'sd31 : shift < -32'sd31 ? -7'sd31 : shift[6:0];
  endfunction

  // First half of requant: the shift to the left, which wraps, and the product's high half, which saturates.
  function automatic logic signed [31:0] scale(input logic signed [31:0] value, multiplier,
                                               input logic signed [6:0] shift);
    logic signed [31:0] shifted;
    logic signed [63:0] product;
    logic signed [32:0] high;
    shifted = shift > 0 ? value << shift[4:0] : value;
    product = 64'(shifted) * 64'(multiplier) + 64'sd1073741824;
    high = product[63:31];
    return high > 33'sh07fffffff ? 32'sh7fffffff : high[31:0];
  endfunction

  // value / 2^exponent, rounded to nearest, halves away from zero.
  function automatic logic signed [31:0] rounding_shift(input logic signed [31:0] value,
                                                        input logic [4:0] exponent);
    logic signed [33:0] half, wide;
    half = (34'sd1 << exponent) >>> 1;
    wide = 34'(value) + half - ((value < 0 && exponent != 0) ? 34'sd1 : 34'sd0);
    wide = wide >>> exponent;
    return wide[31:0];
  endfunction

  // Second half of requant: the shift to the right.
  function automatic logic signed [31:0] descale(input logic signed [31:0] value,
                                                 input logic signed [6:0] shift);
    logic signed [6:0] right;
    right = -shift;
    return shift < 0 ? rounding_shift(value, right[4:0]) : value;
  endfunction

  /* verilator lint_on UNUSEDSIGNAL */

  function automatic logic signed [31:0] requant(input logic signed [31:0] value, multiplier, shift);
    return descale(scale(value, multiplier, limit_shift(shift)), limit_shift(shift));
  endfunction

  // Where ReLU's lowest lies above highest, highest wins.
  function automatic logic signed [31:0] clamp(input logic signed [31:0] value, lowest, highest);
    logic signed [31:0] raised;
    raised = value < lowest ? lowest : value;
    return raised > highest ? highest : raised;
  endfunction

  function automatic logic signed [31:0] larger(input logic signed [31:0] a, b);
    return a > b ? a : b;
  endfunction

  // total / count, rounded to nearest, halves away from zero.
  function automatic logic signed [31:0] rounded_average(input logic signed [31:0] total,
                                                         input logic [31:0] count);
    logic [31:0] magnitude, quotient;
    magnitude = total < 0 ? -total : total;
    quotient = count == 0 ? '0 : (magnitude + (count >> 1)) / count;
    return total < 0 ? -quotient : quotient;
  endfunction

  // total / count, rounded to nearest, halves up; no summand is below -128.
  function automatic logic signed [31:0] average_up(input logic signed [31:0] total, input logic [31:0] count);
    return rounded_average(total + 128 * count, count) - 128;
  endfunction

endpackage
