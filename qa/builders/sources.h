// SPDX-License-Identifier: Apache-2.0
// The real texts and word lists that builders start from: files of Debian packages, and the
// program that prints the King James Bible.
//
// Thread-safe (stateless); SourceLog is thread-compatible.
#ifndef CONCUR_QA_BUILDERS_SOURCES_H_
#define CONCUR_QA_BUILDERS_SOURCES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/example.h"

namespace concur::qa {

// Paths of the sources. The defaults are Debian's.
struct SourcePaths {
  std::string dictionary = "/usr/share/dict/american-english";  // wamerican
  std::string wordnet = "/usr/share/wordnet";                   // wordnet-base
  std::string bible_program = "/usr/bin/bible";                 // bible-kjv, bible-kjv-text
  std::string bible_data = "/usr/lib";
  std::string package_status = "/var/lib/dpkg/status";
};

// Reads sources and records them for the header: "source.PACKAGE" is the package's
// version, "sha256.FILE" the digest of the bytes that were used.
class SourceLog {
 public:
  explicit SourceLog(SourcePaths paths) : paths_(std::move(paths)) {}

  const SourcePaths& paths() const { return paths_; }

  // The contents of a file of `package`. NotFound names the package to install.
  absl::StatusOr<std::string> ReadPackaged(const std::string& path, absl::string_view package);
  // The contents of a file that the user named; recorded by its base name.
  absl::StatusOr<std::string> ReadOwn(const std::string& path);
  // Records a file that the user named and that is read as a stream.
  absl::Status RecordOwn(const std::string& path);
  // The King James Bible as the `bible` program prints it, one verse per line: "Ge1:1 In the …".
  // NotFound names the package when the program is missing.
  absl::StatusOr<std::string> ReadBible();

  const Header& recorded() const { return recorded_; }

 private:
  void RecordPackage(absl::string_view package);

  SourcePaths paths_;
  Header recorded_;
};

// The version of an installed Debian package, from dpkg's status file; "unknown" when it is not
// listed there.
std::string PackageVersion(const std::string& status_path, absl::string_view package);

// Standard output of a program run without a shell, with an empty environment. Unavailable when
// it fails, with its exit status; ResourceExhausted beyond `bytes_max`.
absl::StatusOr<std::string> RunAndRead(const std::vector<std::string>& arguments, size_t bytes_max);

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_SOURCES_H_
