#include "xla_call.h"

#include <algorithm>
#include <cfenv>

#include "cycloid/base/check.h"
#include "cycloid/base/error.h"

namespace cycloid::python {
namespace {

// Of the thread that it lives on.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&before_); }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  std::fenv_t before_;
};

// The version of whichever side is older: fields that either does not know are not touched.
xla::Error* describe(const xla::Api& api, xla::Metadata& metadata) {
  metadata.version = {sizeof(xla::Version), nullptr, xla::kMajor,
                      std::min(xla::kMinor, api.version.minor)};
  metadata.traits = 0;
  return nullptr;
}

xla::Error* error_of(const xla::Api& api, xla::ErrorCode code, const char* text) {
  xla::ErrorText error{sizeof(xla::ErrorText), nullptr, text, code};
  return api.create_error(&error);
}

// What left a law written in Python, or Ctrl-C, which XLA would swallow: it is raised again when
// Python has the thread back.
xla::Error* error_of(const xla::Api& api, const nb::python_error& error) {
  const nb::gil_scoped_acquire lock;
  if (!lock) return error_of(api, xla::ErrorCode::cancelled, "the interpreter has ended");
  if (!error.matches(PyExc_KeyboardInterrupt)) {
    return error_of(api, xla::ErrorCode::invalid_argument, error.what());
  }
  PyErr_SetInterrupt();
  return error_of(api, xla::ErrorCode::cancelled, "interrupted");
}

}  // namespace

const xla::Buffer& XlaCall::buffer(const xla::Buffers& all, int i) {
  CYCLOID_CHECK(i < all.size && all.kinds[i] == xla::kBuffer);
  return *static_cast<const xla::Buffer*>(all.values[i]);
}

bool XlaCall::done(xla::Error* error) const {
  if (!error) return true;
  xla::ErrorGone gone{sizeof(xla::ErrorGone), nullptr, error};
  frame_.api->destroy_error(&gone);
  return false;
}

std::optional<void*> XlaCall::stream() const {
  xla::StreamOf asked{sizeof(xla::StreamOf), nullptr, frame_.context, nullptr};
  if (!done(frame_.api->get_stream(&asked))) return std::nullopt;
  return asked.stream;
}

int XlaCall::card() const {
  xla::CardOf asked{sizeof(xla::CardOf), nullptr, frame_.context, 0};
  const bool old = frame_.api->struct_size < sizeof(xla::Api);  // it does not say
  return !old && done(frame_.api->get_card(&asked)) ? asked.card : 0;
}

const void* XlaCall::attribute(std::string_view name, xla::AttributeKind kind) const {
  const xla::Attributes& all = frame_.attributes;
  for (std::int64_t i = 0; i < all.size; ++i) {
    if (std::string_view(all.names[i]->data, all.names[i]->size) != name) continue;
    CYCLOID_CHECK(all.kinds[i] == kind);
    return all.values[i];
  }
  throw InternalError(message("a call from XLA has no attribute \"", name, "\""));
}

std::int64_t XlaCall::integer(std::string_view name) const {
  const auto& scalar =
      *static_cast<const xla::Scalar*>(attribute(name, xla::AttributeKind::scalar));
  CYCLOID_CHECK(scalar.type == xla::NumberType::int64);
  return *static_cast<const std::int64_t*>(scalar.value);
}

double XlaCall::real(std::string_view name) const {
  const auto& scalar =
      *static_cast<const xla::Scalar*>(attribute(name, xla::AttributeKind::scalar));
  CYCLOID_CHECK(scalar.type == xla::NumberType::float64);
  return *static_cast<const double*>(scalar.value);
}

std::string XlaCall::text(std::string_view name) const {
  const auto& text = *static_cast<const xla::Text*>(attribute(name, xla::AttributeKind::text));
  return std::string(text.data, text.size);
}

std::vector<std::int64_t> XlaCall::integers(std::string_view name) const {
  const auto& array = *static_cast<const xla::Array*>(attribute(name, xla::AttributeKind::array));
  CYCLOID_CHECK(array.size == 0 || array.type == xla::NumberType::int64);
  const auto* data = static_cast<const std::int64_t*>(array.data);
  return {data, data + array.size};
}

std::vector<double> XlaCall::reals(std::string_view name) const {
  const auto& array = *static_cast<const xla::Array*>(attribute(name, xla::AttributeKind::array));
  CYCLOID_CHECK(array.size == 0 || array.type == xla::NumberType::float64);
  const auto* data = static_cast<const double*>(array.data);
  return {data, data + array.size};
}

std::size_t size_of(const xla::Buffer& buffer) {
  std::size_t size = 1;
  for (std::int64_t i = 0; i < buffer.rank; ++i) size *= static_cast<std::size_t>(buffer.shape[i]);
  return size;
}

template <class T>
Numbers<T>::Numbers(const xla::Buffer& buffer) {
  const std::size_t n = size_of(buffer);
  const bool is_double = buffer.type == xla::NumberType::float64;
  CYCLOID_CHECK(is_double || buffer.type == xla::NumberType::float32);
  if (is_double == std::is_same_v<T, double>) {
    span_ = {static_cast<const T*>(buffer.data), n};
    return;
  }
  if (is_double) {
    const auto* data = static_cast<const double*>(buffer.data);
    converted_.assign(data, data + n);
  } else {
    const auto* data = static_cast<const float*>(buffer.data);
    converted_.assign(data, data + n);
  }
  span_ = converted_;
}

template <class T>
void write(const xla::Buffer& buffer, std::span<const T> values, Part part) {
  CYCLOID_CHECK(part.number < part.of && part.of * values.size() == size_of(buffer));
  const std::size_t first = part.number * values.size();
  if (buffer.type == xla::NumberType::float64) {
    std::copy(values.begin(), values.end(), static_cast<double*>(buffer.data) + first);
    return;
  }
  CYCLOID_CHECK(buffer.type == xla::NumberType::float32);
  std::transform(values.begin(), values.end(), static_cast<float*>(buffer.data) + first,
                 [](T v) { return static_cast<float>(v); });
}

template class Numbers<float>;
template class Numbers<double>;
template void write(const xla::Buffer&, std::span<const float>, Part);
template void write(const xla::Buffer&, std::span<const double>, Part);

xla::Error* answer(xla::CallFrame* frame, void (*work)(const XlaCall&)) noexcept {
  const xla::Api& api = *frame->api;
  const xla::Extension* extension = frame->extensions;
  if (extension && extension->type == xla::kMetadataExtension) {
    return describe(api, *reinterpret_cast<const xla::MetadataExtension*>(extension)->metadata);
  }
  if (frame->stage != xla::kExecuteStage) return nullptr;
  try {
    const ForeignCall foreign;
    const DefaultFloatingPoint environment;
    work(XlaCall(*frame, foreign.keep_going()));
    return nullptr;
  } catch (const nb::python_error& error) {
    return error_of(api, error);
  } catch (const InternalError& error) {
    return error_of(api, xla::ErrorCode::internal, error.what());
  } catch (const Interrupted& error) {
    return error_of(api, xla::ErrorCode::cancelled, error.what());
  } catch (const std::exception& error) {
    return error_of(api, xla::ErrorCode::invalid_argument, error.what());
  }
}

nb::capsule capsule_of(xla::Handler* handler) {
  return nb::capsule(reinterpret_cast<void*>(handler));
}

}  // namespace cycloid::python
