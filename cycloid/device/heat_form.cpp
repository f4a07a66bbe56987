#include "cycloid/device/heat_form.h"

#include <cstring>

#include "cycloid/device/heat_image.h"
#include "cycloid/device/heat_kernels.h"
#include "cycloid/device/kernel_numbers.h"

namespace cycloid::inline device {
namespace {

class HeatForm final : public DeviceForm {
 public:
  explicit HeatForm(const HeatSource& source) {
    box_.h = source.h, box_.slope = source.slope;
    box_.sides = static_cast<int>(source.shape.size());
    box_.cells = 1;
    for (int a = box_.sides - 1; a >= 0; --a) {
      box_.extent[a] = source.shape[static_cast<std::size_t>(a)];
      box_.stride[a] = box_.cells;
      box_.cells *= box_.extent[a];
    }
  }

  int kernel() const override { return kHeat + kDoubleKernels; }
  std::size_t body_bytes() const override { return 0; }
  int record() const override { return box_.cells; }
  bool large() const override { return true; }
  std::int64_t scratch() const override {
    return HeatSpace(nullptr, box_.cells, box_.sides).numbers;
  }
  std::vector<std::byte> image(std::uint64_t) const override {
    std::vector<std::byte> out(sizeof(box_));
    std::memcpy(out.data(), &box_, sizeof(box_));
    return out;
  }

 private:
  HeatImage box_;
};

}  // namespace

std::shared_ptr<const DeviceForm> heat_form(const HeatSource& source) {
  return std::make_shared<HeatForm>(source);
}

}  // namespace cycloid::inline device
