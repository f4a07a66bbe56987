// A recording in a file, by its suffix: .csv (csv.h), .npz (npz.h), .h5 and .hdf5 (hdf5_file.h,
// where the program was built with it).
#pragma once

#include <filesystem>
#include <functional>

#include "cycloid/record/named_arrays.h"

namespace cycloid::inline record {

// How HDF5 is read. The room does not know it; who links it hands it over.
using ReadHdf5 = std::function<NamedArrays(const std::filesystem::path&)>;

// `notes`: columns of a table that were left out, unless null. Throws FileNotFound, and Error on a
// file that cannot be read or a suffix that there is not.
Recording read_recording(const System& system, const std::filesystem::path& path,
                         std::vector<std::string>* notes = nullptr, const ReadHdf5& hdf5 = {});

}  // namespace cycloid::inline record
