// What the modules that ask for words of the SRAM share.

package dla_words;
  import dla_isa::*;
  // A stream of words that a unit wants from the ports in this cycle.
  typedef struct packed {
    logic [31:0] address;  // of the first word
    logic [31:0] stride;  // bytes from one to the next
    logic [7:0] words;
  } request_t;

  localparam logic [31:0] WHOLE = 32'h7fffffff;  // bytes of a pixel that a step reads: all

  // The pass over the input in which the array is, where blocks are handed over whole: one serves all channels of a block.
  typedef struct packed {
    logic [31:0] block_row;  // rows of output, over all passes, before its block and its step
    logic [31:0] step_row;
    logic [31:0] group;  // the first output channel
    logic [31:0] channels;  // of output
    logic is_known;  // how many these are
    logic ends;  // if a block ends
  } pass_t;

  // Results on their way to the ports
  typedef struct packed {
    logic valid;
    logic ends;  // they are the operation's last
    logic [31:0] address;
    logic [31:0] bytes;
  } results_t;

  // The bytes of a beat in the SRAM, in one piece or in two
  typedef struct packed {
    logic [31:0] place;
    logic [31:0] second;  // where the second piece begins
    logic [31:0] first_bytes;
    logic [31:0] second_bytes;
  } pieces_t;

  // Words that a transfer asks for together: twice those of a beat, of the ports that it may have
  function automatic int unsigned transfer_words(input int unsigned bank_bytes, ports, beat_bytes);
    int unsigned words;
    words = 2 * ((beat_bytes + bank_bytes - 1) / bank_bytes);
    return words < ports ? words : ports;
  endfunction

  // Words of a transfer's ring: those that come in the six cycles from a beat until its words are not needed any more, and
  // at least a word that is not whole and those of a beat, whose first piece begins in it or goes over no end of a word.
  function automatic int unsigned ring_words(input int unsigned bank_bytes, beat_bytes);
    int unsigned words;
    words = (6 * beat_bytes + bank_bytes - 1) / bank_bytes + 1;
    return 1 << $clog2(words < 4 ? 4 : words);
  endfunction

  // Bytes of results that go to a writer in a cycle, of so many that a unit may have in one: a power of two, no more
  // than the words of all ports
  function automatic int unsigned result_chunk(input int unsigned bank_bytes, ports, bytes);
    int unsigned most;
    most = bank_bytes * ports < bytes ? bank_bytes * ports : bytes;
    return 1 << $clog2(most < 4 ? 4 : most);
  endfunction

  // Those of MAC: all of a pixel's bytes, or the sums that leave in a cycle
  function automatic int unsigned mac_chunk(input int unsigned bank_bytes, ports, lanes, pixels, result_cycles);
    int unsigned results;
    results = result_cycles == 0 ? lanes * pixels : (65536 + result_cycles - 1) / result_cycles;
    if (results > lanes) results = lanes;
    return result_chunk(bank_bytes, ports, 4 * results < lanes ? lanes : 4 * results);
  endfunction

  // Those of VECTOR: it reads as many bytes as it writes, so sums take two cycles at least.
  function automatic int unsigned vector_chunk(input int unsigned bank_bytes, ports, lanes);
    int unsigned row;
    row = bank_bytes * ports / 2;
    if (row > 4 * lanes) row = 4 * lanes;
    return result_chunk(bank_bytes, ports, row < lanes ? lanes : row);
  endfunction

  // Words that a writer asks for together, at least so many if there are ports for them
  function automatic int unsigned writer_words(input int unsigned bank_bytes, ports, chunk, least);
    int unsigned words;
    words = chunk < least * bank_bytes ? least : chunk / bank_bytes;
    return words < ports ? words : ports;
  endfunction

  // Words of a writer's ring: those of the elements of a byte that come in so many cycles, where in 65536 of them so many
  // pixels leave, and those of a chunk
  function automatic int unsigned writer_ring(
      input int unsigned bank_bytes, chunk, lanes, cycles, input longint unsigned pixels);
    longint unsigned words;
    int unsigned least;
    words = 64'(cycles) * pixels * ((64'(lanes) + 64'(bank_bytes) - 1) / 64'(bank_bytes)) / 65536
        + (64'(chunk) - 1 + 64'(bank_bytes) - 1) / 64'(bank_bytes) + 1;
    if (words < 2 * 64'(chunk) / 64'(bank_bytes)) words = 2 * 64'(chunk) / 64'(bank_bytes);
    least = bank_bytes < 16 ? 128 / bank_bytes : 8;  // while words wait for the ports
    return 1 << $clog2(words < 64'(least) ? least : 32'(words));
  endfunction

  // What a bank does in a cycle: it serves this word of the slot of this stream, unit by unit.
  typedef struct packed {
    logic valid;
    logic [3:0] stream;
    logic [7:0] word;
    logic [31:0] row;
  } access_t;

  // How far windows and their taps lie apart in the input
  typedef struct packed {
    logic [31:0] start;  // address under the first tap of the first window, padding included
    logic [31:0] row_step;  // bytes from a row of windows to the next
    logic [31:0] column_step;
    logic [31:0] tap_row_step;
    logic [31:0] tap_column_step;
    logic [15:0] last_column;  // of the input under the last window
    logic [15:0] span;  // rows of the input under a window
    logic is_inside;  // no first tap lies outside the input
  } walk_t;

  // What is multiplied once for an operation, while it is checked
  typedef struct packed {
    walk_t walk;
    logic [31:0] filter_bytes;  // of a depthwise convolution: taps
    logic [31:0] pixels;  // of the output, or the turns in which MAC takes several of them
    logic [31:0] outputs_each;  // of an input channel, in a depthwise convolution
  } products_t;

  // A transfer as its beats see it, where runs that touch are one run, and so are planes of one run that touch; and which
  // touch as its bursts see them.
  typedef struct packed {
    logic [31:0] run_bytes;
    logic runs_touch;
    logic planes_touch;
    logic burst_runs_touch;
    logic burst_planes_touch;
  } merged_t;

  // What an operation of VECTOR is, as its lanes need it
  typedef struct packed {
    logic adds;  // what enters: the sum of both inputs, one without its zero point, a product, …
    logic centres;
    logic multiplies;
    logic multiplies_centred;
    logic takes_less;
    logic takes_more;
    logic fills;
    logic shifts_left;
    logic [4:0] turn;  // to the right, in a circle
    logic [31:0] stays;  // bits of what is turned that the shift keeps
    logic rounds;
    logic takes_magnitude;
    logic is_sum16;  // OP_E16_ADD
    logic is_sigmoid;  // OP_E16_SIGMOID, of which one function is tanh
    logic is_tanh;
    logic is_square;  // OP_E_SQDIFF
    logic subtracts;
    logic sums;  // at a scale of their own
    logic is_softmax16;  // OP_E16_SOFTMAX
    logic is_curve;  // a table of int16
    logic is_share;  // OP_SOFTMAX
    logic is_leaky;  // OP_ACT_LRELU
    logic looks_up;  // in a table of bytes
    logic from_record;  // scales
    logic pools;
    logic is_greatest;  // of a window
    logic divides;
    logic halves_up;
    logic is_free;  // results do not pass the output stage
    logic signed [8:0] zero_point;
    logic signed [15:0] lowest;  // of results
    logic signed [15:0] highest;
  } choices_t;

  // The way of a window over a picture
  typedef struct packed {
    extent_t in_size;
    extent_t out_size;
    extent_t kernel;
    extent_t stride;
    extent_t dilation;
    offset_t pad;
  } window_t;

  // A window of one pixel: it walks as the picture's own strides say.
  function automatic walk_t pixel_walk(input logic [31:0] row_stride, pixel_stride, input logic [15:0] width);
    pixel_walk = '{start: '0, row_step: row_stride, column_step: pixel_stride, tap_row_step: '0, tap_column_step: '0,
                   last_column: width - 16'd1, span: 16'd1, is_inside: 1'b1};
  endfunction

  localparam extent_t One = '{width: 16'd1, height: 16'd1};
  // A window of one pixel, which passes over each pixel once.
  function automatic window_t each_pixel(input extent_t size);
    each_pixel = '{in_size: size, out_size: size, kernel: One, stride: One, dilation: One, pad: '0};
  endfunction
endpackage
