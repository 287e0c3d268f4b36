package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// decode parses JSON into the values of encoding/json; nil if it is invalid.
func decode(text []byte) any {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return nil
	}
	return v
}

// lookup finds a member by names joined with dots.
func lookup(v any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		o, ok := v.(Object)
		if !ok {
			return nil, false
		}
		if v, ok = o[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

// text returns the string at a path, "" if there is none.
func text(v any, path string) string {
	found, _ := lookup(v, path)
	s, _ := found.(string)
	return s
}

// mergePatch applies a JSON merge-patch (RFC 7396) without changing its arguments.
func mergePatch(target, patch any) any {
	p, ok := patch.(Object)
	if !ok {
		return patch
	}
	merged := Object{}
	if t, ok := target.(Object); ok {
		maps.Copy(merged, t)
	}
	for name, value := range p {
		if value == nil {
			delete(merged, name)
			continue
		}
		merged[name] = mergePatch(merged[name], value)
	}
	return merged
}

// overlay returns base with the members of each further object replacing its own.
func overlay(base Object, further ...Object) Object {
	out := maps.Clone(base)
	if out == nil {
		out = Object{}
	}
	for _, o := range further {
		maps.Copy(out, o)
	}
	return out
}

// missing compares an answer with its required members, and describes the
// first difference; "" if there is none. Locations are compared as locations,
// arrays as sets whose elements may have further members.
func missing(have, want any, at string) string {
	if w, ok := want.([]any); ok && sameElements(have, w) {
		return ""
	}
	w, ok := want.(Object)
	if !ok {
		if reflect.DeepEqual(have, want) || at == "location" && samePlace(have, want) {
			return ""
		}
		return fmt.Sprintf("%s is %s instead of %s", at, show(have), show(want))
	}
	h, ok := have.(Object)
	if !ok {
		return fmt.Sprintf("%s is %s instead of an object", at, show(have))
	}
	for _, name := range slices.Sorted(maps.Keys(w)) {
		value, ok := h[name]
		path := strings.TrimPrefix(at+"."+name, ".")
		if !ok {
			return path + " is absent"
		}
		if lack := missing(value, w[name], path); lack != "" {
			return lack
		}
	}
	return ""
}

// sameElements reports whether an array has one matching element for each wanted one.
func sameElements(have any, want []any) bool {
	h, ok := have.([]any)
	if !ok || len(h) != len(want) {
		return false
	}
	rest := slices.Clone(h)
	for _, w := range want {
		i := slices.IndexFunc(rest, func(v any) bool { return missing(v, w, "") == "" })
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return true
}

// absent returns the path of a member that want has and have lacks, whatever
// its value; "" if there is none.
func absent(have, want any, at string) string {
	w, _ := want.(Object)
	h, _ := have.(Object)
	for _, name := range slices.Sorted(maps.Keys(w)) {
		path := strings.TrimPrefix(at+"."+name, ".")
		value, there := h[name]
		if !there && w[name] != nil {
			return path
		}
		if path == "properties" {
			if lack := absent(value, w[name], path); lack != "" {
				return lack
			}
		}
	}
	return ""
}

// without returns a copy of the object without the member at a path.
func without(o Object, path []string) Object {
	value, there := o[path[0]]
	if !there {
		return o
	}
	rest := maps.Clone(o)
	if inner, ok := value.(Object); ok && len(path) > 1 {
		rest[path[0]] = without(inner, path[1:])
	} else if len(path) == 1 {
		delete(rest, path[0])
	}
	return rest
}

// lost lists the members of before that after lacks; a replacement must have
// removed them.
func lost(before, after Object) []string {
	var names []string
	for name := range before {
		if _, stays := after[name]; !stays {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func samePlace(a, b any) bool {
	return locationOf(a) != "" && locationOf(a) == locationOf(b)
}

func locationOf(v any) string {
	s, _ := v.(string)
	return strings.ToLower(strings.Join(strings.Fields(s), ""))
}

// show formats a value for a report.
func show(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return clip(strings.TrimSpace(b.String()), 160)
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// showFull returns the JSON of a value.
func showFull(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(text)
}
