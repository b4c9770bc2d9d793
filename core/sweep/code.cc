// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/code.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "core/result.h"

namespace concur {

Digest KeyOfCode(const std::vector<CodeFile>& files) {
  Sha256 hasher;
  hasher.UpdateField("code");
  for (const CodeFile& file : files) {
    hasher.UpdateField(file.path);
    hasher.UpdateField(file.digest.ToBytes());
    hasher.UpdateField(file.is_executable ? "executable" : "");
  }
  return hasher.Finish();
}

Code MakeCode(const Digest& digest, int64_t bytes, std::vector<CodeFile> files) {
  Code code{digest, bytes, std::move(files), Digest(), ""};
  code.key = KeyOfCode(code.files);
  return code;
}

absl::Status CheckCodePath(const FieldPath& field, const std::string& path) {
  CONCUR_RETURN_IF_ERROR(CheckLine(field, path, kCodePathBytesMax));
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == "." || part == "..") {
      return FieldError(field,
                        absl::StrCat("expected a path below the code's root, got ", Quoted(path)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCode(const FieldPath& path, const Code& code) {
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("size_bytes"), code.bytes, 0, kArtifactBytesMax));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("files"), code.files.size(), kCodeFilesMax));
  std::set<absl::string_view> paths;
  int64_t bytes = 0;
  for (size_t i = 0; i < code.files.size(); ++i) {
    const CodeFile& file = code.files[i];
    const FieldPath here = path.Field("files", i);
    CONCUR_RETURN_IF_ERROR(CheckCodePath(here.Field("path"), file.path));
    CONCUR_RETURN_IF_ERROR(
        CheckRange(here.Field("size_bytes"), file.bytes, 0, kCodeBytesMax - bytes));
    bytes += file.bytes;
    if (i > 0 && file.path <= code.files[i - 1].path) {
      return FieldError(here.Field("path"), "expected the files in the order of their paths");
    }
    paths.insert(file.path);
  }
  for (const absl::string_view file : paths) {
    for (size_t slash = file.find('/'); slash != file.npos; slash = file.find('/', slash + 1)) {
      if (paths.contains(file.substr(0, slash))) {
        return FieldError(path.Field("files"),
                          absl::StrCat(Quoted(file.substr(0, slash)), " is a file and a folder"));
      }
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> CodeDifferences(const std::vector<CodeFile>& here,
                                         const std::vector<CodeFile>& there) {
  std::map<std::string, std::pair<const CodeFile*, const CodeFile*>> both;
  for (const CodeFile& file : here) {
    both[file.path].first = &file;
  }
  for (const CodeFile& file : there) {
    both[file.path].second = &file;
  }
  std::vector<std::string> differences;
  for (const auto& [path, files] : both) {
    const auto& [own, other] = files;
    if (other == nullptr || own == nullptr) {
      differences.push_back(absl::StrCat(path, own == nullptr ? " (only there)" : " (only here)"));
    } else if (own->digest != other->digest) {
      differences.push_back(absl::StrCat(path, " (other contents)"));
    } else if (own->is_executable != other->is_executable) {
      differences.push_back(
          absl::StrCat(path, own->is_executable ? " (executable here)" : " (executable there)"));
    }
  }
  return differences;
}

}  // namespace concur
