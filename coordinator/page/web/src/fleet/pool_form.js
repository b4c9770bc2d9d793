// SPDX-License-Identifier: Apache-2.0
// The fields of a pool as people type them, and the pool's specification as the coordinator takes
// it. What a value may be is the coordinator's business: it is told where its errors belong. Pure
// functions.

const GIB = 2 ** 30;

const linesOf = (text) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

// From the text of a field to its value in the specification.
const KINDS = {
  text: (text) => text.trim(),
  integer: Number,
  cpus: (text) => String(Math.round(1000 * Number(text))),
  gibibytes: (text) => String(Math.round(GIB * Number(text))),
  minutes: (text) => `${Math.round(60_000 * Number(text)) / 1000}s`, // as JSON has no more digits
  lines: linesOf,
  // A line without "=" is a name without a value.
  pairs: (text) =>
    Object.fromEntries(
      linesOf(text).map((line) => {
        const at = line.indexOf("=");
        return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
    ),
};
export const NUMBER_KINDS = ["integer", "cpus", "gibibytes", "minutes"];
// Value of a field whose text the browser does not tell, since it is no number.
export const NO_NUMBER = "no number";
export const LINE_KINDS = ["lines", "pairs", "json"];

// `path`: as errors of the coordinator name the field, after "spec."; `to`: where the value stands
// in the specification, unless that is the path.
const field = (path, label, kind = "text", rest = {}) => ({ path, label, kind, to: path, ...rest });

export const PROVIDERS = [
  ["PROVIDER_LOCAL", "this machine", "local"],
  ["PROVIDER_SLURM", "Slurm", "slurm"],
  ["PROVIDER_KUBERNETES", "Kubernetes", "kubernetes"],
  ["PROVIDER_COMMAND", "programs (Grid Engine, PBS, …)", "command"],
];

export const MAIN_FIELDS = [
  field("name", "Name"),
  field("workers.max", "Workers at most", "integer", { to: "workers_max" }),
  field("workers.min", "Workers always", "integer", { to: "workers_min", hint: "0" }),
  field("resources.cpus", "CPUs of each", "cpus", { to: "resources.cpu_millis" }),
  field("resources.memory", "GiB of each", "gibibytes", { to: "resources.memory_bytes", hint: "what there is" }),
  field("resources.gpus", "GPUs of each", "integer", { hint: "0" }),
];

export const MORE_FIELDS = [
  field("accept.gpus_min", "Only jobs with GPUs", "integer", { to: "gpus_min", hint: "any job" }),
  field("time_limit", "Time limit, minutes", "minutes", { hint: "none" }),
  field("drain_margin", "No new jobs before it, minutes", "minutes", { hint: "1" }),
  field("idle_timeout", "Ends when idle, minutes", "minutes", { hint: "5" }),
  field("start_timeout", "Must call within, minutes", "minutes", { hint: "10" }),
  field("labels", "Labels, name=value", "pairs"),
  field("coordinator", "Coordinator as they reach it", "text", { hint: "as it listens" }),
  field("worker_program", "Worker program", "text", { hint: "beside the coordinator's" }),
  field("work_directory", "Work directory", "text", { hint: "the provider's" }),
  field("setup", "Shell lines before the worker", "lines"),
  field("env_pass", "Variables that jobs see", "lines"),
];

export const PROVIDER_FIELDS = {
  local: [],
  slurm: [
    field("slurm.partition", "Partition"),
    field("slurm.account", "Account"),
    field("slurm.qos", "QOS"),
    field("slurm.constraint", "Constraint"),
    field("slurm.arguments", "Arguments of sbatch", "lines"),
    field("slurm.log_directory", "Directory of logs", "text", { hint: "no logs" }),
    field("slurm.array_max", "Workers of one sbatch", "integer", { hint: "100" }),
  ],
  kubernetes: [
    field("kubernetes.image", "Image"),
    field("kubernetes.worker_image", "Image of the worker", "text", { hint: "the image" }),
    field("kubernetes.namespace", "Namespace"),
    field("kubernetes.service_account", "Service account"),
    field("kubernetes.node_selector", "Node selector, name=value", "pairs"),
    field("kubernetes.gpu_resource", "GPU resource", "text", { hint: "nvidia.com/gpu" }),
    field("kubernetes.image_pull_secrets", "Secrets of the registry", "lines"),
    field("kubernetes.image_pull_policy", "Image pull policy"),
    field("kubernetes.priority_class", "Priority class"),
    field("kubernetes.runtime_class", "Runtime class"),
    field("kubernetes.labels", "Labels of pods, name=value", "pairs"),
    field("kubernetes.annotations", "Annotations of pods, name=value", "pairs"),
    field("kubernetes.env", "Environment, name=value", "pairs"),
    field("kubernetes", "job_images, tolerations, volumes, affinity as JSON", "json", {
      hint: '{"job_images": true, "tolerations": [{"key": "dedicated"}]}',
    }),
  ],
  command: [
    field("command.directory", "Directory of submit, list and cancel"),
    field("command.arguments", "Arguments of submit", "lines"),
    field("command.token_directory", "Directory of the token"),
  ],
};

const settingsOf = (provider) => PROVIDERS.find(([name]) => name === provider)[2];

export const fieldsOf = (provider) => [...MAIN_FIELDS, ...MORE_FIELDS, ...PROVIDER_FIELDS[settingsOf(provider)]];

function put(object, path, value) {
  const names = path.split(".");
  const last = names.pop();
  const within = names.reduce((inner, name) => (inner[name] ??= {}), object);
  within[last] = value;
}

// The specification of what was typed: {PATH: text}; fields that are empty are left out. Throws
// {path, message} for a number or JSON that is none.
export function specOf(provider, typed) {
  const spec = { provider, resources: {} };
  for (const { path, to, kind } of fieldsOf(provider)) {
    const text = typed[path] ?? "";
    if (text.trim() === "") {
      continue;
    }
    if (NUMBER_KINDS.includes(kind) && !Number.isFinite(Number(text))) {
      throw { path, message: "expected a number" };
    }
    if (kind !== "json") {
      put(spec, to, KINDS[kind](text));
      continue;
    }
    let more;
    try {
      more = JSON.parse(text);
    } catch (error) {
      throw { path, message: `expected JSON: ${error.message}` };
    }
    if (more === null || typeof more !== "object" || Array.isArray(more)) {
      throw { path, message: "expected JSON of the form {…}" };
    }
    spec[to] = { ...more, ...spec[to] };
  }
  return spec;
}

// {path, message}: the field of the form that an error of the coordinator is about; path "" for none.
export function placeOf(message, provider) {
  // "spec.setup[1]: expected …", and as JSON is refused: "… (spec.kubernetes): invalid name …".
  const found = /(?:^|\()spec\.([a-z_.]+[a-z_])(?:\[(\d+)\])?[^:\s]*: (.*)$/s.exec(message);
  if (!found) {
    return { path: "", message };
  }
  const [, named, index, rest] = found;
  const fields = [{ path: "provider", to: "provider" }, ...fieldsOf(provider)];
  // JSON is refused by the place of the value.
  const own = fields.find((field) => field.path === named || field.to === named)?.path;
  const paths = fields.map(({ path }) => path);
  const within = paths
    .filter((path) => named === path || named.startsWith(`${path}.`))
    .sort((a, b) => b.length - a.length)[0];
  const path = own ?? within ?? paths.find((one) => one.startsWith(`${named}.`)) ?? "";
  const where = path === "" || (path !== own && within !== named && within !== undefined) ? `${named}: ` : "";
  return { path, message: `${where}${index === undefined ? "" : `${Number(index) + 1}: `}${rest}` };
}
