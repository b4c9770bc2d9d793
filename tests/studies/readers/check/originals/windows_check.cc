// SPDX-License-Identifier: Apache-2.0
#include "tests/studies/readers/check/originals/windows_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "qa/dataset_io.h"
#include "studies/readers/files/safetensors.h"
#include "studies/readers/text/best_answers.h"
#include "studies/readers/text/windows.h"

namespace concur::readers {
namespace {

constexpr int64_t kPredictionsBytesMax = int64_t{1} << 30;
constexpr double kProbabilityTolerance = 1e-5;  // allowed for single precision

// Parts of a file's name: "legacy.albert.L160.s64.q64.jsonl".
struct WindowsName {
  std::string key;  // "albert.L160.s64.q64" or "runqa.albert.L160.s64": of logits, predictions
  std::string tokenizer;
  WindowOptions options;
};

absl::StatusOr<WindowsName> ParseWindowsName(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  const std::string stem(absl::StripSuffix(file, ".jsonl"));
  const std::vector<std::string> parts = absl::StrSplit(stem, '.');
  WindowsName name;
  const bool squad = parts[0] == "legacy";
  name.key = squad ? std::string(absl::StripPrefix(stem, "legacy.")) : stem;
  name.tokenizer = parts.size() > 1 ? parts[1] : "";
  name.options.generation = squad ? Generation::kRunSquad : Generation::kRunQa;
  name.options.question_max = 0;
  name.options.length = 0;
  name.options.stride = -1;
  const std::pair<const char*, int64_t*> numbers[] = {
      {"L", &name.options.length}, {"s", &name.options.stride}, {"q", &name.options.question_max}};
  for (size_t i = 2; i < parts.size(); ++i) {
    for (const auto& [letter, value] : numbers) {
      absl::string_view part = parts[i];
      if (absl::ConsumePrefix(&part, letter) && absl::SimpleAtoi(part, value)) {
        break;
      }
    }
  }
  if (name.options.length <= 0 || name.options.stride < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a name such as legacy.bert-cased.L384.s128.q64.jsonl"));
  }
  return name;
}

// A question with the passage's pieces, its windows and their labels.
struct WindowedQuestion {
  std::string id;
  TokenizedPassage passage;
  std::vector<Window> windows;
  std::vector<Label> labels;
};

// The fixtures' encodings of RoBERTa were trimmed when each text was encoded, and again when both
// were joined: where a word begins, its first character is left out as if it were the space.
void TrimAgain(const CheckpointTokenizer& tokenizer, TokenizedPassage& passage) {
  constexpr absl::string_view kSpaceByte = "\xc4\xa0";
  for (Piece& piece : passage.pieces) {
    absl::string_view entry = tokenizer.Entry(piece.id);
    while (absl::ConsumePrefix(&entry, kSpaceByte) && piece.begin < piece.end) {
      const absl::string_view rest = absl::string_view(passage.text).substr(piece.begin);
      piece.begin = std::min(piece.end, piece.begin + static_cast<uint32_t>(std::max<size_t>(
                                                          1, Utf8CharacterBytes(rest))));
    }
  }
}

absl::StatusOr<std::vector<WindowedQuestion>> ReadQuestions(const std::string& path,
                                                            const CheckpointTokenizer& tokenizer,
                                                            const WindowOptions& options) {
  std::vector<WindowedQuestion> questions;
  CONCUR_RETURN_IF_ERROR(qa::ForEachPassage(path, [&](const qa::Passage& passage) -> absl::Status {
    TokenizedPassage tokenized = TokenizePassage(tokenizer, options.generation, passage.context);
    if (options.generation == Generation::kRunQa &&
        tokenizer.kind() == CheckpointTokenizer::Kind::kBytePair) {
      TrimAgain(tokenizer, tokenized);
    }
    for (const qa::Question& question : passage.questions) {
      WindowedQuestion& made = questions.emplace_back();
      made.id = question.id;
      made.passage = tokenized;
      CONCUR_ASSIGN_OR_RETURN(made.windows,
                              MakeWindows(tokenizer, options, made.passage, question.text));
      if (!question.spans.empty()) {
        const qa::Span& span = question.spans[0];
        made.labels =
            LabelWindows(tokenizer, options, made.passage, made.windows,
                         {static_cast<uint32_t>(span.begin), static_cast<uint32_t>(span.end)});
      }
    }
    return absl::OkStatus();
  }));
  return questions;
}

template <typename Value>
OriginalJson Padded(const std::vector<Value>& values, size_t size, Value padding) {
  std::vector<Value> padded = values;
  padded.resize(std::max(size, padded.size()), padding);
  return padded;
}

OriginalJson SegmentsOf(const Window& window, size_t size) {
  std::vector<int32_t> segments;
  for (size_t i = 0; i < window.ids.size(); ++i) {
    segments.push_back(window.SegmentAt(static_cast<int64_t>(i)));
  }
  return Padded(segments, size, 0);
}

// Compares a line of run_squad: of kind "dev" or "train".
void CompareSquadWindow(const CheckpointTokenizer& tokenizer, const WindowedQuestion& question,
                        size_t index, const OriginalJson& line, const std::string& place,
                        DataCheckResult& result) {
  const Window& window = question.windows[index];
  CompareValues(place + " paragraph_len", window.pieces, line.at("paragraph_len"), result);
  if (line.at("kind") == "train") {
    const Label label = index < question.labels.size() ? question.labels[index] : Label();
    CompareValues(
        place + " label",
        {index < question.labels.size(), label.first, label.last, label.impossible},
        {true, line.at("start_position"), line.at("end_position"), line.at("is_impossible")},
        result);
    return;
  }
  const OriginalJson& ids = line.at("input_ids");
  CompareValues(place + " input_ids", Padded(window.ids, ids.size(), tokenizer.padding_id()), ids,
                result);
  CompareValues(place + " token_type_ids", SegmentsOf(window, ids.size()),
                line.at("token_type_ids"), result);
  CompareValues(place + " n", window.ids.size(), line.at("n"), result);
  OriginalJson words = OriginalJson::array();
  OriginalJson most = OriginalJson::array();
  // Positions that may be no answer: all but the passage's, and special tokens in it.
  std::vector<int> mask(ids.size(), 1);
  mask[0] = 0;
  const int32_t specials[] = {tokenizer.first_id(), tokenizer.separator_id(),
                              tokenizer.padding_id(), tokenizer.mask_id(), tokenizer.unknown_id()};
  for (int64_t i = 0; i < window.pieces; ++i) {
    const int64_t at = window.passage_at + i;
    words.push_back({at, question.passage.word_of[static_cast<size_t>(window.first_piece + i)]});
    if (window.most_context[static_cast<size_t>(i)]) {
      most.push_back(at);
    }
    const bool special = std::find(std::begin(specials), std::end(specials),
                                   window.ids[static_cast<size_t>(at)]) != std::end(specials);
    mask[static_cast<size_t>(at)] = special ? 1 : 0;
  }
  CompareValues(place + " token_to_orig", words, line.at("token_to_orig"), result);
  CompareValues(place + " max_context", most, line.at("max_context"), result);
  CompareValues(place + " p_mask", mask, line.at("p_mask"), result);
}

void CompareQaWindow(const CheckpointTokenizer& tokenizer, const WindowedQuestion& question,
                     size_t index, const OriginalJson& line, const std::string& place,
                     DataCheckResult& result) {
  const Window& window = question.windows[index];
  const OriginalJson& ids = line.at("input_ids");
  CompareValues(place + " input_ids", Padded(window.ids, ids.size(), tokenizer.padding_id()), ids,
                result);
  // The fixtures' later windows were cut from a passage that was encoded by itself, as segment 0.
  if (window.first_piece == 0) {
    CompareValues(place + " token_type_ids", SegmentsOf(window, ids.size()),
                  line.at("token_type_ids"), result);
  }
  CompareValues(place + " n", window.ids.size(), line.at("n"), result);
  const std::vector<uint32_t> before = CodePointsBefore(question.passage.text);
  OriginalJson offsets = OriginalJson::array();
  for (int64_t i = 0; i < static_cast<int64_t>(line.at("offsets").size()); ++i) {
    OriginalJson& offset = offsets.emplace_back();
    if (window.InPassage(i)) {
      const auto piece = static_cast<size_t>(i - window.passage_at + window.first_piece);
      offset = {before[question.passage.pieces[piece].begin],
                before[question.passage.pieces[piece].end]};
    }
  }
  CompareValues(place + " offsets", offsets, line["offsets"], result);
  const Label label = index < question.labels.size() ? question.labels[index] : Label();
  CompareValues(place + " label", {label.first, label.last},
                {line.at("start_position"), line.at("end_position")}, result);
}

// The values of a row of a tensor [windows, length].
absl::StatusOr<std::vector<float>> RowOf(const SafeTensors& file, absl::string_view name,
                                         size_t row) {
  CONCUR_ASSIGN_OR_RETURN(const StoredTensor tensor, file.Find(name));
  if (tensor.type != Type::kFloat32 || tensor.shape.size() != 2 ||
      row >= static_cast<size_t>(tensor.shape[0])) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected F32 with a row for each window"));
  }
  std::vector<float> values(static_cast<size_t>(tensor.shape[1]));
  const size_t bytes = values.size() * sizeof(float);
  if (bytes > 0) {
    std::memcpy(values.data(), tensor.bytes.data() + row * bytes, bytes);
  }
  return values;
}

void CompareAnswers(const std::string& place, const std::vector<BestAnswer>& answers,
                    const OriginalJson& expected, DataCheckResult& result) {
  OriginalJson texts = OriginalJson::array();
  OriginalJson expected_texts = OriginalJson::array();
  for (const BestAnswer& answer : answers) {
    texts.push_back({answer.text, answer.start_score, answer.end_score});
  }
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const OriginalJson& answer = expected[i];
    expected_texts.push_back({answer.at("text"), answer.at("start_logit"), answer.at("end_logit")});
    if (i < answers.size()) {
      largest = std::max(largest,
                         std::abs(answers[i].probability - answer.at("probability").get<double>()));
    }
  }
  CompareValues(place + " nbest", texts, expected_texts, result);
  if (!(largest <= kProbabilityTolerance)) {
    CompareValues(place + " probability", largest, 0, result);
  }
}

absl::Status CheckAnswers(const std::string& folder, const WindowsName& name,
                          const CheckpointTokenizer& tokenizer,
                          const std::vector<WindowedQuestion>& questions,
                          std::vector<DataCheckResult>& results) {
  const std::string logits_path = absl::StrCat(folder, "/logits.", name.key, ".safetensors");
  const std::string answers_path = absl::StrCat(folder, "/predictions.", name.key, ".json");
  std::error_code error;
  if (!std::filesystem::exists(logits_path, error) ||
      !std::filesystem::exists(answers_path, error)) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(const SafeTensors logits, ReadSafeTensors(logits_path));
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(answers_path, kPredictionsBytesMax));
  const OriginalJson expected = OriginalJson::parse(text);
  BestAnswersOptions options;
  options.generation = name.options.generation;
  options.best = expected.at("n_best_size").get<int64_t>();
  options.tokens_max = expected.at("max_answer_length").get<int64_t>();
  options.lower_case = expected.value("do_lower_case", tokenizer.lower_case());
  DataCheckResult& result = results.emplace_back();
  result.name = absl::StrCat("predictions.", name.key, ".json");
  size_t row = 0;
  for (const WindowedQuestion& question : questions) {
    std::vector<std::vector<float>> values;
    for (size_t i = 0; i < question.windows.size(); ++i, ++row) {
      for (const char* which : {"start_logits", "end_logits"}) {
        CONCUR_ASSIGN_OR_RETURN(values.emplace_back(), RowOf(logits, which, row));
        if (values.back().size() < question.windows[i].ids.size()) {
          return absl::InvalidArgumentError(
              absl::StrCat(logits_path, ": ", which, ": shorter than a window"));
        }
      }
    }
    std::vector<WindowScores> scores;
    for (size_t i = 0; i < values.size(); i += 2) {
      scores.push_back({values[i], values[i + 1]});
    }
    const std::vector<BestAnswer> answers =
        BestAnswers(tokenizer, options, question.passage, question.windows, scores);
    CompareValues(question.id, answers[0].text, expected.at("predictions").at(question.id), result);
    CompareAnswers(question.id, answers, expected.at("nbest").at(question.id), result);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<DataCheckResult>> CheckWindowsFile(
    const std::string& path, const std::vector<std::string>& folders) {
  CONCUR_ASSIGN_OR_RETURN(const WindowsName name, ParseWindowsName(path));
  CONCUR_ASSIGN_OR_RETURN(
      const CheckpointTokenizer tokenizer,
      TokenizerCalled(name.tokenizer, ImplementationOf(name.options.generation), folders));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  CONCUR_ASSIGN_OR_RETURN(
      const std::vector<WindowedQuestion> questions,
      ReadQuestions(absl::StrCat(folder, "/examples.json"), tokenizer, name.options));
  const bool squad = name.options.generation == Generation::kRunSquad;
  std::vector<DataCheckResult> results(1);
  results[0].name = std::filesystem::path(path).filename().string();
  std::map<std::pair<std::string, size_t>, size_t> seen;  // lines of a kind and question
  CONCUR_RETURN_IF_ERROR(
      ForEachLine(path, [&](const OriginalJson& line, int64_t number) -> absl::Status {
        const std::string kind = squad ? line.at("kind").get<std::string>() : "";
        const auto question = line.at(squad ? "example" : "sample").get<size_t>();
        const size_t index = seen[{kind, question}]++;
        const std::string place = absl::StrCat("line ", number);
        if (question >= questions.size() || index >= questions[question].windows.size()) {
          CompareValues(place, "no such window", line, results[0]);
        } else if (squad) {
          CompareSquadWindow(tokenizer, questions[question], index, line, place, results[0]);
        } else {
          CompareQaWindow(tokenizer, questions[question], index, line, place, results[0]);
        }
        return absl::OkStatus();
      }));
  for (size_t i = 0; i < questions.size(); ++i) {
    for (const char* kind : {"dev", "train"}) {
      const bool labels = squad && absl::string_view(kind) == "train";
      const size_t expected = seen[{squad ? kind : "", i}];
      CompareValues(absl::StrCat("windows of question ", i),
                    labels ? questions[i].labels.size() : questions[i].windows.size(), expected,
                    results[0]);
    }
  }
  try {
    CONCUR_RETURN_IF_ERROR(CheckAnswers(folder, name, tokenizer, questions, results));
  } catch (const OriginalJson::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, "/predictions.", name.key, ".json: ", error.what()));
  }
  return results;
}

}  // namespace concur::readers
