{{- define "barnabas.labels" -}}
app.kubernetes.io/name: barnabas-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "barnabas.tag" -}}
{{- .Values.image.tag | default .Chart.AppVersion -}}
{{- end }}

{{- define "barnabas.image" -}}
{{- printf "%soperator:%s" .Values.image.prefix (include "barnabas.tag" .) -}}
{{- end }}

{{- define "barnabas.subject" -}}
- kind: ServiceAccount
  name: barnabas-operator
  namespace: {{ .Release.Namespace }}
{{- end }}
