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

// Global names the endpoint that serves global types.
const Global = "global"

// Description describes a provider to the suite. Its form is a region map's list of
// providers, with a member "contract" at each type that describes how to exercise it.
type Description struct {
	Providers  []*Provider `yaml:"providers"`
	Asynchrony Asynchrony  `yaml:"asynchrony"`
	// PageSize is the header that requests small pages of a list. Without it,
	// rules on several pages are tried only with $top.
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

// Exercise describes how to test a type. Bodies carry neither location nor
// tags: the suite adds them.
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
	// SKUs reports whether the type serves {resource}/skus, HasSKUs whether
	// that list has elements.
	SKUs    bool     `yaml:"skus"`
	HasSKUs bool     `yaml:"hasSKUs"`
	Actions []Action `yaml:"actions"`
	// DeepInsert is the last name of a proxy-only child type. A PUT of this
	// type may contain instances of it, as an array of {name, properties} in
	// the member of properties with that name.
	DeepInsert string `yaml:"deepInsert"`
	// LongRun is an action that outlives its polling URLs, with the proxy-only
	// child that shows its state at any time.
	LongRun LongRun `yaml:"longRun"`
	// CreatedFor locates the resources that the provider creates in its own
	// subscription for a resource of the type.
	CreatedFor CreatedFor `yaml:"createdFor"`
	// ReadOnly types accept no writes from clients.
	ReadOnly bool `yaml:"readOnly"`
	// WriteOnly lists the paths of members that the type never shows, such as
	// "properties.password".
	WriteOnly []string `yaml:"writeOnly"`
	// Names is the form of names of a type that restricts them, with {n} for a
	// number: "certify{n}". If it has no hyphen, derived names add only
	// lowercase letters and digits.
	Names string `yaml:"names"`
	// SystemData reports whether the type shows systemData. Without it, the
	// rules on systemData hold only for resources that show some.
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

// LongRun describes an action that outlives its polling URLs; see [Exercise].
type LongRun struct {
	Action string `yaml:"action"`
	Child  string `yaml:"child"` // "testResults/latest"
	Status string `yaml:"status"`
}

// Asynchrony describes how to request an asynchronous answer.
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
	// Patterns are the ways of answering that can be requested. Without any,
	// the suite judges the provider's own way.
	Patterns []Pattern `yaml:"patterns"`
	Places   []Place   `yaml:"places"`
}

// steered reports whether the description has headers that request asynchronous answers.
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

	natural bool // the provider is not steered: its answer fills in the rest
	derived bool // the Location is the front door's, the provider sends none
}

// Place is a form of polling URLs.
type Place struct {
	Name    string  `yaml:"name"`
	Headers Headers `yaml:"headers"`
	// Path is the form, with {subscription}, {namespace}, {location} and {resource} of the
	// operation's target, without the operation's id and the word before it.
	Path string `yaml:"path"`
}

// Complete validates a description and links its types to their parents,
// which cases need.
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

// FullName returns the type's name with its namespace.
func (t *Type) FullName() string { return t.provider.Namespace + "/" + t.Name }

func (t *Type) nested() bool { return t.parent != nil }

func (t *Type) global() bool { return t.Routing == Global }

// usualNames is the form of names of a type that does not restrict them.
const usualNames = "Certify-{n}"

// nameOf returns the name of the resource with a number.
func (t *Type) nameOf(number int64) string {
	return strings.ReplaceAll(cmp.Or(t.Contract.Names, usualNames), "{n}", strconv.FormatInt(number, 10))
}

// visible returns an object of the type without the members that the type never shows.
func (t *Type) visible(o Object) Object {
	if t != nil {
		for _, path := range t.Contract.WriteOnly {
			o = without(o, strings.Split(path, "."))
		}
	}
	return o
}

// hidden returns the members of an object of the type that the type never shows.
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

// last returns the type's own name, without its parents'.
func (t *Type) last() string {
	return t.Name[strings.LastIndexByte(t.Name, '/')+1:]
}

// version returns the api-version for cases: the first stable one with entity tags.
func (t *Type) version() string {
	for _, v := range t.APIVersions {
		if len(v) == len("2006-01-02") && !slices.Contains(t.Contract.WithoutETags, v) {
			return v
		}
	}
	return t.APIVersions[0]
}

// types returns all types, in the order of the description.
func (d *Description) types() []*Type {
	var all []*Type
	for _, p := range d.Providers {
		all = append(all, p.ResourceTypes...)
	}
	return all
}

// host returns the type whose resources can have extensions.
func (d *Description) host() *Type {
	for _, t := range d.types() {
		if isTop(t) && !t.global() {
			return t
		}
	}
	return nil
}

// typeAt returns the type in the last provider part of a path, whether of an
// instance, a collection or an action; nil if there is none.
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
