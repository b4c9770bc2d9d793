// SPDX-License-Identifier: Apache-2.0
#include "base/process/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace concur::process {

LogFile::LogFile(std::string path, int64_t bytes_max, std::vector<std::string> secrets)
    : path_(std::move(path)),
      head_bytes_max_(std::max<int64_t>(1, bytes_max / 2)),
      tail_bytes_max_(std::max<int64_t>(1, bytes_max - bytes_max / 2)) {
  if (!secrets.empty()) {
    redactors_ = std::vector<Redactor>(2, Redactor(std::move(secrets)));
  }
}

void LogFile::WriteHead(absl::string_view data) {
  if (!status_.ok() || data.empty()) {
    return;
  }
  if (!fd_.valid()) {
    fd_ = FileDescriptor(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd_.valid()) {
      status_ = ErrnoStatus(errno, path_, "create");
      return;
    }
  }
  status_ = WriteAll(fd_.get(), data, path_);
}

void LogFile::Append(absl::string_view data, bool is_error) {
  if (redactors_.empty()) {
    Add(data);
  } else {
    Add(redactors_[is_error ? 1 : 0].Add(data));
  }
}

void LogFile::EndOutput() {
  for (Redactor& redactor : redactors_) {
    Add(redactor.Finish());
  }
}

void LogFile::Add(absl::string_view data) {
  bytes_seen_ += static_cast<int64_t>(data.size());
  const size_t room = std::min(static_cast<size_t>(head_bytes_max_ - head_bytes_), data.size());
  WriteHead(data.substr(0, room));
  head_bytes_ += static_cast<int64_t>(room);
  data.remove_prefix(room);
  if (data.empty()) {
    return;
  }
  tail_bytes_in_ += static_cast<int64_t>(data.size());
  const size_t capacity = static_cast<size_t>(tail_bytes_max_);
  if (data.size() >= capacity) {
    tail_ = std::string(data.substr(data.size() - capacity));
    tail_begin_ = 0;
    return;
  }
  const size_t grow = std::min(data.size(), capacity - tail_.size());
  tail_.append(data.data(), grow);
  data.remove_prefix(grow);
  while (!data.empty()) {
    const size_t piece = std::min(data.size(), capacity - tail_begin_);
    std::copy_n(data.data(), piece, tail_.begin() + static_cast<std::ptrdiff_t>(tail_begin_));
    tail_begin_ = (tail_begin_ + piece) % capacity;
    data.remove_prefix(piece);
  }
}

absl::Status LogFile::Finish() {
  const int64_t cut = tail_bytes_in_ - static_cast<int64_t>(tail_.size());
  if (cut > 0) {
    WriteHead(absl::StrCat("\n[", cut, " bytes left out: the log is limited to ",
                           head_bytes_max_ + tail_bytes_max_, " bytes]\n"));
  }
  const absl::string_view ring(tail_);
  WriteHead(ring.substr(tail_begin_));
  WriteHead(ring.substr(0, tail_begin_));
  tail_bytes_in_ = static_cast<int64_t>(tail_.size());
  fd_.Reset();
  return status_;
}

std::string LogFile::Last(size_t bytes_max) const {
  std::string last = absl::StrCat(tail_.substr(tail_begin_), tail_.substr(0, tail_begin_));
  if (last.size() < bytes_max && head_bytes_ > 0) {
    const int64_t want = static_cast<int64_t>(bytes_max - last.size());
    const int64_t offset = std::max<int64_t>(0, head_bytes_ - want);
    if (tail_bytes_in_ == static_cast<int64_t>(tail_.size())) {
      last = ReadLogFile(path_, offset, static_cast<size_t>(head_bytes_ - offset)) + last;
    }
  }
  return last.size() > bytes_max ? last.substr(last.size() - bytes_max) : last;
}

std::string ReadLogFile(const std::string& path, int64_t offset, size_t bytes_max) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return "";
  }
  std::string data(bytes_max, '\0');
  size_t size = 0;
  while (size < bytes_max) {
    const ssize_t got =
        pread(fd.get(), data.data() + size, bytes_max - size, offset + static_cast<int64_t>(size));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    size += static_cast<size_t>(got);
  }
  data.resize(size);
  return data;
}

}  // namespace concur::process
