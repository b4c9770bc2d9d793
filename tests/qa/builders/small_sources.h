// SPDX-License-Identifier: Apache-2.0
// Hand-made sources for builders: a WordNet of a few dozen synsets, a dictionary, and a program
// that prints verses. Tests may break any of them.
#ifndef CONCUR_TESTS_QA_BUILDERS_SMALL_SOURCES_H_
#define CONCUR_TESTS_QA_BUILDERS_SMALL_SOURCES_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file.h"
#include "qa/builders/builder.h"
#include "qa/builders/sources.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur::qa {

// Letters for a number, so that made-up words are words: 0 → "aba", 1 → "abe", …
inline std::string MadeUpWord(int number) {
  static constexpr char kVowels[] = "aeiou";
  static constexpr char kConsonants[] = "bdfgklmnprstvz";
  std::string word = "a";
  for (int i = 0; i < 3; ++i) {
    word.push_back(kConsonants[number % 14]);
    word.push_back(kVowels[number % 5]);
    number = number / 5 + i;
  }
  return word;
}

class SmallSources {
 public:
  static constexpr int kNouns = 40;

  SmallSources() {
    paths_.wordnet = dir_.File("wordnet");
    paths_.dictionary = dir_.File("words");
    paths_.bible_program = dir_.File("bible");
    paths_.package_status = dir_.File("status");
    std::filesystem::create_directory(paths_.wordnet);
    WriteWordNet();
    Write(dir_.File("status"),
          "Package: other\nVersion: 9\n\nPackage: wordnet-base\nStatus: ok\nVersion: 3.0-x\n");
    std::string dictionary;
    for (int i = 0; i < kNouns; ++i) {
      absl::StrAppend(&dictionary, MadeUpWord(i), "\n");
    }
    Write(paths_.dictionary, dictionary + "kind\nanimal\n");
    SetBible("");
  }

  const SourcePaths& paths() const { return paths_; }
  // A request to build from these sources.
  BuildRequest Request(const std::string& builder, const std::string& directory) const {
    BuildRequest request;
    request.builder = builder;
    request.directory = directory;
    request.sources = paths_;
    return request;
  }
  const testing::TempDir& dir() const { return dir_; }

  // Replaces the file or makes it.
  void Write(const std::string& path, const std::string& contents) {
    EXPECT_OK(WriteFileAtomically(path, contents));
  }
  void WriteWordNetFile(const std::string& name, const std::string& contents) {
    Write(paths_.wordnet + "/" + name, contents);
  }
  // The program prints `verses` and ends with `exit_code`.
  void SetBible(const std::string& verses, int exit_code = 0) {
    Write(dir_.File("verses"), verses);
    EXPECT_OK(WriteFileAtomically(
        paths_.bible_program,
        absl::StrCat("#!/bin/sh\n/bin/cat '", dir_.File("verses"), "'\nexit ", exit_code, "\n"),
        0755));
  }

 private:
  // Noun i is a kind of noun i/3 and a part of noun i-1.
  void WriteWordNet() {
    std::string nouns = "  1 a licence line\n";
    std::string index = "  1 a licence line\n";
    for (int i = 0; i < kNouns; ++i) {
      const std::string word = MadeUpWord(i);
      std::string pointers;
      int count = 0;
      if (i > 0) {
        absl::StrAppend(&pointers, absl::StrFormat("@ %08d n 0000 ", i / 3));
        absl::StrAppend(&pointers, absl::StrFormat("#p %08d n 0000 ", i - 1));
        count = 2;
      }
      absl::StrAppend(&nouns, absl::StrFormat("%08d 03 n 02 %s 0 %s_two 0 %03d %s| ", i, word, word,
                                              count, pointers));
      for (int k = 0; k < 6; ++k) {
        absl::StrAppend(&nouns, MadeUpWord((i * 7 + k) % kNouns), " ");
      }
      absl::StrAppend(&nouns, "kind of animal  \n");
      absl::StrAppend(&index, word, " n 1 1 @ 1 1 00000000  \n");
    }
    WriteWordNetFile("data.noun", nouns);
    WriteWordNetFile("index.noun", index);
    WriteWordNetFile("data.verb", "00000001 29 v 01 go 0 000 01 + 02 00 | move  \n");
    WriteWordNetFile("index.verb", "go v 1 0 1 1 00000001  \n");
    WriteWordNetFile("data.adj", "00000001 00 s 01 big(a) 0 000 | large  \n");
    WriteWordNetFile("index.adj", "big a 1 0 1 1 00000001  \n");
    WriteWordNetFile("data.adv", "00000001 02 r 01 fast 0 000 | quickly  \n");
    WriteWordNetFile("index.adv", "fast r 1 0 1 1 00000001  \n");
    for (const char* name : {"noun.exc", "verb.exc", "adj.exc", "adv.exc", "cntlist.rev"}) {
      WriteWordNetFile(name, "");
    }
  }

  testing::TempDir dir_;
  SourcePaths paths_;
};

// Sentences of made-up nouns with a name in each, in books of two hundred verses.
inline std::string MadeUpVerses(int verses) {
  std::string text;
  for (int v = 0; v < verses; ++v) {
    absl::StrAppend(&text, v / 200 + 1, "Bk", v % 200 / 20 + 1, ":", v % 20 + 1, " And the ",
                    MadeUpWord(v % 17), " of ", v % 3 == 0 ? "Moab" : "Edom", " went unto the ",
                    MadeUpWord(v * 5 % 13), " number ", MadeUpWord(v), " ", MadeUpWord(v / 40),
                    " of the ", MadeUpWord(v % 7), ".\n");
  }
  return text;
}

}  // namespace concur::qa

#endif  // CONCUR_TESTS_QA_BUILDERS_SMALL_SOURCES_H_
