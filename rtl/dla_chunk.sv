// A chunk of results as bytes in the order of memory: of the lanes of a pixel, elements of 1, 2 or 4 bytes.

module dla_chunk #(
    parameter int unsigned LANES = 64,
    parameter int unsigned PIXELS = 1,
    parameter int unsigned CHUNK = 64,  // bytes
    parameter bit INT16 = 0,  // whether elements may have 2 bytes
    parameter int unsigned CHUNKS = (4 * LANES + CHUNK - 1) / CHUNK,
    parameter int unsigned PIXEL_BITS = PIXELS > 1 ? $clog2(PIXELS) : 1,
    parameter int unsigned CHUNK_BITS = CHUNKS > 1 ? $clog2(CHUNKS) : 1
) (
    input logic [31:0] result[PIXELS*LANES],
    input logic [1:0] size,  // of an element: its bytes as a power of 2
    input logic [PIXEL_BITS-1:0] pixel,
    input logic [CHUNK_BITS-1:0] chunk,
    output logic [8*CHUNK-1:0] data
);
  localparam int unsigned WORDS = CHUNKS * CHUNK / 4;  // elements of 4 bytes in all chunks
  logic [31:0] own[WORDS];  // of the pixel
  always_comb begin
    for (int unsigned l = 0; l < WORDS; l++) begin
      own[l] = '0;
      for (int unsigned p = 0; p < PIXELS; p++)
        if (l < LANES && (PIXELS == 1 || 32'(pixel) == p)) own[l] = own[l] | result[p*LANES+(l<LANES?l : 0)];
    end
    data = '0;
    for (int unsigned c = 0; c < CHUNKS; c++)
      if (CHUNKS == 1 || 32'(chunk) == c)
        for (int unsigned b = c * CHUNK; b < (c + 1) * CHUNK; b++)
          data[8*(b%CHUNK)+:8] = data[8*(b%CHUNK)+:8] | (size[1] ? own[b/4][8*(b%4)+:8] : 8'h00)
              | (size == 2'd0 && b < WORDS ? own[b<WORDS?b : 0][7:0] : 8'h00)
              | (INT16 && size == 2'd1 && b < 2 * WORDS ? own[b<2*WORDS?b/2 : 0][8*(b%2)+:8] : 8'h00);
  end
endmodule
