// Leads words between the SRAM's banks and the streams. In the cycle in which a bank serves a word, a stream that writes
// hands over what it writes; a word that is read comes to a port in the cycle after.

module dla_crossbar
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned BANKS = 8,
    // Streams that write, of DMA_IN, MAC and VECTOR: their numbers, and words of the slot of each, a power of 2
    parameter int unsigned WRITERS = 3,
    parameter logic [WRITERS-1:0][7:0] STREAMS = {8'd12, 8'd8, 8'd0},
    parameter int unsigned IN_WORDS = 2,
    parameter int unsigned MAC_WORDS = 0,
    parameter int unsigned VECTOR_WORDS = 0,
    parameter int unsigned WORDS = 2  // the most of these
) (
    input logic clock,
    input access_t access[BANKS],
    input logic [7:0] turn[WRITERS],  // the place of the slot's first word among those that are written
    input logic [8*BANK_BYTES-1:0] written[WRITERS][WORDS],
    input logic [BANK_BYTES-1:0] strobes[WRITERS][WORDS],  // bytes of the word that are written
    // Banks
    output logic [BANKS-1:0] bank_enable,
    output logic [31:0] bank_row[BANKS],
    output logic [8*BANK_BYTES-1:0] bank_written[BANKS],
    output logic [BANK_BYTES-1:0] bank_strobes[BANKS],
    input logic [8*BANK_BYTES-1:0] bank_read[BANKS],
    // Ports: which word of which stream comes
    output logic [PORTS-1:0] comes,
    output logic [3:0] stream[PORTS],
    output logic [7:0] number[PORTS],
    output logic [8*BANK_BYTES-1:0] read[PORTS]
);
  localparam logic [WRITERS-1:0][7:0] TURNS = {8'(VECTOR_WORDS), 8'(MAC_WORDS), 8'(IN_WORDS)};
  localparam int unsigned BANK_BITS = BANKS > 1 ? $clog2(BANKS) : 1;

  for (genvar b = 0; b < BANKS; b++) begin : to_bank
    assign bank_enable[b] = access[b].valid;
    assign bank_row[b] = access[b].row;
    always_comb begin
      {bank_written[b], bank_strobes[b]} = '0;
      for (int unsigned w = 0; w < WRITERS; w++)
        for (int unsigned i = 0; i < 32'(TURNS[w]); i++)
          if (access[b].valid && access[b].stream == STREAMS[w][3:0] && (32'(access[b].word) + 32'(turn[w])) % 32'(TURNS[w]) == i)
            {bank_written[b], bank_strobes[b]} = {bank_written[b], bank_strobes[b]} | {written[w][i], strobes[w][i]};
    end
  end

  // The banks that serve a word share out the ports in the order of their numbers.
  logic [BANKS-1:0] earlier[BANKS];  // banks before each that serve one
  logic [BANK_BITS-1:0] bank[PORTS];
  logic [PORTS-1:0] is_used;
  access_t served[PORTS];
  always_comb begin
    is_used = '0;
    for (int unsigned p = 0; p < PORTS; p++) {bank[p], served[p]} = '0;
    for (int unsigned b = 0; b < BANKS; b++) begin
      earlier[b] = bank_enable & ((BANKS'(1) << b) - 1'b1);
      for (int unsigned p = 0; p < PORTS; p++)
        if (bank_enable[b] && 32'($countones(earlier[b])) == p) begin
          is_used[p] = 1'b1;
          bank[p] = bank[p] | BANK_BITS'(b);
          served[p] = served[p] | access[b];
        end
    end
  end
  for (genvar p = 0; p < PORTS; p++) begin : port
    logic [BANK_BITS-1:0] of_bank;
    always_ff @(posedge clock) begin
      comes[p] <= is_used[p];
      {of_bank, stream[p], number[p]} <= {bank[p], served[p].stream, served[p].word};
    end
    assign read[p] = bank_read[of_bank];
  end
endmodule
