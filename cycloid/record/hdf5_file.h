// Arrays of a file in HDF5: the datasets of its root group, numbers as doubles, texts of fixed or
// variable length.
//
// libhdf5 is optional when the program is built, and only the program links it: it pulls in more
// than a library of mechanics should. In Python h5py reads these files (cycloid[record]).
#pragma once

#include "cycloid/record/record_file.h"

namespace cycloid::inline record {

// Reads such files; empty where this was built without libhdf5.
ReadHdf5 hdf5_reader();

}  // namespace cycloid::inline record
