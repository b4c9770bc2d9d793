// SPDX-License-Identifier: Apache-2.0
#include "cli/output/failures.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "proto/rpc/progress.h"

namespace concur::cli {
namespace {

const std::string& BenchmarkOf(const v1::Job& job) {
  return job.test_benchmark().empty() ? job.train_set() : job.test_benchmark();
}

}  // namespace

void FailureGroups::Add(const v1::Job& job) {
  const std::vector<std::string> key = {
      job.approach(), BenchmarkOf(job), KindText(job.kind()),
      absl::StrCat(rpc::FailureGroupOf(job, job.result().message()))};
  auto it = numbers_.find(key);
  if (it == numbers_.end()) {
    if (groups_.size() == kGroupsMax) {
      ++others_;
      return;
    }
    it = numbers_.emplace(key, groups_.size()).first;
    Group& group = groups_.emplace_back();
    group.number = groups_.size() - 1;
    group.example = job;
    group.example.mutable_result()->clear_metrics();
    group.example.mutable_result()->clear_parts();
    group.example.mutable_result()->clear_artifacts();
  }
  ++groups_[it->second].jobs;
}

std::vector<FailureGroups::Group> FailureGroups::SummedGroups() const {
  // Jobs of an approach that failed alike, then those approaches that did on the same benchmarks.
  using Alike = std::vector<std::string>;  // kind and signature, then names
  std::map<Alike, std::vector<size_t>> of_approach;
  for (const auto& [key, number] : numbers_) {
    of_approach[{key[2], key[3], key[0]}].push_back(number);
  }
  std::map<Alike, std::vector<const std::vector<size_t>*>> together;
  for (const auto& [alike, numbers] : of_approach) {
    Alike on = {alike[0], alike[1]};
    for (const size_t number : numbers) {
      on.push_back(BenchmarkOf(groups_[number].example));
    }
    together[on].push_back(&numbers);
  }
  std::vector<Group> summed;
  for (const auto& [on, approaches] : together) {
    Group* sum = nullptr;
    for (const std::vector<size_t>* numbers : approaches) {
      for (const size_t number : *numbers) {
        const Group& group = groups_[number];
        if (sum == nullptr) {
          sum = &summed.emplace_back(group);
        } else {
          sum->jobs += group.jobs;
          if (group.number < sum->number) {
            sum->number = group.number;
            sum->example = group.example;
          }
        }
        sum->approaches.insert(group.example.approach());
        sum->benchmarks.insert(BenchmarkOf(group.example));
      }
    }
  }
  return summed;
}

analysis::Table FailureGroups::ToTable(bool summed) const {
  std::vector<Group> sorted = summed ? SummedGroups() : groups_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Group& a, const Group& b) {
    return a.jobs != b.jobs ? a.jobs > b.jobs : a.number < b.number;
  });
  analysis::Table table;
  table.columns = {{"jobs", "JOBS", true}, {"approach", "APPROACH"}, {"benchmark", "BENCHMARK"},
                   {"kind", "KIND"},       {"failure", "FAILURE"},   {"example", "EXAMPLE"},
                   {"message", "MESSAGE"}};
  table.columns[1].width_max = table.columns[2].width_max = 30;
  table.columns[3].drop = 1;
  table.columns[6].width_max = 0;
  table.columns[6].wraps = true;
  for (const Group& group : sorted) {
    const v1::Job& job = group.example;
    const auto named = [](const std::string& name, const std::set<std::string>& names,
                          absl::string_view kind) {
      return analysis::TextCell(names.size() > kNamesMax ? absl::StrCat(names.size(), " ", kind)
                                : names.empty()          ? name
                                                         : absl::StrJoin(names, ", "));
    };
    table.rows.push_back(
        {analysis::IntegerCell(static_cast<int64_t>(group.jobs), CountText(group.jobs)),
         named(job.approach(), group.approaches, "approaches"),
         named(BenchmarkOf(job), group.benchmarks, "data sets"),
         analysis::TextCell(KindText(job.kind())), analysis::TextCell(FailureText(job.failure())),
         analysis::TextCell(job.id()), analysis::TextCell(job.result().message())});
  }
  return table;
}

}  // namespace concur::cli
