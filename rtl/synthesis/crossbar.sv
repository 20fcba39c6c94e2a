// What leads words between ports and banks: for each bank the address and the word of the port that `dla_ports` gives
// it to, for each port the word of its bank in the cycle after. The RTL has no wires for it (`dla_sram` is one array of
// bytes); for tools/synthesis.py only, which tells from it what they would take.

module crossbar #(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned BANKS = 8,
    parameter int unsigned ROW_BITS = 12  // of an address in a bank: 4096 words
) (
    input logic clock,
    // Ports
    input logic [PORTS-1:0] valid,
    input logic [PORTS-1:0] writes,
    input logic [(BANKS > 1 ? $clog2(BANKS) : 1)-1:0] bank[PORTS],
    input logic [ROW_BITS-1:0] row[PORTS],
    input logic [8*BANK_BYTES-1:0] written[PORTS],
    input logic [BANK_BYTES-1:0] strobes[PORTS],  // bytes of the word that are written
    output logic [8*BANK_BYTES-1:0] read[PORTS],
    // Banks
    output logic [BANKS-1:0] bank_enable,
    output logic [BANKS-1:0] bank_writes,
    output logic [ROW_BITS-1:0] bank_row[BANKS],
    output logic [8*BANK_BYTES-1:0] bank_written[BANKS],
    output logic [BANK_BYTES-1:0] bank_strobes[BANKS],
    input logic [8*BANK_BYTES-1:0] bank_read[BANKS]
);
  localparam int unsigned BANK_BITS = BANKS > 1 ? $clog2(BANKS) : 1;

  // At most one port uses a bank, so that what the ports send it can be ORed.
  for (genvar b = 0; b < BANKS; b++) begin : to_bank
    always_comb begin
      bank_enable[b] = 1'b0;
      bank_writes[b] = 1'b0;
      bank_row[b] = '0;
      bank_written[b] = '0;
      bank_strobes[b] = '0;
      for (int unsigned p = 0; p < PORTS; p++) begin
        if (valid[p] && bank[p] == BANK_BITS'(b)) begin
          bank_enable[b] = 1'b1;
          bank_writes[b] = bank_writes[b] | writes[p];
          bank_row[b] = bank_row[b] | row[p];
          bank_written[b] = bank_written[b] | written[p];
          bank_strobes[b] = bank_strobes[b] | strobes[p];
        end
      end
    end
  end

  for (genvar p = 0; p < PORTS; p++) begin : from_bank
    logic [BANK_BITS-1:0] of_bank;  // the word that comes now
    always_ff @(posedge clock) of_bank <= bank[p];
    assign read[p] = bank_read[of_bank];
  end
endmodule
