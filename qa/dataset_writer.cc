// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "qa/dataset_io.h"
#include "qa/json_export.h"
#include "qa/json_text.h"
#include "qa/utf8.h"

namespace concur::qa {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 17;

absl::Status CheckText(absl::string_view field, absl::string_view text) {
  const size_t invalid = FindInvalidUtf8(text);
  if (invalid != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": expected UTF-8, found byte 0x",
                     absl::Hex(static_cast<unsigned char>(text[invalid]), absl::kZeroPad2),
                     " at byte ", invalid));
  }
  return absl::OkStatus();
}

absl::Status CheckQuestion(const Question& question, absl::string_view context) {
  if (question.id.empty()) {
    return absl::InvalidArgumentError("qid: expected an id, got an empty one");
  }
  CONCUR_RETURN_IF_ERROR(CheckText("qid", question.id));
  CONCUR_RETURN_IF_ERROR(CheckText("question", question.text));
  if (question.answers.empty()) {
    return absl::InvalidArgumentError("answers: expected at least one, got none");
  }
  for (const std::string& answer : question.answers) {
    CONCUR_RETURN_IF_ERROR(CheckText("answers", answer));
  }
  for (const Span& span : question.spans) {
    if (span.begin < 0 || span.begin >= span.end ||
        span.end > static_cast<int64_t>(context.size()) ||
        !IsCodePointBoundary(context, static_cast<size_t>(span.begin)) ||
        !IsCodePointBoundary(context, static_cast<size_t>(span.end))) {
      return absl::InvalidArgumentError(
          absl::StrCat("spans: expected whole characters of the context's ", context.size(),
                       " bytes, got [", span.begin, ", ", span.end, ")"));
    }
  }
  return absl::OkStatus();
}

// One entry per answer text; spans keep their order.
void AppendDetectedAnswers(const Question& question, absl::string_view context, std::string& out) {
  out.append("[");
  for (size_t i = 0; i < question.spans.size(); ++i) {
    const Span& span = question.spans[i];
    const absl::string_view text = TextOf(context, span);
    const bool joins = i > 0 && TextOf(context, question.spans[i - 1]) == text;
    if (joins) {
      out.append(", ");
    } else {
      out.append(i > 0 ? "]}, {\"text\": " : "{\"text\": ");
      AppendJsonString(text, out);
      out.append(", \"char_spans\": [");
    }
    const int64_t begin = CountCodePoints(context.substr(0, static_cast<size_t>(span.begin)));
    absl::StrAppend(&out, "[", begin, ", ", begin + CountCodePoints(text) - 1, "]");
  }
  out.append(question.spans.empty() ? "]" : "]}]");
}

class FileWriter : public DatasetWriter {
 public:
  FileWriter(std::string path, std::string target, std::string temporary, FileDescriptor fd)
      : path_(std::move(path)),
        target_(std::move(target)),
        temporary_(std::move(temporary)),
        fd_(std::move(fd)) {}
  ~FileWriter() override {
    if (deflating_) {
      deflateEnd(&stream_);
    }
    if (fd_.valid()) {
      unlink(temporary_.c_str());
    }
  }
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  absl::Status Start(const Header& header) {
    if (absl::EndsWith(path_, ".gz")) {
      // A null gz_header leaves the time zero.
      if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                       Z_DEFAULT_STRATEGY) != Z_OK) {
        return absl::ResourceExhaustedError(absl::StrCat(path_, ": gzip: out of memory"));
      }
      deflating_ = true;
    }
    if (absl::EndsWith(path_, ".json") || absl::EndsWith(path_, ".json.gz")) {
      squad_.emplace(JsonExport::Options());  // it has no place for a header
      return absl::OkStatus();
    }
    if (header.empty()) {
      return absl::OkStatus();
    }
    buffer_.append("{\"header\": {");
    absl::string_view separator = "";
    for (const auto& [key, value] : header) {
      CONCUR_RETURN_IF_ERROR(CheckText("header", key));
      CONCUR_RETURN_IF_ERROR(CheckText("header", value));
      buffer_.append(separator.data(), separator.size());
      AppendJsonString(key, buffer_);
      buffer_.append(": ");
      AppendJsonString(value, buffer_);
      separator = ", ";
    }
    buffer_.append("}}\n");
    return absl::OkStatus();
  }

  absl::Status Write(const Passage& passage) override {
    if (!fd_.valid()) {
      return absl::FailedPreconditionError(absl::StrCat(path_, ": write after finish"));
    }
    CONCUR_RETURN_IF_ERROR(Check(passage));
    if (squad_) {
      squad_->Add(passage, buffer_);
    } else {
      AppendLine(passage);
    }
    return buffer_.size() >= kBlockBytes ? Flush(false) : absl::OkStatus();
  }

  absl::Status Finish() override {
    if (!fd_.valid()) {
      return absl::FailedPreconditionError(absl::StrCat(path_, ": finished before"));
    }
    if (squad_) {
      squad_->Finish(buffer_);
    }
    CONCUR_RETURN_IF_ERROR(Flush(true));
    if (fsync(fd_.get()) != 0) {
      return ErrnoStatus(errno, temporary_, "sync");
    }
    if (rename(temporary_.c_str(), target_.c_str()) != 0) {
      return ErrnoStatus(errno, path_, "rename");
    }
    fd_.Reset();
    const std::string parent = std::filesystem::path(target_).parent_path().string();
    return SyncDirectory(parent.empty() ? "." : parent);
  }

 private:
  // MRQA's form.
  void AppendLine(const Passage& passage) {
    buffer_.append("{");
    if (!passage.title.empty()) {
      buffer_.append("\"title\": ");
      AppendJsonString(passage.title, buffer_);
      buffer_.append(", ");
    }
    buffer_.append("\"context\": ");
    AppendJsonString(passage.context, buffer_);
    buffer_.append(", \"qas\": [");
    for (size_t i = 0; i < passage.questions.size(); ++i) {
      const Question& question = passage.questions[i];
      buffer_.append(i > 0 ? ", {\"qid\": " : "{\"qid\": ");
      AppendJsonString(question.id, buffer_);
      buffer_.append(", \"question\": ");
      AppendJsonString(question.text, buffer_);
      buffer_.append(", \"answers\": [");
      for (size_t j = 0; j < question.answers.size(); ++j) {
        buffer_.append(j > 0 ? ", " : "");
        AppendJsonString(question.answers[j], buffer_);
      }
      buffer_.append("], \"detected_answers\": ");
      AppendDetectedAnswers(question, passage.context, buffer_);
      buffer_.append("}");
    }
    buffer_.append("]}\n");
  }

  absl::Status Check(const Passage& passage) const {
    const auto in_passage = [&](const absl::Status& status) {
      return absl::Status(status.code(), absl::StrCat(path_, ": ", status.message()));
    };
    for (const auto& [field, text] :
         {std::pair<absl::string_view, const std::string&>{"title", passage.title},
          {"context", passage.context}}) {
      if (absl::Status status = CheckText(field, text); !status.ok()) {
        return in_passage(status);
      }
    }
    for (const Question& question : passage.questions) {
      if (absl::Status status = CheckQuestion(question, passage.context); !status.ok()) {
        return in_passage(absl::Status(
            status.code(), absl::StrCat("question ", Shown(question.id), ": ", status.message())));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Flush(bool last) {
    if (!deflating_) {
      CONCUR_RETURN_IF_ERROR(WriteAll(fd_.get(), buffer_, temporary_));
      buffer_.clear();
      return absl::OkStatus();
    }
    std::string packed(kBlockBytes, '\0');
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(buffer_.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(packed.data());
      stream_.avail_out = static_cast<uInt>(packed.size());
      deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      CONCUR_RETURN_IF_ERROR(
          WriteAll(fd_.get(), {packed.data(), packed.size() - stream_.avail_out}, temporary_));
    } while (stream_.avail_out == 0);
    buffer_.clear();
    return absl::OkStatus();
  }

  const std::string path_;
  const std::string target_;  // where its links lead
  const std::string temporary_;
  FileDescriptor fd_;  // invalid once finished
  z_stream stream_{};
  bool deflating_ = false;
  std::optional<JsonExport> squad_;  // set for a name that ends in .json
  std::string buffer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DatasetWriter>> DatasetWriter::Create(const std::string& path,
                                                                     const Header& header) {
  static std::atomic<uint64_t> counter{0};
  CONCUR_ASSIGN_OR_RETURN(const std::string target, OutputPath(path));
  const std::string temporary = absl::StrCat(target, ".tmp.", getpid(), ".", counter.fetch_add(1));
  FileDescriptor fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd.valid()) {
    return ErrnoStatus(errno, temporary, "create");
  }
  auto writer = std::make_unique<FileWriter>(path, target, temporary, std::move(fd));
  CONCUR_RETURN_IF_ERROR(writer->Start(header));
  return writer;
}

}  // namespace concur::qa
