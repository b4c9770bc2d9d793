// SPDX-License-Identifier: Apache-2.0
#include "cli/output/score_columns.h"

#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/output/render.h"
#include "core/job.h"
#include "core/sweep/params.h"
#include "report/json_text.h"

namespace concur::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "columns are written as they lie");

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

template <typename Value>
void AppendValue(Value value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// "depth=2 lr=0.1".
std::string TextOfSetting(const Setting& setting) {
  return absl::StrJoin(setting, " ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, "=", ParamText(entry.second));
  });
}

}  // namespace

const Setting* SettingOf(const Expansion& expansion, uint32_t job) {
  if (job >= expansion.job_count()) {
    return nullptr;
  }
  const JobCoordinates at = expansion.Locate(job);
  return &expansion.SettingOf(at.block, at.setting);
}

ScoreColumns::ScoreColumns(const Expansion& expansion, std::ostream& out)
    : expansion_(expansion), out_(out) {
  // In the order in which Add gives the values.
  for (const auto& [name, type] :
       {std::pair{"job", Type::kInteger}, std::pair{"approach", Type::kName},
        std::pair{"train_set", Type::kName}, std::pair{"benchmark", Type::kName},
        std::pair{"setting", Type::kName}, std::pair{"setting_index", Type::kInteger},
        std::pair{"seed", Type::kInteger}, std::pair{"metric", Type::kName},
        std::pair{"value", Type::kNumber}, std::pair{"low", Type::kNumber},
        std::pair{"high", Type::kNumber}, std::pair{"examples", Type::kInteger},
        std::pair{"state", Type::kName}, std::pair{"worker", Type::kName},
        std::pair{"seconds", Type::kNumber}, std::pair{"hyperparameters", Type::kJson}}) {
    columns_.push_back({name, type, {}, {}, {}});
  }
}

void ScoreColumns::Add(const JobScore& score) {
  at_ = 0;
  const Setting* const setting = SettingOf(expansion_, score.job.index);
  const auto [texts, is_new] = settings_.try_emplace(setting);
  if (is_new && setting != nullptr) {
    texts->second = {TextOfSetting(*setting), SettingJson(*setting).dump()};
  }
  AddInteger(score.job.index);
  AddName(score.approach);
  AddName(score.train_set);
  AddName(score.test_benchmark);
  AddName(texts->second.first);
  AddInteger(score.setting);
  AddInteger(score.seed);
  AddName(score.metric);
  AddNumber(score.value.value_or(kNoNumber));
  AddNumber(score.interval ? score.interval->low : kNoNumber);
  AddNumber(score.interval ? score.interval->high : kNoNumber);
  AddInteger(score.examples);
  AddName(std::string(JobStateName(score.state)));
  AddName(score.worker);
  AddNumber(score.worker.empty() ? kNoNumber : absl::ToDoubleSeconds(score.run_time));
  AddName(texts->second.second);
  if (++rows_ == kPieceRows) {
    WritePiece();
  }
}

void ScoreColumns::Finish() {
  if (rows_ > 0) {
    WritePiece();
  }
  WritePiece();
  out_.flush();
}

void ScoreColumns::AddName(const std::string& name) {
  Column& column = columns_[at_++];
  int32_t number = -1;
  if (!name.empty()) {
    const auto next = static_cast<int32_t>(column.numbers.size());
    const auto [it, is_new] = column.numbers.try_emplace(name, next);
    if (is_new) {
      column.fresh.push_back(name);
    }
    number = it->second;
  }
  AppendValue(number, &column.bytes);
}

void ScoreColumns::AddInteger(int64_t value) { AppendValue(value, &columns_[at_++].bytes); }

void ScoreColumns::AddNumber(double value) { AppendValue(value, &columns_[at_++].bytes); }

void ScoreColumns::WritePiece() {
  nlohmann::ordered_json head = {{"rows", rows_}, {"columns", nlohmann::ordered_json::array()}};
  for (Column& column : columns_) {
    nlohmann::ordered_json one = {{"name", column.name}};
    one["type"] = column.type == Type::kName      ? "name"
                  : column.type == Type::kJson    ? "json"
                  : column.type == Type::kInteger ? "i8"
                                                  : "f8";
    if (column.type == Type::kName || column.type == Type::kJson) {
      one["names"] = std::exchange(column.fresh, {});
    }
    head["columns"].push_back(std::move(one));
  }
  out_ << analysis::JsonLine(head);
  for (Column& column : columns_) {
    out_ << column.bytes;
    column.bytes.clear();
  }
  rows_ = 0;
}

}  // namespace concur::cli
