// SPDX-License-Identifier: Apache-2.0
// Candidate answers of a passage: token spans within a sentence that could be phrases. Simple
// rules on the ends of spans replace a parser.
//
// Pure.
#ifndef CONCUR_STUDIES_APPROACHES_CANDIDATES_H_
#define CONCUR_STUDIES_APPROACHES_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "studies/approaches/approach.h"
#include "studies/approaches/text.h"

namespace concur::approaches {

// Spans of at most `tokens_max` tokens in the passage's order, by first token and then by last. A
// span neither starts nor ends with a function word or with punctuation (but "$5" and "5 %" do)
// unless it has one token, and crosses no sentence end, bracket or semicolon. Every token that is
// a word is a candidate; empty only when the passage has no word.
std::vector<TokenSpan> Candidates(const PassageText& passage, int32_t tokens_max);

// The candidates that training treats as right answers: those equal to an answer span without its
// leading article; if there is none, the one with the largest word F1 (of the spans as ranges) with
// an answer, if that is above 0.5. Sorted indexes.
std::vector<int32_t> GoldCandidates(const PassageText& passage, const qa::Question& question,
                                    const std::vector<TokenSpan>& candidates);

// The longest answer of the data in tokens, without leading articles, at most `tokens_max`; 0 when
// no answer is a span of its passage. It limits candidates: where training has only short answers,
// longer ones need not be considered. `passages` are the data's, in order.
int32_t LongestAnswer(const std::vector<PassageText>& passages, const qa::Dataset& data,
                      int32_t tokens_max);

// As above, for approaches that learn nothing else; `tokens_max` when no answer is a span.
int32_t LongestCandidate(const qa::Dataset& data, int32_t tokens_max);

}  // namespace concur::approaches

#endif  // CONCUR_STUDIES_APPROACHES_CANDIDATES_H_
