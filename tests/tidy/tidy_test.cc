// The rules about the sources themselves that a compiler does not know: layers, guards, lengths,
// names that must exist. A failure names file and line.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/file.h"

namespace concur {
namespace {

constexpr size_t kLinesMax = 600;
constexpr size_t kTestLinesMax = 800;
constexpr size_t kColumnsMax = 100;

struct Source {
  std::string path;  // from the root
  std::string folder;
  std::vector<std::string> lines;
  bool IsHeader() const { return absl::EndsWith(path, ".h"); }
};

std::filesystem::path Root() {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return source == nullptr ? "." : source;
}

bool IsSkipped(const std::filesystem::path& directory) {
  const std::string name = directory.filename().string();
  return absl::StartsWith(name, ".") || name == "build" || name == "shared";
}

// Every file of the tree with one of the suffixes, in order of path.
std::vector<Source> Read(const std::vector<std::string>& suffixes) {
  std::vector<Source> sources;
  const std::filesystem::path root = Root();
  for (auto it = std::filesystem::recursive_directory_iterator(root);
       it != std::filesystem::recursive_directory_iterator(); ++it) {
    if (it->is_directory() && IsSkipped(it->path())) {
      it.disable_recursion_pending();
      continue;
    }
    const std::string suffix = it->path().extension().string();
    if (!it->is_regular_file() ||
        std::find(suffixes.begin(), suffixes.end(), suffix) == suffixes.end()) {
      continue;
    }
    Source source;
    source.path = it->path().lexically_relative(root).generic_string();
    source.folder = source.path.substr(0, source.path.find('/'));
    absl::StatusOr<std::string> text = ReadFile(it->path().string());
    CONCUR_CHECK_OK(text.status());
    for (absl::string_view line : absl::StrSplit(*text, '\n')) {
      source.lines.emplace_back(line);
    }
    if (source.lines.back().empty()) {
      source.lines.pop_back();
    }
    sources.push_back(std::move(source));
  }
  std::sort(sources.begin(), sources.end(),
            [](const Source& a, const Source& b) { return a.path < b.path; });
  return sources;
}

const std::vector<Source>& Code() {
  static const auto& sources = *new std::vector<Source>(Read({".h", ".cc"}));
  return sources;
}

std::string Place(const Source& source, size_t line) {
  return absl::StrCat(source.path, ":", line + 1, ": ");
}

// The included name and whether it stands in quotes; "" for other lines.
std::string IncludeOf(absl::string_view line, bool* quoted) {
  if (!absl::ConsumePrefix(&line, "#include ") || line.size() < 3) {
    return "";
  }
  *quoted = line[0] == '"';
  const size_t end = line.find(*quoted ? '"' : '>', 1);
  return std::string(line.substr(1, end - 1));
}

// Which folders a folder may include, beside itself.
const std::map<std::string, std::set<std::string>>& Layers() {
  static const auto& layers = *new std::map<std::string, std::set<std::string>>{
      {"base", {}},
      {"core", {"base"}},
      {"analysis", {"base"}},
      {"qa", {"base"}},
      {"http", {"base"}},
      {"fetch", {"base", "http"}},
      {"metrics", {"base"}},
      {"spec", {"base", "core"}},
      {"store", {"base", "core", "http"}},
      {"rpc", {"base", "core", "concur"}},
      {"provision", {"base", "core", "spec"}},
      {"coordinator",
       {"provision", "base", "core", "analysis", "metrics", "spec", "store", "rpc", "concur"}},
      {"worker", {"base", "core", "metrics", "qa", "spec", "store", "rpc", "concur"}},
      {"cli", {"base", "core", "analysis", "fetch", "qa", "spec", "rpc", "sim", "concur"}},
      {"approaches", {"base", "qa"}},
      {"sim", {"base", "core", "store", "coordinator", "worker"}},
  };
  return layers;
}

TEST(TidyTest, TheTreeIsRead) {
  EXPECT_GT(Code().size(), 50u) << "is CONCUR_SOURCE_DIR the root of the sources?";
}

TEST(TidyTest, AFolderIncludesOnlyTheLayersBelowIt) {
  for (const Source& source : Code()) {
    const auto layer = Layers().find(source.folder);
    if (layer == Layers().end()) {
      EXPECT_TRUE(source.folder == "tests" || source.folder == "bench")
          << source.path << ": its folder is in no layer of tests/tidy";
      continue;
    }
    for (size_t i = 0; i < source.lines.size(); ++i) {
      bool quoted = false;
      const std::string name = IncludeOf(source.lines[i], &quoted);
      const std::string folder = name.substr(0, name.find('/'));
      if (!quoted || folder == source.folder || folder == "absl") {
        continue;
      }
      EXPECT_EQ(layer->second.count(folder), 1u)
          << Place(source, i) << source.folder << "/ must not include " << name << "; it may use "
          << absl::StrJoin(layer->second, ", ");
    }
  }
}

TEST(TidyTest, PureFoldersHaveNoThreadsClocksOrFiles) {
  const std::set<std::string> impure = {
      "thread",   "mutex",       "condition_variable", "fstream",   "filesystem", "chrono",
      "future",   "ctime",       "unistd.h",           "fcntl.h",   "random",     "atomic",
      "iostream", "base/file.h", "base/mutex.h",       "base/log.h"};
  const std::vector<std::string> calls = {"absl::Now(", "SystemClock", "getenv(", "rand("};
  for (const Source& source : Code()) {
    if (source.folder != "core" && source.folder != "analysis") {
      continue;
    }
    for (size_t i = 0; i < source.lines.size(); ++i) {
      bool quoted = false;
      const std::string name = IncludeOf(source.lines[i], &quoted);
      EXPECT_EQ(impure.count(name), 0u)
          << Place(source, i) << source.folder << "/ is pure: no " << name;
      for (const std::string& call : calls) {
        EXPECT_FALSE(absl::StrContains(source.lines[i], call))
            << Place(source, i) << source.folder << "/ is pure: no " << call;
      }
    }
  }
}

TEST(TidyTest, HeavyHeadersStayOutOfHeaders) {
  const std::vector<std::string> heavy = {
      "nlohmann/json.hpp", "CLI/",   "simdjson", "yaml-cpp/", "sqlite3.h",
      "unicode/",          "boost/", "openssl/", "spdlog/",   "google/protobuf/"};
  // What is about values of that library, and is included by .cc files only.
  const std::string exempt = "qa/json_fields.h";
  for (const Source& source : Code()) {
    for (size_t i = 0; source.IsHeader() && i < source.lines.size(); ++i) {
      if (source.path == exempt) {
        continue;
      }
      bool quoted = false;
      const std::string name = IncludeOf(source.lines[i], &quoted);
      for (const std::string& prefix : heavy) {
        EXPECT_FALSE(absl::StartsWith(name, prefix))
            << Place(source, i) << "include " << name << " in the .cc that needs it";
      }
    }
  }
}

TEST(TidyTest, ThirdPartyLibrariesStayWhereTheyBelong) {
  const std::map<std::string, std::set<std::string>> owners = {
      {"yaml-cpp/", {"spec"}},
      {"curl/", {"http", "provision"}},
      {"civetweb.h", {"metrics"}},
      {"prometheus/", {"metrics"}},
      {"pugixml.hpp", {"store"}},
      {"sqlite3.h", {"store", "sim", "bench"}},
      {"openssl/", {"base", "rpc", "coordinator"}},
      {"grpcpp/", {"rpc", "coordinator", "worker", "cli", "bench"}},
      {"CLI/", {"cli", "coordinator", "worker", "approaches", "bench"}},
      {"Eigen/", {"approaches", "bench"}},
      {"unicode/", {"qa", "approaches", "bench"}},
  };
  for (const Source& source : Code()) {
    if (source.folder == "tests") {
      continue;
    }
    for (size_t i = 0; i < source.lines.size(); ++i) {
      bool quoted = false;
      const std::string name = IncludeOf(source.lines[i], &quoted);
      for (const auto& [prefix, folders] : owners) {
        EXPECT_FALSE(absl::StartsWith(name, prefix) && folders.count(source.folder) == 0)
            << Place(source, i) << name << " belongs to " << absl::StrJoin(folders, ", ");
      }
    }
  }
}

TEST(TidyTest, GuardsSpellThePath) {
  for (const Source& source : Code()) {
    if (!source.IsHeader()) {
      continue;
    }
    std::string guard = absl::AsciiStrToUpper(
        absl::StrCat("CONCUR_", absl::StrReplaceAll(source.path, {{"/", "_"}, {".", "_"}}), "_"));
    const auto has = [&](const std::string& line) {
      return std::find(source.lines.begin(), source.lines.end(), line) != source.lines.end();
    };
    EXPECT_TRUE(has("#ifndef " + guard) && has("#define " + guard) && has("#endif  // " + guard))
        << source.path << ": expected the include guard " << guard;
  }
}

TEST(TidyTest, HeadersOpenWithTheirConcept) {
  for (const Source& source : Code()) {
    if (source.IsHeader()) {
      EXPECT_TRUE(absl::StartsWith(source.lines[0], "// "))
          << source.path << ": expected a comment that says what it is, and its thread contract";
    }
  }
}

TEST(TidyTest, FilesAndLinesHaveALimit) {
  for (const Source& source : Code()) {
    EXPECT_LE(source.lines.size(), source.folder == "tests" ? kTestLinesMax : kLinesMax)
        << source.path << ": split it";
    for (size_t i = 0; i < source.lines.size(); ++i) {
      size_t columns = 0;
      for (char c : source.lines[i]) {
        columns += (static_cast<unsigned char>(c) & 0xC0u) != 0x80u ? 1 : 0;
      }
      const bool breakable = source.lines[i].find("http") == std::string::npos &&
                             !absl::StartsWith(source.lines[i], "#include");
      EXPECT_TRUE(columns <= kColumnsMax || !breakable || absl::StartsWith(source.path, "tests/"))
          << Place(source, i) << columns << " columns, at most " << kColumnsMax;
    }
  }
}

TEST(TidyTest, SomeWordsDoNotStandInSources) {
  // Written in two parts, so that this file does not find itself.
  const std::vector<std::string> words = {absl::StrCat("using name", "space "),
                                          absl::StrCat("TO", "DO"),
                                          absl::StrCat("FIX", "ME"),
                                          absl::StrCat("XX", "X:"),
                                          absl::StrCat("<<<<", "<<<"),
                                          absl::StrCat("#pragma ", "once")};
  for (const Source& source : Code()) {
    for (size_t i = 0; i < source.lines.size(); ++i) {
      for (const std::string& word : words) {
        EXPECT_FALSE(absl::StrContains(source.lines[i], word))
            << Place(source, i) << "\"" << word << "\"";
      }
      EXPECT_FALSE(absl::StrContains(source.lines[i], "\t")) << Place(source, i) << "a tab";
    }
  }
}

TEST(TidyTest, NothingThrowsAndWhatCatchesSaysWhichLibrary) {
  for (const Source& source : Code()) {
    if (source.folder == "tests" || source.folder == "bench") {
      continue;
    }
    for (size_t i = 0; i < source.lines.size(); ++i) {
      const absl::string_view line = absl::StripLeadingAsciiWhitespace(source.lines[i]);
      // The YAML reader leaves the library's parser by an exception that it catches itself; CLI11
      // is told of a bad option by one of its own.
      const bool boundary = source.path == "spec/yaml_reader.cc" ||
                            (source.folder == "cli" && absl::StartsWith(line, "throw CLI::"));
      EXPECT_FALSE(absl::StartsWith(line, "throw ") && !boundary)
          << Place(source, i) << "errors are absl::Status";
      EXPECT_FALSE(absl::StrContains(line, "catch (...)"))
          << Place(source, i) << "catch what the library throws, by type";
    }
  }
}

// Paths in backquotes or plain text that begin with one of the given folders.
std::vector<std::string> PathsIn(absl::string_view line, absl::string_view folder,
                                 absl::string_view suffix) {
  std::vector<std::string> paths;
  for (size_t at = line.find(folder); at != line.npos; at = line.find(folder, at + 1)) {
    if (at > 0 && (absl::ascii_isalnum(static_cast<unsigned char>(line[at - 1])) ||
                   absl::string_view("/._-$}*").find(line[at - 1]) != line.npos)) {
      continue;
    }
    size_t end = at;
    while (end < line.size() && (absl::ascii_isalnum(static_cast<unsigned char>(line[end])) ||
                                 absl::string_view("/._-").find(line[end]) != line.npos)) {
      ++end;
    }
    const absl::string_view path = line.substr(at, end - at);
    if (absl::EndsWith(path, suffix)) {
      paths.emplace_back(path);
    }
  }
  return paths;
}

TEST(TidyTest, FilesThatAreReferredToExist) {
  std::vector<Source> sources = Read({".h", ".cc", ".md", ".yaml", ".txt", ".proto", ".sh", ""});
  for (const Source& source : sources) {
    if (absl::StartsWith(source.path, "tests/golden/") ||
        source.path == "tests/tidy/tidy_test.cc") {
      continue;
    }
    for (size_t i = 0; i < source.lines.size(); ++i) {
      for (const auto& [folder, suffix] :
           std::map<std::string, std::string>{{"configs/", ".yaml"}, {"docs/", ".md"}}) {
        for (const std::string& path : PathsIn(source.lines[i], folder, suffix)) {
          EXPECT_TRUE(std::filesystem::exists(Root() / path))
              << Place(source, i) << path << " does not exist";
        }
      }
    }
  }
}

}  // namespace
}  // namespace concur
