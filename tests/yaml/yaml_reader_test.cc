// SPDX-License-Identifier: Apache-2.0
#include "yaml/yaml_reader.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/testing/test.h"
#include "yaml/value.h"

namespace concur::spec {
namespace {

std::string ErrorOf(absl::string_view text) {
  ErrorList errors;
  YamlFile file;
  file.path = "f.yaml";
  ParseYaml(text, &file, &errors);
  return std::string(errors.ToStatus().message());
}

YamlNode Parsed(absl::string_view text) {
  ErrorList errors;
  YamlFile file;
  file.path = "f.yaml";
  EXPECT_TRUE(ParseYaml(text, &file, &errors)) << errors.ToStatus();
  return file.root;
}

TEST(YamlReaderTest, WhatTwoReadersMayUnderstandDifferentlyIsRefused) {
  struct Bad {
    const char* name;
    std::string text;
    const char* message;
  };
  const std::vector<Bad> cases = {
      {"alias", "a: &x 1\nb: *x\n", "f.yaml:1:4: a: anchors"},
      {"merge", "a: {<<: {b: 1}}\n", "f.yaml:1:5: a: merge keys"},
      {"tag on text", "a: !!str 5\n", "f.yaml:1:4: a: tags are not allowed"},
      {"tag on list", "a: !mine [1]\n", "tags are not allowed"},
      {"tag on mapping", "a: !mine {b: 1}\n", "tags are not allowed"},
      {"map as key", "{a: 1}: 2\n", "expected a key of text"},
      {"list as key", "? [a]\n: 2\n", "expected a key of text"},
      {"null as key", "~: 2\n", "expected a key, got nothing"},
      {"duplicate", "a: 1\n\"a\": 2\n", "f.yaml:2:1: a: expected each key once"},
      {"deep duplicate", "a: [{b: 1, b: 2}]\n", "f.yaml:1:12: a[0].b: expected each key once"},
      {"two documents", "a: 1\n---\nb: 1\n", "f.yaml:2:1: expected one document"},
      {"two documents after a comment", "a: 1\n# c\n\n---\nb: 1\n", "f.yaml:4:1: expected one"},
      {"two documents by end", "a: 1\n...\nb: 1\n", ""},
      {"empty", "", "f.yaml:1:1: expected a document"},
      {"comment only", "# nothing\n", "expected a document"},
      {"NUL", std::string("a: b\0c\n", 7), "f.yaml:1:5: expected text, got the control character"},
      {"escape", "a: \x1b[31m\n", "control character 0x1b"},
      {"latin 1", "a: caf\xe9\n", "f.yaml:1:7: expected UTF-8, got the byte 0xe9"},
      {"overlong", "a: \xc0\x80\n", "expected UTF-8"},
      {"surrogate", "a: \xed\xa0\x80\n", "expected UTF-8"},
      {"beyond unicode", "a: \xf4\x90\x80\x80\n", "expected UTF-8"},
      {"cut character", "a: \xe2\x82", "expected UTF-8"},
      {"UTF-16",
       std::string("\xff\xfe"
                   "a\0",
                   4),
       "expected UTF-8"},
      {"tab indentation", "a:\n\tb: 1\n", "line 2 is indented with a tab"},
      {"a tab in block text far from the error",
       "a: |\n  all:\n  \tmake\nc: 1\nb: [--data={test}]\n",
       "f.yaml:5:12: expected YAML, got text that is not: end of sequence"},
      {"the same, its hint", "a: |\n  all:\n  \tmake\nc: 1\nb: [--data={test}]\n",
       "put values that hold { or } in quotes"},
      {"open quote", "a: \"b\n", "expected YAML"},
      {"open quote without newline", "a: 'b", "expected YAML"},
      {"open list", "a: [1, 2\n", "expected YAML"},
      {"bare placeholder", "a: [--data={test}]\n", "put values that hold { or } in quotes"},
  };
  for (const Bad& bad : cases) {
    const std::string error = ErrorOf(bad.text);
    EXPECT_FALSE(error.empty()) << bad.name;
    EXPECT_THAT(error, HasSubstr(bad.message)) << bad.name;
  }
}

TEST(YamlReaderTest, DeepNestingIsRefusedInEveryStyle) {
  EXPECT_THAT(ErrorOf("a: " + std::string(100'000, '[')), HasSubstr("f.yaml:1:"));
  EXPECT_THAT(ErrorOf(absl::StrCat("a: ", std::string(40, '['), std::string(40, ']'))),
              HasSubstr("expected at most 32 levels"));
  EXPECT_THAT(ErrorOf("a: " + std::string(100'000, '{')), HasSubstr("f.yaml:1:"));
  EXPECT_THAT(ErrorOf(absl::StrCat(std::string(100'000, '-'), " a")), HasSubstr(""));
  std::string blocks;
  for (int i = 0; i < 1000; ++i) {
    blocks += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  }
  EXPECT_THAT(ErrorOf(blocks), HasSubstr("expected at most 32 levels"));
}

TEST(YamlReaderTest, VariablesAddABoundedNumberOfBytes) {
  // A file of 3 MB asked for 300 GB.
  Variables variables;
  variables["a"].value = std::string(1 << 20, 'x');
  std::string uses;
  for (int i = 0; i < 100'000; ++i) {
    uses += "${a}";
  }
  YamlFile file;
  file.path = "f.yaml";
  ErrorList errors;
  ASSERT_TRUE(ParseYaml("few: ${a}\nmany: " + uses + "\n", &file, &errors));
  SubstituteVariables(variables, file.path, "", &file.root, &errors);
  EXPECT_THAT(errors.ToStatus().ToString(),
              AllOf(HasSubstr("f.yaml:2:7: many: expected variables that add at "
                              "most 8388608 bytes"),
                    Not(HasSubstr("few"))));
}

TEST(YamlReaderTest, HugeFilesAndHugeListsAreRefused) {
  EXPECT_THAT(ErrorOf("a: " + std::string(static_cast<size_t>(kYamlBytesMax), 'x')),
              HasSubstr("f.yaml:1:8388609: expected at most 8388608 bytes"));
  std::string lines;
  while (static_cast<int64_t>(lines.size()) <= kYamlBytesMax) {
    lines += "a: 1234\n";
  }
  EXPECT_THAT(ErrorOf(lines), HasSubstr("f.yaml:1048577:1: expected at most 8388608 bytes"));
  // A file that is too large is not read to its end.
  const concur::testing::TempDir temp;
  ASSERT_OK(WriteFileAtomically(temp.File("f.yaml"), lines + lines));
  YamlFile file;
  ASSERT_OK_AND_ASSIGN(const std::string contents, OpenYamlFile(temp.File("f.yaml"), &file));
  EXPECT_LT(static_cast<int64_t>(contents.size()), kYamlBytesMax + 100'000);
  ErrorList errors;
  EXPECT_FALSE(ParseYaml(contents, &file, &errors));
  EXPECT_THAT(std::string(errors.ToStatus().message()), HasSubstr("f.yaml:1048577:1: "));
}

TEST(YamlReaderTest, ManyDuplicatesAreCountedNotKept) {
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    text += "a: 1\n";
  }
  const std::string error = ErrorOf(text);
  EXPECT_LT(error.size(), 5000u);
  EXPECT_THAT(error, HasSubstr("\nand 4979 more"));
}

TEST(YamlReaderTest, PositionsCountFromOneAndPointAtTheValue) {
  const YamlNode root = Parsed("# c\na:\n  - x\n  - {b:   \"y\"}\nempty:\n");
  ASSERT_EQ(root.entries.size(), 2u);
  const YamlNode& list = root.entries[0].value;
  EXPECT_EQ(list.items[0].at.line, 3);
  EXPECT_EQ(list.items[0].at.column, 5);
  EXPECT_EQ(list.items[1].entries[0].value.at.line, 4);
  EXPECT_EQ(list.items[1].entries[0].value.at.column, 11);
  EXPECT_EQ(root.entries[1].value.kind, YamlNode::Kind::kNull);
  EXPECT_EQ(root.entries[1].value.at.line, 5);
}

TEST(YamlReaderTest, QuotedAndBlockScalarsAreNotPlain) {
  const YamlNode root = Parsed("a: 1\nb: \"1\"\nc: '1'\nd: |\n  1\ne: >\n  1\n");
  EXPECT_TRUE(root.entries[0].value.plain);
  for (size_t i = 1; i < root.entries.size(); ++i) {
    EXPECT_FALSE(root.entries[i].value.plain) << root.entries[i].key;
  }
}

TEST(YamlReaderTest, AByteOrderMarkAndWindowsLineEndsAreNoPartOfTheText) {
  const YamlNode root = Parsed(
      "\xEF\xBB\xBF"
      "a: b\r\nc: d\r\n");
  ASSERT_EQ(root.entries.size(), 2u);
  EXPECT_EQ(root.entries[0].key, "a");
  EXPECT_EQ(root.entries[0].value.text, "b");
  EXPECT_EQ(root.entries[1].value.text, "d");
}

TEST(VariablesTest, OnlyDeclaredVariablesAreReplaced) {
  YamlNode root = Parsed("a: ${x}/${x}-$y-$${x}\nb: [\"${n}\"]\n${x}: key\n");
  ErrorList errors;
  SubstituteVariables({{"x", {"one", "base"}}, {"n", {"5", ""}}}, "f.yaml", "", &root, &errors);
  EXPECT_OK(errors.ToStatus());
  EXPECT_EQ(root.entries[0].value.text, "one/one-$y-${x}");
  EXPECT_EQ(root.entries[0].value.path_base, "base");
  EXPECT_EQ(root.entries[0].value.variable, "x");
  EXPECT_EQ(root.entries[1].value.items[0].text, "5");
  EXPECT_EQ(root.entries[2].key, "${x}");
}

TEST(VariablesTest, AnUnknownOrOpenVariableIsAnError) {
  for (const char* text : {"a: ${y}", "a: ${", "a: ${x", "a: ${}", "a: \"${x y}\""}) {
    YamlNode root = Parsed(text);
    ErrorList errors;
    SubstituteVariables({{"x", {"one", ""}}}, "f.yaml", "", &root, &errors);
    EXPECT_THAT(errors.ToStatus(), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("f.yaml:1:4: a: expected the name of a")))
        << text;
  }
}

TEST(VariablesTest, AValueIsNotExpandedAgain) {
  YamlNode root = Parsed("a: ${x}");
  ErrorList errors;
  SubstituteVariables({{"x", {"${x}", ""}}}, "f.yaml", "", &root, &errors);
  EXPECT_OK(errors.ToStatus());
  EXPECT_EQ(root.entries[0].value.text, "${x}");
}

TEST(ErrorListTest, ErrorsAreSortedByFileThenPosition) {
  ErrorList errors;
  errors.NameFile("a");
  errors.Add("b", {1, 1}, "", "third");
  errors.Add("a", {2, 9}, "", "second");
  errors.Add("a", {2, 1}, "x", "first");
  errors.Add("a", {2, 1}, "x", "first");
  EXPECT_EQ(errors.count(), 3u);
  EXPECT_EQ(errors.ToStatus().message(), "a:2:1: x: first\na:2:9: second\nb:1:1: third");
}

}  // namespace
}  // namespace concur::spec
