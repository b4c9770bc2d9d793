// SPDX-License-Identifier: Apache-2.0
// Question and passage as the sequences of limited length that pretrained encoders read: windows
// that go over a long passage. The original library does it in two ways, by its programs run_squad
// (2019) and run_qa (2021), which differ in nearly everything.
//
// Texts are hostile input. Values.
#ifndef CONCUR_STUDIES_READERS_TEXT_WINDOWS_H_
#define CONCUR_STUDIES_READERS_TEXT_WINDOWS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "studies/readers/text/checkpoint_tokenizer.h"
#include "studies/readers/text/piece.h"

namespace concur::readers {

enum class Generation {
  // Python's tokenizers cut each word by itself; the stride is the step between windows; questions
  // are cut; an answer begins where its window has the most context around it.
  kRunSquad,
  // Rust's tokenizers cut the whole text; the stride is the overlap of windows; any window answers.
  kRunQa,
};

// The implementation whose tokenizers the generation reads.
constexpr Implementation ImplementationOf(Generation generation) {
  return generation == Generation::kRunSquad ? Implementation::kPython : Implementation::kRust;
}

struct WindowOptions {
  Generation generation = Generation::kRunQa;
  int64_t length = 384;
  int64_t stride = 128;
  int64_t question_max = 64;  // tokens; 0: questions are not cut
  bool padded = false;        // true if windows count as `length` long, as their labels show
};

struct TokenizedPassage {
  std::string text;
  std::vector<Piece> pieces;
  // For run_squad: words between white space, and the index of the word that each piece is of.
  std::vector<std::pair<uint32_t, uint32_t>> words;
  std::vector<uint32_t> word_of;
};
TokenizedPassage TokenizePassage(const CheckpointTokenizer& tokenizer, Generation generation,
                                 std::string text);

struct Window {
  std::vector<int32_t> ids;   // without padding
  bool two_segments = false;  // the passage is in segment 1; not for tokenizers of RoBERTa's kind
  int64_t passage_at = 0;     // where the passage's pieces begin
  int64_t pieces = 0;         // number of these pieces
  int64_t first_piece = 0;    // the first of them, in the passage
  // For run_squad, of each of the pieces: true if no window has more context around it.
  std::vector<bool> most_context;

  int32_t SegmentAt(int64_t position) const { return two_segments && position >= passage_at; }

  // True if a position is that of a piece of the passage.
  bool InPassage(int64_t position) const {
    return position >= passage_at && position < passage_at + pieces;
  }
};

// The windows of a question about a passage; none where run_squad sees no piece. InvalidArgument
// when the options leave no room for the passage or would never move on. run_qa's original fails
// where a question leaves no more room than the stride; here that question is cut.
absl::StatusOr<std::vector<Window>> MakeWindows(const CheckpointTokenizer& tokenizer,
                                                const WindowOptions& options,
                                                const TokenizedPassage& passage,
                                                absl::string_view question);

// Bytes [begin, end) of the passage. REQUIRES: begin < end <= the passage's size.
struct AnswerPlace {
  uint32_t begin = 0, end = 0;
};

// The first and last position of the answer; (0, 0), which is [CLS], where it is not all inside.
struct Label {
  int64_t first = 0, last = 0;
  bool impossible = true;

  friend bool operator==(const Label&, const Label&) = default;
};

// A label for each window, as the originals find it; none when run_squad leaves out the question,
// since the words do not have the answer's text.
std::vector<Label> LabelWindows(const CheckpointTokenizer& tokenizer, const WindowOptions& options,
                                const TokenizedPassage& passage, const std::vector<Window>& windows,
                                const AnswerPlace& answer);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_WINDOWS_H_
