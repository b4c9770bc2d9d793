// SPDX-License-Identifier: Apache-2.0
#include "tests/studies/readers/training/small_data.h"

#include <nlohmann/json.hpp>
#include <sstream>

namespace concur::readers {

std::string QuestionsToServe(int passages) {
  std::istringstream data(SmallData(passages));
  std::string lines;
  for (std::string line; std::getline(data, line);) {
    const nlohmann::json passage = nlohmann::json::parse(line);
    const nlohmann::json& question = passage["qas"][0];
    const nlohmann::json asked = {{"id", question["qid"]},
                                  {"passage", passage["context"]},
                                  {"question", question["question"]}};
    lines += asked.dump() + "\n";
  }
  return lines;
}

std::map<std::string, std::string> AnswersServed(const std::string& printed) {
  std::istringstream lines(printed);
  std::map<std::string, std::string> answers;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json one = nlohmann::json::parse(line);
    answers[one["id"].get<std::string>()] = one["answer"].get<std::string>();
  }
  return answers;
}

}  // namespace concur::readers
