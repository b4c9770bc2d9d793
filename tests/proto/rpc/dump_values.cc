// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "tests/proto/rpc/random_values.h"

namespace concur::testing {
namespace {

std::string Dump(absl::Duration duration) { return absl::FormatDuration(duration); }
std::string Dump(absl::Time time) { return absl::FormatTime(time); }
std::string Quote(const std::string& text) {
  return absl::StrCat("'", absl::CHexEscape(text), "'");
}
std::string Dump(const ParamValue& value) {
  switch (value.index()) {
    case 0:
      return absl::StrCat("bool ", std::get<bool>(value));
    case 1:
      return absl::StrCat("int ", std::get<int64_t>(value));
    case 2:
      return absl::StrFormat("double %a", std::get<double>(value));
    case 3:
      return Quote(std::get<std::string>(value));
    default:
      return absl::StrCat("written ", std::get<WrittenNumber>(value).text);
  }
}
std::string Dump(const Distribution& d) {
  if (const auto* choice = std::get_if<Choice>(&d)) {
    std::string text = choice->is_grid ? "grid" : "choice";
    for (const ParamValue& value : choice->values) {
      absl::StrAppend(&text, " ", Dump(value));
    }
    return text;
  }
  if (const auto* uniform = std::get_if<UniformRange>(&d)) {
    return absl::StrFormat("uniform %a %a", uniform->low, uniform->high);
  }
  if (const auto* log_uniform = std::get_if<LogUniformRange>(&d)) {
    return absl::StrFormat("log %a %a", log_uniform->low, log_uniform->high);
  }
  const auto& range = std::get<IntegerRange>(d);
  return absl::StrCat("integers ", range.low, " ", range.high, " ", range.step);
}
std::string Dump(const std::map<std::string, std::string>& map) {
  std::string text;
  for (const auto& [key, value] : map) {
    absl::StrAppend(&text, " ", Quote(key), "=", Quote(value));
  }
  return text;
}
std::string Dump(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& item : list) {
    absl::StrAppend(&text, " ", Quote(item));
  }
  return text;
}
std::string Dump(const Setting& setting) {
  std::string text;
  for (const auto& [name, value] : setting) {
    absl::StrAppend(&text, " ", Quote(name), "=", Dump(value));
  }
  return text;
}
std::string Dump(const Uses& uses) {
  std::string text;
  for (const auto& [name, units] : uses) {
    absl::StrAppend(&text, " ", Quote(name), "=", units);
  }
  return text;
}
std::string Dump(const Resources& r) {
  return absl::StrCat(r.cpu_millis, "/", r.memory_bytes, "/", r.gpus, "/", r.gpu_share);
}
std::string Dump(const std::optional<DataFile>& file) {
  return file ? absl::StrCat(file->digest.ToHex(), " ", file->bytes, " ", Quote(file->path), " ",
                             file->suffix)
              : "absent";
}
std::string Dump(const KeepPolicy& k) {
  return absl::StrCat(k.systems, k.predictions, k.logs, k.outputs);
}
std::string Dump(const AttemptId& id) {
  return absl::StrCat(id.job.sweep.number, "/", id.job.index, "/", id.attempt.number);
}
std::string Dump(const JobOrder::Input& i) {
  return absl::StrCat(Quote(i.name), i.digest.ToHex(), " ", i.bytes, i.suffix, " ", i.examples_max);
}
std::string Dump(const Environment& e) {
  return absl::StrCat(" environment ", EnvironmentText(e), " ", KeyOfEnvironment(e).ToHex(), " ",
                      e.path, " ", e.bytes, "\n");
}
std::string Dump(const std::optional<uint32_t>& n) { return n ? absl::StrCat(*n) : "-"; }

}  // namespace

std::string Dump(const JobResult& r) {
  std::string text = absl::StrCat(r.succeeded, " ", static_cast<int>(r.failure), " ", r.exit_code,
                                  " ", Quote(r.message), " ", Dump(r.start_time), " ",
                                  Dump(r.run_time), " ", r.memory_bytes_peak, " ", r.resumed_from);
  for (const Metric& m : r.metrics) {
    absl::StrAppend(&text, " ", Quote(m.name), absl::StrFormat("=%a/%d", m.value, m.examples));
  }
  for (const ArtifactRef& a : r.artifacts) {
    absl::StrAppend(&text, " ", static_cast<int>(a.kind), ":", a.digest.ToHex(), ":", a.bytes);
  }
  return text;
}

std::string Dump(const std::optional<Checkpoint>& c) {
  return c ? absl::StrCat(" checkpoint ", c->digest.ToHex(), " ", c->bytes, " ", c->attempt) : "";
}

std::string Dump(const SweepSpec& s) {
  std::string text = absl::StrCat("name ", Quote(s.name), " ", Quote(s.description), "\n");
  for (const ApproachSpec& a : s.approaches) {
    absl::StrAppend(&text, "approach ", Quote(a.name), Dump(a.tags), " v", Quote(a.version),
                    "\n train", Dump(a.train_command), Dump(a.train_resources), " ",
                    Dump(a.train_timeout), Dump(a.train_labels), Dump(a.train_uses), "\n predict",
                    Dump(a.predict_command));
    absl::StrAppend(&text, Dump(a.predict_resources), " ", Dump(a.predict_timeout),
                    Dump(a.predict_labels), Dump(a.predict_uses), "\n defaults",
                    Dump(a.hyperparameters.defaults), " env", Dump(a.env), " rerun ", a.rerun,
                    "\n");
    if (a.code) {
      absl::StrAppend(&text, " code ", a.code->digest.ToHex(), " ", a.code->bytes, " ",
                      a.code->key.ToHex(), "\n");
      for (const CodeFile& file : a.code->files) {
        absl::StrAppend(&text, "  ", file.path, " ", file.digest.ToHex(), " ", file.bytes, " ",
                        file.is_executable, "\n");
      }
    }
    absl::StrAppend(&text, a.environment ? Dump(*a.environment) : "");
    if (a.train_from) {
      absl::StrAppend(&text, " from ", a.train_from->approach, " ", Dump(a.train_from->train_set),
                      "\n");
    }
    for (const auto& [name, distribution] : a.hyperparameters.space) {
      absl::StrAppend(&text, " space ", Quote(name), " ", Dump(distribution), "\n");
    }
  }
  for (const BenchmarkSpec& b : s.benchmarks) {
    absl::StrAppend(&text, "benchmark ", Quote(b.name), Dump(b.tags), " ",
                    static_cast<int>(b.format), " ", Dump(b.train), " ", Dump(b.test), " ",
                    Quote(b.metric), GoalName(b.meaning.goal), ScaleText(b.meaning.scale),
                    Dump(b.labels), Dump(b.uses), Dump(b.parameters), " ", Dump(b.validation_of),
                    "\n");
  }
  for (const TrainSet& t : s.train_sets) {
    absl::StrAppend(&text, "train set ", Quote(t.name), Dump(t.tags), " ", t.seed, " ",
                    t.source_only);
    for (const TrainSet::Part& part : t.parts) {
      absl::StrAppend(&text, " ", part.benchmark, ":", part.examples_max);
    }
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppend(&text, "on ", static_cast<int>(s.evaluate_on));
  for (const uint32_t b : s.evaluate_benchmarks) {
    absl::StrAppend(&text, " ", b);
  }
  for (const ExcludeRule& rule : s.exclude) {
    absl::StrAppend(&text, "\nexclude ", Dump(rule.approach), " ", Dump(rule.train_set), " ",
                    Dump(rule.test_benchmark));
  }
  absl::StrAppend(&text, "\nsettings ", s.random_settings, " ", s.settings_seed, " seeds");
  for (const int64_t seed : s.seeds) {
    absl::StrAppend(&text, " ", seed);
  }
  absl::StrAppend(&text, "\nselect ", static_cast<int>(s.select), " priority ", s.priority,
                  " budget ", s.budget_usd_micros, " keep ", Dump(s.keep), " retry ",
                  s.retry.failures_max, " ", s.retry.lost_max);
  absl::StrAppend(&text, " ", Dump(s.retry.backoff_min), " ", Dump(s.retry.backoff_max), " block ",
                  s.failures_max_per_block, s.imported ? s.imported->ToHex() : "");
  if (s.early_stop) {
    const EarlyStopRule& rule = s.early_stop->rule;
    absl::StrAppend(&text, "\nearly stop ", EarlyStopMethodName(rule.method), " ",
                    Quote(s.early_stop->metric), " ", rule.minimize, " ", rule.min, " ", rule.max,
                    " ", rule.eta);
  }
  if (s.search) {
    absl::StrAppend(&text, "\nsearch ", s.search->on_test, " ", s.search->parallel);
    for (const Proposal& proposal : s.search->proposals) {
      absl::StrAppend(&text, " ", proposal.block, "/", proposal.setting, Dump(proposal.values));
    }
  }
  return text;
}

std::string Dump(const JobOrder& o) {
  std::string text = absl::StrCat(Dump(o.id), " ", o.is_train, Quote(o.owner), Quote(o.sweep_name),
                                  Quote(o.approach), Quote(o.benchmark), Dump(o.command),
                                  Dump(o.env), o.program ? o.program->ToHex() : "");
  absl::StrAppend(&text, Dump(o.setting), " ", o.setting_index, " ", o.seed, " ", Dump(o.resources),
                  " ", o.gpu_mask, " ", o.holds_units, " ", Dump(o.timeout));
  for (const JobOrder::Input& input : o.train) {
    absl::StrAppend(&text, " train ", Dump(input));
  }
  for (const JobOrder::Input& input : o.validation) {
    absl::StrAppend(&text, " validation ", Dump(input));
  }
  absl::StrAppend(&text, o.is_mixture, " ", o.mixture_seed, " ", o.system.ToHex(), " ",
                  o.system_bytes, " ", Dump(o.test), " ", static_cast<int>(o.format), Dump(o.keep));
  if (o.code) {
    absl::StrAppend(&text, " code ", o.code->digest.ToHex(), " ", o.code->bytes, " ",
                    o.code->key.ToHex());
  }
  absl::StrAppend(&text, o.environment ? Dump(*o.environment) : "", Dump(o.checkpoint));
  return text;
}

std::string Dump(const SyncRequest& r) {
  std::string text = absl::StrCat(
      Quote(r.worker.name), Quote(r.worker.incarnation), Quote(r.worker.previous_incarnation),
      Quote(r.worker.host), Quote(r.worker.version), Dump(r.worker.capacity), Dump(r.worker.labels),
      absl::StrJoin(r.worker.notices, "\n"), absl::StrJoin(r.worker.containment, "\n"));
  absl::StrAppend(&text, " ", r.worker.slots, " ", r.sequence, r.draining, r.shutting_down,
                  Dump(r.time_left), Dump(r.wait));
  for (const AttemptId& id : r.running) {
    absl::StrAppend(&text, "\nrunning ", Dump(id));
  }
  for (const FinishedAttempt& finished : r.finished) {
    absl::StrAppend(&text, "\nfinished ", Dump(finished.id), " ", Dump(finished.result),
                    Dump(finished.checkpoint));
  }
  for (const LogChunk& chunk : r.log_chunks) {
    absl::StrAppend(&text, "\nlog ", Dump(chunk.id), " ", chunk.offset, Quote(chunk.data));
  }
  for (const AttemptStep& step : r.steps) {
    absl::StrAppend(&text, "\nstep ", Dump(step.id), " ", step.step.step, Quote(step.step.name),
                    absl::Hex(std::bit_cast<uint64_t>(step.step.value)));
  }
  return text;
}

std::string Dump(const SyncResponse& r) {
  std::string text =
      absl::StrCat(r.drain, Dump(r.lease), Quote(r.artifact_directory), Quote(r.artifact_store_id));
  for (const JobOrder& order : r.start) {
    absl::StrAppend(&text, "\nstart ", Dump(order));
  }
  for (const StopOrder& stop : r.stop) {
    absl::StrAppend(&text, "\nstop ", Dump(stop.id), static_cast<int>(stop.reason));
  }
  for (const ForgetOrder& forget : r.forget) {
    absl::StrAppend(&text, "\nforget ", Dump(forget.id), forget.accepted, Quote(forget.reason));
  }
  for (const LogOrder& log : r.logs) {
    absl::StrAppend(&text, "\nlog ", Dump(log.id), " ", log.offset);
  }
  return text;
}

}  // namespace concur::testing
