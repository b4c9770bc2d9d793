{{- /*
Each of these takes {object, root} and changes the object, which kustomize made, in place.
*/ -}}

{{- /* Any object: its namespace. */ -}}
{{- define "concur.namespace" -}}
{{- $_ := set .object.metadata "namespace" .root.Release.Namespace -}}
{{- range .object.subjects -}}
{{- $_ := set . "namespace" $.root.Release.Namespace -}}
{{- end -}}
{{- end -}}

{{- /* A StatefulSet or Deployment, with {settings}: what its pods are and where they run. */ -}}
{{- define "concur.pods" -}}
{{- $pod := .object.spec.template.spec -}}
{{- $values := .root.Values -}}
{{- if $values.imagePullPolicy -}}
{{- range concat (default list $pod.initContainers) $pod.containers -}}
{{- $_ := set . "imagePullPolicy" $values.imagePullPolicy -}}
{{- end -}}
{{- end -}}
{{- range $values.imagePullSecrets -}}
{{- $_ := set $pod "imagePullSecrets" (append (default list $pod.imagePullSecrets) (dict "name" .)) -}}
{{- end -}}
{{- /* The manifests' own labels come first: selectors are of them. */ -}}
{{- $_ := merge .object.spec.template.metadata (pick .settings "labels" "annotations") -}}
{{- range $field := list "nodeSelector" "tolerations" "affinity" -}}
{{- with get $.settings $field -}}
{{- $_ := set $pod $field . -}}
{{- end -}}
{{- end -}}
{{- if .settings.resources -}}
{{- $_ := set (first $pod.containers) "resources" .settings.resources -}}
{{- end -}}
{{- end -}}

{{- /* The claim of the coordinator's volume: {claim, root}. */ -}}
{{- define "concur.storage" -}}
{{- $storage := .root.Values.coordinator.storage -}}
{{- if $storage.size -}}
{{- $_ := set .claim.resources.requests "storage" $storage.size -}}
{{- end -}}
{{- if $storage.storageClass -}}
{{- $_ := set .claim "storageClassName" $storage.storageClass -}}
{{- end -}}
{{- end -}}

{{- /* The coordinator's StatefulSet. */ -}}
{{- define "concur.coordinator" -}}
{{- include "concur.pods" (dict "object" .object "root" .root "settings" .root.Values.coordinator) -}}
{{- $settings := .root.Values.coordinator -}}
{{- range .object.spec.volumeClaimTemplates -}}
{{- include "concur.storage" (dict "claim" .spec "root" $.root) -}}
{{- end -}}
{{- $pod := .object.spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- if $settings.databaseSecret -}}
{{- $env := list (dict "name" "CONCUR_DATABASE" "valueFrom" (dict "secretKeyRef" (dict "name" $settings.databaseSecret "key" "uri"))) -}}
{{- range $container.env -}}
{{- if ne .name "CONCUR_DATABASE" -}}
{{- $env = append $env . -}}
{{- end -}}
{{- end -}}
{{- $_ := set $container "env" $env -}}
{{- end -}}
{{- if $settings.tlsSecret -}}
{{- $_ := unset $pod "initContainers" -}}
{{- $_ := set $pod "volumes" (append $pod.volumes (dict "name" "tls" "secret" (dict "secretName" $settings.tlsSecret "defaultMode" 0440))) -}}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts (dict "name" "tls" "mountPath" "/etc/concur-tls" "readOnly" true)) -}}
{{- range $container.env -}}
{{- if eq .name "CONCUR_CA" -}}
{{- $_ := set . "value" "/etc/concur-tls/ca.crt" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- /* New options start the pod anew; kustomize does so by the ConfigMap's name. */ -}}
{{- if include "concur.options-changed" .root -}}
{{- $values := pick .root.Values "image" "pools" "coordinator" | toJson | sha256sum -}}
{{- $_ := set .object.spec.template.metadata.annotations "checksum/options" $values -}}
{{- end -}}
{{- end -}}

{{- /* Yes if the root's options are others than the manifests'. */ -}}
{{- define "concur.options-changed" -}}
{{- if or .Values.coordinator.options .Values.coordinator.tlsSecret (and .Values.pools.enabled .Values.pools.specs) -}}
yes
{{- end -}}
{{- end -}}

{{- /* The ConfigMap of the coordinator's options, where they are changed. */ -}}
{{- define "concur.options" -}}
{{- $values := .root.Values -}}
{{- $file := get .object.data "coordinator.yaml" | fromYaml -}}
{{- if $values.coordinator.tlsSecret -}}
{{- $_ := set $file.spec "tls" (dict "certificate" "/etc/concur-tls/tls.crt" "key" "/etc/concur-tls/tls.key") -}}
{{- if $values.pools.enabled -}}
{{- $_ := set $file.spec.pilots "ca" "/etc/concur-tls/ca.crt" -}}
{{- end -}}
{{- end -}}
{{- if and $values.pools.enabled $values.pools.specs -}}
{{- $pools := list -}}
{{- range $values.pools.specs -}}
{{- $pool := merge (deepCopy .) (dict "provider" "kubernetes") -}}
{{- if eq $pool.provider "kubernetes" -}}
{{- $pool = merge $pool (dict "kubernetes" (dict "image" $values.image "service_account" "concur-worker")) -}}
{{- end -}}
{{- $pools = append $pools $pool -}}
{{- end -}}
{{- $_ := set $file.spec "pools" $pools -}}
{{- end -}}
{{- $_ := mergeOverwrite $file.spec (deepCopy $values.coordinator.options) -}}
{{- $_ := set .object.data "coordinator.yaml" (toYaml $file) -}}
{{- end -}}

{{- /* Yes if a value is a number: zero is one, null and a value that is not there are none. */ -}}
{{- define "concur.is-number" -}}
{{- if has (kindOf .) (list "int" "int64" "float64") -}}
yes
{{- end -}}
{{- end -}}

{{- /* The workers' Deployment. */ -}}
{{- define "concur.workers" -}}
{{- include "concur.pods" (dict "object" .object "root" .root "settings" .root.Values.workers) -}}
{{- $settings := .root.Values.workers -}}
{{- if include "concur.is-number" $settings.replicas -}}
{{- $_ := set .object.spec "replicas" $settings.replicas -}}
{{- end -}}
{{- $pod := .object.spec.template.spec -}}
{{- range (first $pod.containers).env -}}
{{- if eq .name "CONCUR_TOKEN" -}}
{{- $_ := set .valueFrom.secretKeyRef "name" $settings.secret -}}
{{- end -}}
{{- end -}}
{{- range $pod.volumes -}}
{{- if eq .name "credentials" -}}
{{- $_ := set .secret "secretName" $settings.secret -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The workers' HorizontalPodAutoscaler. */ -}}
{{- define "concur.autoscaler" -}}
{{- $autoscaler := .root.Values.workers.autoscaler -}}
{{- range $field := list "minReplicas" "maxReplicas" -}}
{{- $count := get $autoscaler $field -}}
{{- if include "concur.is-number" $count -}}
{{- $_ := set $.object.spec $field $count -}}
{{- end -}}
{{- end -}}
{{- end -}}
