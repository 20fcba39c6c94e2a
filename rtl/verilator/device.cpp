// The RTL, built by Verilator, as a library for dlasim: the accelerator of the virtual prototype. The board's memories
// are those of the caller; the RTL reads and writes them in place. `vp/system/rtl_device.py` is the other side.
//
// Built with -DTRACER=VerilatedVcdC or VerilatedFstC (and TRACER_HEADER), it can write waveforms.

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "Vdla.h"
#include "verilated.h"
#ifdef TRACER
#include TRACER_HEADER
#endif

namespace {

enum Event : uint64_t { kMarker = 0, kEnd = 1 };  // in bit 0 of what `dla_run` reports; its cycle in the others

constexpr int kLate = 6;  // cycles after a transfer in which its last bytes reach memory

struct Memory {
    uint32_t base;
    uint64_t size;
    uint8_t* bytes;
};

struct Device {
    VerilatedContext context;
    std::unique_ptr<Vdla> top;
    std::vector<Memory> memories;
    uint64_t cycle = 0;  // edges so far, or the time of the host where that is later
#ifdef TRACER
    std::unique_ptr<TRACER> tracer;
    uint64_t period = 0;  // picoseconds
#endif

    uint8_t* at(uint32_t address) {
        for (const Memory& memory : memories)
            if (address >= memory.base && address - memory.base < memory.size)
                return memory.bytes + (address - memory.base);
        return nullptr;
    }

    // Where there is no memory, zeros are read.
    void fetch(uint32_t address, void* target, size_t count) {
        auto* bytes = static_cast<uint8_t*>(target);
        const uint8_t* first = at(address);
        const uint8_t* last = at(static_cast<uint32_t>(address + count - 1));
        if (first && last && last == first + count - 1) {
            std::memcpy(bytes, first, count);
            return;
        }
        for (size_t i = 0; i < count; i++) {
            const uint8_t* byte = at(static_cast<uint32_t>(address + i));
            bytes[i] = byte ? *byte : 0;
        }
    }

    void show(bool rises) {
#ifdef TRACER
        if (tracer) tracer->dump(cycle * period + (rises ? period / 2 : 0));
#else
        (void)rises;
#endif
    }

    // The cycle up to its end: everything has settled, and shows what the edge will do.
    void settle() {
        top->clock = 0;
        top->eval();
        fetch(top->fetch_address, &top->fetch_data, 8);
    }

    // The edge: the RTL takes its step, and memory answers for the next cycle.
    void edge() {
        show(false);
        const bool reads = top->memory_read;
        const uint32_t from = top->memory_read_address, to = top->memory_write_address;
        uint8_t written[BEAT_BYTES], strobes[(BEAT_BYTES + 7) / 8];
        std::memcpy(written, &top->memory_write_data, BEAT_BYTES);
        std::memcpy(strobes, &top->memory_write, sizeof strobes);
        top->clock = 1;
        top->eval();
        show(true);
        if (reads) fetch(from, &top->memory_read_data, BEAT_BYTES);
        for (uint32_t i = 0; i < BEAT_BYTES; i++)
            if (strobes[i / 8] >> i % 8 & 1)
                if (uint8_t* byte = at(to + i)) *byte = written[i];
        cycle++;
    }

    void step() {
        settle();
        edge();
    }
};

Device& device(void* handle) { return *static_cast<Device*>(handle); }

}  // namespace

extern "C" {

void* dla_open() {
    auto* made = new Device;
#ifdef TRACER
    made->context.traceEverOn(true);
#endif
    made->top = std::make_unique<Vdla>(&made->context);
    return made;
}

void dla_close(void* handle) {
    Device& dla = device(handle);
#ifdef TRACER
    if (dla.tracer) dla.tracer->close();
#endif
    dla.top->final();
    delete &dla;
}

// Memory of the caller, which stays his; before `dla_reset`.
void dla_map(void* handle, uint32_t base, uint8_t* bytes, uint64_t size) {
    device(handle).memories.push_back({base, size, bytes});
}

// Waveforms into this file; a cycle lasts so many picoseconds. 0 where it cannot be opened.
int dla_trace(void* handle, const char* path, uint64_t period) {
#ifdef TRACER
    Device& dla = device(handle);
    dla.period = period;
    dla.tracer = std::make_unique<TRACER>();
    dla.top->trace(dla.tracer.get(), 99);
    dla.tracer->open(path);
    return dla.tracer->isOpen();
#else
    (void)handle, (void)path, (void)period;
    return 0;
#endif
}

void dla_reset(void* handle) {
    Device& dla = device(handle);
    dla.top->reset = 1;
    dla.step();
    dla.step();
    dla.top->reset = 0;
    dla.settle();
}

// While no stream runs nothing changes, so the RTL has no cycles; its clock jumps to the host's.
void dla_set_time(void* handle, uint64_t cycle) {
    Device& dla = device(handle);
    if (dla.cycle < cycle) dla.cycle = cycle;
}

// A write takes effect at the end of the cycle.
void dla_write(void* handle, uint32_t address, uint32_t value) {
    Device& dla = device(handle);
    dla.top->host_write = 1;
    dla.top->host_address = address;
    dla.top->host_write_data = value;
    dla.step();
    dla.top->host_write = 0;
    dla.settle();
}

uint32_t dla_read(void* handle, uint32_t address) {
    Device& dla = device(handle);
    dla.top->host_address = address;
    dla.settle();
    return dla.top->host_read_data;
}

int dla_irq(void* handle) { return device(handle).top->irq; }
int dla_running(void* handle) { return device(handle).top->watch_running; }

// At most so many cycles, and none after the end of the last stream. The result is how many there were. An event has
// the number of the cycle's end, counted from the first; `events` holds `most` of them, and `count` says how many came.
uint64_t dla_run(void* handle, uint64_t cycles, uint64_t* events, uint32_t most, uint32_t* count) {
    Device& dla = device(handle);
    uint64_t done = 0;
    *count = 0;
    for (; dla.top->watch_running; done++) {
        dla.settle();
        const bool ends = dla.top->watch_ends;
        const bool at_once = ends && !dla.top->watch_counts;  // a fault takes no time
        if (done >= cycles && !at_once) break;
        if (dla.top->watch_marker && *count < most) events[(*count)++] = (done + 1) << 1 | kMarker;
        if (ends && *count < most) events[(*count)++] = (done + !at_once) << 1 | kEnd;
        dla.edge();
        dla.settle();
        if (!dla.top->watch_running) {
            for (int i = 0; i < kLate; i++) dla.step();  // what the last beats carry is still on its way
            dla.settle();
        }
    }
    return done;
}

}  // extern "C"
