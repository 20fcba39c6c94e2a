// The bytes of words of code between the bus and the SRAM: a word is gathered from beats, and after the last one of a step
// the decoder takes it, or goes on with a run. What it writes begins where the step before ended.

module dla_decoding
  import dla_memory::*;
#(
    parameter int unsigned BEAT_BYTES = 8,
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    // A transfer begins with this cycle, of which this may be the first beat.
    input logic starts,
    input logic [31:0] first_address,  // in system memory
    input logic [31:0] first_place,  // in the SRAM
    input logic [31:0] first_room,  // for weights
    input logic [19:0] first_words,
    input logic [19:0] first_steps,
    input logic beat,  // of a step
    input logic [4:0] number,  // of the beat in its step
    input logic step_ends,
    output logic reads,
    output logic [31:0] address,
    input logic [7:0] data[BEAT_BYTES],  // of the beat before
    output logic [6:0] count,  // bytes that are written
    output logic [31:0] place,
    output logic [7:0] weights[STEP_WEIGHTS]
);
  logic arrives, decodes, takes;
  logic [4:0] arriving;
  logic [19:0] words, steps;
  logic [31:0] room, word_address;
  logic [6:0] found;

  // A word is read once more in a step that goes on with a run.
  logic [31:0] next_address;
  logic [19:0] next_words;
  assign next_address = starts ? first_address : takes && decodes ? word_address + CODE_BYTES : word_address;
  assign next_words = starts ? first_words : takes && decodes ? words - 1'b1 : words;
  assign reads = beat && next_words != 0 && 32'(number) * BEAT_BYTES < CODE_BYTES;
  assign address = next_address + 32'(number) * BEAT_BYTES;

  logic [7:0] held[CODE_BYTES];
  logic [127:0] word;
  for (genvar b = 0; b < CODE_BYTES; b++) begin : word_byte
    localparam int unsigned FROM = b / BEAT_BYTES;
    assign word[8*b+:8] = 32'(arriving) == FROM ? data[b%BEAT_BYTES] : held[b];
    always_ff @(posedge clock) if (arrives && 32'(arriving) == FROM) held[b] <= data[b%BEAT_BYTES];
  end
  dla_weight_decoder decoder (
      .clock,
      .reset(reset || starts),
      .step(decodes),
      .has_words(words != 0),
      .must_take(steps == words),
      .word,
      .takes,
      .count(found),
      .weights
  );
  assign count = !decodes ? '0 : room < 32'(found) ? room[6:0] : found;
  always_ff @(posedge clock) begin
    arrives <= beat && !reset;
    decodes <= step_ends && !reset;
    arriving <= number;
    word_address <= next_address;
    words <= next_words;
    if (starts) {steps, room, place} <= {first_steps, first_room, first_place};
    else if (decodes) {steps, room, place} <= {steps - 1'b1, room - 32'(count), (place + 32'(count)) & PLACE};
  end
endmodule
