#include "cycloid/learn/safetensors.h"

#include <doctest/doctest.h>

#include <fstream>

#include "cycloid/base/error.h"
#include "tests/support/scratch_folder.h"

namespace cycloid {

TEST_CASE("safetensors: what was written is read, to the bit") {
  const test::ScratchFolder folder;
  const auto path = folder.path("a.safetensors");
  Safetensors all;
  all.tensors["a.weight0"] = {{2, 3}, {1, 2, 3, 4, 5, 0.1}};
  all.tensors["one"] = {{}, {-7.25}};
  all.tensors["none"] = {{0}, {}};
  all.metadata["key"] = "a \"text\"\nin two lines, with \\";
  write_safetensors(path, all);
  const Safetensors again = read_safetensors(path);
  CHECK(again.metadata == all.metadata);
  REQUIRE(again.tensors.size() == 3);
  for (const auto& [name, t] : all.tensors) {
    CHECK(again.tensors.at(name).shape == t.shape);
    CHECK(again.tensors.at(name).values == t.values);
  }
  CHECK(!std::filesystem::exists(path + ".part"));
}

TEST_CASE("safetensors: a file that is none is refused, with the place") {
  const test::ScratchFolder folder;
  CHECK_THROWS_AS(read_safetensors(folder.path("nowhere")), FileNotFound);
  const auto path = folder.path("bad");
  const auto written = [&](const std::string& header, std::size_t data) {
    std::ofstream file(path, std::ios::binary);
    const std::uint64_t length = header.size();
    file.write(reinterpret_cast<const char*>(&length), 8);
    file << header << std::string(data, '\0');
  };
  for (const char* const header :
       {"[]", "{\"a\"", "{\"a\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
        "{\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,8]}}",
        "{\"a\":{\"dtype\":\"F64\",\"shape\":[4],\"data_offsets\":[0,32]}}",
        "{\"a\":{\"dtype\":\"F64\",\"shape\":[x],\"data_offsets\":[0,8]}}", "{\"a"}) {
    CAPTURE(header);
    written(header, 16);
    CHECK_THROWS_WITH_AS(read_safetensors(path), doctest::Contains("safetensors"), Error);
  }
  written("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}", 16);
  CHECK(read_safetensors(path).tensors.at("a").values == std::vector<double>{0, 0});
}

}  // namespace cycloid
