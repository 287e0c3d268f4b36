package contoso

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// address is a request path parsed by position (resource reference, Arguments
// for CRUD on Resource). Its texts are decoded, in the client's casing.
//
// If the last provider part has as many names as types, the path names an
// instance; with one more type than names it names a collection or an action.
type address struct {
	segments     []string
	subscription string
	group        string
	scope        []string // the segments before the last "providers"
	namespace    string
	types, names []string
	extends      bool   // the scope is itself a resource
	action       string // an action on the group, the last segment
}

func parseAddress(escaped string) (address, error) {
	a, err := parsePath(escaped)
	if err == nil {
		err = a.checkGroup()
	}
	return a, err
}

func (a *address) checkGroup() error {
	if a.group != "" && !validGroup(a.group) {
		return badRequest("InvalidResourceGroup", "The provided resource group name '%s' is invalid.", a.group)
	}
	return nil
}

// parsePath is like parseAddress, without checking a group's name.
func parsePath(escaped string) (address, error) {
	var a address
	text := strings.TrimSuffix(strings.TrimPrefix(escaped, "/"), "/")
	if text == "" {
		return a, notFound("NotFound", "There is nothing at this path.")
	}
	for raw := range strings.SplitSeq(text, "/") {
		s, err := url.PathUnescape(raw)
		if err != nil || !validName(s) {
			return a, badRequest("InvalidResourceName", "The path has an invalid segment.")
		}
		a.segments = append(a.segments, s)
	}
	at, err := a.parseScope()
	if err != nil {
		return a, err
	}
	if len(a.segments) == 5 && a.group != "" && (same(a.segments[4], moveAction) || same(a.segments[4], validateMoveAction)) {
		a.action = a.segments[4]
		return a, nil
	}
	err = a.parseProviders(at)
	return a, err
}

func (a *address) parseScope() (int, error) {
	s := a.segments
	if !same(s[0], "subscriptions") || len(s) < 2 {
		return 0, nil
	}
	a.subscription = s[1]
	if len(s[1]) != 36 || uuid.Validate(s[1]) != nil {
		return 0, badRequest("InvalidSubscriptionId", "The provided subscription identifier '%s' is malformed or invalid.", s[1])
	}
	if len(s) < 4 || !same(s[2], "resourceGroups") {
		return 2, nil
	}
	a.group = s[3]
	return 4, nil
}

func (a *address) parseProviders(at int) error {
	for at < len(a.segments) {
		hangs := a.namespace == "" || a.isInstance()
		if !hangs || !same(a.segments[at], "providers") || at+1 == len(a.segments) {
			return notFound("NotFound", "There is nothing at this path.")
		}
		a.extends = a.namespace != ""
		a.scope = a.segments[:at]
		a.namespace = a.segments[at+1]
		a.types, a.names = nil, nil
		// A name may be "providers"; the word begins another provider part only
		// in a type's place.
		for at += 2; at < len(a.segments) && !same(a.segments[at], "providers"); at += 2 {
			a.types = append(a.types, a.segments[at])
			if at+1 < len(a.segments) {
				a.names = append(a.names, a.segments[at+1])
			}
		}
	}
	return nil
}

func (a address) id() string { return "/" + strings.Join(a.segments, "/") }

// key returns the id's form for comparison, storage and ordering.
func (a address) key() string { return fold(a.id()) }

func (a address) scopeKey() string { return fold("/" + strings.Join(a.scope, "/")) }

func (a address) name() string { return a.names[len(a.names)-1] }

func (a address) isInstance() bool { return len(a.types) > 0 && len(a.types) == len(a.names) }

// tail returns the last type of a path that names no instance: a collection
// or an action.
func (a address) tail() string { return a.types[len(a.types)-1] }

// typePath returns the path's type below its namespace, such as "virtualMachines/disks".
func (a address) typePath() string { return strings.Join(a.types, "/") }

// instanceAbove returns the instance above a collection, an action or a nested
// resource, and false for top-level ones.
func (a address) instanceAbove() (address, bool) {
	n, drop := len(a.types)-1, 1
	if a.isInstance() {
		drop = 2
	}
	if n < 1 {
		return address{}, false
	}
	a.segments = a.segments[:len(a.segments)-drop]
	a.types, a.names = a.types[:n], a.names[:n]
	return a, true
}

// child returns the address of an instance nested below this one.
func (a address) child(kind, name string) address {
	a.segments = slices.Concat(a.segments, []string{kind, name})
	a.types = slices.Concat(a.types, []string{kind})
	a.names = slices.Concat(a.names, []string{name})
	return a
}

// addressOf parses the id of a resource, which is not escaped.
func addressOf(id string) (address, error) {
	return parseAddress(escaped(strings.Split(strings.TrimPrefix(id, "/"), "/")...))
}

// escaped returns the path in the form of a URL.
func escaped(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

func validName(s string) bool {
	if s == "" || s == "." || s == ".." || !utf8.ValidString(s) || utf8.RuneCountInString(s) > 260 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return strings.ContainsRune(`<>%&:\?/`, r) || unicode.IsControl(r)
	})
}

func validGroup(s string) bool {
	if utf8.RuneCountInString(s) > 90 || strings.HasSuffix(s, ".") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.Is(unicode.Nd, r) && !strings.ContainsRune("-_().", r)
	})
}

// fold maps names that match without case to equal text. Letters beyond ASCII
// never become ASCII ones.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return unicode.ToLower(r)
		}
		if f := unicode.ToLower(unicode.ToUpper(r)); f >= utf8.RuneSelf {
			return f
		}
		return r
	}, s)
}

func same(a, b string) bool { return a == b || fold(a) == fold(b) }

// location returns a region's form for comparison: without case and white space.
func location(s string) string {
	return strings.ToLower(strings.Join(strings.Fields(s), ""))
}
