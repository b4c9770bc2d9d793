// Arguments and environments as exec takes them.
#ifndef CONCUR_BASE_ARGV_H_
#define CONCUR_BASE_ARGV_H_

#include <string>
#include <vector>

namespace concur {

// Pointers into `texts`, which stays as it is while they are used, and a null pointer. exec writes
// to none of them, though its type says so.
inline std::vector<char*> ArgvOf(const std::vector<std::string>& texts) {
  std::vector<char*> argv;
  argv.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    argv.push_back(const_cast<char*>(text.c_str()));
  }
  argv.push_back(nullptr);
  return argv;
}

}  // namespace concur

#endif  // CONCUR_BASE_ARGV_H_
