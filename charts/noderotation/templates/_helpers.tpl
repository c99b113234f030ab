{{/*
The name of the release's objects. That of the Service is made of it, which has to begin with a letter, and with its suffix may
have 63 characters, whatever the release is called.
*/}}
{{- define "noderotation.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 55 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if regexMatch "^[0-9]" .Release.Name -}}
{{- printf "%s-%s" $name .Release.Name | trunc 55 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 55 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 55 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What the controller's Pods are selected by. The component tells them from placeholder Pods, which live beside them. */}}
{{- define "noderotation.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: controller
{{- end -}}

{{/* The labels that every object of the chart has. */}}
{{- define "noderotation.ownLabels" -}}
{{ include "noderotation.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Those, and the operator's, which never take the place of one: the selectors would no longer meet the Pods. */}}
{{- define "noderotation.labels" -}}
{{- $own := include "noderotation.ownLabels" . -}}
{{ $own }}
{{- range $key, $value := .Values.commonLabels }}
{{- if not (hasKey ($own | fromYaml) $key) }}
{{ dict $key $value | toYaml }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "noderotation.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "noderotation.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.create is false: name the ServiceAccount of the controller in serviceAccount.name" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* REPOSITORY:TAG@DIGEST of an image, given as a dictionary of repository, tag and digest. */}}
{{- define "noderotation.image" -}}
{{- .repository -}}
{{- with .tag }}:{{ . }}{{ end -}}
{{- with .digest }}@{{ . }}{{ end -}}
{{- end -}}

{{/* Whom the roles are given to. */}}
{{- define "noderotation.subjects" -}}
subjects:
- kind: ServiceAccount
  name: {{ include "noderotation.serviceAccountName" . | quote }}
  namespace: {{ .Release.Namespace | quote }}
{{- end -}}
