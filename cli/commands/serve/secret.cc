// SPDX-License-Identifier: Apache-2.0
#include <termios.h>
#include <unistd.h>

#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/app/interrupt.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {
namespace {

constexpr size_t kInputBytesMax = 100'000;  // beyond what the coordinator takes

struct SecretFlags {
  std::string name;
};

Json SecretJson(const v1::Secret& secret) {
  Json json = Json::object();
  json["name"] = secret.name();
  json["set_time"] =
      secret.has_set_time() ? Json(FormatIsoTime(TimeOf(secret.set_time()))) : Json();
  return json;
}

// The terminal does not show it, and shows text again also after Ctrl-C.
std::string AskFor(CommandContext& context, const std::string& name) {
  context.err << "Value of " << name << " (not shown): " << std::flush;
  termios before{};
  const bool hides = tcgetattr(STDIN_FILENO, &before) == 0;
  const auto show = [&before, hides] {
    if (hides) {
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    }
  };
  const InterruptScope interrupt([&show] {
    show();
    _exit(kExitInterrupted);
  });
  if (hides) {
    termios hidden = before;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  }
  std::string value;
  std::getline(*context.in, value);
  show();
  context.err << "\n";
  return value;
}

// The whole of standard input but for the end of its last line.
std::string ReadInput() {
  std::string value;
  for (std::istreambuf_iterator<char> at(std::cin), end; at != end && value.size() < kInputBytesMax;
       ++at) {
    value.push_back(*at);
  }
  return std::string(absl::StripSuffix(absl::StripSuffix(value, "\n"), "\r"));
}

absl::Status SetSecret(CommandContext& context, const SecretFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  const std::string value = context.in != nullptr ? AskFor(context, flags.name) : ReadInput();
  CONCUR_ASSIGN_OR_RETURN(const v1::Secret secret, client->SetSecret(flags.name, value));
  PrintDetails(context, {{"set", secret.name()}}, SecretJson(secret));
  return absl::OkStatus();
}

absl::Status ListSecrets(CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::ListSecretsResponse listed,
                          client->Call<v1::ListSecretsResponse>(v1::ListSecretsRequest()));
  Listing listing(context, {{"NAME"}, {"SET"}}, SecretJson(v1::Secret()),
                  "You have no secrets. Set one: concur secret set NAME");
  for (const v1::Secret& secret : listed.secrets()) {
    listing.Add({secret.name(), FormatIsoTime(TimeOf(secret.set_time()))}, SecretJson(secret));
  }
  listing.Print();
  return absl::OkStatus();
}

absl::Status DeleteSecret(CommandContext& context, const SecretFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  v1::DeleteSecretRequest request;
  request.set_name(flags.name);
  CONCUR_RETURN_IF_ERROR(client->CallOnce<v1::DeleteSecretResponse>(request).status());
  Json record = Json::object();
  record["name"] = flags.name;
  record["deleted"] = true;
  PrintDetails(context, {{"deleted", flags.name}}, record);
  return absl::OkStatus();
}

}  // namespace

void AddSecretCommands(Command& app, CommandContext& context) {
  Command* group = app.AddSubcommand("secret", "API keys and the like, which your jobs get");
  const auto flags = std::make_shared<SecretFlags>();
  const auto add = [&](const char* name, const char* about) {
    Command* command = group->AddSubcommand(name, about);
    command->AddOption("name", flags->name, "The secret's name, as secrets: of an approach has it")
        ->TypeName("NAME")
        ->Required();
    return command;
  };
  Command* set = add("set", "Set or replace one; its value comes from standard input");
  set->Footer(
      "Examples:\n"
      "  concur secret set openai < key.txt\n"
      "  concur secret set openai              # asks");
  OnRun(set, context, [flags, &context] { return SetSecret(context, *flags); });
  Command* list = group->AddSubcommand("list", "Names of your secrets; no command prints a value");
  list->Footer("Examples:\n  concur secret list");
  OnRun(list, context, [&context] { return ListSecrets(context); });
  Command* remove = add("delete", "Delete one");
  remove->Footer("Examples:\n  concur secret delete openai");
  OnRun(remove, context, [flags, &context] { return DeleteSecret(context, *flags); });
}

}  // namespace concur::cli
