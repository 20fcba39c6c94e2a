// The bytes of the accelerator's memory. Where its ports are not limited, each unit has any of them in any cycle. Else it
// is made of banks with one port each, to which `dla_ports` leads words: those of transfers and results take that way.
// MAC and VECTOR read every byte, as without a limit, in steps that do not run before the words of their operands have
// crossed.
//
// Reads are synchronous: an address that is presented in a cycle gives its data in the next.

module dla_sram #(
    parameter int unsigned BYTES = 524288,
    parameter int unsigned INPUTS = 64,  // bytes of input that the MAC array takes in a cycle
    parameter int unsigned INPUT_LANES = 1,  // PEs of an output lane
    parameter int unsigned PES = 64,
    parameter int unsigned MAC_LANES = 64,  // accumulators
    parameter int unsigned PIXELS = 1,  // each of which has as many inputs and accumulators
    parameter int unsigned VECTOR_LANES = 16,
    parameter int unsigned BEAT_BYTES = 8,
    parameter int unsigned OFFSET_BITS = $clog2(INPUTS + 1),
    parameter int unsigned WRITTEN_BYTES = BEAT_BYTES,  // of a beat that is unpacked or decoded
    parameter bit LIMITED = 1'b0,
    parameter int unsigned BANK_BYTES = 1,
    parameter int unsigned BANKS = 1,
    parameter bit SHIFTED = 1'b1
) (
    input logic clock,
    // MAC: a byte of input for each channel, of weight for each PE; addresses are the first lane's, of the first pixel
    input logic mac_read,
    input logic [31:0] mac_input_address,
    input logic [31:0] mac_input_at[PIXELS],  // of each pixel, from the first one's
    input logic [OFFSET_BITS-1:0] mac_input_offset[INPUTS],
    output logic [7:0] mac_input[PIXELS*INPUTS],
    input logic [31:0] mac_weight_address,
    input logic [31:0] mac_filter_step,  // from an output lane's to the next one's
    output logic [7:0] mac_weight[PES],
    // MAC: for each accumulator a partial sum, the three words of its record, and the result
    input logic mac_finish_read,
    input logic [31:0] mac_partial_address,  // of the first accumulator; the others follow
    input logic [31:0] mac_partial_at[PIXELS],
    input logic [1:0] mac_partial_size,  // bytes as a power of 2: a tensor to be added has one
    output logic [31:0] mac_partial[PIXELS*MAC_LANES],
    input logic [31:0] mac_record_address,
    output logic [31:0] mac_bias[MAC_LANES],
    output logic [31:0] mac_multiplier[MAC_LANES],
    output logic [31:0] mac_shift[MAC_LANES],
    input logic [PIXELS*MAC_LANES-1:0] mac_write,
    input logic [1:0] mac_write_size,  // bytes of a result as a power of 2
    input logic [31:0] mac_result_address,  // as for partial sums
    input logic [31:0] mac_result_at[PIXELS],
    input logic [31:0] mac_result[PIXELS*MAC_LANES],
    // VECTOR: an element of both inputs for each lane
    input logic vector_read,
    input logic [1:0] vector_read_size,
    input logic [31:0] vector_in_address,  // of the first lane; the others follow
    output logic [31:0] vector_in[VECTOR_LANES],
    input logic [31:0] vector_in2_address,
    output logic [31:0] vector_in2[VECTOR_LANES],
    // VECTOR: a word of the table, of which a table of bytes takes the lowest, and two words of the record
    input logic vector_finish_read,
    input logic [31:0] vector_table_address[VECTOR_LANES],
    output logic [31:0] vector_table[VECTOR_LANES],
    input logic [31:0] vector_record_address,
    output logic [31:0] vector_multiplier[VECTOR_LANES],
    output logic [31:0] vector_shift[VECTOR_LANES],
    input logic [VECTOR_LANES-1:0] vector_write,
    input logic [1:0] vector_write_size,
    input logic [31:0] vector_result_address,
    input logic [31:0] vector_result[VECTOR_LANES],
    // DMA: bytes of a beat, where the ports are not limited
    input logic [WRITTEN_BYTES-1:0] dma_write,
    input logic [31:0] dma_write_address[WRITTEN_BYTES],
    input logic [7:0] dma_write_data[WRITTEN_BYTES],
    input logic dma_read,
    input logic [31:0] dma_read_address[BEAT_BYTES],
    output logic [7:0] dma_read_data[BEAT_BYTES],
    // Banks, where they are: each reads a word, or writes some bytes of it
    input logic [BANKS-1:0] bank_enable,
    input logic [31:0] bank_row[BANKS],
    input logic [8*BANK_BYTES-1:0] bank_written[BANKS],
    input logic [BANK_BYTES-1:0] bank_strobes[BANKS],
    output logic [8*BANK_BYTES-1:0] bank_read[BANKS]
);
  import dla_isa::RECORD_BYTES;
  localparam int unsigned PLACE_BITS = $clog2(BYTES);

  logic [7:0] memory[BYTES]  /* verilator public_flat_rw */;  // public: tests load and compare it

  // Addresses are checked when an operation issues; beyond the memory lie only lanes without a channel.
  function automatic logic [31:0] word_at(input logic [31:0] address);
    return {
      memory[PLACE_BITS'(address+3)], memory[PLACE_BITS'(address+2)],
      memory[PLACE_BITS'(address+1)], memory[PLACE_BITS'(address)]
    };
  endfunction

  // An element of so many bytes, a power of 2, number `lane` from an address on
  function automatic logic [31:0] element_at(input logic [31:0] address, input logic [31:0] lane, input logic [1:0] size);
    logic [31:0] word;
    word = word_at(address + (lane << size));
    return size == 0 ? 32'($signed(word[7:0])) : size == 1 ? 32'($signed(word[15:0])) : word;
  endfunction

  // ------------------------------------------------------------------------------------------------- MAC
  for (genvar i = 0; i < PIXELS * INPUTS; i++) begin : input_port
    always_ff @(posedge clock)
      if (mac_read) mac_input[i] <= memory[PLACE_BITS'(mac_input_address+mac_input_at[i/INPUTS]+32'(mac_input_offset[i%INPUTS]))];
  end
  for (genvar p = 0; p < PES; p++) begin : weight_port
    localparam int unsigned OUTPUT = p / INPUT_LANES, INPUT = p % INPUT_LANES;
    always_ff @(posedge clock) if (mac_read) mac_weight[p] <= memory[PLACE_BITS'(mac_weight_address+OUTPUT*mac_filter_step+INPUT)];
  end
  for (genvar l = 0; l < MAC_LANES; l++) begin : mac_port
    always_ff @(posedge clock) begin
      if (mac_finish_read) begin
        mac_bias[l] <= word_at(mac_record_address + RECORD_BYTES * l);
        mac_multiplier[l] <= word_at(mac_record_address + RECORD_BYTES * l + 4);
        mac_shift[l] <= word_at(mac_record_address + RECORD_BYTES * l + 8);
      end
    end
  end
  for (genvar i = 0; i < PIXELS * MAC_LANES; i++) begin : mac_element
    localparam int unsigned PIXEL = i / MAC_LANES, LANE = i % MAC_LANES;
    always_ff @(posedge clock)
      if (mac_finish_read) mac_partial[i] <= element_at(mac_partial_address + mac_partial_at[PIXEL], LANE, mac_partial_size);
    for (genvar b = 0; b < 4; b++) if (!LIMITED) begin : result
      always @(posedge clock)
        if (mac_write[i] && (b < 1 << mac_write_size))
          memory[PLACE_BITS'(mac_result_address+mac_result_at[PIXEL]+(LANE<<mac_write_size)+b)] <= mac_result[i][8*b+:8];
    end
  end

  // ---------------------------------------------------------------------------------------------- VECTOR
  for (genvar l = 0; l < VECTOR_LANES; l++) begin : vector_port
    always_ff @(posedge clock) begin
      if (vector_read) begin
        vector_in[l] <= element_at(vector_in_address, l, vector_read_size);
        vector_in2[l] <= element_at(vector_in2_address, l, vector_read_size);
      end
      if (vector_finish_read) begin
        vector_table[l] <= word_at(vector_table_address[l]);
        vector_multiplier[l] <= word_at(vector_record_address + RECORD_BYTES * l + 4);
        vector_shift[l] <= word_at(vector_record_address + RECORD_BYTES * l + 8);
      end
    end
    for (genvar b = 0; b < 4; b++) if (!LIMITED) begin : result
      always @(posedge clock)
        if (vector_write[l] && (b < 1 << vector_write_size))
          memory[PLACE_BITS'(vector_result_address+(l<<vector_write_size)+b)] <= vector_result[l][8*b+:8];
    end
  end

  // ------------------------------------------------------------------------------------------------- DMA
  if (!LIMITED) begin : bytes
    for (genvar i = 0; i < BEAT_BYTES; i++) begin : dma_read_port
      always_ff @(posedge clock) if (dma_read) dma_read_data[i] <= memory[PLACE_BITS'(dma_read_address[i])];
    end
    for (genvar i = 0; i < WRITTEN_BYTES; i++) begin : dma_write_port
      always @(posedge clock) if (dma_write[i]) memory[PLACE_BITS'(dma_write_address[i])] <= dma_write_data[i];
    end
    for (genvar b = 0; b < BANKS; b++) begin : no_bank
      assign bank_read[b] = '0;
    end
    logic unused;
    assign unused = &{1'b0, bank_enable, bank_row[0], bank_written[0], bank_strobes[0]};
  end else begin : banks
    // Results cross the ports, too.
    for (genvar i = 0; i < PIXELS * MAC_LANES; i++) begin : no_mac_result
      logic unused;
      assign unused = &{1'b0, mac_write[i], mac_write_size, mac_result_address, mac_result_at[i/MAC_LANES], mac_result[i]};
    end
    for (genvar l = 0; l < VECTOR_LANES; l++) begin : no_vector_result
      logic unused;
      assign unused = &{1'b0, vector_write[l], vector_write_size, vector_result_address, vector_result[l]};
    end
    for (genvar i = 0; i < BEAT_BYTES; i++) begin : no_byte
      assign dma_read_data[i] = '0;
    end
    for (genvar b = 0; b < BANKS; b++) begin : bank
      logic [31:0] word;  // that lies in this row of the bank: `bank_of` of dla_ports the other way round
      assign word = bank_row[b] * BANKS + (SHIFTED ? (b + BANKS - (bank_row[b] + bank_row[b] / BANKS) % BANKS) % BANKS : b);
      for (genvar i = 0; i < BANK_BYTES; i++) begin : lane
        logic [PLACE_BITS-1:0] place;
        assign place = PLACE_BITS'(word * BANK_BYTES + i);
        always_ff @(posedge clock) if (bank_enable[b] && bank_strobes[b] == '0) bank_read[b][8*i+:8] <= memory[place];
        always @(posedge clock) if (bank_enable[b] && bank_strobes[b][i]) memory[place] <= bank_written[b][8*i+:8];
      end
    end
    for (genvar i = 0; i < WRITTEN_BYTES; i++) begin : no_written
      logic unused;
      assign unused = &{1'b0, dma_write[i], dma_write_address[i], dma_write_data[i]};
    end
    for (genvar i = 0; i < BEAT_BYTES; i++) begin : no_read
      logic unused;
      assign unused = &{1'b0, dma_read, dma_read_address[i]};
    end
  end
endmodule
