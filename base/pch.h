// SPDX-License-Identifier: Apache-2.0
// Headers that nearly every file includes; compiled once. A file still names
// what it uses, so that it compiles without this one (the clang preset does).
#ifndef CONCUR_BASE_PCH_H_
#define CONCUR_BASE_PCH_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#endif  // CONCUR_BASE_PCH_H_
