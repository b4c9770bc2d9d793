// SPDX-License-Identifier: Apache-2.0
// The Helm chart gives what kustomize gives, and its values change what they name. Rendered with
// what Helm is made of: text/template, Sprig and a validator of JSON Schemas.
package chart

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig"
	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"
)

type object = map[string]interface{}

var chart string // the folder that scripts/chart made

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "concur-chart")
	if err != nil {
		panic(err)
	}
	code := 1
	if output, err := exec.Command("../../scripts/chart", folder).CombinedOutput(); err != nil {
		fmt.Printf("scripts/chart: %v\n%s", err, output)
	} else {
		chart = filepath.Join(folder, "concur")
		code = m.Run()
	}
	os.RemoveAll(folder)
	os.Exit(code)
}

// Files as templates see them.
type files struct{}

func (files) Get(name string) string {
	text, err := os.ReadFile(filepath.Join(chart, name))
	if err != nil {
		return ""
	}
	return string(text)
}

func parse(t *testing.T, text string) object {
	t.Helper()
	parsed := object{}
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return parsed
}

// The chart's values with these put over them; null takes a default away, as in Helm.
func coalesce(defaults, values object) object {
	all := object{}
	for key, value := range defaults {
		all[key] = value
	}
	for key, value := range values {
		below, isMap := value.(object)
		old, wasMap := all[key].(object)
		switch {
		case value == nil:
			delete(all, key)
		case isMap && wasMap:
			all[key] = coalesce(old, below)
		default:
			all[key] = value
		}
	}
	return all
}

// Objections of Helm to the values; nil when it takes them.
func refusals(values object) []string {
	result, err := gojsonschema.Validate(
		gojsonschema.NewReferenceLoader("file://"+filepath.Join(chart, "values.schema.json")),
		gojsonschema.NewGoLoader(values))
	if err != nil {
		return []string{err.Error()}
	}
	var texts []string
	for _, problem := range result.Errors() {
		texts = append(texts, problem.String())
	}
	return texts
}

func functions(all *template.Template) template.FuncMap {
	known := sprig.TxtFuncMap()
	delete(known, "env")
	delete(known, "expandenv")
	known["toYaml"] = func(value interface{}) string {
		text, err := yaml.Marshal(value)
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(string(text), "\n")
	}
	known["fromYaml"] = func(text string) object {
		parsed := object{}
		if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
			parsed["Error"] = err.Error()
		}
		return parsed
	}
	known["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	return known
}

// The objects that `helm template --namespace NAMESPACE --values …` prints, by kind and name.
func render(t *testing.T, namespace, values string) map[string]object {
	t.Helper()
	merged := coalesce(parse(t, files{}.Get("values.yaml")), parse(t, values))
	if problems := refusals(merged); problems != nil {
		t.Fatal(problems)
	}
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	names, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	if err != nil || len(names) != 3 {
		t.Fatal(names, err)
	}
	if _, err := all.ParseFiles(names...); err != nil {
		t.Fatal(err)
	}
	data := object{"Values": merged, "Files": files{}, "Chart": parse(t, files{}.Get("Chart.yaml")),
		"Release": object{"Name": "concur", "Namespace": namespace}}
	var text, notes bytes.Buffer
	if err := all.ExecuteTemplate(&text, "objects.yaml", data); err != nil {
		t.Fatal(err)
	}
	if err := all.ExecuteTemplate(&notes, "NOTES.txt", data); err != nil {
		t.Fatal(err)
	}
	return byName(t, text.String())
}

func byName(t *testing.T, text string) map[string]object {
	t.Helper()
	objects := map[string]object{}
	for _, document := range strings.Split("\n"+text, "\n---\n") {
		parsed := parse(t, document)
		if len(parsed) == 0 {
			continue
		}
		name := fmt.Sprintf("%v %v", parsed["kind"], at(t, parsed, "metadata", "name"))
		if objects[name] != nil {
			t.Fatal("twice: ", name)
		}
		objects[name] = parsed
	}
	return objects
}

// Value at a path of keys and indices.
func at(t *testing.T, value interface{}, path ...interface{}) interface{} {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			below, isMap := value.(object)
			if !isMap {
				t.Fatalf("no %v of %v in %v", step, path, value)
			}
			value = below[step]
		case int:
			below, isList := value.([]interface{})
			if !isList || len(below) <= step {
				t.Fatalf("no %v of %v in %v", step, path, value)
			}
			value = below[step]
		}
	}
	return value
}

func expect(t *testing.T, value interface{}, wanted string, path ...interface{}) {
	t.Helper()
	got, err := yaml.Marshal(at(t, value, path...))
	if err != nil || strings.TrimSpace(string(got)) != wanted {
		t.Errorf("%v: expected %s, got %s", path, wanted, got)
	}
}

func kustomize(t *testing.T, components ...string) map[string]object {
	t.Helper()
	folder, err := os.MkdirTemp("../../build", "kustomize")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" +
		"namespace: concur\nresources: [../../k8s/base]\ncomponents:\n"
	for _, component := range components {
		text += "  - ../../k8s/components/" + component + "\n"
	}
	if len(components) == 0 {
		text = strings.TrimSuffix(text, "components:\n")
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command("kubectl", "kustomize", folder).Output()
	if err != nil {
		t.Fatal(err)
	}
	return byName(t, string(output))
}

func TestUnchangedValuesGiveWhatKustomizeGives(t *testing.T) {
	for values, components := range map[string][]string{
		"":                                    {},
		"pools: {enabled: true}":              {"pools"},
		"workers: {enabled: true}":            {"static-workers"},
		"workers: {enabled: true, gpu: true}": {"static-workers", "gpu"},
		"monitoring: {enabled: true}":         {"prometheus"},
		"coordinator: {replicas: 2}":          {"stand-by"},
		"{coordinator: {replicas: 2}, pools: {enabled: true}}": {"pools", "stand-by"},
		"{pools: {enabled: true}, workers: {enabled: true}, monitoring: {enabled: true}}": {
			"pools", "static-workers", "prometheus"},
	} {
		wanted := kustomize(t, components...)
		if wanted["Namespace concur"] == nil {
			t.Fatal("the base has no namespace")
		}
		delete(wanted, "Namespace concur") // helm install --create-namespace
		got := render(t, "concur", values)
		for name, object := range wanted {
			if !reflect.DeepEqual(object, got[name]) {
				t.Errorf("%q: %s differs:\n%v\n%v", values, name, object, got[name])
			}
		}
		if len(got) != len(wanted) {
			t.Errorf("%q: %d objects, not %d", values, len(got), len(wanted))
		}
	}
}

func optionsOf(t *testing.T, objects map[string]object) object {
	t.Helper()
	for name, object := range objects {
		if strings.HasPrefix(name, "ConfigMap concur-options") {
			return parse(t, at(t, object, "data", "coordinator.yaml").(string))["spec"].(map[string]interface{})
		}
	}
	t.Fatal("no options")
	return nil
}

func TestValuesReachWhatTheyName(t *testing.T) {
	got := render(t, "lab", `
image: registry.test/concur@sha256:abc
imagePullPolicy: Never
imagePullSecrets: [pull]
coordinator:
  options: {lease: 1m, quota: {running_jobs_max: 5}}
  storage: {size: 5Gi, storageClass: fast}
  resources: {requests: {cpu: 1, memory: 1Gi}}
  labels: {team: a, app.kubernetes.io/name: other}
  annotations: {note: b}
  nodeSelector: {disk: ssd}
  tolerations: [{key: x, operator: Exists}]
  affinity: {nodeAffinity: {}}
workers:
  enabled: true
  secret: mine
  replicas: 0
  autoscaler: {minReplicas: 2, maxReplicas: 3}
  nodeSelector: {role: batch}
`)
	coordinator := got["StatefulSet concur-coordinator"]
	pod := at(t, coordinator, "spec", "template", "spec")
	for _, list := range []string{"initContainers", "containers"} {
		expect(t, pod, "registry.test/concur@sha256:abc", list, 0, "image")
		expect(t, pod, "Never", list, 0, "imagePullPolicy")
	}
	expect(t, pod, "- name: pull", "imagePullSecrets")
	expect(t, pod, "disk: ssd", "nodeSelector")
	expect(t, pod, "- key: x\n  operator: Exists", "tolerations")
	expect(t, pod, "nodeAffinity: {}", "affinity")
	expect(t, pod, "requests:\n  cpu: 1\n  memory: 1Gi", "containers", 0, "resources")
	expect(t, pod, "--host=concur-coordinator.lab.svc", "initContainers", 0, "args", 2)
	expect(t, coordinator, "5Gi", "spec", "volumeClaimTemplates", 0, "spec", "resources", "requests", "storage")
	expect(t, coordinator, "fast", "spec", "volumeClaimTemplates", 0, "spec", "storageClassName")
	labels := at(t, coordinator, "spec", "template", "metadata", "labels")
	expect(t, labels, "a", "team")
	expect(t, labels, "concur-coordinator", "app.kubernetes.io/name")
	expect(t, coordinator, "b", "spec", "template", "metadata", "annotations", "note")
	options := optionsOf(t, got)
	expect(t, options, "1m", "lease")
	expect(t, options, "5", "quota", "running_jobs_max")
	expect(t, options, "0.0.0.0:7447", "listen")
	for name, object := range got {
		expect(t, object, "lab", "metadata", "namespace")
		if strings.HasPrefix(name, "RoleBinding") {
			expect(t, object, "lab", "subjects", 0, "namespace")
		}
	}
	workers := got["Deployment concur-worker"]
	expect(t, workers, "0", "spec", "replicas")
	pod = at(t, workers, "spec", "template", "spec")
	expect(t, pod, "role: batch", "nodeSelector")
	expect(t, pod, "mine", "containers", 0, "env", 0, "valueFrom", "secretKeyRef", "name")
	expect(t, pod, "mine", "volumes", 2, "secret", "secretName")
	expect(t, got["HorizontalPodAutoscaler concur-worker"], "2", "spec", "minReplicas")
	expect(t, got["HorizontalPodAutoscaler concur-worker"], "3", "spec", "maxReplicas")
	if render(t, "lab", "workers: {enabled: true, autoscaler: {enabled: false}}")["HorizontalPodAutoscaler concur-worker"] != nil {
		t.Error("an autoscaler that nobody wants")
	}
}

func TestACertificateOfOnesOwnAndPools(t *testing.T) {
	got := render(t, "lab", `
image: registry.test/concur:1
coordinator: {tlsSecret: certificate}
pools:
  enabled: true
  specs:
    - {name: small, workers: {max: 3}, resources: {cpus: 1}, kubernetes: {job_images: true}}
    - {name: other, workers: {max: 1}, resources: {cpus: 1}, kubernetes: {image: "mine:2"}}
    - {name: cluster, provider: slurm, workers: {max: 1}, resources: {cpus: 1}}
`)
	pod := at(t, got["StatefulSet concur-coordinator"], "spec", "template", "spec")
	if at(t, pod, "initContainers") != nil {
		t.Error("certificates are made beside those of the Secret")
	}
	expect(t, pod, "certificate", "volumes", 2, "secret", "secretName")
	expect(t, pod, "/etc/concur-tls", "containers", 0, "volumeMounts", 3, "mountPath")
	expect(t, pod, "/etc/concur-tls/ca.crt", "containers", 0, "env", 1, "value")
	options := optionsOf(t, got)
	expect(t, options, "/etc/concur-tls/tls.key", "tls", "key")
	expect(t, options, "/etc/concur-tls/ca.crt", "pilots", "ca")
	expect(t, options, "concur-coordinator.lab.svc:7447", "pilots", "coordinator")
	expect(t, options, "image: registry.test/concur:1\njob_images: true\nservice_account: concur-worker",
		"pools", 0, "kubernetes")
	expect(t, options, "mine:2", "pools", 1, "kubernetes", "image")
	expect(t, options, "null", "pools", 2, "kubernetes")
	if options["pools"].([]interface{})[0].(object)["provider"] != "kubernetes" {
		t.Error("no provider")
	}
	// Without specs: the pools of the component, with this image.
	options = optionsOf(t, render(t, "concur", "{image: \"own:3\", pools: {enabled: true}}"))
	expect(t, options, "own:3", "pools", 0, "kubernetes", "image")
}

func TestARowsDatabaseIsTheSecretsForOneAndTwoCoordinators(t *testing.T) {
	for _, replicas := range []string{"1", "2"} {
		got := render(t, "lab", "coordinator: {replicas: "+replicas+
			", databaseSecret: rows, storage: {size: 5Gi, storageClass: shared}}")
		set := got["StatefulSet concur-coordinator"]
		env := at(t, set, "spec", "template", "spec", "containers", 0, "env").([]interface{})
		expect(t, env, "name: CONCUR_DATABASE\nvalueFrom:\n  secretKeyRef:\n    key: uri\n    name: rows", 0)
		for _, other := range env[1:] {
			if at(t, other, "name") == "CONCUR_DATABASE" {
				t.Error("twice: ", env)
			}
		}
		expect(t, set, replicas, "spec", "replicas")
		if replicas == "2" {
			claim := at(t, got["PersistentVolumeClaim concur-data"], "spec")
			expect(t, claim, "shared", "storageClassName")
			expect(t, claim, "5Gi", "resources", "requests", "storage")
			expect(t, claim, "- ReadWriteMany", "accessModes")
			if at(t, set, "spec", "volumeClaimTemplates") != nil {
				t.Error("each has a volume of its own")
			}
		}
	}
}

// Other options start the coordinator anew, equal ones do not.
func TestOptionsAreInTheAnnotations(t *testing.T) {
	sum := func(values string) interface{} {
		return at(t, render(t, "concur", values)["StatefulSet concur-coordinator"],
			"spec", "template", "metadata", "annotations", "checksum/options")
	}
	short, long := sum("coordinator: {options: {lease: 1m}}"), sum("coordinator: {options: {lease: 2m}}")
	if sum("") != nil || short == nil || short == long || short != sum("coordinator: {options: {lease: 1m}}") {
		t.Error(sum(""), short, long)
	}
}

func TestUnknownValuesAreRefused(t *testing.T) {
	defaults := parse(t, files{}.Get("values.yaml"))
	if problems := refusals(defaults); problems != nil {
		t.Fatal(problems)
	}
	for values, wanted := range map[string]string{
		"imagine: x":                               "imagine",
		"coordinator: {replicas: 3}":               "replicas",
		"workers: {autoscaler: {min: 2}}":          "min",
		"workers: {replicas: many}":                "workers.replicas",
		"image: \"a b\"":                           "image",
		"image: \"\"":                              "image",
		"imagePullPolicy: Sometimes":               "imagePullPolicy",
		"coordinator: {tlsSecret: \"Upper Case\"}": "tlsSecret",
		"pools: {specs: [{workers: {max: 1}}]}":    "name",
	} {
		problems := strings.Join(refusals(coalesce(defaults, parse(t, values))), "; ")
		if !strings.Contains(problems, wanted) {
			t.Errorf("%s: %q", values, problems)
		}
	}
}
