// SPDX-License-Identifier: Apache-2.0
// The published tables and figures of the four studies that commands recompute from published
// scores and data sets: the rows of docs/studies.md and the figures of docs/published.csv.
//
// Stateless. The scores and data sets are no part of the repository.
#ifndef CONCUR_TESTS_CLI_COMMANDS_PUBLISHED_ROWS_H_
#define CONCUR_TESTS_CLI_COMMANDS_PUBLISHED_ROWS_H_

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace concur::cli {

using PublishedJson = nlohmann::ordered_json;

// A file of the published tables; "" if it is not on this machine.
std::string TablePath(const std::string& name);

// One printed number beside ours.
struct PublishedFigure {
  std::string unit;
  std::string quantity;
  std::string published;  // as printed
  int decimals = 0;       // digits of `published` after the point
  double ours = 0;

  // True if ours is printed so; half a digit either way.
  bool Agrees() const;
};

struct Comparison {
  std::string published;  // in words, for the row
  std::string ours;
  std::vector<PublishedFigure> figures;
};

struct PublishedRow {
  std::string table;
  std::vector<std::string> args;  // arguments of concur; names that end in .csv or .json are files
  std::string verdict;
  std::function<Comparison(const PublishedJson&)> compare;  // the command's output as JSON
};

// In the order of the documentation.
std::vector<PublishedRow> PublishedRows();

}  // namespace concur::cli

#endif  // CONCUR_TESTS_CLI_COMMANDS_PUBLISHED_ROWS_H_
