// How many lines of a picture a buffer of BYTES holds, from the bytes of a line: whether it holds those under a window, and
// for how many rows of windows further. The lines are summed up, a binary digit or a row of windows in each cycle.

module dla_fitting #(
    parameter int unsigned BYTES = 16384
) (
    input logic clock,
    input logic reset,
    input logic start,  // with the bytes of a line
    input logic [$clog2(BYTES+2)-1:0] line_bytes,  // at most one more than BYTES
    input logic [15:0] span,  // lines under a window
    input logic [15:0] stride,  // lines from a window to the next
    output logic known,
    output logic fits,  // the lines under a window
    output logic [17:0] rows,  // of windows, whose lines fit together
    output logic [17:0] rows_again  // the same beside the lines of a window that do not follow those before
);
  localparam int unsigned BITS = $clog2(BYTES + 2);
  typedef logic [BITS-1:0] bytes_t;
  localparam bytes_t TOO_MANY = bytes_t'(BYTES + 1);
  function automatic bytes_t sum(input bytes_t a, input bytes_t b);
    return {1'b0, a} + {1'b0, b} > {1'b0, TOO_MANY} ? TOO_MANY : a + b;
  endfunction

  bytes_t lines, window_bytes, stride_bytes, all_bytes, apart;
  logic [15:0] spans, strides;
  logic sums, counts;
  assign fits = window_bytes != TOO_MANY;
  assign apart = window_bytes > stride_bytes ? window_bytes - stride_bytes : '0;
  always_ff @(posedge clock) begin
    if (reset) {known, sums, counts} <= '0;
    else if (start) begin
      lines <= line_bytes;
      {spans, strides} <= {span, stride};
      {window_bytes, stride_bytes} <= '0;
      {known, sums, counts} <= 3'b010;
    end else if (sums) begin
      if (spans[0]) window_bytes <= sum(window_bytes, lines);
      if (strides[0]) stride_bytes <= sum(stride_bytes, lines);
      lines <= sum(lines, lines);
      {spans, strides} <= {spans >> 1, strides >> 1};
      if (spans[15:1] == 0 && strides[15:1] == 0) {known, sums, counts} <= 3'b101;
      {rows, rows_again} <= '0;
    end else if (counts) begin
      all_bytes <= sum(rows == 0 ? window_bytes : all_bytes, stride_bytes);
      if ((rows == 0 ? window_bytes : all_bytes) == TOO_MANY || rows[17]) counts <= 1'b0;
      else begin
        rows <= rows + 1;
        if (sum(rows == 0 ? window_bytes : all_bytes, apart) != TOO_MANY) rows_again <= rows + 1;
      end
    end
  end
endmodule
