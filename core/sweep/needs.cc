// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/needs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "core/sweep/command_template.h"
#include "core/sweep/params.h"

namespace concur {
namespace {

// `own` is the approach that has the need; absent for a benchmark.
absl::Status CheckNeed(const FieldPath& path, const SweepSpec& spec, uint32_t need,
                       std::optional<uint32_t> own) {
  CONCUR_RETURN_IF_ERROR(CheckIndex(path, need, spec.approaches.size()));
  const ApproachSpec& needed = spec.approaches[need];
  const auto refuse = [&](absl::string_view expected, absl::string_view remedy) {
    return FieldError(path,
                      absl::StrCat("expected ", expected, ", got \"", needed.name, "\"", remedy));
  };
  if (need == own) {
    return refuse("another approach",
                  ", whose jobs ask its own service as {service.url} or {service.socket}");
  }
  if (!needed.service) {
    return refuse("an approach with the field service", ", which has none");
  }
  if (!needed.needs.empty()) {
    return refuse("a service without needs of its own",
                  ", which has some: only jobs can need services; give all of them to the job");
  }
  if (!needed.hyperparameters.space.empty()) {
    return refuse("a service with one setting",
                  ", which has a space of them; give each of its hyperparameters a value by set:");
  }
  for (const char* name : {"model", "seed"}) {
    if (UsesPlaceholder(needed.service->command, name)) {
      return refuse("a service that is the same for all jobs",
                    absl::StrCat(", whose command has {", name, "}"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckList(const FieldPath& path, const SweepSpec& spec,
                       const std::vector<uint32_t>& needs, std::optional<uint32_t> own) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("needs"), needs.size(), kNeedsMax));
  for (size_t i = 0; i < needs.size(); ++i) {
    const FieldPath here = path.Field("needs", i);
    CONCUR_RETURN_IF_ERROR(CheckNeed(here, spec, needs[i], own));
    if (std::find(needs.begin(), needs.begin() + static_cast<int64_t>(i), needs[i]) !=
        needs.begin() + static_cast<int64_t>(i)) {
      return FieldError(
          here, absl::StrCat("\"", spec.approaches[needs[i]].name, "\" stands twice in needs"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<uint32_t> NeedsOf(const SweepSpec& spec, uint32_t approach, uint32_t benchmark) {
  std::vector<uint32_t> needs = spec.approaches[approach].needs;
  for (const uint32_t need : spec.benchmarks[benchmark].needs) {
    if (std::find(needs.begin(), needs.end(), need) == needs.end()) {
      needs.push_back(need);
    }
  }
  return needs;
}

absl::Status CheckNeeds(const SweepSpec& spec, const FieldPath& path) {
  std::vector<bool> is_needed(spec.approaches.size());
  const auto check = [&](const FieldPath& here, const std::vector<uint32_t>& needs,
                         std::optional<uint32_t> own) -> absl::Status {
    CONCUR_RETURN_IF_ERROR(CheckList(here, spec, needs, own));
    for (const uint32_t need : needs) {
      is_needed[need] = true;
    }
    return absl::OkStatus();
  };
  for (uint32_t i = 0; i < spec.approaches.size(); ++i) {
    const ApproachSpec& approach = spec.approaches[i];
    const FieldPath here = path.Field("approaches", i);
    CONCUR_RETURN_IF_ERROR(check(here, approach.needs, i));
    if (!approach.needs.empty() && approach.predict_command.empty()) {
      return FieldError(here.Field("needs"), "expected predict.command, whose jobs need it");
    }
  }
  for (size_t i = 0; i < spec.benchmarks.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(
        check(path.Field("benchmarks", i), spec.benchmarks[i].needs, std::nullopt));
  }
  std::map<std::string, std::string> names;  // by variable of their jobs
  for (size_t i = 0; i < spec.approaches.size(); ++i) {
    const ApproachSpec& approach = spec.approaches[i];
    if (is_needed[i]) {
      const auto [it, is_new] = names.emplace(VariableName(approach.name), approach.name);
      if (!is_new) {
        return FieldError(path.Field("approaches", i).Field("name"),
                          absl::StrCat("expected names of needed services that differ as ",
                                       "variables, got \"", it->second, "\" and \"", approach.name,
                                       "\", which are both $CONCUR_SERVICE_", it->first,
                                       "_…; rename one of them"));
      }
    }
    if (approach.predict_command.empty() && approach.train_command.empty() && approach.service &&
        !is_needed[i]) {
      return FieldError(
          path.Field("approaches", i).Field("service"),
          absl::StrCat("expected predict.command, which asks the service, or ", "needs: [",
                       approach.name, "] of another approach or a benchmark, got neither"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAskedServices(const SweepSpec& spec, uint32_t approach, uint32_t benchmark) {
  const ApproachSpec& asking = spec.approaches[approach];
  const std::vector<uint32_t> needs = NeedsOf(spec, approach, benchmark);
  const FieldPath root;
  const FieldPath path = root.Field("approaches", approach);
  for (const std::string& name : AskedServicesOf(asking.predict_command)) {
    const auto need = std::find_if(needs.begin(), needs.end(),
                                   [&](uint32_t one) { return spec.approaches[one].name == name; });
    if (need == needs.end()) {
      return FieldError(
          path.Field("predict.command"),
          absl::StrCat("expected {service.NAME.url} of a service that the job needs, got \"", name,
                       "\"; give the approach, or the benchmark \"",
                       spec.benchmarks[benchmark].name, "\", needs: [", name, "]"));
    }
    CONCUR_RETURN_IF_ERROR(
        AtField(path.Field("predict.command"),
                CheckAddress(asking.predict_command, absl::StrCat("service.", name),
                             spec.approaches[*need].service->command)));
  }
  return absl::OkStatus();
}

}  // namespace concur
