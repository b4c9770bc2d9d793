// SPDX-License-Identifier: Apache-2.0
// The named resources of a cluster: how much there is of each, whatever the workers, and how much
// attempts hold. An attempt holds its units from when it is given out, ahead or not, until its
// worker no longer has it.
//
// A resource may have a rate, too: so many attempts that use it are given out in a minute, as from
// a bucket of tokens that holds those of a second. It is empty after a restart, so that no attempts
// of before are given out twice.
//
// Sets of uses are stored once and named by a small number, as LabelSets does. Number 0 is the
// empty set.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_NAMED_RESOURCES_H_
#define CONCUR_CORE_STATE_NAMED_RESOURCES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "core/resources.h"

namespace concur {

class NamedResources {
 public:
  // The set of an attempt whose uses are not known: while it runs, no units are given out.
  static constexpr uint32_t kUnknown = UINT32_MAX;

  struct Resource {
    std::optional<int64_t> amount;                     // nullopt: nobody has set it
    int64_t in_use = 0;                                // more than the amount once that was lowered
    absl::btree_map<uint32_t, int64_t> by_owner = {};  // part of `in_use`; numbers of OwnerLedger
    int64_t per_minute = 0;                            // attempts given out; 0: any number
    absl::Time full_at = absl::InfinitePast();         // when the bucket is full again

    friend bool operator==(const Resource&, const Resource&) = default;
  };

  // The number of the set; a set that is new gets the next number.
  uint32_t Add(const Uses& uses);
  // REQUIRES: Add has returned this number, or it is 0.
  const Uses& Get(uint32_t set) const { return sets_[set]; }
  bool Overlap(uint32_t a, uint32_t b) const;
  // True when no job uses anything.
  bool empty() const { return sets_.size() == 1; }

  // A changed rate begins with an empty bucket.
  void Set(const std::string& name, int64_t amount, int64_t per_minute = 0,
           absl::Time now = absl::InfinitePast());
  void Unset(const std::string& name);
  // The resources that are set or held, by name.
  const std::map<std::string, Resource>& all() const { return resources_; }
  std::optional<int64_t> AmountOf(const std::string& name) const;
  size_t count() const;  // that are set

  // An attempt holds the units of a set, or no longer does. The owner is absent when nobody waits
  // for it any more (Disown), or the job is not known.
  void Take(uint32_t set, std::optional<uint32_t> owner) { Change(set, owner, 1, 1); }
  void Return(uint32_t set, std::optional<uint32_t> owner) { Change(set, owner, -1, -1); }
  void Disown(uint32_t set, uint32_t owner) { Change(set, owner, 0, -1); }

  // True if another attempt may take the units of the set.
  bool HasUnits(uint32_t set) const { return unknown_ == 0 && Lacking(set) == nullptr; }
  // The first resource of the set of which too few units are free; null when there is none.
  const std::string* Lacking(uint32_t set) const;
  // The first of the set whose bucket is empty; null when there is none.
  const std::string* Paced(uint32_t set, absl::Time now) const;
  // An attempt that uses the set is given out.
  void CountStart(uint32_t set, absl::Time now);
  // When the next bucket that is empty has a token; InfiniteFuture.
  absl::Time NextToken(absl::Time now) const;
  // True while an attempt holds nobody knows what.
  bool has_unknown() const { return unknown_ > 0; }
  // The largest part of any of the set's resources that the owner's attempts hold, in millionths,
  // at most kHeldShareMax: more than all once an amount was lowered.
  static constexpr int64_t kHeldShareMax = 10'000'000;
  int64_t ShareHeldBy(uint32_t owner, uint32_t set) const;

  // The free units by name; and how many of `jobs` that use a set could start with it, which they
  // then take.
  std::map<std::string, int64_t> Free() const;
  size_t TakeFrom(std::map<std::string, int64_t>& free, uint32_t set, size_t jobs) const;

  // Ends the process when sets and numbers disagree, or when `recount`, to which all that is held
  // has been added afresh, differs.
  void CheckInvariants(const NamedResources& recount) const;
  // The same sets and amounts, of which nothing is held.
  NamedResources Unheld() const;

 private:
  void Change(uint32_t set, std::optional<uint32_t> owner, int held, int owned);

  std::vector<Uses> sets_ = {Uses()};
  std::map<Uses, uint32_t> numbers_ = {{Uses(), 0}};
  std::map<std::string, Resource> resources_;
  int64_t unknown_ = 0;  // attempts of kUnknown
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_NAMED_RESOURCES_H_
