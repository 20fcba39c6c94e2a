/* How things end: what functions return, and what main() leaves as the exit code. */
#ifndef DLASIM_STATUS_H
#define DLASIM_STATUS_H

enum status {
    OK = 0,
    BAD_PROGRAM = 2,   /* no program image, or one of another format */
    WRONG_MACHINE = 3, /* lowered for another accelerator than the one on this board */
    DLA_FAULT = 4,     /* the accelerator stopped on a fault */
    NO_KERNEL = 5,     /* a host call that this firmware cannot compute */
    BAD_CALL = 6,      /* a host call whose tensors or attributes break the rules of its operator */
};

#endif
