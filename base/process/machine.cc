// SPDX-License-Identifier: Apache-2.0
#include "base/process/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/file.h"

namespace concur::process {
namespace {

// The numbers in a file of a control group; "max" is left out.
std::vector<int64_t> ReadNumbers(const std::string& path) {
  std::vector<int64_t> numbers;
  const absl::StatusOr<std::string> text = ReadFile(path, 4096);
  if (text.ok()) {
    for (const absl::string_view field :
         absl::StrSplit(*text, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
      int64_t number = 0;
      if (absl::SimpleAtoi(field, &number)) {
        numbers.push_back(number);
      }
    }
  }
  return numbers;
}

int64_t HardwareCpuMillis() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return int64_t{CPU_COUNT(&set)} * 1000;
  }
  return std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN)) * 1000;
}

// Groups of this process, own first, as directories below the mount point.
std::vector<std::string> OwnGroups(const std::string& root, const std::string& controller) {
  std::vector<std::string> groups = {""};
  const absl::StatusOr<std::string> text = ReadFile(root + "/proc/self/cgroup", int64_t{64} * 1024);
  if (!text.ok()) {
    return groups;
  }
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    const std::vector<std::string> controllers =
        fields.size() == 3 ? std::vector<std::string>(absl::StrSplit(fields[1], ','))
                           : std::vector<std::string>{};
    if (std::find(controllers.begin(), controllers.end(), controller) != controllers.end()) {
      // A limit may stand at any level.
      for (std::string path = fields[2]; path.size() > 1; path.resize(path.rfind('/'))) {
        groups.push_back(path);
      }
    }
  }
  return groups;
}

}  // namespace

Machine DetectMachine(const std::string& root) {
  Machine machine;
  machine.cpu_millis = HardwareCpuMillis();
  machine.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  const auto limit = [](int64_t& value, int64_t by) {
    value = by > 0 ? std::min(value, by) : value;
  };
  const std::string mount = root + "/sys/fs/cgroup";
  for (const std::string& group : OwnGroups(root, "")) {
    const std::vector<int64_t> quota = ReadNumbers(mount + group + "/cpu.max");
    if (quota.size() == 2 && quota[1] > 0) {
      limit(machine.cpu_millis, std::max<int64_t>(1, quota[0] * 1000 / quota[1]));
    }
    const std::vector<int64_t> memory = ReadNumbers(mount + group + "/memory.max");
    limit(machine.memory_bytes, memory.empty() ? 0 : memory[0]);
  }
  for (const std::string& group : OwnGroups(root, "cpu")) {
    const std::vector<int64_t> quota =
        ReadNumbers(absl::StrCat(mount, "/cpu", group, "/cpu.cfs_quota_us"));
    const std::vector<int64_t> period =
        ReadNumbers(absl::StrCat(mount, "/cpu", group, "/cpu.cfs_period_us"));
    if (!quota.empty() && !period.empty() && quota[0] > 0 && period[0] > 0) {
      limit(machine.cpu_millis, std::max<int64_t>(1, quota[0] * 1000 / period[0]));
    }
  }
  for (const std::string& group : OwnGroups(root, "memory")) {
    const std::vector<int64_t> memory =
        ReadNumbers(absl::StrCat(mount, "/memory", group, "/memory.limit_in_bytes"));
    limit(machine.memory_bytes, memory.empty() ? 0 : memory[0]);
  }
  return machine;
}

std::vector<std::string> VisibleGpus(absl::string_view variable) {
  std::vector<std::string> names = absl::StrSplit(variable, ',', absl::SkipWhitespace());
  const auto is_none = [](absl::string_view name) {
    int64_t number = 0;
    name = absl::StripAsciiWhitespace(name);
    return name == "NoDevFiles" || name == "none" || name == "void" ||
           (absl::SimpleAtoi(name, &number) && number < 0);
  };
  names.erase(std::find_if(names.begin(), names.end(), is_none), names.end());
  return names;
}

}  // namespace concur::process
