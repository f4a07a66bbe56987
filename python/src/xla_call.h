// xla_call.h: one call from XLA, read by name and number, and its errors.
//
//   void work(const XlaCall& call) { ... throw Error("x0 must be finite"); }
//   xla::Handler* handler = &handled<work>;
//
// Handlers run on XLA's threads, mostly without the interpreter lock. What they throw becomes an
// error of XLA's with the same text. XLA lets tiny numbers be flushed to zero on its threads; a
// handler runs in the default floating-point environment, so that its results are bitwise those of
// a call from Python.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unlocked.h"
#include "xla_ffi.h"

namespace cycloid::python {

// The attributes are those that cycloid/jax.py gives; one that is missing is an InternalError.
class XlaCall {
 public:
  XlaCall(const xla::CallFrame& frame, KeepGoing keep_going)
      : frame_(frame), keep_going_(std::move(keep_going)) {}

  const xla::Buffer& argument(int i) const { return buffer(frame_.arguments, i); }
  const xla::Buffer& result(int i) const { return buffer(frame_.results, i); }

  const KeepGoing& keep_going() const { return keep_going_; }

  // On a card: XLA's stream, which the arguments are ready on, and the card's number. The CPU has
  // no stream.
  std::optional<void*> stream() const;
  int card() const;

  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<double> reals(std::string_view name) const;

 private:
  static const xla::Buffer& buffer(const xla::Buffers& all, int i);
  bool done(xla::Error* error) const;
  const void* attribute(std::string_view name, xla::AttributeKind kind) const;

  const xla::CallFrame& frame_;
  KeepGoing keep_going_;
};

std::size_t size_of(const xla::Buffer& buffer);

// The numbers of an argument, float32 or float64, as T; copied only when they are of the other.
template <class T>
class Numbers {
 public:
  explicit Numbers(const xla::Buffer& buffer);
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  std::span<const T> span() const { return span_; }

 private:
  std::vector<T> converted_;
  std::span<const T> span_;
};

// One of `of` parts of a result, all of one size.
struct Part {
  std::size_t number = 0, of = 1;
};

// Fills a part of a result, which must be as large as the values; converts as above.
template <class T>
void write(const xla::Buffer& buffer, std::span<const T> values, Part part = Part());

xla::Error* answer(xla::CallFrame* frame, void (*work)(const XlaCall&)) noexcept;

template <void (*work)(const XlaCall&)>
xla::Error* handled(xla::CallFrame* frame) noexcept {
  return answer(frame, work);
}

// A handler as jax.ffi.register_ffi_target takes it.
nb::capsule capsule_of(xla::Handler* handler);

}  // namespace cycloid::python
