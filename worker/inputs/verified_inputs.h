// SPDX-License-Identifier: Apache-2.0
// Cached inputs that are known to be whole. Jobs run as the worker's user, and can write to
// whatever they read.
//
// An input is compared with its digest once. It is still the same as long as the device, inode,
// size and change time of each of its files and folders are what they were before that: only a
// process with privileges can set a change time. Once an hour it is compared again all the same.
//
// Two changes in one tick of the kernel's clock (1 to 10 ms; kernels before 6.13) may leave the
// same change time, so marks count only once the tick after that time has begun. On a tmpfs, writes
// through a mapping change no time: there marks never count.
//
// Thread-safe, but for one name at a time by one thread (Artifacts gives the turns).
#ifndef CONCUR_WORKER_INPUTS_VERIFIED_INPUTS_H_
#define CONCUR_WORKER_INPUTS_VERIFIED_INPUTS_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "core/ids.h"

namespace concur::worker {

// True when an error of reading an input says that its bytes are not what they should be.
bool MeansOtherBytes(const absl::Status& status);

class VerifiedInputs {
 public:
  // Compares the bytes at a path with what they should be. DataLoss: they are others; any other
  // error: nobody can tell.
  using Verify = std::function<absl::Status()>;

  // The generation of the file or folder at `path`, after `verify` where it is needed. As long as
  // the generation is the same, so is the input; after DataLoss the next one is another. An error
  // that tells nothing of the bytes keeps it. Unavailable: it changes during each of several
  // comparisons. A verified input is touched: times tell the next
  // worker what was used lately.
  absl::StatusOr<uint64_t> Look(const std::string& name, const std::string& path,
                                const Verify& verify);
  // True when a Look would give `generation` without any `verify`.
  bool IsSame(const std::string& name, const std::string& path, uint64_t generation);
  // True when no later generation is known.
  bool IsLatest(const std::string& name, uint64_t generation);
  // True when the bytes were others after `generation`. Else whoever wrote there has left them as
  // they were.
  bool HasDiffered(const std::string& name, uint64_t generation);
  // It was removed from the cache.
  void Forget(const std::string& name);

  // An attempt reads it from now on.
  void Begin(const std::string& name, const AttemptId& attempt);
  // It reads it no more. The others that may have changed it since somebody reads it.
  std::vector<AttemptId> End(const std::string& name, const AttemptId& attempt);

 private:
  struct Mark {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t bytes = 0;
    int64_t change_nanos = 0;

    friend auto operator<=>(const Mark&, const Mark&) = default;
  };
  struct Marks {
    std::vector<Mark> all;     // a folder's, also of what is in it; none: they count for nothing
    bool are_settled = false;  // a later change has another time
  };
  struct Known {
    Marks marks;
    uint64_t generation = 0;   // 0: none yet
    uint64_t other_bytes = 0;  // the generation that began when the bytes were last others
    absl::Time verify_time = absl::InfinitePast();
    std::vector<AttemptId> readers;
    std::set<AttemptId> suspects;  // readers of a generation that ended; none without readers
  };

  // Marks of nothing when there is something else than should be, or nothing.
  static absl::StatusOr<Marks> MarksOf(const std::string& path);
  static bool IsLarge(const Marks& marks);
  // Aborted: it was changed while it was compared.
  absl::StatusOr<uint64_t> LookOnce(const std::string& name, const std::string& path,
                                    const Verify& verify, Marks marks);
  static absl::Status Compare(const std::string& path, const Verify& verify, bool is_due,
                              bool was_changed, Marks& marks);

  Mutex mu_;
  uint64_t next_generation_ ABSL_GUARDED_BY(mu_) = 1;
  absl::flat_hash_map<std::string, Known> known_ ABSL_GUARDED_BY(mu_);
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_INPUTS_VERIFIED_INPUTS_H_
