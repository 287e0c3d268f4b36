{{- /* The host that clients dial. */ -}}
{{- define "portico.host" -}}
{{- (urlParse .Values.publicURL).hostname | quote -}}
{{- end }}

{{- /* Refuses what would make all clients of a proxy in front one client: whoever ends
TLS hides their addresses, and its headers count only where it is trusted. */ -}}
{{- define "portico.fronted" -}}
{{- if .passthrough -}}
  {{- if not .root.Values.tls.secret -}}
    {{- fail (printf "%s passes TLS through, so the gateways must terminate it: set tls.secret" .name) -}}
  {{- end -}}
{{- else if not (dig "server" "trustedProxies" list .root.Values.config) -}}
  {{- fail (printf "%s terminates the TLS of clients: config.server.trustedProxies must contain its networks, or all clients would appear with its address" .name) -}}
{{- end -}}
{{- end }}
