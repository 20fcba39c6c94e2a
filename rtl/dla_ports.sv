// The ports of the SRAM: in a cycle PORTS words cross, and each of BANKS serves one. The first OWN_PORTS units have a port
// for themselves besides. A bank is told what to do in the cycle after that (`access`).
//
// A stream asks for at most PORTS words that lie STRIDE bytes apart from an address on. They enter the stream's slot when
// all that were there have crossed by the end of the cycle (`takes`), and cross from the next cycle on, each when its bank
// serves it. So a stream counts on without waiting for the choice, and what it knows about words is a cycle old.
//
// One stream leads: all of its words cross that lie in different banks. Units take turns at that, and the streams of a
// unit do; the others have what it leaves of banks and ports.

module dla_ports
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int OWN_PORTS = 0,
    parameter int unsigned BANKS = 8,
    parameter bit SHIFTED = 1,
    parameter int unsigned UNITS = 4,
    parameter int unsigned SLOTS = 4,  // streams of a unit
    parameter int unsigned SINGLE = 2,  // units with one stream, which are the first
    parameter logic [UNITS-1:0][7:0] FIRST_WORDS = {{2{8'(PORTS)}}, {2{8'(PORTS < 2 ? PORTS : 2)}}},  // that a unit's first one asks for
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    /* verilator lint_off UNUSEDSIGNAL */
    input request_t request[UNITS][SLOTS],
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [SLOTS-1:0] takes[UNITS],
    output access_t access[BANKS]
);
  localparam int unsigned UNIT_BITS = $clog2(UNITS);
  localparam int unsigned BANK_BITS = BANKS > 1 ? $clog2(BANKS) : 1;
  localparam int unsigned SLOT_BITS = $clog2(SLOTS);

  // Words are interleaved, and each row of the banks is SHIFTED against the one before, so that words at a stride of a
  // power of two lie in different banks, too. (`dla_sram` finds the word of a bank's row.)
  function automatic logic [BANK_BITS-1:0] bank_of(input logic [31:0] word);
    return BANK_BITS'((SHIFTED ? word + word / BANKS + word / (BANKS * BANKS) : word) % BANKS);
  endfunction

  // -------------------------------------------------------------------------------------------------------- slots
  logic [BANKS-1:0] wanted[UNITS][SLOTS], served[UNITS][SLOTS];
  logic [SLOTS-1:0] has_words[UNITS];
  access_t offered[UNITS][SLOTS][BANKS];  // what a bank would do for each slot
  for (genvar k = 0; k < UNITS; k++) begin : unit
    for (genvar j = 0; j < SLOTS; j++) begin : slot
      if (k < SINGLE && j > 0) begin : none
        assign wanted[k][j] = '0;
        assign {takes[k][j], has_words[k][j]} = '0;
        for (genvar b = 0; b < BANKS; b++) begin : bank
          assign offered[k][j][b] = '0;
        end
        logic unused;
        assign unused = &{1'b0, served[k][j]};
      end else begin : words
        localparam int unsigned WORDS = j == 0 ? 32'(FIRST_WORDS[k]) : PORTS;
        logic [WORDS-1:0] waits, stays;
        logic [BANK_BITS-1:0] bank[WORDS];
        logic [31:0] row[WORDS];
        logic [BANKS-1:0] serves;
        always_comb begin
          wanted[k][j] = '0;
          serves = served[k][j];
          for (int unsigned b = 0; b < BANKS; b++) offered[k][j][b] = '0;
          for (int unsigned i = 0; i < WORDS; i++) begin
            if (waits[i] && !wanted[k][j][bank[i]])
              offered[k][j][bank[i]] = '{valid: 1'b1, stream: 4'(k * SLOTS + j), word: 8'(i), row: row[i]};
            if (waits[i]) wanted[k][j][bank[i]] = 1'b1;
            stays[i] = waits[i] && !serves[bank[i]];
            if (waits[i]) serves[bank[i]] = 1'b0;  // a bank serves the first of its words
          end
        end
        assign takes[k][j] = stays == '0;
        assign has_words[k][j] = waits != '0;
        for (genvar i = 0; i < WORDS; i++) begin : word
          logic [31:0] number;
          assign number = ((request[k][j].address + i * request[k][j].stride) & PLACE) / BANK_BYTES;
          always_ff @(posedge clock) begin
            waits[i] <= !reset && (takes[k][j] ? i < request[k][j].words : stays[i]);
            if (takes[k][j]) {bank[i], row[i]} <= {bank_of(number), number / BANKS};
          end
        end
      end
    end
  end

  // ------------------------------------------------------------------------------------------------------- choice
  logic [UNIT_BITS-1:0] turn, next_turn;  // of the unit that leads
  logic [SLOT_BITS-1:0] lead[UNITS], next_lead;  // its stream
  logic [BANKS-1:0] own, led, others, passes, chosen;
  always_comb begin
    own = '0;
    for (int unsigned k = 0; k < UNITS; k++) begin
      for (int unsigned j = 0; j < SLOTS; j++) served[k][j] = '0;
      if (int'(k) < OWN_PORTS) begin
        served[k][0] = wanted[k][0] & ~own;
        own = own | wanted[k][0];
      end
    end

    led = wanted[turn][lead[turn]] & ~own;
    others = '0;
    for (int unsigned k = 32'(OWN_PORTS); k < UNITS; k++)
      for (int unsigned j = 0; j < SLOTS; j++) others = others | (wanted[k][j] & ~own & ~led);
    for (int unsigned b = 0; b < BANKS; b++)
      passes[b] = 32'($countones(led | (others & ((BANKS'(1) << b) - 1'b1)))) < PORTS;

    chosen = own | led;
    for (int unsigned k = 32'(OWN_PORTS); k < UNITS; k++)
      for (int unsigned j = 0; j < SLOTS; j++) begin
        served[k][j] = (wanted[k][j] & ~chosen & passes) | (turn == UNIT_BITS'(k) && lead[k] == SLOT_BITS'(j) ? led : '0);
        chosen = chosen | wanted[k][j];
      end
  end

  access_t next_access[BANKS];
  always_comb begin
    for (int unsigned b = 0; b < BANKS; b++) begin
      next_access[b] = '0;
      for (int unsigned k = 0; k < UNITS; k++)
        for (int unsigned j = 0; j < SLOTS; j++) if (served[k][j][b]) next_access[b] = next_access[b] | offered[k][j][b];
    end
  end
  for (genvar b = 0; b < BANKS; b++) begin : banks
    always_ff @(posedge clock) access[b] <= reset ? '0 : next_access[b];
  end

  // The next unit that has words leads, with the stream after the one that led last.
  always_comb begin
    next_turn = turn;
    next_lead = lead[turn];
    for (int unsigned k = UNITS - 1; k > 0; k--) if (has_words[turn+UNIT_BITS'(k)] != '0) next_turn = turn + UNIT_BITS'(k);
    for (int unsigned j = SLOTS - 1; j > 0; j--)
      if (has_words[turn][lead[turn]+SLOT_BITS'(j)]) next_lead = lead[turn] + SLOT_BITS'(j);
  end
  always_ff @(posedge clock) turn <= reset ? '0 : next_turn;
  for (genvar k = 0; k < UNITS; k++) begin : streams
    always_ff @(posedge clock)
      if (reset) lead[k] <= '0;
      else if (turn == UNIT_BITS'(k)) lead[k] <= next_lead;
  end
endmodule
