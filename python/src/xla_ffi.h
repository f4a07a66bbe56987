// xla_ffi.h: how XLA calls a foreign function, as far as ours look.
//
// XLA calls a handler with one pointer to a frame of plain C structs: arguments and results as
// buffers, options as named attributes, and a table of functions of its own. Each struct begins
// with its size and may grow at its end; a frame with the metadata extension asks for the version
// that a handler was written against, and nothing else. All of this is declared here, so that the
// module is built without jaxlib and serves whichever the user has. tests/python/jax_abi_test.py
// holds every offset, size and value below to the header that jaxlib ships.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cycloid::python::xla {

inline constexpr int kMajor = 0, kMinor = 3;  // of the interface that is declared here

struct Extension {
  std::size_t struct_size;
  std::int32_t type;
  Extension* next;
};
inline constexpr std::int32_t kMetadataExtension = 1;

struct Version {
  std::size_t struct_size;
  Extension* extensions;
  int major, minor;
};

// What a handler says of itself.
struct Metadata {
  std::size_t struct_size;
  Version version;
  std::uint32_t traits;
};
struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

// XLA's own; a handler returns one to fail, null to succeed.
struct Error;
enum class ErrorCode : std::int32_t { cancelled = 1, invalid_argument = 3, internal = 13 };
struct ErrorText {
  std::size_t struct_size;
  Extension* extensions;
  const char* message;  // copied
  ErrorCode code;
};

struct ErrorGone {
  std::size_t struct_size;
  Extension* extensions;
  Error* error;
};

// What a call is part of; XLA's own.
struct Context;
struct StreamOf {
  std::size_t struct_size;
  Extension* extensions;
  Context* context;
  void* stream;  // out: on a card, its driver's
};
struct CardOf {
  std::size_t struct_size;
  Extension* extensions;
  Context* context;
  std::int32_t card;  // out: its number
};

// The table of functions; those that are not named are not called.
struct Api {
  std::size_t struct_size;
  Extension* extensions;
  Version version;
  const void* internal;
  Error* (*create_error)(ErrorText* text);
  void* message_of_error;
  void (*destroy_error)(ErrorGone* error);
  void* register_handler;
  Error* (*get_stream)(StreamOf* asked);
  void* others[12];
  Error* (*get_card)(CardOf* asked);
};

enum class NumberType : std::int32_t { int64 = 5, uint32 = 8, float32 = 11, float64 = 12 };

struct Buffer {
  std::size_t struct_size;
  Extension* extensions;
  NumberType type;
  void* data;
  std::int64_t rank;
  std::int64_t* shape;  // rank numbers; row-major
};

// Arguments, and likewise results.
struct Buffers {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t size;
  std::int32_t* kinds;
  void** values;  // of kind kBuffer: Buffer*
};
inline constexpr std::int32_t kBuffer = 1;

struct Text {
  const char* data;
  std::size_t size;
};
struct Scalar {
  NumberType type;
  void* value;
};
struct Array {
  NumberType type;
  std::size_t size;
  void* data;
};
enum class AttributeKind : std::int32_t { array = 1, scalar = 3, text = 4 };

struct Attributes {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t size;
  AttributeKind* kinds;
  Text** names;
  void** values;  // by kind: Array*, Scalar*, Text*
};

inline constexpr std::int32_t kExecuteStage = 3;

struct CallFrame {
  std::size_t struct_size;
  Extension* extensions;
  const Api* api;
  Context* context;
  std::int32_t stage;
  Buffers arguments, results;
  Attributes attributes;
};

using Handler = Error*(CallFrame* frame);

}  // namespace cycloid::python::xla
