// SPDX-License-Identifier: Apache-2.0
// The entries of a worker's cache with their sizes, and which to evict: the least recently used
// one that is not held.
//
// Thread-safe. Knows names and sizes only; the caller moves the bytes.
#ifndef CONCUR_WORKER_INPUTS_CACHE_INDEX_H_
#define CONCUR_WORKER_INPUTS_CACHE_INDEX_H_

#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace concur::worker {

class CacheIndex {
 public:
  // 0: no limit.
  explicit CacheIndex(int64_t bytes_max) : bytes_max_(bytes_max) {}

  // Keeps `name` from now on, as often as Release is called for it, whether or not it lies there.
  // Waits while it is being removed: what is there on return stays.
  void Hold(const std::string& name);
  void Release(const std::string& name);

  // The entry exists and was used now.
  void Use(const std::string& name, int64_t bytes);
  // The same, of an entry as it was before; false when it is not known.
  bool UseAgain(const std::string& name);

  // The next entry to evict while the cache is too large, if any can be: the caller removes it and
  // calls Removed.
  std::optional<std::string> NextToGo();
  void Removed(const std::string& name);

  int64_t bytes() const;

 private:
  struct Item {
    std::string name;
    int64_t bytes = 0;
  };

  const int64_t bytes_max_;

  mutable Mutex mu_;
  CondVar removed_;
  std::list<Item> items_ ABSL_GUARDED_BY(mu_);  // the one used longest ago comes first
  std::unordered_map<std::string, std::list<Item>::iterator> places_ ABSL_GUARDED_BY(mu_);
  std::unordered_map<std::string, int> holds_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> removing_ ABSL_GUARDED_BY(mu_);
  int64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

// Holds a name for as long as it lives. Outlived by the index.
class CacheHold {
 public:
  CacheHold() = default;
  CacheHold(CacheIndex& index, std::string name) : index_(&index), name_(std::move(name)) {
    index.Hold(name_);
  }
  ~CacheHold() {
    if (index_ != nullptr) {
      index_->Release(name_);
    }
  }
  CacheHold(CacheHold&& other) noexcept
      : index_(std::exchange(other.index_, nullptr)), name_(std::move(other.name_)) {}
  CacheHold& operator=(CacheHold&& other) noexcept {
    std::swap(index_, other.index_);
    std::swap(name_, other.name_);
    return *this;
  }

 private:
  CacheIndex* index_ = nullptr;  // null: holds nothing
  std::string name_;
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_INPUTS_CACHE_INDEX_H_
