// A step of the decoder of compressed weights (docs/weight-code.md): a word of 16 bytes becomes up to 64 weights, or a run
// of zeros goes on.
//
// In the body of a word, a one counts if its low bits lie above it. Ones are numbered by a prefix sum, so that all weights
// of a word are found at once: in Rice code a weight by the places of its one and the one before, in sparse code by
// whether its bit is one, and the number of that.

module dla_weight_decoder #(
    parameter int unsigned BODY = 124,  // bits of a word's body
    parameter int unsigned MOST = 64  // weights of a step
) (
    input logic clock,
    input logic reset,
    input logic step,
    input logic has_words,
    input logic must_take,  // no more steps are left than words
    input logic [BODY+3:0] word,  // the next one
    output logic takes,  // it, in this step
    output logic [6:0] count,
    output logic [7:0] weights[MOST]
);
  localparam int unsigned ENTRIES = MOST;  // ones of a word
  localparam int unsigned SPARSE_ENTRIES = BODY / 3;  // of three bits each: fewer have more
  localparam int unsigned PLAIN = BODY / 8;

  // ---------------------------------------------------------------------------------------------------- runs
  logic [23:0] kept_run, run;
  logic is_run;
  assign takes = has_words && (kept_run == 0 || must_take);
  assign is_run = word[3:0] == 4'd15;
  assign run = !takes ? kept_run : is_run ? word[27:4] : '0;
  always_ff @(posedge clock) begin
    if (reset) kept_run <= '0;
    else if (step) kept_run <= run > 24'(MOST) ? run - 24'(MOST) : '0;
  end

  // ---------------------------------------------------------------------------------------------------- ones
  logic [BODY-1:0] body, ones;
  logic [3:0] mode, bits;
  logic is_sparse, is_plain;
  assign body = word[BODY+3:4];
  assign mode = word[3:0];
  assign is_plain = mode == 4'd7;
  assign is_sparse = mode[3];
  assign bits = is_sparse ? mode - 4'd6 : mode;
  logic [6:0] number[BODY+1];  // of ones before a place
  logic [7:0] taken[BODY+1];  // by their low bits; from 128 on it does not matter how many
  always_comb begin
    number[0] = '0;
    taken[0] = '0;
    for (int unsigned p = 0; p < BODY; p++) begin
      number[p+1] = number[p] + 7'(body[p]);
      taken[p+1] = taken[p][7] ? taken[p] : taken[p] + (body[p] ? 8'(bits) : 8'd0);
    end
  end
  for (genvar p = 0; p < BODY; p++) begin : place
    assign ones[p] = body[p] && number[p] < 7'(MOST) && 9'(taken[p]) + 9'(bits) < 9'(BODY - p);
  end

  // ------------------------------------------------------------------------------------------------ low bits
  logic [7:0] low[ENTRIES];
  for (genvar i = 0; i < ENTRIES; i++) begin : entry
    always_comb begin
      low[i] = '0;
      for (int unsigned b = 1; b <= 8; b++) begin
        if (32'(bits) == b && (i + 1) * b <= BODY)
          for (int unsigned k = 0; k < b; k++) low[i][k] = body[BODY-(i+1)*b+k];
      end
    end
  end

  // ----------------------------------------------------------------------------------------------- Rice code
  logic [6:0] place_after[ENTRIES+1];  // of an entry's one, the place behind it
  logic [ENTRIES-1:0] present;
  logic [7:0] rice[ENTRIES];
  assign place_after[0] = '0;
  for (genvar i = 0; i < ENTRIES; i++) begin : rice_weight
    logic [6:0] behind, zeros;
    logic [7:0] value;
    always_comb begin
      behind = '0;
      present[i] = 1'b0;
      for (int unsigned p = i; p < BODY; p++) begin
        if (ones[p] && number[p] == 7'(i)) begin
          behind |= 7'(p + 1);
          present[i] = 1'b1;
        end
      end
    end
    assign place_after[i+1] = behind;
    assign zeros = behind - 7'd1 - place_after[i];
    assign value = 8'(zeros) << bits | low[i];
    assign rice[i] = {1'b0, value[7:1]} ^ {8{value[0]}};
  end

  // --------------------------------------------------------------------------------------------- sparse code
  logic [7:0] sparse[MOST];
  logic [6:0] sparse_count;
  for (genvar j = 0; j < MOST; j++) begin : sparse_weight
    logic [7:0] value;
    assign value = low[number[j] < 7'(SPARSE_ENTRIES) ? number[j][5:0] : 6'd0];
    assign sparse[j] = ones[j] ? value | ({8{value[3'(bits-4'd1)]}} << bits) : '0;
  end
  always_comb begin
    sparse_count = '0;
    for (int unsigned j = 0; j < MOST; j++) if (ones[j]) sparse_count = 7'(j + 1);
  end

  // ------------------------------------------------------------------------------------------------- weights
  logic [6:0] rice_count;
  always_comb begin
    rice_count = '0;
    for (int unsigned i = 0; i < ENTRIES; i++) if (present[i]) rice_count = 7'(i + 1);
  end
  always_comb begin
    if (!takes || is_run) count = run > 24'(MOST) ? 7'(MOST) : 7'(run);
    else if (is_plain) count = 7'(PLAIN);
    else count = is_sparse ? sparse_count : rice_count;
  end
  for (genvar i = 0; i < MOST; i++) begin : weight
    logic [7:0] plain;
    if (i < PLAIN) assign plain = body[8*i+:8];
    else assign plain = '0;
    assign weights[i] = !takes || is_run ? '0 : is_plain ? plain : is_sparse ? sparse[i] : rice[i];
  end
endmodule
