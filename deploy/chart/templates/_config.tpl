{{- /* The configuration but for what is secret: the values' own, and over it
what this chart decides. */ -}}
{{- define "portico.config" -}}
{{- $given := deepCopy .Values.config -}}
{{- range $path := list "store.dsn" "store.sealKeys" "auth.tokens" "lists.tokenKeys" "server.adminToken" "server.adminTokens" -}}
  {{- $keys := splitList "." $path -}}
  {{- if hasKey (get $given (first $keys) | default dict) (last $keys) -}}
    {{- fail (printf "config.%s would be stored in a ConfigMap: put it into secret.content, or into the Secret of secret.existing" $path) -}}
  {{- end -}}
{{- end -}}
{{- range $where := list .Values.config .Values.secret.content -}}
  {{- if ne (dig "store" "driver" "postgres" $where) "postgres" -}}
    {{- fail "store.driver: the gateways of this chart share a PostgreSQL database; SQLite has one writer, so that neither replicas nor autoscaling could add a gateway" -}}
  {{- end -}}
{{- end -}}
{{- $tls := "terminated" -}}
{{- if .Values.tls.secret -}}
  {{- $tls = dict "cert" "/etc/portico/tls/tls.crt" "key" "/etc/portico/tls/tls.key" -}}
{{- end -}}
{{- $admin := printf "%s-admin" (include "portico.name" .) -}}
{{- $hosts := list $admin (printf "%s.%s" $admin .Release.Namespace) (printf "%s.%s.svc" $admin .Release.Namespace) -}}
{{- $own := dict
  "include" (list "/etc/portico/secret/*.yaml")
  "server" (dict
    "publicURL" .Values.publicURL
    "region" .Values.region
    "listen" "0.0.0.0:8080"
    "admin" "0.0.0.0:8081"
    "adminHosts" (concat (dig "server" "adminHosts" list $given) $hosts | uniq)
    "tls" $tls
    "drain" (dict "delay" (printf "%ds" (int .Values.drain.delay)) "limit" (printf "%ds" (int .Values.drain.limit))))
  "store" (dict "driver" "postgres") -}}
{{- $auth := get $given "auth" | default dict -}}
{{- if not (or (hasKey $auth "issuers") (hasKey $auth "clientCertificates")) -}}
  {{- $_ := set $own "auth" (dict "mode" "tokens") -}}
{{- end -}}
{{- if .Values.upstreamTLS.secret -}}
  {{- $files := dict -}}
  {{- if .Values.upstreamTLS.ca }}{{ $_ := set $files "ca" "/etc/portico/upstream-tls/ca.crt" }}{{ end -}}
  {{- if .Values.upstreamTLS.client -}}
    {{- $_ := set $files "cert" "/etc/portico/upstream-tls/tls.crt" -}}
    {{- $_ := set $files "key" "/etc/portico/upstream-tls/tls.key" -}}
  {{- end -}}
  {{- $_ := set $own "upstream" (dict "tls" $files) -}}
{{- end -}}
{{- mergeOverwrite $given $own | toYaml -}}
{{- end }}
