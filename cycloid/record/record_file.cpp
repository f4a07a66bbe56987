#include "cycloid/record/record_file.h"

#include "cycloid/base/error.h"
#include "cycloid/record/csv.h"
#include "cycloid/record/npz.h"

namespace cycloid::inline record {

Recording read_recording(const System& system, const std::filesystem::path& path,
                         std::vector<std::string>* notes, const ReadHdf5& hdf5) {
  const std::string suffix = path.extension().string();
  if (suffix == ".npz") return recording_from_arrays(read_npz(path), path.string());
  if (suffix == ".h5" || suffix == ".hdf5") {
    if (!hdf5) {
      throw Error(message("\"", path.string(),
                          "\": this program was built without libhdf5; save the recording as .npz "
                          "or .csv, or use the program that make build makes where libhdf5-dev is "
                          "installed; the one that pip installs has none"));
    }
    return recording_from_arrays(hdf5(path), path.string());
  }
  const Table table = read_csv(path);
  try {
    return recording_from_table(system, table, notes);
  } catch (const Error& error) {
    throw Error(message(path.string(), ": ", error.what()));
  }
}

}  // namespace cycloid::inline record
