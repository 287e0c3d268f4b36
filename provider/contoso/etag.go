package contoso

import (
	"crypto/sha512"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
)

// tag sets a resource's weak entity tag: SHA-512 over its canonical form
// without members that change by themselves (the tag, systemData,
// provisioningState). Two writes of the same content get the same tag.
func (r *resource) tag(b breaks) error {
	o := object{
		{"id", encode(r.ID)}, {"type", encode(r.Type)}, {"location", encode(r.Location)}, {"members", r.Members.bytes()},
		{"properties", slices.Concat(r.Properties, r.shownChildren()).bytes()},
	}
	text, err := canonical(o.bytes())
	if err != nil {
		return err
	}
	sum := sha512.Sum512(text)
	r.ETag = `W/"` + hex.EncodeToString(sum[:]) + `"`
	if b[etagStrong] {
		r.ETag = strings.TrimPrefix(r.ETag, "W/")
	}
	return nil
}

// precondition holds If-Match and If-None-Match (addendum, ETags for
// Resources). Values are lists; an empty one counts as absent.
type precondition struct {
	match, noneMatch tagList
}

type tagList struct {
	any  bool
	tags []string // without the weakness mark and the quotes
}

func (l tagList) empty() bool { return !l.any && len(l.tags) == 0 }

func (l tagList) has(r *resource) bool {
	if r == nil {
		return false
	}
	if l.any {
		return true
	}
	for _, t := range l.tags {
		if t == opaque(r.ETag) {
			return true
		}
	}
	return false
}

func parsePrecondition(h http.Header) precondition {
	return precondition{parseTags(h.Values("If-Match")), parseTags(h.Values("If-None-Match"))}
}

func parseTags(lines []string) tagList {
	var l tagList
	for _, rest := range lines {
		for rest = strings.TrimLeft(rest, ", \t"); rest != ""; rest = strings.TrimLeft(rest, ", \t") {
			var tag string
			if tag, rest = nextTag(rest); tag == "*" {
				l.any = true
			} else {
				l.tags = append(l.tags, opaque(tag))
			}
		}
	}
	return l
}

// nextTag cuts the first tag off a list. A quoted tag may contain commas; an
// unquoted one ends at the next comma.
func nextTag(list string) (tag, rest string) {
	open := len(list) - len(strings.TrimPrefix(list, "W/"))
	if strings.HasPrefix(list[open:], `"`) {
		if end := strings.IndexByte(list[open+1:], '"'); end >= 0 {
			end += open + 2
			return list[:end], list[end:]
		}
	}
	tag, rest, _ = strings.Cut(list, ",")
	return strings.TrimSpace(tag), rest
}

// opaque strips the parts of a tag that weak comparison ignores.
func opaque(tag string) string {
	return strings.Trim(strings.TrimPrefix(tag, "W/"), `"`)
}

// allows checks a write against the current resource, nil if there is none.
func (p precondition) allows(current *resource) error {
	if !p.match.empty() && !p.match.has(current) || !p.noneMatch.empty() && p.noneMatch.has(current) {
		return fail(http.StatusPreconditionFailed, "PreconditionFailed", "The condition of If-Match or If-None-Match does not hold for the resource as it is.")
	}
	return nil
}

// preconditions reads a write's preconditions, which the api-version without
// ETags does not support.
func (c *call) preconditions() (precondition, error) {
	p := parsePrecondition(c.header)
	if c.breaks[ifNoneMatchIgnored] {
		p.noneMatch = tagList{}
	}
	if !c.etags && c.breaks[oldVersionIgnoresIfMatch] {
		return precondition{}, nil
	}
	if !c.etags && !(p.match.empty() && p.noneMatch.empty()) {
		return p, fail(http.StatusNotAcceptable, "NotAcceptable", "The api-version '%s' has no entity tags. Use '%s' or later.", c.version, apiVersions[1])
	}
	if c.breaks[ifMatchIgnored] {
		p.match = tagList{}
	}
	return p, nil
}
