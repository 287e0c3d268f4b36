package contoso

import (
	"slices"
	"strings"
)

// Namespaces that every endpoint serves.
const (
	computeNamespace = "Contoso.Compute"
	insightNamespace = "Contoso.Insight"
)

// oldVersion is the api-version from before ETags: its answers have none, and
// its writes with preconditions are 406.
const oldVersion = "2023-01-01"

var apiVersions = [...]string{"2024-06-01-preview", "2024-01-01", oldVersion}

// knownVersion returns the api-version in its own casing.
func (p *Provider) knownVersion(v string) (string, bool) {
	for _, known := range p.versions {
		if strings.EqualFold(v, known) {
			return known, true
		}
	}
	return "", false
}

// kind is the addendum's kind of a resource.
type kind int

const (
	tracked kind = iota
	proxyOnly
	extension
)

// resourceType is one entry of the catalogue.
type resourceType struct {
	namespace string
	path      string // below the namespace, such as "virtualMachines/disks"
	kind      kind
	global    bool   // served only by the global endpoint
	refuse    bool   // deletionPolicy refuse: it cannot be deleted while it has nested resources; otherwise they are deleted with it
	readOnly  bool   // only the provider itself writes it
	free      bool   // it takes any body
	composite bool   // the provider creates its parts by calls of its own
	deep      string // the type of the children that its properties may contain, "" for none
	actions   []action
	skus      []sku
}

func (t *resourceType) name() string { return t.namespace + "/" + t.path }

func (t *resourceType) nested() bool { return strings.Contains(t.path, "/") }

// located reports whether resources of the type show a location and tags.
func (t *resourceType) located() bool { return t.kind == tracked }

func (t *resourceType) action(name string) (action, bool) {
	i := slices.IndexFunc(t.actions, func(a action) bool { return same(a.name, name) })
	if i < 0 {
		return action{}, false
	}
	return t.actions[i], true
}

type catalog []*resourceType

func newCatalog() catalog {
	return catalog{
		{namespace: computeNamespace, path: "virtualMachines", deep: "runCommands", actions: machineActions(), skus: machineSkus()},
		{namespace: computeNamespace, path: "virtualMachines/disks"},
		{namespace: computeNamespace, path: "virtualMachines/runCommands", kind: proxyOnly},
		{namespace: computeNamespace, path: "virtualMachines/testResults", kind: proxyOnly, readOnly: true},
		{namespace: computeNamespace, path: "networkInterfaces", refuse: true},
		{namespace: computeNamespace, path: "networkInterfaces/ipConfigurations"},
		{namespace: insightNamespace, path: "workspaces"},
		{namespace: insightNamespace, path: "clusters", composite: true},
		{namespace: insightNamespace, path: "profiles", global: true},
		{namespace: insightNamespace, path: "diagnosticSettings", kind: extension},
		{namespace: insightNamespace, path: "annotations", kind: extension, global: true},
	}
}

// namespace returns a namespace in its own casing.
func (c catalog) namespace(name string) (string, error) {
	for _, t := range c {
		if same(t.namespace, name) {
			return t.namespace, nil
		}
	}
	return "", notFound("InvalidResourceNamespace", "The resource namespace '%s' is invalid.", name)
}

func (c catalog) lookup(namespace, path string) (*resourceType, bool) {
	for _, t := range c {
		if same(t.namespace, namespace) && same(t.path, path) {
			return t, true
		}
	}
	return nil, false
}
