// SPDX-License-Identifier: Apache-2.0
#include "tests/power_loss/crash_states.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace concur::testing {

absl::string_view FateName(Fate fate) {
  constexpr absl::string_view kNames[] = {"all lost",   "all kept",  "prefix",
                                          "names only", "data only", "random"};
  return kNames[static_cast<size_t>(fate)];
}

CrashModel::CrashModel(const FileTree& tree) {
  files_[0].is_directory = true;
  seen_[0];
  FileNumber number = 0;
  for (const auto& [path, contents] : tree) {  // a directory before what is in it
    std::string name;
    seen_[DirectoryOf(path, name)][name] = ++number;
    files_[number].is_directory = contents == "/";
    if (files_[number].is_directory) {
      seen_[number];
    } else {
      files_[number].synced = contents;
    }
  }
  synced_ = seen_;
}

FileNumber CrashModel::DirectoryOf(const std::string& path, std::string& name) const {
  FileNumber directory = 0;
  size_t begin = 0;
  for (size_t end = path.find('/'); end != path.npos; end = path.find('/', begin)) {
    directory = seen_.at(directory).at(path.substr(begin, end - begin));
    begin = end + 1;
  }
  name = path.substr(begin);
  return directory;
}

void CrashModel::Change(const NameChange& change, Directories& directories) {
  if (!change.from.empty()) {
    directories[change.from_directory].erase(change.from);
  }
  if (!change.to.empty()) {
    directories[change.to_directory][change.to] = change.file;
  }
}

void CrashModel::AddChange(NameChange change) {
  change.number = ops_;
  Change(change, seen_);
  pending_.push_back(std::move(change));
}

void CrashModel::Apply(const FileOp& op) {
  ++ops_;
  NameChange change;
  change.file = op.file;
  switch (op.kind) {
    case FileOp::Kind::kCreate:
    case FileOp::Kind::kMakeDirectory:
      files_[op.file].is_directory = op.kind == FileOp::Kind::kMakeDirectory;
      if (files_[op.file].is_directory) {
        seen_[op.file];
        synced_[op.file];
      }
      change.to_directory = DirectoryOf(op.path, change.to);
      AddChange(std::move(change));
      break;
    case FileOp::Kind::kWrite:
      files_.at(op.file).pending.push_back({ops_, op.offset, op.data, false});
      break;
    case FileOp::Kind::kTruncate:
      files_.at(op.file).pending.push_back({ops_, op.offset, "", true});
      break;
    case FileOp::Kind::kSync:
      Sync(op.file);
      break;
    case FileOp::Kind::kRename:
      change.from_directory = DirectoryOf(op.path, change.from);
      change.to_directory = DirectoryOf(op.to, change.to);
      AddChange(std::move(change));
      break;
    case FileOp::Kind::kLink:
      change.to_directory = DirectoryOf(op.to, change.to);
      AddChange(std::move(change));
      break;
    case FileOp::Kind::kRemove:
      change.from_directory = DirectoryOf(op.path, change.from);
      AddChange(std::move(change));
      break;
  }
}

void CrashModel::Sync(FileNumber number) {
  File& file = files_.at(number);
  if (!file.is_directory) {
    for (const Write& write : file.pending) {
      Keep(write, file.synced);
    }
    file.pending.clear();
    return;
  }
  for (size_t i = 0; i < pending_.size();) {
    const NameChange change = pending_[i];
    if (!Touches(change, number)) {
      ++i;
      continue;
    }
    Change(change, synced_);
    // Earlier changes of the same names come to nothing.
    const auto here = pending_.begin() + static_cast<ptrdiff_t>(i);
    const auto kept = std::remove_if(pending_.begin(), here, [&](const NameChange& earlier) {
      return !earlier.to.empty() &&
             ((earlier.to_directory == change.from_directory && earlier.to == change.from) ||
              (earlier.to_directory == change.to_directory && earlier.to == change.to));
    });
    i -= static_cast<size_t>(here - kept);
    pending_.erase(pending_.erase(kept, here));
  }
}

bool CrashModel::Touches(const NameChange& change, FileNumber directory) {
  return (!change.from.empty() && change.from_directory == directory) ||
         (!change.to.empty() && change.to_directory == directory);
}

void CrashModel::Keep(const Write& write, std::string& contents) {
  const size_t end = write.offset + write.data.size();
  if (write.truncates || contents.size() < end) {
    contents.resize(end);
  }
  contents.replace(write.offset, write.data.size(), write.data);
}

void CrashModel::KeepSome(const Write& write, Random& random, std::string& contents) {
  const double fate = random.Uniform();
  if (fate < 0.3) {
    return;
  }
  if (fate < 0.6 || write.truncates) {
    Keep(write, contents);
    return;
  }
  Write part = write;
  if (fate < 0.7) {
    // The file is longer and its blocks were not written; what was there stays.
    part.offset = std::max(contents.size(), write.offset + write.data.size());
    part.data.clear();
    Keep(part, contents);
    return;
  }
  const size_t sector = fate < 0.85 ? 512 : 4096;
  const size_t end = write.offset + write.data.size();
  for (size_t at = write.offset; at < end; at = part.offset + part.data.size()) {
    part.offset = at;
    part.data = write.data.substr(at - write.offset, (at / sector + 1) * sector - at);
    if (random.Chance(0.5)) {
      Keep(part, contents);
    }
  }
}

FileTree CrashModel::Crash(Fate fate, Random& random) const {
  const size_t moment = fate == Fate::kPrefix ? random.Below(ops_ + 1) : 0;
  std::map<FileNumber, std::string> contents;
  for (const auto& [number, file] : files_) {
    std::string& bytes = contents[number] = file.synced;
    for (const Write& write : file.pending) {
      if (fate == Fate::kRandom) {
        KeepSome(write, random, bytes);
      } else if (fate == Fate::kNamesOnly) {
        const size_t end = write.offset + write.data.size();
        bytes.resize(write.truncates ? end : std::max(bytes.size(), end));
      } else if (fate == Fate::kAllKept || fate == Fate::kDataOnly || write.number <= moment) {
        Keep(write, bytes);
      }
    }
  }
  Directories directories = synced_;
  for (const NameChange& change : pending_) {
    if (fate == Fate::kAllKept || fate == Fate::kNamesOnly || change.number <= moment ||
        (fate == Fate::kRandom && random.Chance(0.5))) {
      Change(change, directories);
    }
  }
  FileTree tree;
  Build(contents, files_, directories, 0, "", tree);
  return tree;
}

void CrashModel::Build(const std::map<FileNumber, std::string>& contents,
                       const std::map<FileNumber, File>& files, const Directories& directories,
                       FileNumber directory, const std::string& path, FileTree& tree) {
  const auto entries = directories.find(directory);
  if (entries == directories.end()) {
    return;
  }
  for (const auto& [name, number] : entries->second) {
    if (files.at(number).is_directory) {
      tree[path + name] = "/";
      Build(contents, files, directories, number, path + name + "/", tree);
    } else {
      tree[path + name] = contents.at(number);
    }
  }
}

void WriteTree(const FileTree& tree, const std::string& directory) {
  for (const auto& [path, contents] : tree) {
    const std::string to = directory + "/" + path;
    if (contents == "/") {
      std::filesystem::create_directory(to);
      std::filesystem::permissions(to, std::filesystem::perms::owner_all);
    } else {
      std::ofstream file(to, std::ios::binary);
      file << contents;
      CONCUR_CHECK(file.good());
    }
  }
}

FileTree ReadTree(const std::string& directory) {
  FileTree tree;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    std::string& contents = tree[entry.path().string().substr(directory.size() + 1)];
    if (entry.is_directory()) {
      contents = "/";
      continue;
    }
    std::ifstream file(entry.path(), std::ios::binary);
    contents.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return tree;
}

}  // namespace concur::testing
