// The ports of the SRAM: in a cycle each of PORTS serves one word of one unit, and each of BANKS one port. The
// units take turns, a word each, as long as they want any; the first OWN_PORTS units have a port for themselves instead.
//
// A unit has SLOTS streams of words, which take turns in the same way when it is the unit's turn. A stream asks for words
// that lie STRIDE bytes apart from an address on, and gets them in this order.

module dla_ports
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int OWN_PORTS = 0,
    parameter int unsigned BANKS = 8,
    parameter int unsigned UNITS = 4,
    parameter int unsigned SLOTS = 4
) (
    input logic clock,
    input logic reset,
    input request_t request[UNITS][SLOTS],
    output logic [7:0] granted[UNITS][SLOTS],  // of the words
    output logic [31:0] next[UNITS][SLOTS]  // address of the word after those
);
  localparam int unsigned UNIT_BITS = $clog2(UNITS);
  localparam int unsigned BANK_BITS = BANKS > 1 ? $clog2(BANKS) : 1;
  localparam int unsigned SLOT_BITS = $clog2(SLOTS);
  logic [UNIT_BITS-1:0] turn, next_turn, first, u;
  logic [SLOT_BITS-1:0] slot[UNITS], next_slot[UNITS], s;
  logic [BANKS-1:0] used;
  logic [BANK_BITS-1:0] bank[UNITS][SLOTS];  // where that lies
  logic [SLOTS-1:0] may[UNITS], chosen[UNITS];
  logic served;

  // Words are interleaved, and each row of the banks is shifted against the one before, so that words at a stride
  // of a power of two lie in different banks, too.
  function automatic logic [BANK_BITS-1:0] bank_of(input logic [31:0] word);
    return BANK_BITS'((word + word / BANKS + word / (BANKS * BANKS)) % BANKS);
  endfunction

  // For each port: find all streams that may have it, then grant it to the first of them in turn. So one bit of each
  // stream goes through the multiplexers of the choice, and not its address.
  always_comb begin
    used = '0;
    first = '0;
    u = '0;
    s = '0;
    next_turn = turn;
    next_slot = slot;
    for (int unsigned k = 0; k < UNITS; k++) begin
      for (int unsigned j = 0; j < SLOTS; j++) begin
        granted[k][j] = '0;
        next[k][j] = request[k][j].address;
      end
    end
    for (int unsigned p = 0; p < 32'(OWN_PORTS) + PORTS; p++) begin
      for (int unsigned k = 0; k < UNITS; k++) begin
        chosen[k] = '0;
        for (int unsigned j = 0; j < SLOTS; j++) begin
          bank[k][j] = bank_of(next[k][j] / BANK_BYTES);
          may[k][j] = granted[k][j] < request[k][j].words && !used[bank[k][j]]
              && (int'(p) < OWN_PORTS ? k == p : int'(k) >= OWN_PORTS);
        end
      end
      served = 1'b0;
      first = int'(p) < OWN_PORTS ? UNIT_BITS'(p) : next_turn;
      for (int unsigned k = 0; k < UNITS; k++) begin
        u = first + UNIT_BITS'(k);
        if (!served && may[u] != '0) begin
          served = 1'b1;
          for (int unsigned j = SLOTS; j > 0; j--) if (may[u][next_slot[u]+SLOT_BITS'(j-1)]) s = next_slot[u] + SLOT_BITS'(j - 1);
          chosen[u][s] = 1'b1;
          if (int'(p) >= OWN_PORTS) next_turn = u + 1'b1;
          next_slot[u] = s + 1'b1;
        end
      end
      for (int unsigned k = 0; k < UNITS; k++) begin
        for (int unsigned j = 0; j < SLOTS; j++) begin
          if (chosen[k][j]) begin
            used[bank[k][j]] = 1'b1;
            granted[k][j] = granted[k][j] + 1'b1;
            next[k][j] = next[k][j] + request[k][j].stride;
          end
        end
      end
    end
  end

  always_ff @(posedge clock) turn <= reset ? '0 : next_turn;
  for (genvar k = 0; k < UNITS; k++) begin : unit
    always_ff @(posedge clock) slot[k] <= reset ? '0 : next_slot[k];
  end
endmodule
