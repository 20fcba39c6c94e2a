/* exp of float in integers, and what is made of it; sim/host/exponentials.py computes the same bits. */
#ifndef DLASIM_KERNELS_EXPONENTIALS_H
#define DLASIM_KERNELS_EXPONENTIALS_H

float exponential(float value);
float logistic(float value);
float elu(float value);

#endif
