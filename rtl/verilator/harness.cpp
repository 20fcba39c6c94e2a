// Drives the RTL, built by Verilator, for a program at the other end of two pipes: a command a line on standard
// input, its answer on standard output. System memory is a file that both sides map.
//
//   dla MEMORY_FILE
//
//   write ADDRESS VALUE    one cycle, with a write of a register            (no answer)
//   read ADDRESS           a register                                       its value
//   irq                    the interrupt line                               0 or 1
//   run LIMIT              cycles until no stream runs, at most LIMIT       events, then `ran CYCLES SECONDS`
//   load FILE, save FILE   the SRAM, all of it                              `ok`
//   reset                  power-on                                         (no answer)
//
// An event is `issued UNIT TIME`, `done UNIT TIME BYTES WORDS`, `marker TIME` or `end TIME`; time 0 is the edge at
// which the write before `run` took effect: the doorbell. BYTES of the operation's operands have crossed the SRAM's
// ports, in so many WORDS.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "Vdla.h"
#include "Vdla___024root.h"

namespace {

constexpr int kUnits = 4;
constexpr int kLate = 100;  // cycles after a stream in which its last bytes reach memory

Vdla top;
uint8_t* memory;
uint64_t memory_bytes;

[[noreturn]] void fail(const char* what, uint64_t value) {
    std::fprintf(stderr, "%s: %" PRIu64 "\n", what, value);
    std::exit(1);
}

uint8_t* place(uint32_t address, uint64_t bytes) {
    if (address + bytes > memory_bytes) fail("the RTL reaches beyond system memory", address);
    return memory + address;
}

// The cycle up to its end: everything has settled, and shows what the edge will do.
void settle() {
    top.clock = 0;
    top.eval();
    if (top.fetch_address + 8ull <= memory_bytes) std::memcpy(&top.fetch_data, memory + top.fetch_address, 8);
}

// The edge: the RTL takes its step, and memory answers for the next cycle.
void edge() {
    const bool reads = top.memory_read;
    const uint32_t from = top.memory_read_address, to = top.memory_write_address;
    uint8_t written[BEAT_BYTES], strobes[(BEAT_BYTES + 7) / 8];
    std::memcpy(written, &top.memory_write_data, BEAT_BYTES);
    std::memcpy(strobes, &top.memory_write, sizeof strobes);
    top.clock = 1;
    top.eval();
    if (reads) {
        const uint64_t rest = memory_bytes - from;
        place(from, 1);
        std::memcpy(&top.memory_read_data, memory + from, rest < BEAT_BYTES ? rest : BEAT_BYTES);
    }
    for (int i = 0; i < BEAT_BYTES; i++)
        if (strobes[i / 8] >> i % 8 & 1) *place(to + i, 1) = written[i];
}

void cycle() {
    settle();
    edge();
}

void reset() {
    top.reset = 1;
    cycle();
    cycle();
    top.reset = 0;
}

void write_register(uint32_t address, uint32_t value) {
    top.host_write = 1;
    top.host_address = address;
    top.host_write_data = value;
    cycle();
    top.host_write = 0;
}

uint32_t read_register(uint32_t address) {
    top.host_address = address;
    settle();
    return top.host_read_data;
}

// What each unit's operation has moved through the ports.
struct {
    uint64_t bytes, words;
} crossed[kUnits];

void report(uint64_t now) {
    for (int unit = 0; unit < kUnits; unit++) {
        if (top.watch_issued >> unit & 1) std::printf("issued %d %" PRIu64 "\n", unit, now + 1);
        if (top.watch_done >> unit & 1) {
            auto& sum = crossed[unit];
            std::printf("done %d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", unit, now + 1, sum.bytes, sum.words);
            sum = {};
        }
    }
    if (top.watch_marker) std::printf("marker %" PRIu64 "\n", now + 1);
    if (top.watch_ends) std::printf("end %" PRIu64 "\n", now + top.watch_counts);
}

void run(uint64_t limit) {
    const auto began = std::chrono::steady_clock::now();
    uint64_t now = 0;
    for (auto& sum : crossed) sum = {};
    for (; top.watch_running && now < limit; now++) {
        settle();
        for (int unit = 0; unit < kUnits; unit++) {
            crossed[unit].bytes += top.watch_sram_bytes[unit];
            crossed[unit].words += top.watch_sram_words[unit];
        }
        if (top.watch_issued || top.watch_done || top.watch_marker || top.watch_ends) report(now);
        edge();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    for (int i = 0; i < kLate; i++) cycle();  // what the last beats carry is still on its way
    std::printf("ran %" PRIu64 " %.6f\n", now, took.count());
}

void sram(const char* path, bool loads) {
    auto& bytes = top.rootp->dla__DOT__sram__DOT__memory;
    FILE* file = std::fopen(path, loads ? "rb" : "wb");
    const size_t size = sizeof bytes;
    const size_t moved = !file ? 0 : loads ? std::fread(&bytes, 1, size, file) : std::fwrite(&bytes, 1, size, file);
    if (moved != size || std::fclose(file)) fail("bytes moved between the SRAM and its file", moved);
    std::puts("ok");
}

void map_memory(const char* path) {
    const int file = open(path, O_RDWR);
    struct stat status;
    if (file < 0 || fstat(file, &status)) fail("cannot open the file of system memory, error", file);
    memory_bytes = status.st_size;
    void* mapped = mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) fail("cannot map system memory, bytes", memory_bytes);
    memory = static_cast<uint8_t*>(mapped);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) fail("usage: dla MEMORY_FILE; arguments given", count - 1);
    map_memory(arguments[1]);
    reset();
    char line[4096], path[4096];
    while (std::fgets(line, sizeof line, stdin)) {
        uint32_t address, value;
        uint64_t limit;
        if (std::sscanf(line, "write %" SCNu32 " %" SCNu32, &address, &value) == 2) write_register(address, value);
        else if (std::sscanf(line, "read %" SCNu32, &address) == 1) std::printf("%" PRIu32 "\n", read_register(address));
        else if (std::sscanf(line, "run %" SCNu64, &limit) == 1) run(limit);
        else if (std::sscanf(line, "load %4095[^\n]", path) == 1) sram(path, true);
        else if (std::sscanf(line, "save %4095[^\n]", path) == 1) sram(path, false);
        else if (!std::strcmp(line, "irq\n")) settle(), std::printf("%d\n", top.irq);
        else if (!std::strcmp(line, "reset\n")) reset();
        else fail("unknown command; its first byte", static_cast<uint8_t>(line[0]));
        std::fflush(stdout);
    }
    top.final();
    return 0;
}
