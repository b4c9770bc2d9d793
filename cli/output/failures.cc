// SPDX-License-Identifier: Apache-2.0
#include "cli/output/failures.h"

#include <algorithm>
#include <cstddef>
#include <map>
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
    group.number = groups_.size() - 1;
    group.example = job;
    group.example.mutable_result()->clear_metrics();
    group.example.mutable_result()->clear_artifacts();
  }
  ++groups_[it->second].jobs;
}

std::vector<FailureGroups::Group> FailureGroups::SummedGroups() const {
  // What failed alike of an approach, then those approaches that did on the same benchmarks.
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
    const size_t benchmarks = on.size() - 2;
    const bool is_one = approaches.size() * benchmarks >= kCellsSummed;
    std::vector<size_t> all;
    for (const std::vector<size_t>* numbers : approaches) {
      all.insert(all.end(), numbers->begin(), numbers->end());
    }
    std::sort(all.begin(), all.end());
    for (const size_t number : all) {
      if (is_one && number != all[0]) {
        summed.back().jobs += groups_[number].jobs;
        continue;
      }
      summed.push_back(groups_[number]);
      if (is_one) {
        summed.back().approaches = approaches.size();
        summed.back().benchmarks = benchmarks;
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
    const auto named = [](const std::string& name, size_t count, absl::string_view kind) {
      return analysis::TextCell(count == 1 ? name : absl::StrCat(count, " ", kind));
    };
    table.rows.push_back(
        {analysis::IntegerCell(static_cast<int64_t>(group.jobs), CountText(group.jobs)),
         named(job.approach(), group.approaches, "approaches"),
         named(BenchmarkOf(job), group.benchmarks, "benchmarks"),
         analysis::TextCell(KindText(job.kind())), analysis::TextCell(FailureText(job.failure())),
         analysis::TextCell(job.id()), analysis::TextCell(job.result().message())});
  }
  return table;
}

}  // namespace concur::cli
