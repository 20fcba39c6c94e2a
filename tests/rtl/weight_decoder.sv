// Runs the decoder of weights on transfers from a file: words, steps, and the words themselves. Prints what each step writes.

module weight_decoder_bench;
  logic clock = 0, reset = 0, step = 0, has_words, must_take, takes;
  logic [127:0] word, words[1024];
  logic [6:0] count;
  logic [7:0] weights[64];
  int unsigned file, length, steps, next, part[4];
  dla_weight_decoder decoder (.*);
  initial begin
    file = $fopen("transfers.txt", "r");
    while ($fscanf(file, "%d %d", length, steps) == 2) begin
      for (int unsigned i = 0; i < length; i++) begin
        void'($fscanf(file, "%h %h %h %h", part[3], part[2], part[1], part[0]));
        words[i] = {part[3], part[2], part[1], part[0]};
      end
      next = 0;
      reset = 1;
      #1 clock = 1;
      #1 clock = 0;
      reset = 0;
      step = 1;
      for (int unsigned s = 0; s < steps; s++) begin
        has_words = next < length;
        must_take = steps - s == length - next;
        word = words[next];
        #1;
        for (int unsigned i = 0; i < 32'(count); i++) $write("%02h", weights[i]);
        next += 32'(takes);
        #1 clock = 1;
        #1 clock = 0;
      end
      $write("\n");
    end
    $finish;
  end
endmodule
