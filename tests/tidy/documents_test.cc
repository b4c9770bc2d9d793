// SPDX-License-Identifier: Apache-2.0
// Documents lead to files and pages that exist, and every page is found.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

namespace fs = std::filesystem;

fs::path DocumentRoot() {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return source == nullptr ? "." : source;
}

std::string DocumentText(const fs::path& path) {
  absl::StatusOr<std::string> text = ReadFile(path.string());
  CONCUR_CHECK_OK(text.status());
  return *std::move(text);
}

// Markdown files of the root, docs/ and configs/.
std::vector<fs::path> Documents() {
  std::vector<fs::path> pages;
  for (const fs::directory_entry& entry : fs::directory_iterator(DocumentRoot())) {
    if (entry.path().extension() == ".md") {
      pages.push_back(entry.path());
    }
  }
  for (const char* folder : {"docs", "configs"}) {
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(DocumentRoot() / folder)) {
      if (entry.path().extension() == ".md") {
        pages.push_back(entry.path());
      }
    }
  }
  return pages;
}

TEST(DocumentsTest, LinksLeadToFilesThatExist) {
  int links = 0;
  for (const fs::path& page : Documents()) {
    const std::string text = DocumentText(page);
    const std::vector<absl::string_view> pieces = absl::StrSplit(text, "](");
    for (size_t i = 1; i < pieces.size(); ++i) {
      const absl::string_view target = pieces[i].substr(0, pieces[i].find_first_of(")#"));
      if (target.empty() || absl::StrContains(target, "://")) {
        continue;
      }
      ++links;
      EXPECT_TRUE(fs::exists(page.parent_path() / std::string(target)))
          << page << ": the link to " << target << " leads nowhere";
    }
  }
  EXPECT_GT(links, 50);
}

TEST(DocumentsTest, EveryPageIsInTheIndex) {
  const fs::path docs = DocumentRoot() / "docs";
  const std::string index = DocumentText(docs / "README.md");
  for (const fs::path& page : Documents()) {
    const std::string name = page.lexically_relative(docs).generic_string();
    if (name != "README.md" && !absl::StartsWith(name, "..")) {
      EXPECT_TRUE(absl::StrContains(index, absl::StrCat("](", name, ")")))
          << "docs/README.md does not list " << name;
    }
  }
}

TEST(DocumentsTest, EveryFileThatContributingNamesExists) {
  const std::string page = DocumentText(DocumentRoot() / "CONTRIBUTING.md");
  // The odd pieces between backquotes are code; of these, words with a slash and a suffix are
  // files.
  const std::vector<std::string> pieces = absl::StrSplit(page, '`');
  int files = 0;
  for (size_t i = 1; i < pieces.size(); i += 2) {
    const std::string& name = pieces[i];
    if (!absl::StrContains(name, '/') || absl::StartsWith(name, "build/") ||
        absl::StrContains(name, ' ') || fs::path(name).extension().empty()) {
      continue;
    }
    ++files;
    EXPECT_TRUE(fs::exists(DocumentRoot() / name)) << "CONTRIBUTING.md names " << name;
  }
  EXPECT_GT(files, 30);
}

}  // namespace
}  // namespace concur
