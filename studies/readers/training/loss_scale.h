// SPDX-License-Identifier: Apache-2.0
// The factor of the loss in half precision, whose smallest numbers are larger than many gradients
// (Micikevicius et al., 2018, section 3.2). It is a power of two and adapts itself: it is halved
// when gradients overflow, and doubled after kUpdatesToDouble updates in which none did.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_TRAINING_LOSS_SCALE_H_
#define CONCUR_STUDIES_READERS_TRAINING_LOSS_SCALE_H_

#include <cstdint>
#include <optional>

namespace concur::readers {

class LossScale {
 public:
  static constexpr double kFirst = 1 << 16;
  static constexpr double kMost = 1 << 24;
  static constexpr int64_t kUpdatesToDouble = 2000;

  LossScale() = default;
  // One that was saved; nullopt for numbers that no scale can have.
  static std::optional<LossScale> From(double value, int64_t good_updates);

  double value() const { return value_; }
  // Updates since the value changed.
  int64_t good_updates() const { return good_updates_; }

  // After an update whose gradients were finite.
  void NoteFinite();
  // After gradients that were not. False when the value is 1 already, so that no smaller one helps.
  bool Lower();

 private:
  double value_ = kFirst;
  int64_t good_updates_ = 0;
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TRAINING_LOSS_SCALE_H_
