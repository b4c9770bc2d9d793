// SPDX-License-Identifier: Apache-2.0
// A room with three passages and annotators who know each other.
#ifndef CONCUR_TESTS_STUDIES_ANNOTATION_SCENE_H_
#define CONCUR_TESTS_STUDIES_ANNOTATION_SCENE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/digest.h"
#include "studies/annotation/event.h"
#include "studies/annotation/room.h"

namespace concur::annotation {

inline const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

inline std::vector<SourcePassage> ThreePassages() {
  return {{"rhine", "Rivers", "The Rhine flows from the Alps to the North Sea."},
          {"danube", "Rivers", "The Danube passes Vienna and Budapest on its way."},
          {"zürich", "Towns", "Zürich lies on the Limmat, a river of 35 km."}};
}

inline KnownQuestion Known() {
  return {{"onboarding1", "", "Bern is the seat of the government."}, "Which town?", {"Bern"}};
}

inline std::string SystemDigest() { return Sha256Of("a system").ToHex(); }

// The part of `text` that is `part`.
inline qa::Span SpanOf(const std::string& text, const std::string& part) {
  const size_t at = text.find(part);
  CONCUR_CHECK(at != std::string::npos);
  return {static_cast<int64_t>(at), static_cast<int64_t>(at + part.size())};
}

class Scene {
 public:
  explicit Scene(Settings settings = {}, std::vector<KnownQuestion> onboarding = {},
                 const std::vector<std::string>& systems = {SystemDigest()})
      : room(Room::Create(ThreePassages(), std::move(onboarding), settings).value()) {
    Event event;
    event.kind = EventKind::kSystem;
    event.systems = systems;
    CONCUR_CHECK(Do(event).ok());
    for (const char* name : {"ada", "bob", "cleo", "dora"}) {
      CONCUR_CHECK(Invite(name).ok());
    }
  }

  absl::Status Do(Event event) {
    event.time = now;
    const absl::Status status = room.Check(event);
    if (status.ok()) {
      room.Apply(event);
      events.push_back(event);
    }
    room.CheckInvariants();
    return status;
  }

  absl::Status Invite(const std::string& name, bool is_reviewer = false) {
    Event event;
    event.kind = EventKind::kAnnotator;
    event.annotator = name;
    event.is_reviewer = is_reviewer;
    event.code_digest = Sha256Of(name).ToHex();
    return Do(event);
  }

  // To write, or to validate the attempt `number`.
  absl::Status Take(const std::string& name, const std::string& passage, int64_t number = 0) {
    Event event;
    event.kind = EventKind::kAssignment;
    event.annotator = name;
    event.passage = passage;
    event.number = number;
    return Do(event);
  }

  Event AttemptOf(const std::string& name, const std::string& passage, const std::string& answer,
                  const std::string& system_answer) {
    Event event;
    event.kind = EventKind::kAttempt;
    event.annotator = name;
    event.passage = passage;
    event.key = absl::StrCat("key", ++keys);
    event.question = absl::StrCat("Where does it go, ", keys, "?");
    for (const SourcePassage& source : room.passages()) {
      if (source.id == passage) {
        event.answer = SpanOf(source.text, answer);
      }
    }
    event.systems = room.systems();
    event.system_answers.assign(event.systems.size(), system_answer);
    return event;
  }

  absl::Status Ask(const std::string& name, const std::string& passage, const std::string& answer,
                   const std::string& system_answer) {
    return Do(AttemptOf(name, passage, answer, system_answer));
  }

  // "": no answer is found.
  absl::Status Validate(const std::string& name, int64_t number, const std::string& answer) {
    Event event;
    event.kind = EventKind::kValidation;
    event.annotator = name;
    event.number = number;
    if (!answer.empty() && static_cast<size_t>(number) <= room.attempts().size()) {
      const Attempt& attempt = room.attempts().at(static_cast<size_t>(number - 1));
      event.answer = SpanOf(room.passages()[attempt.passage].text, answer);
    }
    return Do(event);
  }

  absl::Status Review(const std::string& name, int64_t number, const std::string& verdict) {
    Event event;
    event.kind = EventKind::kReview;
    event.annotator = name;
    event.number = number;
    event.verdict = verdict;
    return Do(event);
  }

  Room room;
  absl::Time now = kStart;
  std::vector<Event> events;  // all that happened
  int keys = 0;
};

}  // namespace concur::annotation

#endif  // CONCUR_TESTS_STUDIES_ANNOTATION_SCENE_H_
