// SPDX-License-Identifier: Apache-2.0
// Importers: each turns the raw files of a published benchmark into the internal form (MRQA JSON
// lines), question by question, in memory that does not grow with the files. An importer is a
// declaration (name, parameters) and a function that reads files and hands passages to an
// ImportSink. Everything else is done here for all importers: counts, repeated ids, --strict,
// headers, files that appear only when complete.
//
// A record that does not have the documented layout is an error with file and line. A question that
// has it but cannot be made extractive is dropped with a reason.
//
// The same files, parameters and seed give the same bytes.
//
// Thread-safe (stateless); ImportSink is thread-compatible.
#ifndef CONCUR_QA_IMPORTERS_IMPORTER_H_
#define CONCUR_QA_IMPORTERS_IMPORTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/builders/builder.h"
#include "qa/builders/parameters.h"
#include "qa/example.h"
#include "qa/passage_reader.h"

namespace concur::qa {

// A count, and the place of the first case ("FILE:LINE…").
struct ImportCount {
  int64_t count = 0;
  std::string first_place;
};

// Numbers of questions: read = kept + unsampled + all of `dropped`.
struct ImportCounts {
  int64_t read = 0;
  int64_t kept = 0;
  int64_t unsampled = 0;                       // not drawn for a subsample
  std::map<std::string, ImportCount> dropped;  // by reason
  std::map<std::string, ImportCount> noted;    // corrections in kept questions
};

class ImportSink {
 public:
  virtual ~ImportSink() = default;

  // Writes the passage and counts its questions as read. Drops questions with an empty or repeated
  // id, an empty text or empty answers; a passage without questions left is not written. With
  // --strict the first drop is an error.
  // REQUIRES: each span holds one of its question's answers, up to SQuAD's normalization.
  virtual absl::Status Keep(Passage passage, absl::string_view place,
                            Split split = Split::kTrain) = 0;
  // Counts a question as read and dropped.
  virtual absl::Status Drop(absl::string_view reason, absl::string_view place) = 0;
  // Counts questions as read and not drawn for the subsample.
  virtual void LeaveOut(int64_t questions) = 0;
  // Counts a correction in a question that is kept.
  virtual void Note(absl::string_view what, absl::string_view place) = 0;
};

// The policy of importers: spans that are left out are noted in `sink`, which must outlive it.
ReadPolicy PassOnPolicy(ImportSink& sink);

// Keeps the passage with the questions that have an answer and a span; drops the others, for the
// reason `no_span` if only the span is missing. The place of question i is PLACE + `list` + "[i]".
absl::Status KeepWithSpans(Passage passage, absl::string_view place, absl::string_view list,
                           absl::string_view no_span, ImportSink& sink);

struct ImporterInput {
  const std::vector<std::string>& files;
  const Parameters& parameters;
  uint64_t seed = 0;
  Header& header;  // an importer may add lines
  ImportSink& sink;
};

struct ImporterInfo {
  std::string name;
  std::string summary;  // one line: what the files are
  std::vector<ParameterInfo> parameters;
  absl::Status (*run)(const ImporterInput& input) = nullptr;
  // True if it writes a train set and a test set (into a directory) rather than one file; null
  // means one file.
  bool (*splits)(const Parameters& parameters) = nullptr;
};

// All importers, by name.
const std::vector<ImporterInfo>& Importers();
// NotFound, with the nearest name and the list of names.
absl::StatusOr<const ImporterInfo*> FindImporter(absl::string_view name);

// The formats; a function declares those of one file.
std::vector<ImporterInfo> SquadImporters();
std::vector<ImporterInfo> MrqaImporters();
ImporterInfo DropImporter();
ImporterInfo QamrImporter();
ImporterInfo CbtImporter();
ImporterInfo LambadaImporter();
ImporterInfo CnnImporter();
ImporterInfo RecordImporter();
ImporterInfo BabiImporter();

struct ImportRequest {
  std::string format;
  std::vector<std::string> in;
  std::string out;  // a file (gzipped when it ends in ".gz"), or a directory for what splits
  uint64_t seed = 1;
  bool strict = false;
  std::map<std::string, std::string> parameters;
  // Called every thousand questions.
  std::function<void(int64_t read)> progress;
};

struct ImportedFile {
  std::string path;
  int64_t passages = 0;
  int64_t questions = 0;
};

struct ImportResult {
  ImportCounts counts;
  std::vector<ImportedFile> files;
};

// Existing output files are replaced only when all are complete; on failure nothing changes.
// InvalidArgument also when no question is kept.
absl::StatusOr<ImportResult> Import(const ImportRequest& request);

}  // namespace concur::qa

#endif  // CONCUR_QA_IMPORTERS_IMPORTER_H_
