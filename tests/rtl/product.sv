// Compares `dla_product`, `dla_square` and `dla_scale` with the operator: all numbers of few bits, random numbers of many.
// Prints how many products it compared, and those that are wrong.

module compared #(
    parameter int unsigned VALUE_BITS = 1,
    parameter int unsigned DIGITS_BITS = 1,
    parameter int unsigned BITS = 1,
    parameter logic [BITS-1:0] ADDED = '0
) (
    input logic [63:0] number,  // the factors of a case, if few bits have room in it
    input logic [63:0] random,
    input logic check
);
  /* verilator no_inline_module */
  localparam bit IS_EXHAUSTIVE = VALUE_BITS + DIGITS_BITS <= 11;
  localparam int unsigned WIDE = VALUE_BITS + DIGITS_BITS > BITS ? VALUE_BITS + DIGITS_BITS : BITS;
  logic [VALUE_BITS+DIGITS_BITS-1:0] given;
  logic signed [VALUE_BITS-1:0] value;
  logic signed [DIGITS_BITS-1:0] digits;
  logic [BITS-1:0] added, sum, carries, expected;
  assign given = (VALUE_BITS + DIGITS_BITS)'({random, IS_EXHAUSTIVE ? number : random});
  assign {value, digits} = given;
  assign added = BITS'({random, random} >> 7) & ADDED;
  dla_product #(
      .VALUE_BITS(VALUE_BITS),
      .DIGITS_BITS(DIGITS_BITS),
      .BITS(BITS),
      .ADDED(ADDED)
  ) product (.*);
  assign expected = BITS'(WIDE'(value) * WIDE'(digits)) + added;
  always @(posedge check)
    if (BITS'(sum + carries) != expected)
      $display("wrong: %0d x %0d bits, %0d of the product: %h * %h + %h", VALUE_BITS, DIGITS_BITS, BITS, value, digits, added);
endmodule

module product_bench;
  logic check = 0;
  logic [63:0] number = 0, random;
  for (genvar v = 1; v <= 6; v++) begin : values
    for (genvar d = 1; d <= 5; d++) begin : digits
      compared #(v, d, v + d + 2, '1) all (.*);
      if (v > 1) compared #(v, d, v) low (.*);
    end
  end
  compared #(32, 32, 64, 64'h40000000) requantization (.*);
  compared #(9, 9, 17) processing_element (.*);
  compared #(32, 9, 41, 41'd1024) part (.*);
  compared #(48, 17, 65) int16 (.*);
  compared #(17, 16, 32) elements (.*);
  compared #(11, 10, 32, '1) segment (.*);
  logic signed [31:0] value, square, multiplier, scaled;
  logic [4:0] right;
  logic signed [63:0] rounded, high;
  dla_square squared (
      .clock(check), .takes_part(number[0]), .value, .shift(7'($signed(random[37:32]))), .square
  );
  dla_scale scale (
      .clock(check), .value, .left('0), .shift('0), .replaces(1'b0), .unshifted('0), .replacement('0), .multiplier, .scaled, .right
  );
  // Of every other case the lower bits of the product are near those of a half.
  function automatic logic [31:0] near_half(input logic [31:0] odd, input logic [31:0] from_half);
    logic [31:0] inverse;  // modulo 2^32
    inverse = odd;
    repeat (4) inverse = inverse * (2 - odd * inverse);
    return inverse * (32'h40000000 + from_half);
  endfunction
  assign rounded = 64'(value) * 64'(multiplier) + 64'sd1073741824;
  assign high = rounded >>> 31;
  initial begin
    repeat (1 << 14) begin
      random = {$urandom, $urandom} & ($urandom % 2 == 0 ? '1 : {$urandom, $urandom});
      value = number < 4 ? 32'sh80000000 : $signed(random[31:0] | 1);
      multiplier = $signed(number < 4 ? 32'h80000000 : number[1] ? random[63:32] : near_half(value, 32'($signed(random[63:46]))));
      repeat (3) begin
        #1 check = 1;
        #1 check = 0;
      end
      if (square != (number[0] ? (value * value) <<< (random[37] ? 0 : random[36:32]) : 0))
        $display("wrong: the square of %h", value);
      if (scaled != (high > 64'sh7fffffff ? 32'sh7fffffff : 32'(high)))
        $display("wrong: %h scaled by %h", value, multiplier);
      number++;
    end
    $display("compared %0d", number);
    $finish;
  end
endmodule
