// SPDX-License-Identifier: Apache-2.0
#include "cli/output/failures.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/output/print.h"
#include "cli/output/render.h"

namespace concur::cli {
namespace {

const std::string& BenchmarkOf(const v1::Job& job) {
  return job.test_benchmark().empty() ? job.train_set() : job.test_benchmark();
}

}  // namespace

std::string FailureSignature(v1::FailureClass failure, absl::string_view message) {
  std::string signature = absl::StrCat(FailureText(failure), ": ");
  bool in_number = false;
  for (const char c : message) {
    const bool is_digit = absl::ascii_isdigit(static_cast<unsigned char>(c));
    if (!is_digit || !in_number) {
      signature.push_back(is_digit ? '0' : c);
    }
    in_number = is_digit;
  }
  return signature;
}

void FailureGroups::Add(const v1::Job& job) {
  const std::vector<std::string> key = {job.approach(), BenchmarkOf(job), KindText(job.kind()),
                                        FailureSignature(job.failure(), job.result().message())};
  auto it = numbers_.find(key);
  if (it == numbers_.end()) {
    if (groups_.size() == kGroupsMax) {
      ++others_;
      return;
    }
    it = numbers_.emplace(key, groups_.size()).first;
    Group& group = groups_.emplace_back();
    group.example = job;
    group.example.mutable_result()->clear_metrics();
    group.example.mutable_result()->clear_artifacts();
  }
  ++groups_[it->second].jobs;
}

analysis::Table FailureGroups::ToTable() const {
  std::vector<const Group*> sorted;
  for (const Group& group : groups_) {
    sorted.push_back(&group);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Group* a, const Group* b) { return a->jobs > b->jobs; });
  analysis::Table table;
  table.columns = {{"jobs", "JOBS", true}, {"approach", "APPROACH"}, {"benchmark", "BENCHMARK"},
                   {"kind", "KIND"},       {"failure", "FAILURE"},   {"example", "EXAMPLE"},
                   {"message", "MESSAGE"}};
  table.columns[1].width_max = table.columns[2].width_max = 30;
  table.columns[3].drop = 1;
  table.columns[6].width_max = 0;
  table.columns[6].wraps = true;
  for (const Group* group : sorted) {
    const v1::Job& job = group->example;
    table.rows.push_back(
        {analysis::IntegerCell(static_cast<int64_t>(group->jobs), CountText(group->jobs)),
         analysis::TextCell(job.approach()), analysis::TextCell(BenchmarkOf(job)),
         analysis::TextCell(KindText(job.kind())), analysis::TextCell(FailureText(job.failure())),
         analysis::TextCell(job.id()), analysis::TextCell(job.result().message())});
  }
  return table;
}

}  // namespace concur::cli
