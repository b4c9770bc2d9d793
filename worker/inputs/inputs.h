// SPDX-License-Identifier: Apache-2.0
// Brings an attempt's inputs to its run directory: artifacts from the coordinator's store when the
// disk is shared, from the worker's cache, or downloaded; mixtures built once; commands expanded.
#ifndef CONCUR_WORKER_INPUTS_INPUTS_H_
#define CONCUR_WORKER_INPUTS_INPUTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "core/sync/job_order.h"
#include "store/artifacts/directory_store.h"
#include "worker/executor.h"
#include "worker/gateway_client.h"
#include "worker/inputs/cache_index.h"
#include "worker/inputs/code_folders.h"
#include "worker/inputs/input_links.h"
#include "worker/inputs/run_dir.h"
#include "worker/inputs/verified_inputs.h"

namespace concur::worker {

// A file or folder that a job reads, and that stays for as long as the hold lives.
struct HeldFile {
  std::string path;
  CacheHold hold = {};
  std::string name = {};    // in the cache
  uint64_t generation = 0;  // as VerifiedInputs::Look gave it
  std::string label = {};   // as commands name it: "{test}"
};

// An input that is not surely what it was when it was fetched.
struct ChangedInput {
  std::string label;
  bool differed = false;          // its bytes did; else somebody wrote there
  absl::Status error;             // a failure to read it: nobody can tell
  std::vector<AttemptId> others;  // that may have changed it, beside the attempt that asks
};

// The artifacts that a worker can reach. Thread-safe; calls block for as long as data moves.
//
// The cache has a limit: what was used longest ago goes, but never what a HeldFile holds nor what
// was put here and the coordinator does not have yet. It is passed by what is on its way.
class Artifacts {
 public:
  using IsCanceled = ArtifactTransfer::IsCanceled;

  // The cache is WORK/cache, WORK/mixtures and WORK/code; links to it are made in `links`, a
  // directory on the file system of the run directories. What was not used since `unused_since` is
  // removed, but for `live`: artifacts of results that are still to be handed in, as often as they
  // will be withdrawn. `bytes_max` 0: no limit. `notices` gets a line for all that could not be
  // removed. `transfer` outlives this.
  struct CacheLimits {
    int64_t bytes_max = 0;
    absl::Time unused_since = absl::InfinitePast();
  };
  static absl::StatusOr<std::unique_ptr<Artifacts>> Open(const std::string& work_directory,
                                                         std::string links,
                                                         const CacheLimits& limits,
                                                         const std::vector<Digest>& live,
                                                         ArtifactTransfer& transfer,
                                                         std::vector<std::string>& notices);

  // Looks whether the coordinator's store lies on a disk that this process can write to, and uses
  // it from now on if so.
  void SetCoordinatorStore(const CoordinatorStore& store);

  // A file of the cache with the artifact's bytes, verified as VerifiedInputs says. Downloads it,
  // or copies it from a shared store, if need be: what a job can write to is no file of the
  // coordinator's. When several threads want one artifact, one downloads and the rest wait.
  // Unavailable: try again later. NotFound: the coordinator does not have it. DataLoss: damaged.
  absl::StatusOr<HeldFile> Fetch(const Digest& digest, const IsCanceled& is_canceled);
  // The same for what no job sees and is read once, such as a tar: a shared store's own file will
  // do.
  absl::StatusOr<HeldFile> FetchOnce(const Digest& digest, const IsCanceled& is_canceled);

  // True when no input is known to have changed since it was fetched; none is looked at.
  bool AreLatest(const std::vector<HeldFile>& inputs);
  // The attempt runs with these inputs, from now on and no more. The first that is not surely what
  // it was when it was fetched, if any; nobody gets other bytes.
  void BeginUse(const std::vector<HeldFile>& inputs, const AttemptId& attempt);
  std::optional<ChangedInput> EndUse(const std::vector<HeldFile>& inputs, const AttemptId& attempt);

  // Makes an artifact of a regular file, of text, or of what `write` gives; it stays until it is
  // published, or withdrawn, as often as it was put. In a shared store, text is durable after the
  // store's next Sync, and so is a file if `durability` says so: where jobs do not read it, as they
  // do a system.
  absl::StatusOr<FileDigest> PutFile(const std::string& path,
                                     Durability durability = Durability::kDurable);
  absl::StatusOr<FileDigest> Put(absl::string_view data);
  absl::StatusOr<FileDigest> PutStream(
      const std::function<absl::Status(ArtifactStore::Writer&)>& write);

  // The coordinator's store, if it is shared, and how often it failed to sync. What is put there
  // after this is durable after a Sync of the store that leaves failed_syncs() as it was.
  struct PutStart {
    std::shared_ptr<DirectoryStore> store;  // shared: as SharedStore. Null: there is none
    uint64_t failed_syncs = 0;
  };
  PutStart StartPut() const;
  // True when everything that was put since then is at once the coordinator's.
  bool Holds(const PutStart& start) const;

  // Makes sure that the coordinator has an artifact that was put here. Unavailable: try again.
  absl::Status Publish(const Digest& digest, const IsCanceled& is_canceled);
  // Nobody is going to publish this any more.
  void Withdraw(const Digest& digest);

  // The folder with an approach's code, read-only, unpacked if need be. DataLoss when its files are
  // not what `key` says.
  absl::StatusOr<HeldFile> Code(const JobOrder::CodeInput& code, const IsCanceled& is_canceled);

  // The file with a mixture of inputs, built if need be.
  absl::StatusOr<HeldFile> Mixture(const std::vector<JobOrder::Input>& inputs, uint64_t seed,
                                   const IsCanceled& is_canceled);

  // A symbolic link at `path`, in a run directory, to a file that an attempt reads.
  absl::Status Link(const std::string& target, const std::string& path) {
    return links_.Make(target, path);
  }

 private:
  Artifacts(const std::string& root, std::string links, std::unique_ptr<DirectoryStore> cache,
            int64_t cache_bytes_max, ArtifactTransfer& transfer);

  // Shared: the store of the coordinator, which another thread may be using while it changes.
  std::shared_ptr<DirectoryStore> SharedStore() const;
  DirectoryStore& PutStore(const std::shared_ptr<DirectoryStore>& shared) const;
  std::string PathOf(const std::string& name) const;
  // The input's generation, after it was verified if need be. DataLoss, and it is gone from the
  // cache, when its bytes are others. REQUIRES: the caller has the name's turn.
  absl::StatusOr<uint64_t> Look(const std::string& name);
  // False when it is not what it was when it was fetched; an error when nobody can tell.
  absl::StatusOr<bool> IsSame(const HeldFile& input);
  // Brings an artifact to the cache.
  absl::Status Bring(const Digest& digest, const IsCanceled& is_canceled);
  absl::Status Download(const Digest& digest, const IsCanceled& is_canceled);
  // Removes what was not used since `before`, except `live`.
  absl::Status Collect(const absl::flat_hash_set<Digest>& live, absl::Time before);
  // Counts what earlier workers left.
  absl::Status IndexCache();
  // It lies in the cache and was used now.
  void Used(const Digest& digest);
  void MakeRoom();
  void Remove(const std::string& name);
  // Sees to it that what `put` put is there and stays until it is published.
  absl::StatusOr<FileDigest> Keep(const std::function<absl::StatusOr<FileDigest>()>& put);

  // One thread at a time works on a key; the others wait.
  class Turn;

  const std::unique_ptr<DirectoryStore> cache_;
  const std::string mixtures_;
  CodeFolders codes_;
  InputLinks links_;
  ArtifactTransfer& transfer_;
  CacheIndex index_;         // keyed by digests' hexadecimal digits, and names of mixtures and code
  VerifiedInputs verified_;  // by the same names

  mutable Mutex mu_;
  CondVar turn_over_;
  CoordinatorStore coordinator_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<DirectoryStore> shared_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Digest> mixture_digests_ ABSL_GUARDED_BY(mu_);  // those built here
  std::set<std::string> turns_ ABSL_GUARDED_BY(mu_);
  std::map<Digest, int> puts_ ABSL_GUARDED_BY(mu_);  // into the cache, and not withdrawn
};

// The inputs of an attempt, ready to use.
struct PreparedInputs {
  uint32_t resumed_from = 0;         // the attempt whose checkpoint was laid out; 0: none
  std::vector<HeldFile> files = {};  // that the command reads
};

// True when a checkpoint could not be laid out because of what is in it: each attempt would fail by
// it again. All else is this machine's fault.
bool IsFaultOfCheckpoint(const absl::Status& status);

// Puts the inputs of `order` into its run directory: data files as links with the right suffix,
// code as a link to a folder, a system as a link or, if it is a directory, as a copy that the
// command may write to. A train job finds its checkpoint laid out in a directory, which is empty
// when there is none or it cannot be read.
absl::StatusOr<PreparedInputs> PrepareInputs(const JobOrder& order, const RunPaths& paths,
                                             Artifacts& artifacts,
                                             const Artifacts::IsCanceled& is_canceled);

// The command's arguments with all placeholders replaced. A program named by a relative path with a
// "/" is one of the code, if there is any. InvalidArgument.
absl::StatusOr<std::vector<std::string>> ExpandOrder(const JobOrder& order, const RunPaths& paths);

// "NAME=value" for everything that the command may see: `base` (PATH, HOME, LANG, …), then the
// approach's own variables, then Concur's, which win. `gpu_names[i]` is what GPU i is called in
// CUDA_VISIBLE_DEVICES.
std::vector<std::string> BuildEnvironment(const JobOrder& order, const RunPaths& paths,
                                          const std::map<std::string, std::string>& base,
                                          const std::vector<std::string>& gpu_names);

}  // namespace concur::worker

#endif  // CONCUR_WORKER_INPUTS_INPUTS_H_
