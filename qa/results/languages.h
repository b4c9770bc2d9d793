// SPDX-License-Identifier: Apache-2.0
// Languages that the name of a subset tells, as old result files have no other field for them.
//
// Pure functions.
#ifndef CONCUR_QA_RESULTS_LANGUAGES_H_
#define CONCUR_QA_RESULTS_LANGUAGES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur::imports {

// For each language of "en", "zh-CN", "it-en" or "eng_Latn-deu_Latn" its codes by ISO 639-3, of
// which a macrolanguage has several ({"zho", "cmn"}). Empty for what names none ("default").
std::vector<std::vector<std::string>> LanguagesInName(absl::string_view subset);

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_LANGUAGES_H_
