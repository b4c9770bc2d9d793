// SPDX-License-Identifier: Apache-2.0
// The rules about the sources themselves that a compiler does not know: layers, guards, lengths,
// names that must exist. A failure names file and line.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
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
#include "tests/testing/test.h"

namespace concur {
namespace {

constexpr size_t kLinesMax = 800;
constexpr size_t kColumnsMax = 100;
constexpr size_t kFilesMax = 40;  // files of a folder, those below it apart
constexpr int kMethodsMax = 40;   // public and private member functions of a class together

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

// The folders at the top that a folder may include, beside itself. Generated headers of proto/ are
// included as "concur/v1/...".
const std::map<std::string, std::set<std::string>>& Layers() {
  static const auto& layers = *new std::map<std::string, std::set<std::string>>{
      {"base", {}},
      {"core", {"base"}},
      {"analysis", {"base"}},
      {"qa", {"base", "analysis"}},
      {"report", {"base", "core", "analysis"}},
      {"yaml", {"base", "core"}},
      {"store", {"base", "core"}},
      {"proto", {"base", "core", "concur"}},
      {"worker", {"base", "core", "qa", "yaml", "store", "proto", "concur"}},
      {"coordinator", {"base", "core", "analysis", "report", "yaml", "store", "proto", "concur"}},
      // Only the page of the coordinator: the annotation room serves the same script and style.
      {"studies", {"base", "core", "qa", "coordinator"}},
      {"cli", {"base", "core", "analysis", "report", "qa", "yaml", "proto", "studies", "concur"}},
  };
  return layers;
}

// The folders within a folder, in an order in which each may include itself and those before it.
// "" stands for the files of the folder itself.
const std::map<std::string, std::vector<std::string>>& Orders() {
  static const auto& orders = *new std::map<std::string, std::vector<std::string>>{
      {"analysis", {"statistics", "", "comparison", "concurrence", "plan"}},
      {"base", {"", "command", "archive", "process", "http", "fetch", "metrics", "table"}},
      {"cli", {"app", "output", "client", "data", "sweep", "study", "commands", "programs"}},
      {"coordinator",
       {"engine", "provision", "page", "access", "gate", "data", "ship", "services", ""}},
      {"core", {"early_stop", "", "sweep", "search", "sync", "state", "pools", "scheduler"}},
      {"proto", {"rpc"}},
      {"qa", {"", "builders", "http", "importers", "results"}},
      {"report", {"", "figures", "html"}},
      {"store", {"", "artifacts"}},
      {"studies", {"approaches", "readers", "annotation"}},
      {"worker", {"", "inputs", "environments", "execution", "agent"}},
  };
  return orders;
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

// The folders directly in `directory`, a path from the root.
std::set<std::string> FoldersIn(const std::string& directory) {
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(Root() / directory)) {
    if (entry.is_directory() && !IsSkipped(entry.path())) {
      folders.insert(entry.path().filename().string());
    }
  }
  return folders;
}

std::vector<std::string> LinesOf(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile((Root() / path).string());
  CONCUR_CHECK_OK(text.status());
  return absl::StrSplit(*text, '\n');
}

TEST(TidyTest, FoldersOfTestsThatMirrorNoSourcesSayWhatBelongsThere) {
  for (const Source& list : Read({".txt"})) {
    if (list.folder != "tests" || !absl::EndsWith(list.path, "/CMakeLists.txt") ||
        list.path == "tests/CMakeLists.txt") {
      continue;
    }
    const std::filesystem::path folder =
        std::filesystem::path(list.path).parent_path().lexically_relative("tests");
    EXPECT_TRUE(std::filesystem::is_directory(Root() / folder) ||
                absl::StartsWith(list.lines[1], "# Belongs here: "))
        << list.path << ":2: expected \"# Belongs here: …\", as there is no source folder "
        << folder;
  }
  const std::set<std::string> sources = FoldersIn(".");
  const std::vector<std::string> list = LinesOf("tests/CMakeLists.txt");
  for (const std::string& folder : FoldersIn("tests")) {
    const std::string file = absl::StrCat("tests/", folder, "/CMakeLists.txt");
    if (!sources.contains(folder) && !std::filesystem::exists(Root() / file)) {
      const auto describes = [&](const std::string& line) {
        return absl::StartsWith(line, absl::StrCat("# ", folder, "/: "));
      };
      EXPECT_TRUE(std::any_of(list.begin(), list.end(), describes))
          << "tests/CMakeLists.txt: expected a line \"# " << folder << "/: …\"";
    }
  }
}

TEST(TidyTest, ClangTidyCoversEveryFolderOfCode) {
  std::set<std::string> expected = {"bench", "tests"};
  for (const auto& [folder, layers] : Layers()) {
    expected.insert(folder);
  }
  std::set<std::string> covered;
  for (absl::string_view line : LinesOf(".clang-tidy")) {
    if (absl::ConsumePrefix(&line, "HeaderFilterRegex: '.*/(") &&
        absl::ConsumeSuffix(&line, ")/.*\\.h$'")) {
      for (const absl::string_view folder : absl::StrSplit(line, '|')) {
        covered.emplace(folder);
      }
    }
  }
  EXPECT_EQ(covered, expected) << ".clang-tidy: HeaderFilterRegex";
}

TEST(TidyTest, TheArchitectureNamesEachFolderOnce) {
  std::map<std::string, int> rows;
  for (const std::string& folder : FoldersIn(".")) {
    rows[folder] = 0;
  }
  for (const std::string& line : LinesOf("docs/architecture.md")) {
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() != 4 || !absl::StartsWith(cells[1], " `")) {
      continue;
    }
    const std::string folder = absl::StrReplaceAll(cells[1], {{" ", ""}, {"`", ""}, {"/", ""}});
    EXPECT_TRUE(rows.contains(folder)) << "docs/architecture.md: there is no folder " << folder;
    ++rows[folder];
  }
  for (const auto& [folder, count] : rows) {
    EXPECT_EQ(count, 1) << "docs/architecture.md: rows of the folder table for " << folder;
  }
}

TEST(TidyTest, TheFoldersWithinAFolderHaveAnOrder) {
  for (const Source& source : Code()) {
    const auto order = Orders().find(source.folder);
    if (order == Orders().end() || absl::EndsWith(source.path, "/main.cc")) {
      continue;  // main.cc builds the real things of all folders
    }
    const auto place_of = [&](const std::string& path) {
      const std::vector<std::string> parts = absl::StrSplit(path, '/');
      return std::find(order->second.begin(), order->second.end(),
                       parts.size() > 2 ? parts[1] : "") -
             order->second.begin();
    };
    const auto place = place_of(source.path);
    EXPECT_LT(place, static_cast<std::ptrdiff_t>(order->second.size()))
        << source.path << ": expected a folder of " << absl::StrJoin(order->second, ", ");
    for (size_t i = 0; i < source.lines.size(); ++i) {
      bool quoted = false;
      const std::string name = IncludeOf(source.lines[i], &quoted);
      EXPECT_FALSE(absl::StartsWith(name, absl::StrCat(source.folder, "/")) &&
                   place_of(name) > place)
          << Place(source, i) << name << " is in a later folder of "
          << absl::StrJoin(order->second, ", ");
    }
  }
}

TEST(TidyTest, AFolderHasAtMostFortyFiles) {
  std::map<std::string, size_t> files;
  for (const Source& source : Code()) {
    ++files[source.path.substr(0, source.path.rfind('/'))];
  }
  for (const auto& [folder, count] : files) {
    EXPECT_LE(count, kFilesMax) << folder << ": divide it";
  }
}

std::string StemOf(const std::string& path) { return path.substr(0, path.rfind('.')); }

// For each header and source (of one stem, taken together) those that they include.
using IncludeGraph = std::map<std::string, std::set<std::string>>;

// A path from `stem` back to a stem on `path`; empty when there is none. `done` has no circle.
std::vector<std::string> FindCircle(const IncludeGraph& graph, const std::string& stem,
                                    std::vector<std::string>& path, std::set<std::string>& done) {
  const auto seen = std::find(path.begin(), path.end(), stem);
  if (seen != path.end()) {
    std::vector<std::string> circle(seen, path.end());
    circle.push_back(stem);
    return circle;
  }
  if (!done.insert(stem).second) {
    return {};
  }
  path.push_back(stem);
  for (const std::string& next : graph.at(stem)) {
    std::vector<std::string> circle = FindCircle(graph, next, path, done);
    if (!circle.empty()) {
      return circle;
    }
  }
  path.pop_back();
  return {};
}

TEST(TidyTest, NoFilesIncludeOneAnotherInACircle) {
  IncludeGraph graph;
  for (const Source& source : Code()) {
    graph[StemOf(source.path)];
  }
  for (const Source& source : Code()) {
    const std::string stem = StemOf(source.path);
    for (const std::string& line : source.lines) {
      bool quoted = false;
      const std::string included = StemOf(IncludeOf(line, &quoted));
      if (quoted && included != stem && graph.count(included) == 1) {
        graph[stem].insert(included);
      }
    }
  }
  std::set<std::string> done;
  for (const auto& [stem, included] : graph) {
    std::vector<std::string> path;
    const std::vector<std::string> circle = FindCircle(graph, stem, path, done);
    EXPECT_TRUE(circle.empty()) << absl::StrJoin(circle, " includes ");
  }
}

TEST(TidyTest, PureFoldersHaveNoThreadsClocksOrFiles) {
  const std::set<std::string> impure = {
      "thread",   "mutex",       "condition_variable", "fstream",   "filesystem", "chrono",
      "future",   "ctime",       "unistd.h",           "fcntl.h",   "random",     "atomic",
      "iostream", "base/file.h", "base/mutex.h",       "base/log.h"};
  const std::vector<std::string> calls = {"absl::Now(", "SystemClock", "getenv(", "rand("};
  for (const Source& source : Code()) {
    if (source.folder != "core" && source.folder != "analysis" && source.folder != "report") {
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
  // Precompiled, or included by .cc files only, as it is about values of that library.
  const std::set<std::string> exempt = {"base/pch.h", "qa/json_fields.h", "qa/results/json.h"};
  for (const Source& source : Code()) {
    for (size_t i = 0; source.IsHeader() && i < source.lines.size(); ++i) {
      if (exempt.contains(source.path)) {
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
  const std::map<std::string, std::vector<std::string>> owners = {
      {"torch/", {"studies/readers/"}},
      {"ATen/", {"studies/readers/"}},
      {"yaml-cpp/", {"yaml/"}},
      {"archive.h", {"base/archive/", "qa/raw_stream.cc", "studies/readers/"}},
      {"archive_entry.h", {"base/archive/", "qa/raw_stream.cc", "studies/readers/"}},
      {"curl/", {"base/http/"}},
      {"microhttpd.h", {"base/metrics/", "base/http/"}},
      {"nghttp2/", {"coordinator/gate/"}},
      {"prometheus/", {"base/metrics/"}},
      {"pugixml.hpp", {"store/artifacts/"}},
      {"sqlite3.h", {"store/", "bench/"}},
      {"libpq-fe.h", {"store/postgres.cc"}},
      {"openssl/", {"base/", "proto/rpc/", "coordinator/"}},
      {"grpcpp/",
       {"proto/rpc/", "coordinator/", "worker/agent/", "worker/main.cc", "cli/", "bench/"}},
      {"CLI/", {"base/command/", "cli/", "bench/"}},
      {"Eigen/", {"analysis/", "studies/approaches/", "qa/results/", "bench/"}},
      {"unicode/", {"qa/", "studies/", "bench/", "worker/no_icu_data.cc"}},
  };
  for (const Source& source : Code()) {
    if (source.folder == "tests") {
      continue;
    }
    for (size_t i = 0; i < source.lines.size(); ++i) {
      bool quoted = false;
      const std::string name = IncludeOf(source.lines[i], &quoted);
      for (const auto& [prefix, places] : owners) {
        const bool is_owner = std::any_of(
            places.begin(), places.end(),
            [&](const std::string& place) { return absl::StartsWith(source.path, place); });
        EXPECT_FALSE(absl::StartsWith(name, prefix) && !is_owner)
            << Place(source, i) << name << " belongs to " << absl::StrJoin(places, ", ");
      }
    }
  }
}

// libtorch is large, and only concur-reader needs it.
TEST(TidyTest, NothingButTheReadersLinksTorch) {
  for (const Source& source : Read({".txt", ".cmake"})) {
    if (absl::StrContains(source.path, "studies/readers/") ||
        source.path == "cmake/concur_torch.cmake") {
      continue;
    }
    for (size_t i = 0; i < source.lines.size(); ++i) {
      for (const char* target : {"concur_torch", "concur_readers", "find_package(Torch"}) {
        EXPECT_FALSE(absl::StrContains(source.lines[i], target))
            << Place(source, i) << target << " belongs to readers";
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
      EXPECT_TRUE(source.lines.size() > 1 && absl::StartsWith(source.lines[1], "// "))
          << source.path << ": expected a comment that says what it is, and its thread contract";
    }
  }
}

TEST(TidyTest, SourcesNameTheirLicence) {
  const std::string tag = "SPDX-License-Identifier: Apache-2.0";
  for (const Source& source :
       Read({".h", ".cc", ".in", ".proto", ".py", ".js", ".css", ".sql", ".cmake", ".sh"})) {
    const size_t line = !source.lines.empty() && absl::StartsWith(source.lines[0], "#!") ? 1 : 0;
    EXPECT_TRUE(line < source.lines.size() && absl::StrContains(source.lines[line], tag))
        << Place(source, line) << "expected " << tag;
  }
}

TEST(TidyTest, FilesAndLinesHaveALimit) {
  for (const Source& source : Code()) {
    // The licence's line does not count.
    EXPECT_LE(source.lines.size() - 1, kLinesMax) << source.path << ": split it";
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

// The text without directives, comments, and what stands between quotes.
std::string CodeOf(const std::vector<std::string>& lines) {
  std::string code;
  for (const std::string& line : lines) {
    if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "#")) {
      continue;
    }
    char quote = '\0';
    for (size_t i = 0; i < line.size() && (quote != '\0' || line.compare(i, 2, "//") != 0); ++i) {
      const bool is_separator =
          i > 0 && absl::ascii_isdigit(static_cast<unsigned char>(line[i - 1]));
      if (quote != '\0') {
        i += line[i] == '\\' ? 1 : 0;
        quote = line[i] == quote && line[i - 1] != '\\' ? '\0' : quote;
      } else if (line[i] == '"' || (line[i] == '\'' && !is_separator)) {
        quote = line[i];
      } else {
        code += line[i];
      }
    }
    code += ' ';
  }
  return code;
}

// The text before a "{" or ";" in a class, without access, template arguments and annotations.
std::string DeclarationOf(absl::string_view code) {
  for (const char* access : {"public:", "protected:", "private:"}) {
    if (const size_t at = code.rfind(access); at != code.npos) {
      code.remove_prefix(at + absl::string_view(access).size());
    }
  }
  std::string text(absl::StripAsciiWhitespace(code));
  static const std::regex& op = *new std::regex(R"(\boperator *(\(\)|[^\s\w(]+))");
  static const std::regex& arguments = *new std::regex("<[^<>]*>");
  static const std::regex& annotation = *new std::regex(R"(\b[A-Z][A-Z0-9_]+\([^()]*\))");
  text = std::regex_replace(text, op, "operatorX");
  for (std::string before; before != text;) {
    before = text;
    text = std::regex_replace(text, arguments, "");
  }
  return std::regex_replace(text, annotation, "");
}

// True for the declaration of a member function. Deleted ones, friends and initializers that follow
// another one in braces are none.
bool DeclaresMethod(const std::string& declaration) {
  static const std::regex& other =
      *new std::regex("^(,|(using|friend|typedef|static_assert|enum|class|struct)\\b).*");
  const size_t parenthesis = declaration.find('(');
  return parenthesis != declaration.npos && declaration.find('=') > parenthesis &&
         !std::regex_match(declaration, other) && !absl::EndsWith(declaration, "= delete");
}

// The number of member functions that each class of a header declares, nested ones as
// "Outer::Inner".
std::map<std::string, int> CountMethods(const std::vector<std::string>& lines) {
  static const std::regex& scope =
      *new std::regex(R"(^(?:template +)?(?:class|struct|union) +(?:\[\[\w+\]\] )?(\w+)[^()=]*$)");
  std::map<std::string, int> methods;
  std::vector<std::string> scopes;  // names of classes; "" for anything else in braces
  std::string before;               // since the last brace or semicolon
  for (const char c : CodeOf(lines)) {
    if (c != '{' && c != '}' && c != ';') {
      before += c;
      continue;
    }
    const std::string declaration = DeclarationOf(before);
    before.clear();
    if (c != '}' && !scopes.empty() && !scopes.back().empty() && DeclaresMethod(declaration)) {
      ++methods[scopes.back()];
    }
    std::smatch match;
    if (c == '}' && !scopes.empty()) {
      scopes.pop_back();
    } else if (c == '{' && std::regex_match(declaration, match, scope)) {
      const std::string outer = scopes.empty() ? "" : scopes.back();
      scopes.push_back(outer.empty() ? match[1].str() : absl::StrCat(outer, "::", match[1].str()));
    } else if (c == '{') {
      scopes.emplace_back();
    }
  }
  return methods;
}

TEST(TidyTest, MethodsOfAClassAreCounted) {
  const std::vector<std::string> lines = {
      "class Some final : public Other<int> {",
      " public:",
      "  explicit Some(int a) : a_(a), b_{1}, c_(2) {}  // 1",
      "  ~Some();  // 2",
      "  Some(const Some&) = delete;",
      "  friend bool operator==(const Some& a, const Some& b) = default;",
      "  bool operator()(int x) const;  // 3",
      "  template <typename Visit>",
      "  void ForEach(Visit visit) const {  // 4",
      "    visit(\"};\", 1'000);",
      "    for (;;) { Stop('{'); }",
      "  }",
      "  struct Inner {",
      "    int Twice() { return 2 * value; }",
      "    int value = Of(3);",
      "  };",
      " private:",
      "  using Function = std::function<void(int)>;",
      "  std::map<int, std::function<void()>> all_ ABSL_GUARDED_BY(mutex_);",
      "  static int Least(int a = 0, int b = 1);  // 5",
      "  int a_ = Of(2);",
      "};",
      "int Free();"};
  EXPECT_EQ(CountMethods(lines), (std::map<std::string, int>{{"Some", 5}, {"Some::Inner", 1}}));
}

TEST(TidyTest, AClassHasAtMostSoManyMethods) {
  for (const Source& source : Code()) {
    if (!source.IsHeader() || source.folder == "tests" || source.folder == "bench") {
      continue;
    }
    for (const auto& [name, methods] : CountMethods(source.lines)) {
      EXPECT_LE(methods, kMethodsMax) << source.path << ": " << name
                                      << " is several classes; split it by what changes together";
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

// The text of a comment that begins on this line; empty when none does.
absl::string_view CommentBegunOn(const Source& source, size_t line) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(source.lines[line]);
  if (!absl::StartsWith(text, "//")) {
    const size_t trailing = text.find("  // ");
    return trailing == absl::string_view::npos ? "" : text.substr(trailing + 5);
  }
  const bool goes_on =
      line > 0 &&
      absl::StartsWith(absl::StripLeadingAsciiWhitespace(source.lines[line - 1]), "//") &&
      !absl::StrContains(source.lines[line - 1], "SPDX-License-Identifier");
  return goes_on ? "" : absl::StripLeadingAsciiWhitespace(absl::StripPrefix(text, "//"));
}

TEST(TidyTest, CommentsOpenWithTheirSubject) {
  std::vector<Source> sources = Code();
  const std::vector<Source> protos = Read({".proto"});
  EXPECT_FALSE(protos.empty());
  sources.insert(sources.end(), protos.begin(), protos.end());
  for (const Source& source : sources) {
    for (size_t i = 0; i < source.lines.size(); ++i) {
      const std::string comment = absl::AsciiStrToLower(CommentBegunOn(source, i));
      for (const absl::string_view word : {"what", "of", "whether", "how"}) {
        EXPECT_FALSE(absl::StartsWith(comment, absl::StrCat(word, " ")))
            << Place(source, i) << "a comment that opens with \"" << word << "\"";
      }
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
      const bool boundary = source.path == "yaml/yaml_reader.cc" ||
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

// The version stands in CMakeLists.txt; what is newer than the newest release is "Unreleased".
// Users know commands, not the calls that these make.
TEST(TidyTest, NoMessageSpeaksOfAnRpc) {
  std::set<std::string> calls;
  for (const Source& proto : Read({".proto"})) {
    for (const std::string& line : proto.lines) {
      const absl::string_view text = absl::StripAsciiWhitespace(line);
      if (absl::StartsWith(text, "rpc ")) {
        calls.emplace(text.substr(4, text.find('(') - 4));
      }
    }
  }
  ASSERT_GT(calls.size(), 20u);
  for (const Source& source : Code()) {
    if (source.folder == "tests" || source.folder == "bench") {
      continue;
    }
    for (size_t i = 0; i < source.lines.size(); ++i) {
      const std::vector<std::string> parts = absl::StrSplit(source.lines[i], '"');
      for (size_t literal = 1; literal < parts.size(); literal += 2) {
        const std::vector<std::string> words =
            absl::StrSplit(parts[literal], absl::ByAnyChar(" :;,.()"), absl::SkipEmpty());
        for (const std::string& word : words) {
          EXPECT_FALSE(words.size() > 1 && calls.count(word) > 0)
              << Place(source, i) << "a message names the call " << word;
        }
      }
    }
  }
}

TEST(TidyTest, TheNewestReleaseInTheChangelogIsTheVersion) {
  std::string version;
  for (const absl::string_view line :
       absl::StrSplit(ReadFile((Root() / "CMakeLists.txt").string()).value(), '\n')) {
    if (absl::StartsWith(line, "project(concur VERSION ")) {
      version = std::vector<std::string>(absl::StrSplit(line, ' '))[2];
    }
  }
  const std::string changelog = ReadFile((Root() / "CHANGELOG.md").string()).value();
  std::string newest;
  for (const absl::string_view line : absl::StrSplit(changelog, '\n')) {
    if (newest.empty() && absl::StartsWith(line, "## ") && line != "## Unreleased") {
      newest = std::vector<std::string>(absl::StrSplit(line, ' '))[1];
      const size_t begin = changelog.find(std::string(line));
      const std::string section = changelog.substr(begin, changelog.find("\n## ", begin) - begin);
      EXPECT_TRUE(absl::StrContains(section, "### Upgrade notes\n"))
          << "CHANGELOG.md: " << newest << " has no upgrade notes";
    }
  }
  EXPECT_EQ(newest, version) << "CHANGELOG.md and CMakeLists.txt name different releases";
}

}  // namespace
}  // namespace concur
