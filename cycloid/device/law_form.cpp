#include "cycloid/device/law_form.h"

#include <cstring>

#include "cycloid/base/error.h"
#include "cycloid/device/kernels.h"
#include "cycloid/system/integrator/scheme.h"

namespace cycloid::inline device {
namespace {

template <class Law, class T>
class LawForm final : public DeviceForm {
 public:
  explicit LawForm(const Law& law) : image_{law, LawShape<Law>(law)} {}

  int kernel() const override {
    return LawNumber<Law>::value + (sizeof(T) == sizeof(double) ? kDoubleKernels : 0);
  }
  std::size_t body_bytes() const override {
    const std::size_t numbers =
        scratch_numbers(Rk4{}, image_.shape) + static_cast<std::size_t>(image_.shape.parameters);
    return (numbers * sizeof(T) + kBodyAlignment - 1) / kBodyAlignment * kBodyAlignment;
  }
  int record() const override { return record_numbers<Rk4>(image_.shape); }
  std::vector<std::byte> image(std::uint64_t) const override {
    std::vector<std::byte> out(sizeof(image_));
    std::memcpy(out.data(), &image_, sizeof(image_));
    return out;
  }

 private:
  typename LawBody<Law, Rk4, T>::LawImage image_;
};

}  // namespace

std::shared_ptr<const DeviceForm> law_form(const LawSource& source, Precision precision) {
  std::shared_ptr<const DeviceForm> form;
  for_each_kernel_law(source.n, [&](const auto& law) {
    using Law = std::remove_cvref_t<decltype(law)>;
    if (source.law != Law::kName) return;
    if (precision == Precision::float32) {
      form = std::make_shared<LawForm<Law, float>>(law);
    } else {
      form = std::make_shared<LawForm<Law, double>>(law);
    }
  });
  if (!form) throw ModelError(message("device: the law \"", source.law, "\" has no device form"));
  return form;
}

}  // namespace cycloid::inline device
