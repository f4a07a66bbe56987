// Room fluid: flows on grids and in Fourier series, as Systems with exact discrete adjoints.
//
// Where to start reading:
//   transform/  the fast Fourier transform: mixed radix, real, in lanes; transform/fft.h
//   spectral/   periodic boxes: exponential time differencing, pseudo-spectral products
//   grid/       boxes with walls, inflow and obstacles: a staggered grid and a pressure solve
//   lattice/    the same boxes by populations: lattice Boltzmann, without a pressure solve
// A flow is a large world (ARCHITECTURE.md): its state lives in arrays, C order, component by
// component, and a step spreads over the threads that it is given. SI units.
#pragma once
