// The memories behind the DMA, as a machine describes them, and what their numbers are to a transfer. All of it is constant;
// number 0 is the memory of the parameters DMA_..., and a region lies in one of them.

package dla_memory;
  localparam int unsigned MOST_MEMORIES = 9, REGIONS = 8, NUMBER_BITS = 4;
  localparam int unsigned RATE_SCALE = 1000;  // of a rate: a byte per cycle
  localparam int unsigned CODE_BYTES = 16, STEP_WEIGHTS = 64;  // that a step decodes, and writes at most

  // Rates of 0 have no limit. `bandwidth` is that of both directions together, as is that of the bus.
  typedef struct packed {
    logic [31:0] bandwidth;
    logic [31:0] bus_bandwidth;
    logic [31:0] latency;
    logic [31:0] burst_bytes;
    logic [31:0] burst_overhead;
    logic [7:0] outstanding;  // transfers whose latencies overlap
    logic [7:0] bus;
  } memory_t;
  localparam int unsigned MEMORY_BITS = $bits(memory_t);
  typedef memory_t [MOST_MEMORIES-1:0] memories_t;
  typedef logic [MOST_MEMORIES-2:0][MEMORY_BITS-1:0] named_t;
  typedef logic [REGIONS-1:0][NUMBER_BITS-1:0] numbers_t;
  typedef logic [REGIONS-1:0][31:0] region_beats_t;

  // The bytes of a cycle are whole ones and a part of one, in parts that are the same for all of a machine's memories.
  typedef struct packed {
    logic [31:0] beat_bytes;
    logic [31:0] beat_part;
    logic [31:0] most_bytes;  // of a beat: the same rounded up
    logic [31:0] packed_bytes;  // of a beat that is packed; 0: none is
    logic [31:0] packed_part;
    logic [31:0] step_beats;  // of a step that decodes; 0: none does
    logic [31:0] late_beats;  // of those: until the last of the word's bytes may come
    logic [31:0] latency;
    logic [31:0] burst_bytes;
    logic [31:0] burst_overhead;
    logic [7:0] outstanding;
  } pace_t;
  typedef pace_t [MOST_MEMORIES-1:0] paces_t;

  // What the DMA needs for these memories
  typedef struct packed {
    logic [31:0] latency;  // the longest, and likewise
    logic [31:0] step_beats;
    logic [7:0] outstanding;
    logic unpacking;  // for some of them
    logic requests;
    logic empty_beats;  // cycles in which no byte is whole
    logic no_latency;
  } needs_t;
  function automatic needs_t needs_of(input paces_t paces, input int unsigned count);
    needs_of = '0;
    for (int unsigned m = 0; m < count; m++) begin
      if (paces[m].latency > needs_of.latency) needs_of.latency = paces[m].latency;
      if (paces[m].step_beats > needs_of.step_beats) needs_of.step_beats = paces[m].step_beats;
      if (paces[m].outstanding > needs_of.outstanding) needs_of.outstanding = paces[m].outstanding;
      if (paces[m].packed_bytes != 0 || paces[m].packed_part != 0) needs_of.unpacking = 1'b1;
      if (paces[m].burst_overhead != 0) needs_of.requests = 1'b1;
      if (paces[m].beat_bytes == 0 || (paces[m].packed_bytes == 0 && paces[m].packed_part != 0)) needs_of.empty_beats = 1'b1;
      if (paces[m].latency == 0) needs_of.no_latency = 1'b1;
    end
  endfunction

  // The fractions of a beat that a transfer does in a cycle: alone by its memory, and next to one of the other direction by
  // both memories
  typedef logic [MOST_MEMORIES-1:0][31:0] alone_t;
  typedef logic [MOST_MEMORIES-1:0][MOST_MEMORIES-1:0][31:0] together_t;

  // The memories of a machine, of which the first has these numbers.
  function automatic memories_t memories_of(
      input named_t named, input int unsigned bus_bytes, latency, burst_bytes, burst_overhead
  );
    memory_t first;
    first = '0;
    first.bus_bandwidth = bus_bytes * RATE_SCALE;
    first.latency = latency;
    first.burst_bytes = burst_bytes;
    first.burst_overhead = burst_overhead;
    first.outstanding = 8'd1;
    return {named, first};
  endfunction

  function automatic int unsigned least(input int unsigned limit, other);  // of limits, where 0 is none
    return limit == 0 || (other != 0 && other < limit) ? other : limit;
  endfunction

  function automatic int unsigned gcd(input int unsigned value, other);
    int unsigned rest;
    while (other != 0) begin
      rest  = value % other;
      value = other;
      other = rest;
    end
    return value;
  endfunction

  function automatic int unsigned ceil(input int unsigned value, divisor);
    return (value + divisor - 1) / divisor;
  endfunction

  // What a transfer alone moves in RATE_SCALE cycles, where the DMA and the ports move so many bytes in one.
  // Of a memory only the rates are read.
  /* verilator lint_off UNUSEDSIGNAL */
  function automatic int unsigned rate_of(input memory_t memory, input int unsigned dma_bytes, port_bytes);
    /* verilator lint_on UNUSEDSIGNAL */
    return least(least(dma_bytes, port_bytes) * RATE_SCALE, least(memory.bandwidth, memory.bus_bandwidth));
  endfunction

  function automatic int unsigned most_beat_bytes(input memories_t memories, input int unsigned count, dma_bytes, port_bytes);
    int unsigned rate;
    most_beat_bytes = 0;
    for (int unsigned m = 0; m < count; m++) begin
      rate = ceil(rate_of(memories[m], dma_bytes, port_bytes), RATE_SCALE);
      if (rate > most_beat_bytes) most_beat_bytes = rate;
    end
  endfunction

  // The parts of a byte that all rates need.
  function automatic int unsigned parts_of(input memories_t memories, input int unsigned count);
    int unsigned common;
    common = RATE_SCALE;
    for (int unsigned m = 0; m < count; m++) common = gcd(gcd(common, memories[m].bandwidth), memories[m].bus_bandwidth);
    return RATE_SCALE / common;
  endfunction

  function automatic paces_t paces_of(
      input memories_t memories, input int unsigned count, dma_bytes, port_bytes, unpacking, decoding
  );
    int unsigned rate, part, slow, word_beats, beats;
    paces_of = '0;
    part = RATE_SCALE / parts_of(memories, count);
    word_beats = ceil(CODE_BYTES, most_beat_bytes(memories, count, dma_bytes, port_bytes));
    for (int unsigned m = 0; m < count; m++) begin
      rate = rate_of(memories[m], dma_bytes, port_bytes);
      paces_of[m].beat_bytes = rate / RATE_SCALE;
      paces_of[m].beat_part = rate % RATE_SCALE / part;
      paces_of[m].most_bytes = ceil(rate, RATE_SCALE);
      slow = unpacking == 0 ? 0 : least(rate, least(unpacking, port_bytes / 2) * RATE_SCALE);
      paces_of[m].packed_bytes = slow / RATE_SCALE;
      paces_of[m].packed_part = slow % RATE_SCALE / part;
      beats = ceil(CODE_BYTES * RATE_SCALE, rate);
      paces_of[m].late_beats = decoding == 0 ? 0 : beats - word_beats;
      if (decoding != 0 && ceil(CODE_BYTES, decoding) > beats) beats = ceil(CODE_BYTES, decoding);
      if (port_bytes != 0 && ceil(STEP_WEIGHTS, port_bytes) > beats) beats = ceil(STEP_WEIGHTS, port_bytes);
      paces_of[m].step_beats = decoding == 0 ? 0 : beats;
      paces_of[m].latency = memories[m].latency;
      paces_of[m].burst_bytes = memories[m].burst_bytes;
      paces_of[m].burst_overhead = memories[m].burst_overhead;
      paces_of[m].outstanding = memories[m].outstanding;
    end
  endfunction

  // The same of a direction that copies.
  function automatic paces_t copying(input paces_t paces);
    copying = paces;
    for (int unsigned m = 0; m < MOST_MEMORIES; m++) begin
      copying[m].packed_bytes = '0;
      copying[m].packed_part = '0;
      copying[m].step_beats = '0;
      copying[m].late_beats = '0;
    end
  endfunction

  function automatic region_beats_t region_beats(input paces_t paces, input numbers_t numbers);
    for (int unsigned r = 0; r < REGIONS; r++) region_beats[r] = paces[numbers[r]].most_bytes;
  endfunction

  // Of a bus or memory that both use, a transfer has half, or what the other one leaves. Numbers are twice the rates, so that
  // half of one is whole.
  function automatic together_t together_of(input memories_t memories, input int unsigned count, dma_bytes, port_bytes);
    int unsigned limit, mine, other, part, twice;
    together_of = '0;
    part = RATE_SCALE / parts_of(memories, count);
    for (int unsigned m = 0; m < count; m++)
      for (int unsigned o = 0; o < count; o++) begin
        mine  = rate_of(memories[m], dma_bytes, port_bytes);
        other = rate_of(memories[o], dma_bytes, port_bytes);
        limit = 0;
        if (memories[m].bus == memories[o].bus) limit = memories[m].bus_bandwidth;
        if (m == o) limit = least(limit, memories[m].bandwidth);
        twice = 2 * other <= limit ? 2 * (limit - other) : limit;
        if (limit == 0 || 2 * mine <= twice) twice = 2 * mine;
        together_of[m][o] = twice / part;
      end
  endfunction

  function automatic alone_t alone_of(input memories_t memories, input int unsigned count, dma_bytes, port_bytes);
    alone_of = '0;
    for (int unsigned m = 0; m < count; m++)
      alone_of[m] = 2 * rate_of(memories[m], dma_bytes, port_bytes) / (RATE_SCALE / parts_of(memories, count));
  endfunction

  function automatic bit shares(input alone_t alone, input together_t together, input int unsigned count);
    shares = 1'b0;
    for (int unsigned m = 0; m < count; m++)
      for (int unsigned o = 0; o < count; o++) if (together[m][o] != alone[m]) shares = 1'b1;
  endfunction
endpackage
