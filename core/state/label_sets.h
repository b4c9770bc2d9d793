// SPDX-License-Identifier: Apache-2.0
// The sets of labels that jobs ask of workers, each stored once and named by a small number, so
// that jobs and queue lanes carry the number. Number 0 is the empty set. A set stays when its
// sweeps go.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_LABEL_SETS_H_
#define CONCUR_CORE_STATE_LABEL_SETS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "core/labels.h"

namespace concur {

class LabelSets {
 public:
  // The number of the set; a set that is new gets the next number.
  uint32_t Add(const Labels& labels);
  // REQUIRES: Add has returned this number, or it is 0.
  const Labels& Get(uint32_t number) const { return sets_[number]; }
  // True if a worker with these labels satisfies the set.
  bool Match(uint32_t number, const Labels& has) const { return LabelsMatch(sets_[number], has); }
  // Match for one worker and many sets, most of them empty. Valid as long as the labels.
  class Matcher {
   public:
    bool operator()(uint32_t number) const {
      return number == 0 ? takes_empty_ : sets_.Match(number, has_);
    }

   private:
    friend class LabelSets;
    Matcher(const LabelSets& sets, const Labels& has)
        : sets_(sets), has_(has), takes_empty_(sets.Match(0, has)) {}

    const LabelSets& sets_;
    const Labels& has_;
    const bool takes_empty_;
  };
  Matcher MatcherOf(const Labels& has) const { return Matcher(*this, has); }
  size_t size() const { return sets_.size(); }  // the empty set included

  // Ends the process when sets and numbers disagree.
  void CheckInvariants() const;

 private:
  std::vector<Labels> sets_ = {Labels()};
  std::map<Labels, uint32_t> numbers_ = {{Labels(), 0}};
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_LABEL_SETS_H_
