// Package certifyconfig reads certify.yaml: the provider that the suite judges, its addresses,
// its types and the profiles that it claims.
//
// Reading is strict: an unknown key, an invalid value and a type without a sample are
// each reported with file and line, the fault and the permitted values, all in one run.
// Tokens are read from separate files, and appear in no error.
package certifyconfig

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/provider/certify/contract"
	"portico/regions"
)

// Config is a checked certify.yaml, with defaults filled in.
type Config struct {
	Subscription  string
	Sibling       string // "": one that the provider does not know
	Tenant        string // "" only through a front door
	ResourceGroup string
	// Endpoints holds the provider's addresses by region, "global" included;
	// empty through a front door.
	Endpoints  map[string]string
	Portico    Portico
	TLS        regions.TLS
	Profiles   []contract.Profile
	Disruptive bool
	Parallel   int
	Limits     Limits

	Description *contract.Description
	// Types are the full names of the described types, in the file's order.
	Types []string
}

// Portico is a front door and its callers. A caller without a token is absent.
type Portico struct {
	URL                        string // "" for direct calls to the provider
	Owner, Colleague, Stranger contract.Token
}

// Limits bound how long parts of a run may take.
type Limits struct{ Call, Wait, Pause, Case, Run, Cleanup time.Duration }

// Through reports whether the provider is called through a front door.
func (c *Config) Through() bool { return c.Portico.URL != "" }

// Load reads a file. Its error is a [yamltree.Faults].
func Load(file string) (*Config, error) {
	r := &reader{Reader: files.FromDisk(), c: &Config{}}
	tree := r.Read(file)
	if r.Incomplete {
		return nil, r.Err()
	}
	rows := r.rows()
	setting.Reset(rows)
	root := setting.Read(&r.Report, tree, rows)
	r.checkWay(root)
	r.describe(root)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return r.c, nil
}

// reader holds the state of reading one file.
type reader struct {
	*files.Reader
	c           *Config
	description contract.Description
	token       [3]string // the files of the callers' tokens
	documents   []string  // specifications
	places      []*yamltree.Node
	providers   []provider
}

// WriteReference writes the reference of the file as Markdown.
func WriteReference(b *strings.Builder) {
	setting.WriteReference(b, (&reader{Reader: &files.Reader{}, c: &Config{}}).rows())
}

// Defaults of a run's limits.
const (
	defaultParallel = 4
	mostParallel    = 64
	defaultCall     = 75 * time.Second // longer than a front door's minute, so that a slow answer is seen
	defaultWait     = 2 * time.Minute
	defaultPause    = time.Second
	defaultCase     = 10 * time.Minute
	defaultRun      = 2 * time.Hour
	defaultCleanup  = 5 * time.Minute
)

func (r *reader) rows() []*setting.Setting {
	c := r.c
	return []*setting.Setting{
		setting.Required("subscription", &c.Subscription, rule.GUID(),
			"The subscription in which the suite works. Without a front door, the suite first notifies the provider of it; a front door must already know it."),
		setting.Value("tenant", &c.Tenant, rule.GUID(), "",
			"The tenant of the subscription and of its callers, as sent to the provider. Required with `endpoints`; a front door takes it from the tokens.").
			Conditional(),
		setting.Value("sibling", &c.Sibling, rule.GUID(), "",
			"Another subscription of the same tenant, in which nothing is registered.").Default("a random one"),
		setting.Value("resourceGroup", &c.ResourceGroup, groupName(), "certify",
			"All resources are created in this resource group and removed at the end. It must be empty when a run starts. "+
				"Rules about several groups use further ones with a suffix: `certify-2`, `certify-3`."),
		setting.Free("endpoints", "addresses by region", "To call the provider directly: the address of each region's endpoint under the region's name, "+
			"and of the endpoint for global types under `global`. Either this or `portico` is required.", r.readEndpoints),
		setting.Mapping("portico", "To call the provider through a front door, instead of `endpoints`. The regions of the types are read from the front door.",
			setting.Required("url", &c.Portico.URL, rule.WebURL(), "The front door's public URL."),
			setting.Value("tokenFile", &r.token[contract.Owner], rule.File(), "",
				"A file with the bearer token, on one line, of the caller that creates the resources.").
				Default("none, for a front door without authentication, such as `portico demo`"),
			setting.Value("name", &c.Portico.Owner.Name, rule.Text(), "", "The name of that caller in `systemData`.").
				Default("none: rules about the name are skipped"),
			setting.Value("colleagueTokenFile", &r.token[contract.Colleague], rule.File(), "",
				"The token of another caller of the same tenant with the same rights.").Default("none: rules about several callers are skipped"),
			setting.Value("colleagueName", &c.Portico.Colleague.Name, rule.Text(), "", "The name of that other caller in `systemData`.").
				Default("none: rules about the name are skipped"),
			setting.Value("strangerTokenFile", &r.token[contract.Stranger], rule.File(), "",
				"The token of a caller of another tenant.").Default("none: rules about callers of other tenants are skipped"),
		).Check(r.readTokens).IfGiven(),
		setting.Mapping("tls", "TLS to the provider or to the front door.",
			setting.Value("ca", &c.TLS.CA, rule.PEMFile(), "", "Certificate authorities that must have issued the server's certificate.").Default("the system's"),
			setting.Value("cert", &c.TLS.Cert, rule.PEMFile(), "",
				"The client certificate that identifies a front door to the provider, followed by its intermediate certificates.").Default("none"),
			setting.Value("key", &c.TLS.Key, rule.PEMFile(), "", "The private key of the client certificate.").Default("none"),
		).Check(func(o *setting.Object) {
			files.CheckPEM(r.Reader, o, "ca", &c.TLS.CA)
			files.CheckPEMPair(r.Reader, o, &c.TLS.Cert, &c.TLS.Key)
		}).IfGiven(),
		r.providerRows(),
		setting.Free("samples", "mapping", "Valid bodies for each type, under its full name, such as `Acme.Stuff/widgets`. See [Bodies](#bodies).", leave).
			Default("none"),
		setting.List("specifications", rule.File(),
			"OpenAPI documents (2 or 3, also as TypeSpec writes them). Bodies of types without a sample are generated from them. "+
				"A sample is better if a body must refer to something that exists.", func(at *yamltree.Node, name string) {
				r.documents, r.places = append(r.documents, name), append(r.places, at)
			}).Default("none"),
		setting.List("profiles", profile(), "The [profiles](#what-can-be-claimed) that the provider claims to support. Cases of other profiles are skipped.",
			func(_ *yamltree.Node, name string) { c.Profiles = append(c.Profiles, contract.Profile(name)) }).AtLeastOne(strings.Join(ProfileNames(), ", ")),
		setting.Value("disruptive", &c.Disruptive, rule.Bool(), false, "Also run cases that may disturb other users of the provider."),
		setting.Value("pageSize", &r.description.PageSize, headerName(), "", "The request header that sets the page size of a list.").
			Default("none: only `$top` is used"),
		setting.Mapping("asynchrony", "Request headers that ask for an asynchronous answer. Leave this out if the provider has none; the suite then "+
			"detects how the provider answers. See [Asynchronous answers](#asynchronous-answers).",
			asynchronyRows(&r.description.Asynchrony)...),
		setting.Value("parallel", &c.Parallel, rule.CountTo(mostParallel), defaultParallel, "Number of cases that run concurrently."),
		setting.Mapping("limits", "Time limits of a run.",
			setting.Value("call", &c.Limits.Call, rule.PositiveDuration(), defaultCall, "Timeout of a call. A call that takes longer counts as unanswered."),
			setting.Value("wait", &c.Limits.Wait, rule.PositiveDuration(), defaultWait, "Timeout of a wait for an operation to end."),
			setting.Value("pause", &c.Limits.Pause, rule.PositiveDuration(), defaultPause,
				"Maximum pause between two polls. A longer `Retry-After` is respected only on a 429."),
			setting.Value("case", &c.Limits.Case, rule.PositiveDuration(), defaultCase, "Timeout of a case on one type."),
			setting.Value("run", &c.Limits.Run, rule.PositiveDuration(), defaultRun, "Timeout of all cases together."),
			setting.Value("cleanup", &c.Limits.Cleanup, rule.PositiveDuration(), defaultCleanup, "Timeout of the removal of created resources at the end."),
		),
	}
}

// leave reads nothing: addSamples reads the samples once the types are known.
func leave(*setting.Object) {}

func groupName() rule.Rule[string] {
	const most = 60 // leaves room for the suffix -number
	return rule.Rule[string]{
		Parse:   func(text string) (string, bool) { return text, arm.ValidGroupName(text) && len(text) <= most },
		Noun:    "resource group name",
		Allowed: fmt.Sprintf("letters, digits, -, _, ( ) and full stops, not at its end, at most %d", most),
	}
}

func headerName() rule.Rule[string] {
	return rule.Rule[string]{
		Parse:   func(text string) (string, bool) { return text, validHeader(text) },
		Noun:    "header name",
		Allowed: "letters, digits and hyphens, such as x-acme-page-size",
	}
}

func validHeader(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
	})
}

// ProfileNames returns the names of all profiles.
func ProfileNames() []string {
	var names []string
	for _, p := range contract.Profiles() {
		names = append(names, string(p.Name))
	}
	return names
}

func profile() rule.Rule[string] {
	return rule.Rule[string]{
		Parse:   func(text string) (string, bool) { return text, slices.Contains(ProfileNames(), text) },
		Noun:    "profile",
		Allowed: strings.Join(ProfileNames(), ", "),
	}
}

// checkWay checks that the file has either endpoints or portico.
func (r *reader) checkWay(root *setting.Object) {
	const ways = "endpoints: {westus: https://host}, to call the provider directly; or portico: {url: https://host, tokenFile: file}, to use a front door"
	straight, through := root.Get("endpoints"), root.Get("portico")
	switch {
	case straight == nil && through == nil:
		r.Fault(root.Node, "neither endpoints nor portico is given", ways)
	case straight != nil && through != nil:
		r.Fault(through, "both endpoints and portico are given, the former at "+straight.Where(), "one of them: "+ways)
	case straight != nil:
		root.Require("tenant", rule.GUID().Allowed)
	}
	if root.Valid("sibling") != nil && r.c.Sibling == r.c.Subscription {
		r.Fault(root.Get("sibling"), "sibling is the subscription itself", "another subscription, or no sibling")
	}
}

func (r *reader) readEndpoints(o *setting.Object) {
	n := mappingAt(o, "endpoints", "{westus: https://host, global: https://host}")
	if n == nil {
		return
	}
	r.c.Endpoints = map[string]string{}
	regional := false
	seen := r.Unique("endpoint of region")
	for _, e := range n.Entries {
		region := arm.Location(e.Key.Text)
		if !arm.ValidLocation(region) {
			r.Fault(e.Key, yamltree.Quote(e.Key.Text)+" is not a valid region", "a letter followed by letters and digits, such as westus; or global")
			continue
		}
		regional = regional || region != arm.GlobalLocation
		if e.Value.Kind != yamltree.Scalar {
			r.Fault(e.Value, fmt.Sprintf("endpoints.%s is %s, not a single value", region, e.Value.Kind), rule.AddressForm)
			continue
		}
		u, wrong := rule.ParseAddress(e.Value.Text)
		if wrong != "" {
			r.Fault(e.Value, rule.BadAddress("endpoints."+region, e.Value.Text, wrong), rule.AddressForm)
			continue
		}
		if seen.Add(e.Key, region, region) {
			r.c.Endpoints[region] = u.String()
		}
	}
	if !regional {
		r.Fault(n, "endpoints has no region", "at least one besides global, such as westus: https://host")
	}
}
