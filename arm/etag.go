package arm

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// WeakETag returns the entity tag of a representation: weak and quoted, SHA-512 over its
// compact JSON. The caller omits volatile fields (the tag itself, times of systemData,
// provisioningState). It panics on a value without a JSON form.
func WeakETag(representation any) string {
	text, err := json.Marshal(representation)
	if err != nil {
		panic(fmt.Sprintf("arm: no entity tag for %T: %v", representation, err))
	}
	sum := sha512.Sum512(text)
	return `W/"` + hex.EncodeToString(sum[:]) + `"`
}

// Preconditions holds the entity-tag conditions of one request (addendum,
// ETags for Resources). The zero value has none.
type Preconditions struct {
	ifMatch, ifNoneMatch tagList
}

// tagList is one condition: absent, any representation, or one of tags.
type tagList struct {
	present, any bool
	tags         []string // only opaque parts: comparison is weak
}

// ParsePreconditions reads If-Match and If-None-Match, each a list or *. An
// empty value counts as absent.
func ParsePreconditions(h http.Header) Preconditions {
	return Preconditions{parseTagList(h.Values("If-Match")), parseTagList(h.Values("If-None-Match"))}
}

func parseTagList(lines []string) (list tagList) {
	for _, line := range lines {
		for _, field := range splitTags(line) {
			field = strings.TrimSpace(field)
			switch {
			case field == "" || field == `""`:
			case field == "*":
				list.present, list.any = true, true
			default:
				list.present = true
				list.tags = append(list.tags, opaque(field))
			}
		}
	}
	return list
}

// splitTags splits at the commas outside of quotes.
func splitTags(line string) []string {
	var fields []string
	quoted, start := false, 0
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '"':
			quoted = !quoted
		case line[i] == ',' && !quoted:
			fields = append(fields, line[start:i])
			start = i + 1
		}
	}
	return append(fields, line[start:])
}

// opaque strips the parts of a tag that weak comparison ignores: the weakness
// mark, and the quotes, which some clients omit.
func opaque(tag string) string {
	tag = strings.TrimPrefix(tag, "W/")
	if len(tag) >= 2 && tag[0] == '"' && tag[len(tag)-1] == '"' {
		tag = tag[1 : len(tag)-1]
	}
	return tag
}

func (l tagList) matches(etag string) bool {
	if l.any {
		return true
	}
	for _, tag := range l.tags {
		if tag == opaque(etag) {
			return true
		}
	}
	return false
}

// Write checks the conditions of a write against the current state: etag is
// "" if nothing exists. It returns nil or PreconditionFailed with target.
func (c Preconditions) Write(etag, target string) *Error {
	if c.ifMatch.present && (etag == "" || !c.ifMatch.matches(etag)) {
		return NewError(PreconditionFailed, "If-Match", target).WithTarget(target)
	}
	if c.ifNoneMatch.present && etag != "" && c.ifNoneMatch.matches(etag) {
		return NewError(PreconditionFailed, "If-None-Match", target).WithTarget(target)
	}
	return nil
}

// NotModified reports whether a GET of the representation with this etag is answered by
// 304.
func (c Preconditions) NotModified(etag string) bool {
	return c.ifNoneMatch.present && c.ifNoneMatch.matches(etag)
}
