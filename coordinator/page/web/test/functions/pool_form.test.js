// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fieldsOf, NO_NUMBER, placeOf, PROVIDERS, specOf } from "../../src/fleet/pool_form.js";

const { schemas } = JSON.parse(readFileSync(new URL("../../../../../docs/openapi.json", import.meta.url), "utf8")).components;

test("every field of a pool is in the form", () => {
  const typed = new Set(PROVIDERS.flatMap(([name]) => fieldsOf(name).map(({ to }) => to)));
  const asJson = ["kubernetes.job_images", "kubernetes.tolerations", "kubernetes.volumes", "kubernetes.affinity"];
  const leaves = ({ properties }, prefix) =>
    Object.entries(properties).flatMap(([name, schema]) => {
      const inner = schemas[schema.$ref?.split("/").at(-1)];
      return inner ? leaves(inner, `${prefix}${name}.`) : [`${prefix}${name}`];
    });
  const missing = leaves(schemas.PoolSpec, "").filter((path) => !typed.has(path));
  const ofJobs = ["resources.gpu_share"]; // a worker has whole GPUs
  assert.deepEqual(missing.sort(), ["provider", ...asJson, ...ofJobs].sort());
  assert.deepEqual(
    schemas.PoolSpec.properties.provider.enum.slice(1),
    PROVIDERS.map(([name]) => name),
  );
});

test("what is typed becomes the specification; what is not is left out", () => {
  const typed = {
    name: " gpus ",
    "workers.max": "4",
    "workers.min": " ",
    "resources.cpus": "1.5",
    "resources.memory": "0.5",
    time_limit: "90",
    labels: "site=cellar\n\nrack = b=2\nalone",
    setup: "module load python\n  cd /tmp  ",
    "slurm.partition": "batch",
    "kubernetes.image": "of another provider",
  };
  assert.deepEqual(specOf("PROVIDER_SLURM", typed), {
    provider: "PROVIDER_SLURM",
    name: "gpus",
    workers_max: 4,
    resources: { cpu_millis: "1500", memory_bytes: String(2 ** 29) },
    time_limit: "5400s",
    labels: { site: "cellar", rack: "b=2", alone: "" },
    setup: ["module load python", "cd /tmp"],
    slurm: { partition: "batch" },
  });
  assert.deepEqual(specOf("PROVIDER_LOCAL", {}), { provider: "PROVIDER_LOCAL", resources: {} });
});

test("a number that is none is refused at its field; minutes have whole milliseconds", () => {
  for (const path of ["workers.max", "resources.cpus", "resources.memory", "time_limit"]) {
    for (const text of [NO_NUMBER, "4x", "1e999"]) {
      assert.throws(
        () => specOf("PROVIDER_LOCAL", { [path]: text }),
        (failure) => failure.path === path && failure.message === "expected a number",
      );
    }
  }
  assert.equal(specOf("PROVIDER_LOCAL", { time_limit: "0.57" }).time_limit, "34.2s");
});

test("settings as JSON stand beside those of the fields, which win", () => {
  const typed = { "kubernetes.image": "a:1", kubernetes: '{"image": "b:1", "tolerations": [{"key": "k"}]}' };
  assert.deepEqual(specOf("PROVIDER_KUBERNETES", typed).kubernetes, { image: "a:1", tolerations: [{ key: "k" }] });
  for (const text of ["{", "[]", "null", "3"]) {
    assert.throws(
      () => specOf("PROVIDER_KUBERNETES", { kubernetes: text }),
      ({ path, message }) => path === "kubernetes" && message.startsWith("expected JSON"),
    );
  }
});

test("an error stands at its field", () => {
  const at = (message, provider = "PROVIDER_KUBERNETES") => placeOf(message, provider);
  assert.deepEqual(at("spec.workers.max: expected 1 to 10000, got 0"), {
    path: "workers.max",
    message: "expected 1 to 10000, got 0",
  });
  assert.deepEqual(at("spec.resources: expected some CPU, got 0 CPUs").path, "resources.cpus");
  assert.deepEqual(at("spec.setup[1]: expected one line"), { path: "setup", message: "2: expected one line" });
  assert.deepEqual(at("spec.labels.site: too long"), { path: "labels", message: "labels.site: too long" });
  assert.deepEqual(at("spec.kubernetes.volumes[0].path: expected an absolute path"), {
    path: "kubernetes",
    message: "kubernetes.volumes: 1: expected an absolute path",
  });
  assert.equal(at("spec.kubernetes.image: no").path, "kubernetes.image");
  assert.equal(at("spec.provider: this coordinator has no provider").path, "provider");
  assert.equal(
    at("CreatePool: expected the JSON of CreatePoolRequest: INVALID_ARGUMENT:(spec.kubernetes): invalid name x").path,
    "kubernetes",
  );
  const refused = (named) => at(`CreatePool: expected the JSON: INVALID_ARGUMENT:(spec.${named}): invalid value x`);
  assert.deepEqual(refused("workers_max"), { path: "workers.max", message: "invalid value x" });
  assert.equal(refused("resources.cpu_millis").path, "resources.cpus");
  assert.equal(refused("gpus_min").path, "accept.gpus_min");
  assert.deepEqual(at('there is a pool "a" already'), { path: "", message: 'there is a pool "a" already' });
  assert.equal(at("spec.slurm.qos: another provider's", "PROVIDER_LOCAL").path, "");
});
