// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e_gray/gray_trouble.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace concur::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr double kSyncMicrosMin = 20'000;
constexpr double kSyncMicrosMax = 2'000'000;
constexpr int64_t kClockSecondsMax = 30 * 3600;
constexpr int kFaultMillisMin = 100;
constexpr int kAcknowledgementsMax = 4;  // between two faults
constexpr int kHogStopMillis = 200;      // longest single stop of a burst
constexpr int kHogGoMillis = 20;

GrayControl* MapControl(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  CONCUR_CHECK(fd >= 0 && ftruncate(fd, sizeof(GrayControl)) == 0);
  void* mapped = mmap(nullptr, sizeof(GrayControl), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  CONCUR_CHECK(mapped != MAP_FAILED);
  return new (mapped) GrayControl;
}

std::string WorkerName(int worker) { return absl::StrCat("w", worker + 1); }

// For as long as a fault lasts; the clients go on.
void Last(milliseconds duration) { std::this_thread::sleep_for(duration); }

}  // namespace

GrayTrouble::GrayTrouble(Cluster& cluster, uint64_t seed, int workers, int faults,
                         milliseconds longest)
    : cluster_(cluster),
      random_(seed, "gray"),
      workers_(workers),
      faults_(faults),
      longest_(longest) {}

GrayTrouble::~GrayTrouble() {
  for (GrayControl* control : controls_) {
    if (control != nullptr) {
      munmap(control, sizeof(GrayControl));
    }
  }
}

void GrayTrouble::Start() {
  controls_[0] = MapControl(cluster_.File("gray-coordinator"));
  controls_[1] = MapControl(cluster_.File("gray-workers"));
  cluster_.SetCoordinatorEnvironment(
      {{"LD_PRELOAD", CONCUR_GRAY_LIBRARY}, {kGrayFile, cluster_.File("gray-coordinator")}});
  cluster_.Write("options.yaml", kCampaignOptions);
  cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  proxy_.emplace(cluster_.File("proxy"), cluster_.File("socket"));
  cluster_.SetWorkerEnvironment({{"LD_PRELOAD", CONCUR_GRAY_LIBRARY},
                                 {kGrayFile, cluster_.File("gray-workers")},
                                 {"CONCUR_TOKEN_FILE", cluster_.File("data/token")}});
  cluster_.SetServerOfWorkers("unix:" + cluster_.File("proxy"));
  for (int worker = 0; worker < workers_; ++worker) {
    cluster_.StartWorker(WorkerName(worker), 2);
  }
}

void GrayTrouble::Run(CampaignProgress& progress) {
  for (int fault = 0; fault < faults_; ++fault) {
    progress.WaitForMore(static_cast<int>(random_.Between(1, kAcknowledgementsMax)));
    const size_t kind = static_cast<size_t>(fault) % kKinds;
    ++counts_[kind];
    Strike(static_cast<Kind>(kind),
           milliseconds(random_.Between(kFaultMillisMin, static_cast<int>(longest_.count()))));
  }
}

void GrayTrouble::Strike(Kind kind, milliseconds duration) {
  const bool coordinator = random_.Chance(0.6);
  GrayControl& control = *controls_[coordinator ? 0 : 1];
  switch (kind) {
    case Kind::kSlowSync:
      control.sync_micros = static_cast<int64_t>(
          kSyncMicrosMin * std::pow(kSyncMicrosMax / kSyncMicrosMin, random_.Uniform()));
      Last(duration);
      control.sync_micros = 0;
      break;
    case Kind::kHog:
      Hog(coordinator, duration);
      break;
    case Kind::kPause:
      Signal(coordinator, SIGSTOP);
      Last(duration);
      Signal(coordinator, SIGCONT);
      break;
    case Kind::kClock:  // it stays so
      control.clock_seconds = random_.Between(-kClockSecondsMax, kClockSecondsMax);
      break;
    case Kind::kOneWay: {
      const auto direction = random_.Chance(0.5) ? StallProxy::kToTarget : StallProxy::kFromTarget;
      proxy_->Stall(direction, true);
      Last(duration);
      proxy_->Stall(direction, false);
      break;
    }
  }
}

void GrayTrouble::Hog(bool coordinator, milliseconds duration) {
  for (milliseconds passed{0}; passed < duration;) {
    const milliseconds stop(random_.Between(1, kHogStopMillis));
    const milliseconds go(random_.Between(1, kHogGoMillis));
    Signal(coordinator, SIGSTOP);
    Last(stop);
    Signal(coordinator, SIGCONT);
    Last(go);
    passed += stop + go;
  }
}

void GrayTrouble::Signal(bool coordinator, int signal) const {
  if (coordinator) {
    cluster_.SignalCoordinator(signal);
    return;
  }
  for (int worker = 0; worker < workers_; ++worker) {
    cluster_.SignalWorker(WorkerName(worker), signal);
  }
}

int64_t GrayTrouble::syncs_delayed() const {
  return controls_[0]->syncs_delayed + controls_[1]->syncs_delayed;
}

int64_t GrayTrouble::clock_reads() const {
  return controls_[0]->clock_reads + controls_[1]->clock_reads;
}

std::string GrayTrouble::ToString() const {
  return absl::StrCat("slow syncs ", counts_[0], " times (", syncs_delayed(), " delayed), hogs ",
                      counts_[1], ", stops ", counts_[2], ", clocks set ", counts_[3],
                      ", one direction lost ", counts_[4], "\n");
}

}  // namespace concur::testing
