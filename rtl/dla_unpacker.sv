// Between the bus and the SRAM: of packed bytes each half becomes a byte, as a signed number, the low half first. Other
// bytes pass.

module dla_unpacker #(
    parameter int unsigned BEAT_BYTES = 8,  // that come
    parameter int unsigned PACKED_BYTES = 8,  // of these, that may be packed
    parameter int unsigned SPREAD_BYTES = 16  // that go
) (
    input logic is_packed,
    input logic [7:0] packed_data[BEAT_BYTES],
    output logic [7:0] data[SPREAD_BYTES]
);
  for (genvar i = 0; i < SPREAD_BYTES; i++) begin : spread
    logic [7:0] plain, unpacked;
    if (i < BEAT_BYTES) assign plain = packed_data[i];
    else assign plain = '0;
    if (i < 2 * PACKED_BYTES) begin : half
      logic [3:0] number;
      assign number = packed_data[i/2][4*(i%2)+:4];
      assign unpacked = 8'($signed(number));
    end else assign unpacked = '0;
    assign data[i] = is_packed ? unpacked : plain;
  end
endmodule
