// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/files/safetensors.h"

#include <cstring>
#include <string>

#include "tests/testing/test.h"

namespace concur::readers {
namespace {

std::string FileWithHeader(const std::string& header, const std::string& values) {
  const uint64_t bytes = header.size();
  std::string file(sizeof(bytes), '\0');
  std::memcpy(file.data(), &bytes, sizeof(bytes));
  return file + header + values;
}

std::string ErrorOf(const std::string& header, const std::string& values = "") {
  const auto read = SafeTensors::Parse(FileWithHeader(header, values), "a.safetensors");
  EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << header;
  return std::string(read.status().message());
}

TEST(SafeTensorsTest, WhatIsWrittenIsRead) {
  const std::string values = "0123456789abcdef";
  const SafeTensors::Tensors tensors = {
      {"a", {Type::kFloat32, {1, 2}, absl::string_view(values).substr(0, 8)}},
      {"b.c", {Type::kInt64, {}, absl::string_view(values).substr(8, 8)}},
      {"none", {Type::kBool, {0, 3}, ""}}};
  const std::string file = WriteSafeTensors(tensors, {{"made by", "a \"test\""}});
  const auto read = SafeTensors::Parse(file, "a.safetensors");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->metadata().at("made by"), "a \"test\"");
  ASSERT_EQ(read->tensors().size(), 3u);
  EXPECT_EQ(read->Find("a")->bytes, "01234567");
  EXPECT_EQ(read->Find("a")->shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(read->Find("b.c")->values(), 1);
  EXPECT_EQ(read->Find("none")->values(), 0);
  EXPECT_THAT(std::string(read->Find("b.d").status().message()),
              HasSubstr("no tensor \"b.d\" (did you mean \"b.c\"?)"));
  EXPECT_EQ(WriteSafeTensors(read->tensors(), read->metadata()), file);
}

TEST(SafeTensorsTest, DamagedFilesAreRefusedWithPlaceAndTensor) {
  EXPECT_THAT(std::string(SafeTensors::Parse("short", "x").status().message()),
              HasSubstr("x: not a safetensors file: 5 bytes"));
  EXPECT_THAT(std::string(SafeTensors::Parse(std::string(8, '\xff'), "x").status().message()),
              HasSubstr("not a safetensors file"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(ErrorOf("{"), HasSubstr("not a JSON object"));
  EXPECT_THAT(ErrorOf(R"({"a":{}})"), HasSubstr("a.safetensors: a: dtype"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F33","shape":[],"data_offsets":[0,4]}})", "1234"),
              HasSubstr("unknown type \"F33\""));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"),
              HasSubstr("a: shape"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"),
              HasSubstr("4 bytes, but F32 of shape [2] has 8"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", "1234"),
              HasSubstr("expected [begin, end] within 4 bytes"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],)"
                      R"("data_offsets":[0,0]}})"),
              HasSubstr("shape: too large"));
}

TEST(SafeTensorsTest, TensorsMustNotOverlapOrLeaveGaps) {
  const std::string first = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)";
  EXPECT_THAT(ErrorOf(first + R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", "123"),
              HasSubstr("b: data_offsets: begins at 1, but what is before it ends at 2"));
  EXPECT_THAT(ErrorOf(first + R"("b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})", "1234"),
              HasSubstr("b: data_offsets: begins at 3"));
  EXPECT_THAT(ErrorOf(first + R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})", "1234"),
              HasSubstr("1 bytes at the end belong to no tensor"));
  EXPECT_THAT(ErrorOf(first + R"("a":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})", "123"),
              HasSubstr("\"a\" stands twice"));
}

TEST(SafeTensorsTest, AMissingFileIsNamed) {
  const TempDir directory;
  EXPECT_THAT(std::string(ReadSafeTensors(directory.File("none")).status().message()),
              HasSubstr("none"));
}

}  // namespace
}  // namespace concur::readers
