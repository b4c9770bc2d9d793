// SPDX-License-Identifier: Apache-2.0
#include "studies/annotation/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/status_macros.h"

namespace concur::annotation {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kSumDigits = 16;
constexpr absl::string_view kSumHead = R"({"sum":")";
// In the order of EventKind.
constexpr std::array<absl::string_view, 10> kKindNames = {
    "opening",    "annotator", "login",      "system", "assignment",
    "onboarding", "attempt",   "validation", "review", "answer"};

std::string SumOf(absl::string_view before, absl::string_view rest) {
  const size_t line = before.size() < 2 ? 0 : before.rfind('\n', before.size() - 2) + 1;
  const absl::string_view sum =
      before.empty() ? "" : before.substr(line + kSumHead.size(), kSumDigits);
  return Sha256Of(absl::StrCat(sum, rest)).ToHex().substr(0, kSumDigits);
}

// Invitations are the host's.
bool IsOfAnnotator(const Event& event) {
  return !event.annotator.empty() && event.kind != EventKind::kAnnotator;
}

void PutText(const char* name, const std::string& text, Json& json) {
  if (!text.empty()) {
    json[name] = text;
  }
}

// A single system's fields are those of logs from before there could be several.
void PutSystems(const Event& event, Json& json) {
  if (event.systems.size() > 1) {
    json["systems"] = event.systems;
    if (event.kind == EventKind::kAttempt) {
      json["system_answers"] = event.system_answers;
    }
  } else if (!event.systems.empty()) {
    PutText("system", event.systems[0], json);
    PutText("system_answer", event.system_answers.empty() ? "" : event.system_answers[0], json);
  }
}

Json SettingsJson(const Settings& settings) {
  Json json = {{"f1_win_max", settings.f1_win_max},
               {"validators", settings.validators},
               {"agreement_min", settings.agreement_min},
               {"onboarding_f1_min", settings.onboarding_f1_min},
               {"questions_per_passage", settings.questions_per_passage},
               {"hold_seconds", absl::ToInt64Seconds(settings.hold)},
               {"share_passages", settings.share_passages}};
  // Younger than some logs.
  if (settings.held_out != Settings().held_out) {
    json["held_out"] = settings.held_out;
  }
  if (settings.answering) {
    json["answering"] = true;
  }
  if (settings.qualification != Settings().qualification) {
    json["qualification"] = settings.qualification;
  }
  return json;
}

// Fields of another type count as absent: the line is compared with what it should be afterwards.
std::string TextIn(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> TextsIn(const Json& json, const char* name) {
  std::vector<std::string> texts;
  if (const auto found = json.find(name); found != json.end() && found->is_array()) {
    for (const Json& one : *found) {
      texts.push_back(one.is_string() ? one.get<std::string>() : "");
    }
  }
  return texts;
}

void TakeSystems(const Json& json, Event& event) {
  event.systems = TextsIn(json, "systems");
  if (std::string one = TextIn(json, "system"); !one.empty()) {
    event.systems = {std::move(one)};
  }
  if (event.kind == EventKind::kAttempt && !event.systems.empty()) {
    event.system_answers = event.systems.size() == 1
                               ? std::vector<std::string>{TextIn(json, "system_answer")}
                               : TextsIn(json, "system_answers");
  }
}

int64_t IntegerIn(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

bool IsTrueIn(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

double NumberIn(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

Settings SettingsIn(const Json& json) {
  Settings settings;
  settings.f1_win_max = NumberIn(json, "f1_win_max");
  settings.validators = IntegerIn(json, "validators");
  settings.agreement_min = NumberIn(json, "agreement_min");
  settings.onboarding_f1_min = NumberIn(json, "onboarding_f1_min");
  settings.questions_per_passage = IntegerIn(json, "questions_per_passage");
  settings.hold = absl::Seconds(IntegerIn(json, "hold_seconds"));
  settings.share_passages = IsTrueIn(json, "share_passages");
  settings.held_out = json.contains("held_out") ? NumberIn(json, "held_out") : 1;
  settings.answering = IsTrueIn(json, "answering");
  settings.qualification = IntegerIn(json, "qualification");
  return settings;
}

std::optional<EventKind> KindIn(const Json& json) {
  const std::string name = TextIn(json, "event");
  for (size_t i = 0; i < kKindNames.size(); ++i) {
    if (kKindNames[i] == name) {
      return static_cast<EventKind>(i);
    }
  }
  return std::nullopt;
}

// Without the checksum.
absl::StatusOr<Event> EventOf(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::DataLossError("expected a JSON object");
  }
  const std::optional<EventKind> kind = KindIn(json);
  if (!kind.has_value()) {
    return absl::DataLossError("event: expected one that this version knows");
  }
  Event event;
  event.kind = *kind;
  event.time = absl::FromUnixMillis(IntegerIn(json, "time"));
  event.annotator = TextIn(json, "annotator");
  event.is_reviewer = IsTrueIn(json, "reviewer");
  event.code_digest = TextIn(json, "code_digest");
  event.passage = TextIn(json, "passage");
  event.number = IntegerIn(json, "number");
  event.key = TextIn(json, "key");
  event.question = TextIn(json, "question");
  if (json.contains("begin") || json.contains("end")) {
    event.answer = qa::Span{IntegerIn(json, "begin"), IntegerIn(json, "end")};
  }
  TakeSystems(json, event);
  event.verdict = TextIn(json, "verdict");
  if (*kind == EventKind::kOpening) {
    event.log_version = IntegerIn(json, "version");
    if (event.log_version < 1 || event.log_version > kChainedVersion) {
      return absl::DataLossError(absl::StrCat("version: expected at most ", kChainedVersion,
                                              "; a newer concur wrote this log"));
    }
    event.passages_digest = TextIn(json, "passages");
    event.onboarding_digest = TextIn(json, "onboarding");
    const auto settings = json.find("settings");
    event.settings = settings == json.end() ? Settings() : SettingsIn(*settings);
  }
  return event;
}

absl::StatusOr<Event> ParseEventLine(absl::string_view line, absl::string_view before) {
  absl::string_view rest = line;
  if (!absl::ConsumePrefix(&rest, kSumHead) || rest.size() < kSumDigits + 2 ||
      rest.substr(kSumDigits, 2) != "\",") {
    return absl::DataLossError(R"(expected {"sum":"…", …})");
  }
  const absl::string_view sum = rest.substr(0, kSumDigits);
  rest.remove_prefix(kSumDigits + 2);
  if (sum != SumOf(before, rest)) {
    return absl::DataLossError("sum: the line is damaged, or one before it was removed");
  }
  CONCUR_ASSIGN_OR_RETURN(Event event, EventOf(absl::StrCat("{", rest)));
  if (absl::StripSuffix(EventLine(event, before), "\n") != line) {
    return absl::DataLossError("the line has fields that no event of its kind has");
  }
  return event;
}

}  // namespace

std::string EventLine(const Event& event, absl::string_view before) {
  Json json = Json::object();
  json["event"] = kKindNames[static_cast<size_t>(event.kind)];
  json["time"] = absl::ToUnixMillis(event.time);
  PutText("annotator", event.annotator, json);
  if (event.is_reviewer) {
    json["reviewer"] = true;
  }
  PutText("code_digest", event.code_digest, json);
  PutText("passage", event.passage, json);
  if (event.number != 0) {
    json["number"] = event.number;
  }
  PutText("key", event.key, json);
  PutText("question", event.question, json);
  if (event.answer.has_value()) {
    json["begin"] = event.answer->begin;
    json["end"] = event.answer->end;
  }
  PutSystems(event, json);
  PutText("verdict", event.verdict, json);
  if (event.kind == EventKind::kOpening) {
    json["version"] = event.log_version;
    json["passages"] = event.passages_digest;
    PutText("onboarding", event.onboarding_digest, json);
    json["settings"] = SettingsJson(event.settings);
  }
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  const absl::string_view rest = absl::string_view(text).substr(1);
  return absl::StrCat(kSumHead, SumOf(before, rest), "\",", rest, "\n");
}

absl::StatusOr<LogContents> ParseLog(absl::string_view text, const std::string& path) {
  LogContents contents;
  for (int64_t line = 1;; ++line) {
    const size_t end = text.find('\n', contents.bytes);
    if (end == absl::string_view::npos) {
      break;
    }
    const absl::string_view event_line = text.substr(contents.bytes, end - contents.bytes);
    absl::StatusOr<Event> event = ParseEventLine(event_line, contents.last_line);
    if (event.ok() && (event->kind == EventKind::kOpening) != (line == 1)) {
      event = absl::DataLossError("event: expected the opening first, and only there");
    }
    if (!event.ok()) {
      return absl::DataLossError(
          absl::StrCat(path, ":", line, ": ", event.status().message(),
                       "; restore the file from a copy, or cut it before this line"));
    }
    if (IsOfAnnotator(*event)) {
      contents.bytes_of[event->annotator] += static_cast<int64_t>(event_line.size()) + 1;
    }
    contents.events.push_back(*std::move(event));
    contents.bytes = end + 1;
    if (contents.events.front().log_version == kChainedVersion) {
      contents.last_line = std::string(event_line);
    }
  }
  if (contents.events.empty()) {
    return absl::DataLossError(absl::StrCat(path, ":1: expected the opening of a room"));
  }
  return contents;
}

absl::Status Log::Create(const std::string& path, const Event& opening) {
  return WriteFileAtomically(path, EventLine(opening, ""), 0600);
}

absl::StatusOr<std::unique_ptr<Log>> Log::Open(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kLogBytesMax));
  CONCUR_ASSIGN_OR_RETURN(LogContents contents, ParseLog(text, path));
  if (contents.bytes < text.size() &&
      (ftruncate(file.get(), static_cast<off_t>(contents.bytes)) != 0 || fsync(file.get()) != 0)) {
    return ErrnoStatus(errno, path, "cut off an unfinished line");
  }
  return std::unique_ptr<Log>(new Log(path, std::move(file), std::move(contents)));
}

absl::Status Log::Append(const Event& event) {
  if (is_broken_) {
    return absl::UnavailableError(
        absl::StrCat(path_, ": an earlier write failed; start concur annotate again"));
  }
  std::string line = EventLine(event, last_line_);
  if (bytes_ + line.size() > static_cast<size_t>(kLogBytesMax)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path_, ": expected at most ", kLogBytesMax, " bytes; open another room"));
  }
  const auto line_bytes = static_cast<int64_t>(line.size());
  if (IsOfAnnotator(event) && bytes_of_[event.annotator] + line_bytes > kAnnotatorBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("annotator: ", event.annotator, " has filled ", kAnnotatorBytesMax,
                     " bytes of the log, all that one annotator may; open another room"));
  }
  absl::Status status = WriteAll(file_.get(), line, path_);
  if (status.ok() && fdatasync(file_.get()) != 0) {
    status = ErrnoStatus(errno, path_, "sync");
    is_broken_ = true;  // contents on disk are unknown
  }
  if (!status.ok()) {
    is_broken_ = is_broken_ || ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0;
    return status;
  }
  bytes_ += line.size();
  if (IsOfAnnotator(event)) {
    bytes_of_[event.annotator] += line_bytes;
  }
  if (!last_line_.empty()) {
    last_line_ = std::move(line);
  }
  return absl::OkStatus();
}

}  // namespace concur::annotation
