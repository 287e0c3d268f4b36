package contract

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kinds of resource types (addendum, Designing Resources).
const (
	Tracked   = "tracked"
	ProxyOnly = "proxyOnly"
	Extension = "extension"
)

// Global is the name of the endpoint that serves global types.
const Global = "global"

// Description is all that the suite knows about a provider. Its form is that of the
// providers in a region map, with a member "contract" at each type that says how to
// exercise it.
type Description struct {
	Providers  []*Provider `yaml:"providers"`
	Asynchrony Asynchrony  `yaml:"asynchrony"`
	// PageSize is the header that requests small pages of a list; without it only $top
	// tests the rules on several pages.
	PageSize string `yaml:"pageSize"`
}

// Provider is one namespace.
type Provider struct {
	Namespace     string  `yaml:"namespace"`
	Registration  string  `yaml:"registration"`
	ResourceTypes []*Type `yaml:"resourceTypes"`
	// CheckName names the scopes that serve checkNameAvailability: subscription, location.
	CheckName []string `yaml:"checkNameAvailability"`
}

// Type is a resource type as declared in a region map.
type Type struct {
	Name           string   `yaml:"name"` // "virtualMachines/disks"
	Kind           string   `yaml:"kind"`
	Routing        string   `yaml:"routing"`
	APIVersions    []string `yaml:"apiVersions"`
	Locations      []string `yaml:"locations"`
	DeletionPolicy string   `yaml:"deletionPolicy"`
	Capabilities   struct {
		Move  bool `yaml:"move"`
		Tags  bool `yaml:"tags"`
		ETags bool `yaml:"etags"`

		Preflight bool `yaml:"preflight"`
	} `yaml:"capabilities"`
	Contract Exercise `yaml:"contract"`

	provider *Provider
	parent   *Type
}

// Object is a JSON object.
type Object = map[string]any

// Exercise says how to test a type. Bodies carry neither location
// nor tags: the suite adds them.
type Exercise struct {
	Body   Object `yaml:"body"`   // a valid body with properties
	Other  Object `yaml:"other"`  // another, whose properties have other members
	Change Object `yaml:"change"` // a merge-patch of Body's properties that sets, nests and removes
	// Kept are top-level members of a PUT that a GET must show.
	Kept Object `yaml:"kept"`
	// Refused are top-level members for which a PUT must be refused with 400.
	Refused []Refused `yaml:"refused"`
	// SKU and OtherSKU are two values of sku between which a resource can change.
	SKU      Object `yaml:"sku"`
	OtherSKU Object `yaml:"otherSKU"`
	// SKUs means that the type serves {resource}/skus; HasSKUs that there are any.
	SKUs    bool     `yaml:"skus"`
	HasSKUs bool     `yaml:"hasSKUs"`
	Actions []Action `yaml:"actions"`
	// DeepInsert is the last name of the proxy-only child type whose instances a PUT of
	// this type may contain, as an array of {name, properties} in the member of properties
	// with the same name.
	DeepInsert string `yaml:"deepInsert"`
	// LongRun is an action that outlives its polling URLs, and the proxy-only child that
	// shows its state at any time.
	LongRun LongRun `yaml:"longRun"`
	// CreatedFor shows what the provider makes in its own subscription for a resource of
	// the type.
	CreatedFor CreatedFor `yaml:"createdFor"`
	// ReadOnly types accept no writes from clients.
	ReadOnly bool `yaml:"readOnly"`
	// WriteOnly are the paths of members that the type never shows, such as
	// "properties.password".
	WriteOnly []string `yaml:"writeOnly"`
	// Names is the form of names, with {n} for a number, of a type that restricts them:
	// "certify{n}". Names derived from one without a hyphen have only small letters and
	// digits more.
	Names string `yaml:"names"`
	// SystemData means that the type shows systemData; without it, the rules about it hold
	// only where a resource shows some.
	SystemData bool `yaml:"systemData"`
	// WithoutETags are the api-versions older than ETags.
	WithoutETags []string `yaml:"withoutETags"`
}

// Refused is an invalid body: a description and its members.
type Refused struct {
	Why     string `yaml:"why"`
	Members Object `yaml:"members"`
}

// Action is a POST below a resource.
type Action struct {
	Name         string `yaml:"name"`
	Status       int    `yaml:"status"` // of the synchronous answer, or of the result
	Shows        Object `yaml:"shows"`
	Asynchronous bool   `yaml:"asynchronous"` // even if not requested
}

// LongRun see [Exercise].
type LongRun struct {
	Action string `yaml:"action"`
	Child  string `yaml:"child"` // "testResults/latest"
	Status string `yaml:"status"`
}

// Asynchrony says how to request an asynchronous answer.
type Asynchrony struct {
	// Short and Long are headers for an operation that ends soon, and for one that does
	// not end during the suite.
	Short Headers `yaml:"short"`
	Long  Headers `yaml:"long"`
	// Failed and Canceled are headers for an operation with that result.
	Failed   Headers `yaml:"failed"`
	Canceled Headers `yaml:"canceled"`
	// RetryAfter is the header that requests a Retry-After in seconds.
	RetryAfter string `yaml:"retryAfter"`
	// Patterns are the ways of answering that can be requested. Without any, the provider
	// answers as it does, and the suite finds out how.
	Patterns []Pattern `yaml:"patterns"`
	Places   []Place   `yaml:"places"`
}

// steered reports whether the description says how to request asynchronous answers.
func (a Asynchrony) steered() bool { return len(a.Patterns) > 0 }

// Headers are request headers.
type Headers map[string]string

// Pattern is one way of answering before the work is finished.
type Pattern struct {
	Name    string  `yaml:"name"`
	Method  string  `yaml:"method"`
	Headers Headers `yaml:"headers"`
	// Accepted patterns answer 202 without a body; others 200 or 201 with a
	// provisioningState that is not terminal.
	Accepted bool `yaml:"accepted"`
	Location bool `yaml:"location"` // the answer has a Location
	Status   bool `yaml:"status"`   // the answer has an Azure-AsyncOperation

	natural bool // the provider is not steered: its answer shows the rest
	derived bool // the Location is the front door's, the provider sends none
}

// Place is one of the forms of a polling URL.
type Place struct {
	Name    string  `yaml:"name"`
	Headers Headers `yaml:"headers"`
	// Path is the form, with {subscription}, {namespace}, {location} and {resource} of the
	// operation's target, without the operation's id and the word before it.
	Path string `yaml:"path"`
}

// Complete judges a description and relates its types. Cases need that.
func (d *Description) Complete() error {
	if len(d.Providers) == 0 {
		return errors.New("contract: the description has no providers")
	}
	for _, p := range d.Providers {
		for _, t := range p.ResourceTypes {
			t.provider = p
			if parent, _, nested := strings.CutLast(t.Name, "/"); nested {
				i := slices.IndexFunc(p.ResourceTypes, func(o *Type) bool { return o.Name == parent })
				if i < 0 {
					return fmt.Errorf("contract: the type %s has no parent %s", t.FullName(), parent)
				}
				t.parent = p.ResourceTypes[i]
			}
			if err := t.normalise(); err != nil {
				return err
			}
		}
	}
	return nil
}

// normalise converts bodies to the values of encoding/json, so that they compare with
// answers.
func (t *Type) normalise() error {
	if !slices.Contains([]string{Tracked, ProxyOnly, Extension}, t.Kind) {
		return fmt.Errorf("contract: the type %s has the kind %q", t.FullName(), t.Kind)
	}
	if names := t.Contract.Names; names != "" && !strings.Contains(names, "{n}") {
		return fmt.Errorf("contract: the names of the type %s are %q, without {n}", t.FullName(), names)
	}
	if len(t.APIVersions) == 0 {
		return fmt.Errorf("contract: the type %s has no api-versions", t.FullName())
	}
	e := &t.Contract
	objects := []*Object{&e.Body, &e.Other, &e.Change, &e.Kept, &e.SKU, &e.OtherSKU, &e.CreatedFor.More}
	for i := range e.Refused {
		objects = append(objects, &e.Refused[i].Members)
	}
	for i := range e.Actions {
		objects = append(objects, &e.Actions[i].Shows)
	}
	for _, o := range objects {
		text, err := json.Marshal(*o)
		if err != nil {
			return fmt.Errorf("contract: the type %s: %w", t.FullName(), err)
		}
		*o = nil
		if err := json.Unmarshal(text, o); err != nil {
			return fmt.Errorf("contract: the type %s: %w", t.FullName(), err)
		}
	}
	return nil
}

// FullName is the type with its namespace.
func (t *Type) FullName() string { return t.provider.Namespace + "/" + t.Name }

func (t *Type) nested() bool { return t.parent != nil }

func (t *Type) global() bool { return t.Routing == Global }

// usualNames is the form of names of a type that does not restrict them.
const usualNames = "Certify-{n}"

// nameOf is the name of the resource with a number.
func (t *Type) nameOf(number int64) string {
	return strings.ReplaceAll(cmp.Or(t.Contract.Names, usualNames), "{n}", strconv.FormatInt(number, 10))
}

// visible is an object of the type without what the type never shows.
func (t *Type) visible(o Object) Object {
	if t != nil {
		for _, path := range t.Contract.WriteOnly {
			o = without(o, strings.Split(path, "."))
		}
	}
	return o
}

// hidden is the part of an object of the type that the type never shows.
func (t *Type) hidden(o Object) Object {
	hidden := Object{}
	for _, path := range t.Contract.WriteOnly {
		value, there := lookup(o, path)
		if !there {
			continue
		}
		names := strings.Split(path, ".")
		for _, name := range slices.Backward(names) {
			value = Object{name: value}
		}
		hidden, _ = mergePatch(hidden, value).(Object)
	}
	return hidden
}

// last is the type's own name, without its parents'.
func (t *Type) last() string {
	return t.Name[strings.LastIndexByte(t.Name, '/')+1:]
}

// version is the api-version for cases: the first stable one with entity tags.
func (t *Type) version() string {
	for _, v := range t.APIVersions {
		if len(v) == len("2006-01-02") && !slices.Contains(t.Contract.WithoutETags, v) {
			return v
		}
	}
	return t.APIVersions[0]
}

// types are all types, in the order of the description.
func (d *Description) types() []*Type {
	var all []*Type
	for _, p := range d.Providers {
		all = append(all, p.ResourceTypes...)
	}
	return all
}

// host is the type whose resources can have extensions.
func (d *Description) host() *Type {
	for _, t := range d.types() {
		if isTop(t) && !t.global() {
			return t
		}
	}
	return nil
}

// typeAt finds the type that the last provider part of a path names, whether of an
// instance, a collection or an action; nil if it names none.
func (d *Description) typeAt(path string) *Type {
	at := strings.LastIndex(strings.ToLower(path), "/providers/")
	if at < 0 {
		return nil
	}
	segments := strings.Split(path[at+len("/providers/"):], "/")
	var name []string
	for i := 1; i < len(segments); i += 2 {
		name = append(name, segments[i])
	}
	for ; len(name) > 0; name = name[:len(name)-1] {
		for _, t := range d.types() {
			if strings.EqualFold(t.FullName(), segments[0]+"/"+strings.Join(name, "/")) {
				return t
			}
		}
	}
	return nil
}
