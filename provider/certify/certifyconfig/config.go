// Package certifyconfig reads certify.yaml: which provider the suite judges, how it is
// reached, what its types are and what it claims.
//
// Reading is strict: a key that means nothing, a value that cannot be, a type without a
// sample are each reported with file and line, what is wrong and what is allowed, all in
// one run. Tokens are read from files of their own, and are in no error.
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
	Sibling       string // "": one that the provider has never heard of
	Tenant        string // "" only through a front door
	ResourceGroup string
	// Endpoints are the provider's addresses by region, "global" among them; empty through
	// a front door.
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
	URL                        string // "" straight at a provider
	Owner, Colleague, Stranger contract.Token
}

// Limits bound how long parts of a run may take.
type Limits struct{ Call, Wait, Pause, Case, Run, Cleanup time.Duration }

// Through reports whether a front door stands before the provider.
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

// reader is the state of one reading.
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

// Defaults of the bounds of a run.
const (
	defaultParallel = 4
	mostParallel    = 64
	defaultCall     = 75 * time.Second // beyond a front door's minute, so that a slow answer is seen
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
			"The subscription in which the suite works. The provider is told of it first, as a front door tells it; a front door must know it."),
		setting.Value("tenant", &c.Tenant, rule.GUID(), "",
			"The tenant of the subscription and of its callers, as the provider is to see it. Required with `endpoints`; a front door knows it by the tokens.").
			Conditional(),
		setting.Value("sibling", &c.Sibling, rule.GUID(), "",
			"Another subscription of the same tenant, in which nothing is registered.").Default("one that no one knows"),
		setting.Value("resourceGroup", &c.ResourceGroup, groupName(), "certify",
			"Everything is made below this resource group, and removed in the end; it must not hold anything when a run begins. "+
				"Where a rule is about several groups, they are named after it: `certify-2`, `certify-3`."),
		setting.Free("endpoints", "addresses by region", "Straight at the provider: the address of each region's endpoint under the region's name, "+
			"and under `global` the one that serves global types. Either this or `portico`.", r.readEndpoints),
		setting.Mapping("portico", "Through a front door, in place of `endpoints`. Its answers say in which regions the types are.",
			setting.Required("url", &c.Portico.URL, rule.WebURL(), "Its public URL."),
			setting.Value("tokenFile", &r.token[contract.Owner], rule.File(), "",
				"A file that holds the bearer token of the caller who makes everything, on one line.").
				Default("none: the front door asks no one who they are, as `portico demo`"),
			setting.Value("name", &c.Portico.Owner.Name, rule.Text(), "", "What the front door calls that caller in `systemData`.").
				Default("none: rules about it are left out"),
			setting.Value("colleagueTokenFile", &r.token[contract.Colleague], rule.File(), "",
				"The token of another caller of the same tenant, who may do the same.").Default("none: rules about several callers are left out"),
			setting.Value("colleagueName", &c.Portico.Colleague.Name, rule.Text(), "", "As `name`, of that caller.").
				Default("none: rules about it are left out"),
			setting.Value("strangerTokenFile", &r.token[contract.Stranger], rule.File(), "",
				"The token of a caller of another tenant.").Default("none: rules about strangers are left out"),
		).Check(r.readTokens).IfGiven(),
		setting.Mapping("tls", "TLS towards the provider, or the front door.",
			setting.Value("ca", &c.TLS.CA, rule.PEMFile(), "", "The authorities that its certificate must come from.").Default("those of the system"),
			setting.Value("cert", &c.TLS.Cert, rule.PEMFile(), "",
				"The certificate by which the provider knows a front door, followed by those that lead to its root.").Default("none is shown"),
			setting.Value("key", &c.TLS.Key, rule.PEMFile(), "", "The private key of that certificate.").Default("none"),
		).Check(func(o *setting.Object) {
			files.CheckPEM(r.Reader, o, "ca", &c.TLS.CA)
			files.CheckPEMPair(r.Reader, o, &c.TLS.Cert, &c.TLS.Key)
		}).IfGiven(),
		r.providerRows(),
		setting.Free("samples", "mapping", "Valid bodies of each type under its full name, such as `Acme.Stuff/widgets`. See [Bodies](#bodies).", leave).
			Default("none"),
		setting.List("specifications", rule.File(),
			"OpenAPI documents (2 or 3, also as TypeSpec writes them) from which the bodies of types without a sample are made. "+
				"A sample is better where a body must name something that exists.", func(at *yamltree.Node, name string) {
				r.documents, r.places = append(r.documents, name), append(r.places, at)
			}).Default("none"),
		setting.List("profiles", profile(), "The [profiles](#what-can-be-claimed) that the provider claims to keep. What it does not claim is left out.",
			func(_ *yamltree.Node, name string) { c.Profiles = append(c.Profiles, contract.Profile(name)) }).AtLeastOne(strings.Join(ProfileNames(), ", ")),
		setting.Value("disruptive", &c.Disruptive, rule.Bool(), false, "Run the cases that may disturb others who use the provider, too."),
		setting.Value("pageSize", &r.description.PageSize, headerName(), "", "The header by which a request asks for small pages of a list.").
			Default("none: `$top` alone makes small pages"),
		setting.Mapping("asynchrony", "The headers by which a request asks for an asynchronous answer. A provider that has none leaves this out; "+
			"how it answers by itself is found out. See [Asynchronous answers](#asynchronous-answers).",
			asynchronyRows(&r.description.Asynchrony)...),
		setting.Value("parallel", &c.Parallel, rule.CountTo(mostParallel), defaultParallel, "How many cases run at once."),
		setting.Mapping("limits", "Bounds of a run.",
			setting.Value("call", &c.Limits.Call, rule.PositiveDuration(), defaultCall, "Of a call. One that takes longer counts as one without an answer."),
			setting.Value("wait", &c.Limits.Wait, rule.PositiveDuration(), defaultWait, "Of a wait for an operation's end."),
			setting.Value("pause", &c.Limits.Pause, rule.PositiveDuration(), defaultPause,
				"Of the time between two polls. A longer `Retry-After` is not waited for, save that of a 429."),
			setting.Value("case", &c.Limits.Case, rule.PositiveDuration(), defaultCase, "Of a case on a type."),
			setting.Value("run", &c.Limits.Run, rule.PositiveDuration(), defaultRun, "Of all cases together."),
			setting.Value("cleanup", &c.Limits.Cleanup, rule.PositiveDuration(), defaultCleanup, "Of removing what was made."),
		),
	}
}

// leave leaves the samples to what reads them once the types are known.
func leave(*setting.Object) {}

func groupName() rule.Rule[string] {
	const most = 60 // leaves room for a number
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

// ProfileNames are the names of all profiles.
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

// checkWay checks that the file names exactly one of the two ways to the provider.
func (r *reader) checkWay(root *setting.Object) {
	const ways = "endpoints: {westus: https://host}, straight at the provider; or portico: {url: https://host, tokenFile: file}, through a front door"
	straight, through := root.Get("endpoints"), root.Get("portico")
	switch {
	case straight == nil && through == nil:
		r.Fault(root.Node, "neither endpoints nor portico is given", ways)
	case straight != nil && through != nil:
		r.Fault(through, "both endpoints and portico are given, the former at "+straight.Where(), "one of them: "+ways)
	case straight != nil:
		root.Require("tenant", rule.GUID().Allowed)
	}
	if root.Right("sibling") != nil && r.c.Sibling == r.c.Subscription {
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
