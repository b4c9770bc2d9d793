// SPDX-License-Identifier: Apache-2.0
// An artifact through a coordinator, as a worker moves it, and what bounds that on this machine.
//
//   bench_transfer floors FILE DIRECTORY        copy with a sync, SHA-256, gRPC streams of nothing
//   bench_transfer ADDRESS FILE DIRECTORY       upload of FILE, download into a cache in DIRECTORY
//
// Prints one JSON object of seconds.
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "concur/v1/worker.grpc.pb.h"
#include "proto/rpc/channel.h"
#include "proto/rpc/credentials.h"
#include "store/artifacts/directory_store.h"
#include "worker/agent/grpc_gateway.h"

namespace concur {
namespace {

double Seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Takes what comes and gives as much, without a disk and without hashing.
class Nothing final : public v1::WorkerGateway::Service {
 public:
  explicit Nothing(int64_t bytes) : bytes_(bytes) {}

  grpc::Status UploadArtifact(grpc::ServerContext* /*context*/,
                              grpc::ServerReader<v1::UploadArtifactRequest>* reader,
                              v1::UploadArtifactResponse* /*response*/) override {
    v1::UploadArtifactRequest piece;
    while (reader->Read(&piece)) {
    }
    return grpc::Status::OK;
  }
  grpc::Status DownloadArtifact(grpc::ServerContext* /*context*/,
                                const v1::DownloadArtifactRequest* /*request*/,
                                grpc::ServerWriter<v1::DownloadArtifactResponse>* writer) override {
    v1::DownloadArtifactResponse piece;
    piece.set_data(std::string(static_cast<size_t>(rpc::kChunkBytes), 'x'));
    for (int64_t sent = 0; sent < bytes_ && writer->Write(piece); sent += rpc::kChunkBytes) {
    }
    return grpc::Status::OK;
  }

 private:
  const int64_t bytes_;
};

void CopyWithSync(const std::string& from, const std::string& to) {
  const FileDescriptor in(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  const FileDescriptor out(open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  CONCUR_CHECK(in.valid() && out.valid());
  std::string block(size_t{1} << 20, '\0');
  for (ssize_t got = 0; (got = read(in.get(), block.data(), block.size())) > 0;) {
    CONCUR_CHECK_OK(WriteAll(out.get(), {block.data(), static_cast<size_t>(got)}, to));
  }
  CONCUR_CHECK(fsync(out.get()) == 0);
  unlink(to.c_str());
}

nlohmann::json Floors(const std::string& file, const std::string& directory) {
  struct stat info {};
  CONCUR_CHECK(stat(file.c_str(), &info) == 0);
  nlohmann::json floors;
  floors["copy"] = Seconds([&] { CopyWithSync(file, directory + "/copy"); });
  floors["sha256"] = Seconds([&] { CONCUR_CHECK_OK(DigestFile(file).status()); });

  Nothing nothing(info.st_size);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&nothing);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto stub = v1::WorkerGateway::NewStub(
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
  floors["grpc_up"] = Seconds([&] {
    grpc::ClientContext context;
    v1::UploadArtifactResponse response;
    const auto writer = stub->UploadArtifact(&context, &response);
    v1::UploadArtifactRequest piece;
    piece.set_data(std::string(static_cast<size_t>(rpc::kChunkBytes), 'x'));
    for (int64_t sent = 0; sent < info.st_size; sent += rpc::kChunkBytes) {
      CONCUR_CHECK(writer->Write(piece));
    }
    writer->WritesDone();
    CONCUR_CHECK(writer->Finish().ok());
  });
  floors["grpc_down"] = Seconds([&] {
    grpc::ClientContext context;
    const auto reader = stub->DownloadArtifact(&context, {});
    v1::DownloadArtifactResponse piece;
    while (reader->Read(&piece)) {
    }
    CONCUR_CHECK(reader->Finish().ok());
  });
  server->Shutdown();
  return floors;
}

nlohmann::json Transfer(const std::string& address, const std::string& file,
                        const std::string& directory) {
  const auto digest = DigestFile(file);
  CONCUR_CHECK_OK(digest.status());
  auto coordinators = rpc::Coordinators::Make(address, {});
  CONCUR_CHECK_OK(coordinators.status());
  worker::GrpcGateway gateway(*std::move(coordinators), [] {});
  const auto cache = DirectoryStore::Open(directory + "/cache");
  CONCUR_CHECK_OK(cache.status());
  const auto never = [] { return false; };
  nlohmann::json times;
  times["upload"] = Seconds([&] { CONCUR_CHECK_OK(gateway.Upload(digest->digest, file, never)); });
  times["download"] = Seconds([&] {
    const auto writer = (*cache)->NewWriter(digest->digest, Durability::kCache);
    CONCUR_CHECK_OK(writer.status());
    CONCUR_CHECK_OK(gateway.Download(
        digest->digest, 0, [&](absl::string_view data) { return (*writer)->Append(data); }, never));
    CONCUR_CHECK_OK((*writer)->Finish().status());
  });
  return times;
}

}  // namespace
}  // namespace concur

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_transfer floors|ADDRESS FILE DIRECTORY\n");
    return 2;
  }
  const std::string what = argv[1];
  std::cout << (what == "floors" ? concur::Floors(argv[2], argv[3])
                                 : concur::Transfer(what, argv[2], argv[3]))
            << "\n";
  return 0;
}
