// RecordStore: the records of some steps of a chunk, one behind the other, each as long as it is.
//
// Records come in the order of steps: `offer` says where the next one may be written, `keep` that
// it was. Numbers go into room that the store is given once; objects (StepRecord::object) stay
// where they are. The first record for which there is no room ends the keeping: those kept are of
// the first steps, and which ones depends on nothing but the sizes of records.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cycloid/system/stepper.h"

namespace cycloid::inline adjoint {

class RecordStore {
 public:
  RecordStore() = default;
  // `most`: bytes of all records together, of which `room` are for numbers, at `data`.
  RecordStore(std::byte* data, std::size_t room, std::size_t most)
      : data_(data), room_(room), most_(most) {}

  // The bytes that numbers of one record take in the room.
  static std::size_t padded(std::size_t bytes) {
    return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  }

  // Room for a record with numbers of at most `bytes`, or null: it need not be made.
  StepRecord* offer(std::size_t bytes) {
    if (full_ || padded(bytes) > room_ - used_ ||
        padded(bytes) + largest_object_ > most_ - bytes_) {
      full_ = true;
      return nullptr;
    }
    next_.data = data_ + used_;
    next_.bytes = bytes;
    return &next_;
  }
  // Keeps what was written since `offer`; drops an object that is too large.
  void keep() {
    const std::size_t numbers = padded(next_.bytes),
                      object = next_.object ? next_.object->bytes() : 0;
    if (numbers + object > most_ - bytes_) {
      full_ = true;
      next_.object.reset();
      return;
    }
    largest_object_ = std::max(largest_object_, object);
    used_ += numbers;
    bytes_ += numbers + object;
    kept_.push_back(std::move(next_));
    next_ = {};
  }

  // Of the k-th record that was offered; null where it was not kept.
  const StepRecord* find(std::int64_t k) const {
    return k < size() ? &kept_[static_cast<std::size_t>(k)] : nullptr;
  }
  std::int64_t size() const { return static_cast<std::int64_t>(kept_.size()); }
  std::size_t bytes() const { return bytes_; }
  void clear() {
    kept_.clear();
    used_ = bytes_ = largest_object_ = 0;
    full_ = false;
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t room_ = 0, most_ = 0, used_ = 0, bytes_ = 0, largest_object_ = 0;
  bool full_ = false;
  StepRecord next_;
  std::vector<StepRecord> kept_;
};

}  // namespace cycloid::inline adjoint
