// A small result as rows of named columns, printed in every output mode.
//
// Values.
#ifndef CONCUR_CLI_RECORDS_H_
#define CONCUR_CLI_RECORDS_H_

#include <string>
#include <vector>

#include "cli/command.h"

namespace concur::cli {

// Every cell is text, in UTF-8; cells of number columns are numbers in JSON.
struct Records {
  struct Column {
    std::string name;
    bool number = false;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

// Prints to `context.out`: an aligned table with a header line, a JSON list of objects, one JSON
// object a line, or CSV.
void Print(const Records& records, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_RECORDS_H_
