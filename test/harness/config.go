package harness

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"text/template"
)

// API versions that every type of the test configuration supports.
const (
	Version        = "2024-01-01"
	VersionPreview = "2024-06-01-preview"
	VersionOld     = "2023-01-01" // older than ETags
)

// The default subscription and tenant of the test configuration.
const (
	SubscriptionID = "00000000-0000-0000-0000-000000000001"
	TenantID       = "00000000-0000-0000-0000-0000000000aa"
)

// Token is a static bearer token with its principal.
type Token struct {
	Raw      string // sent by the client; the file contains only its SHA-256
	TenantID string
	ObjectID string
	Name     string
}

// SHA256 is the token's form in the configuration.
func (t Token) SHA256() string {
	sum := sha256.Sum256([]byte(t.Raw))
	return hex.EncodeToString(sum[:])
}

// Subscription is a subscription in the configuration.
type Subscription struct {
	ID          string
	TenantID    string
	DisplayName string
	State       string
	// Uncovered: it may hold resources older than Portico.
	Uncovered bool
}

// Config is what a test may vary in Portico's configuration file. The zero value, with
// Endpoints, is complete: plain HTTP, no authentication, one subscription.
type Config struct {
	// Endpoints are base URLs by region name, including "global"; commas separate several
	// of one region.
	Endpoints map[string]string
	// Tokens turns on static tokens; without any, auth is none.
	Tokens []Token
	// Auth is YAML of the auth section beside Tokens, indented by two spaces.
	Auth string
	// Owners may do everything without a role, by their object ids; nil stands for those of
	// all Tokens and for IssuedTo, an empty list for no one.
	Owners []string
	// OwnersAt are the scopes of further owners, by their object ids.
	OwnersAt map[string][]string
	// TLS makes the public listener use TLS with a new certificate.
	TLS bool
	// Listen is the address of the public listener, if a test must know it beforehand; a
	// free one by default.
	Listen string
	// PublicURL is Portico's public URL; its own address by default.
	PublicURL string
	// Postgres is the DSN of a PostgreSQL database for the state; the default is this
	// Portico's own SQLite file.
	Postgres string
	// ComputeRegistration and InsightRegistration are "automatic" by default.
	ComputeRegistration string
	InsightRegistration string
	// ComputeTLS and InsightTLS are YAML for the tls of a provider, "" for none.
	ComputeTLS, InsightTLS string
	// ComputeSpec is the OpenAPI document of virtual machines, which then judge plans; ""
	// for none.
	ComputeSpec string
	// InsightInternal are the internal subscriptions of Contoso.Insight.
	InsightInternal []string
	// Subscriptions replace the default one.
	Subscriptions []Subscription
	// Regions are names of further regions beside RegionNames.
	Regions []string
	// EastUS is the display name of eastus, "East US" by default.
	EastUS string
	// NoETags omits that network interfaces and workspaces have ETags, so that Portico's
	// own deletes of these have no condition.
	NoETags bool
	// Providers is YAML for the list of providers, its items indented by two spaces.
	Providers string
	// Drain is how Portico stops, {delay: 10ms, limit: 20s} by default.
	Drain string
	// Name is the cloud's name, "Portico test" by default.
	Name string
	// LoginEndpoint is where clients sign in; by default an unused address.
	LoginEndpoint string
	// Metadata is YAML for the metadata section, indented by two spaces.
	Metadata string
	// Server is YAML for the server section, indented by two spaces.
	Server string
	// Program is run in place of the program under test, such as one of an earlier version.
	Program string
	// Failpoints uses the program with failpoints; Rules are their rules at its start.
	Failpoints bool
	Rules      string
	// LogFile is the path of the file that takes Portico's log, by default one that goes
	// with the test.
	LogFile string
	// Environment is added to that of the process, as "name=value".
	Environment []string
	// Extra is YAML at the end: whole sections, such as limits or index.
	Extra string
}

// RegionNames are the regions of the test configuration, in its order.
func RegionNames() []string { return []string{"westus", "eastus", "northeurope"} }

// SteeringHeaders are those by which a client tells contoso how to answer. The region
// map must list them.
func SteeringHeaders() []string {
	return []string{"X-Contoso-Async", "X-Contoso-Duration", "X-Contoso-Fault", "X-Contoso-Operation-Path", "X-Contoso-Outcome", "X-Contoso-Page-Size", "X-Contoso-Retry-After"}
}

func steering() string { return strings.Join(SteeringHeaders(), ", ") }

// file is the template's input: the test's configuration and the addresses.
type file struct {
	Config
	Listen, Admin string
	Certificate   Certificate
	Database      string
}

// AllOwners are those who need no role, each once.
func (f file) AllOwners() (all []Token) {
	if f.Owners != nil {
		for _, id := range f.Owners {
			all = append(all, Token{ObjectID: id, TenantID: f.TenantOf(id)})
		}
		return all
	}
	all = []Token{{ObjectID: IssuedTo, TenantID: TenantID}}
	for _, token := range f.Tokens {
		if !slices.ContainsFunc(all, func(o Token) bool { return o.ObjectID == token.ObjectID && o.TenantID == token.TenantID }) {
			all = append(all, token)
		}
	}
	return all
}

// TenantOf is the tenant of the caller with an object id.
func (f file) TenantOf(id string) string {
	for _, token := range f.Tokens {
		if token.ObjectID == id {
			return token.TenantID
		}
	}
	return TenantID
}

func (f file) render(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	OK(t, configTemplate.Execute(&out, f))
	return out.Bytes()
}

// withDefaults fills in what a test left open, given Portico's own address.
func (c Config) withDefaults(listen string) Config {
	if c.PublicURL == "" {
		c.PublicURL = "http://" + listen
		if c.TLS {
			c.PublicURL = "https://" + listen
		}
	}
	if c.ComputeRegistration == "" {
		c.ComputeRegistration = "automatic"
	}
	if c.InsightRegistration == "" {
		c.InsightRegistration = "automatic"
	}
	c.EastUS = cmp.Or(c.EastUS, "East US")
	c.Drain, c.Name = cmp.Or(c.Drain, "{delay: 10ms, limit: 20s}"), cmp.Or(c.Name, "Portico test")
	c.LoginEndpoint = cmp.Or(c.LoginEndpoint, "https://login.example/")
	// A test that does not set these times is not about them: a slow write or question on
	// a busy machine must then not be refused.
	if !strings.Contains(c.Extra, "index:") {
		c.Extra += "\nindex: {sendWithin: 1m, askTimeout: 20s}\n"
	}
	if !strings.Contains(c.Extra, "throttle:") { // nor is it about how much a caller may send
		c.Extra += "\nthrottle: {enabled: false}\n"
	}
	if !strings.Contains(c.Extra, "operations:") { // it may poll: there has to be something to poll
		c.Extra += "\noperations: {firstAnswer: 0s}\n"
	}
	if len(c.Subscriptions) == 0 {
		c.Subscriptions = []Subscription{{ID: SubscriptionID, TenantID: TenantID, DisplayName: "Demo", State: "Enabled"}}
	}
	return c
}

// addresses writes the URLs of one region as a list of YAML.
func addresses(urls string) string {
	return `["` + strings.ReplaceAll(urls, ",", `", "`) + `"]`
}

var configTemplate = template.Must(template.New("config").Funcs(template.FuncMap{"addresses": addresses, "steering": steering}).Parse(`server:
  publicURL: {{.PublicURL}}
  listen: {{.Listen}}
  admin: {{.Admin}}
  region: westus
  drain: {{.Drain}}
{{- if .TLS}}
  tls: {cert: {{printf "%q" .Certificate.CertFile}}, key: {{printf "%q" .Certificate.KeyFile}}}
{{- end}}
{{- if .Server}}
{{.Server}}
{{- end}}
metadata:
  name: {{.Name}}
  loginEndpoint: {{.LoginEndpoint}}
  audiences: ["https://management.example/"]
{{- if .Metadata}}
{{.Metadata}}
{{- end}}
{{- if or .Auth .Tokens}}
auth:
{{- if .Auth}}
{{.Auth}}
{{- else}}
  mode: tokens
{{- end}}
{{- end}}
{{- if .Tokens}}
  tokens:
{{- range .Tokens}}
    - {sha256: "{{.SHA256}}", tenantId: {{.TenantID}}, objectId: {{.ObjectID}}, name: {{printf "%q" .Name}}}
{{- end}}
{{- end}}
{{- if or .Auth .Tokens}}
  owners:
{{- range .AllOwners}}
    - {principalId: {{.ObjectID}}{{if not $.Program}}, tenantId: {{.TenantID}}{{end}}}
{{- end}}
{{- range $id, $scopes := .OwnersAt}}
{{- range $scopes}}
    - {principalId: {{$id}}{{if not $.Program}}, tenantId: {{$.TenantOf $id}}{{end}}, scope: {{printf "%q" .}}}
{{- end}}
{{- end}}
{{- end}}
{{- if not (or .Auth .Tokens)}}
auth: {mode: none}
{{- end}}
{{- if .Postgres}}
store: {driver: postgres, dsn: {{printf "%q" .Postgres}}}
{{- else}}
store: {driver: sqlite, dsn: {{printf "%q" .Database}}}
{{- end}}
regions:
  - {name: westus, displayName: West US, pairedRegion: eastus}
  - {name: eastus, displayName: {{printf "%q" .EastUS}}, pairedRegion: westus}
  - {name: northeurope, displayName: North Europe}
{{- range .Regions}}
  - {name: {{.}}, displayName: {{.}}}
{{- end}}
providers:
  - namespace: Contoso.Compute
    registration: {{.ComputeRegistration}}
    features: [bigMachines, tinyMachines]
{{- if .ComputeTLS}}
    tls: {{.ComputeTLS}}
{{- end}}
{{- if .ComputeSpec}}
    spec: [{{.ComputeSpec}}]
{{- end}}
    headers: {request: [{{steering}}]}
    endpoints:
{{- range $region, $url := .Endpoints}}
      {{$region}}: {{addresses $url}}
{{- end}}
    resourceTypes:
      - name: virtualMachines
        kind: tracked
        apiVersions: ["2024-06-01-preview", "2024-01-01", "2023-01-01"]
        capabilities: {move: true, tags: true, etags: true{{if .ComputeSpec}}, preflight: true{{end}}}
      - {name: virtualMachines/disks, kind: tracked, apiVersions: ["2024-06-01-preview", "2024-01-01", "2023-01-01"], capabilities: {move: true, tags: true, etags: true}}
      - {name: virtualMachines/runCommands, kind: proxyOnly, apiVersions: ["2024-06-01-preview", "2024-01-01", "2023-01-01"]}
      - {name: virtualMachines/testResults, kind: proxyOnly, apiVersions: ["2024-06-01-preview", "2024-01-01", "2023-01-01"]}
      - {name: networkInterfaces, kind: tracked, deletionPolicy: refuse, apiVersions: ["2024-06-01-preview", "2024-01-01", "2023-01-01"], capabilities: {move: true, tags: true{{if not .NoETags}}, etags: true{{end}}}}
      - {name: networkInterfaces/ipConfigurations, kind: tracked, apiVersions: ["2024-06-01-preview", "2024-01-01", "2023-01-01"], capabilities: {tags: true, etags: true}}
  - namespace: Contoso.Insight
    registration: {{.InsightRegistration}}
{{- if .InsightTLS}}
    tls: {{.InsightTLS}}
{{- end}}
    headers: {request: [{{steering}}]}
{{- if .InsightInternal}}
    internalSubscriptions:{{range .InsightInternal}}
      - {{.}}{{end}}
{{- end}}
    endpoints:
{{- range $region, $url := .Endpoints}}
      {{$region}}: {{addresses $url}}
{{- end}}
    resourceTypes:
      - {name: workspaces, kind: tracked, apiVersions: ["2024-06-01-preview", "2024-01-01", "2023-01-01"], capabilities: {move: true, tags: true{{if not .NoETags}}, etags: true{{end}}}}
      - {name: clusters, kind: tracked, apiVersions: ["2024-06-01-preview", "2024-01-01", "2023-01-01"], capabilities: {tags: true, etags: true}}
      - {name: profiles, kind: tracked, routing: global, apiVersions: ["2024-06-01-preview", "2024-01-01", "2023-01-01"], capabilities: {move: true, tags: true, etags: true}}
      - {name: diagnosticSettings, kind: extension, apiVersions: ["2024-06-01-preview", "2024-01-01", "2023-01-01"]}
      - {name: annotations, kind: extension, routing: global, apiVersions: ["2024-06-01-preview", "2024-01-01", "2023-01-01"]}
{{- if .Providers}}
{{.Providers}}
{{- end}}
subscriptions:
{{- range .Subscriptions}}
  - {id: {{.ID}}, tenantId: {{.TenantID}}, displayName: {{printf "%q" .DisplayName}}, state: {{.State}}, covered: {{not .Uncovered}}}
{{- end}}
{{.Extra}}`))
