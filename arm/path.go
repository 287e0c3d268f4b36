// Package arm is the vocabulary of the Azure Resource Manager contract: resource IDs and
// request paths, api-versions, names, locations, tags, entity tags and the error
// envelope. All of it is pure: nothing here reads a clock, a file or the network, so
// every other package may use it.
//
// It compares in two ways. Names, namespaces, types and path literals match without
// case: [Fold] returns the form for comparisons and keys, while output keeps the
// client's spelling. Locations also ignore white space: see [Location].
package arm

import (
	"strings"
	"unicode/utf8"
)

const (
	maxSegments = 64
	maxHops     = 8
)

// Path is a request path or resource ID, parsed by position
// (addendum, Nested Resources; resource reference, arguments). Its grammar:
//
//	path  = scope tail
//	scope = "" | /subscriptions/{s} | /subscriptions/{s}/resourceGroups/{g}
//	tail  = "" | own segments | hop+
//	hop   = /providers/{ns} [ /{type}/{name} ]… [ /{type} ]
//
// Only a "providers" in a type's place begins a further hop; elsewhere it is a
// name. The last hop has the namespace and the type, and everything before it
// is the scope of an extension.
//
// Parsing finds the structure; the caller checks whether the names in it are
// valid. Parsing a path that needs no decoding does not allocate.
// The zero Path is the tenant root.
type Path struct {
	text     string // canonical: decoded, no empty segment, no final slash; "" is the root
	plain    bool   // text is also the encoded form
	n        int
	ends     [maxSegments]uint16 // end offset of each segment in text
	sub      int8                // segment index, -1 when absent
	group    int8
	hops     [maxHops]int8 // index of each "providers"
	hopCount int8
}

// PathError explains why a text is not a path. Code is ARM's code for the
// position of the error.
type PathError struct {
	Code   Code
	Reason string // ends the sentence "The request URI is invalid: …"
}

func (e *PathError) Error() string { return e.Reason }

// position is the grammar's expectation for the next segment.
type position uint8

const (
	atRoot position = iota
	atSubscription
	atSubscriptionChild
	atGroup
	atGroupChild
	atNamespace
	atFirstType // directly after a namespace
	atName
	atType // after a type and name: a child type, or a further hop
	atOwn  // below one of the front door's own routes
)

// Parse parses raw, the path of a request target as received. It decodes
// percent-encoding once. It collapses empty segments at the start, after a namespace and
// at the end, because real clients send them; it decodes a first segment that is an
// encoded scope (/subscriptions%2F…) into its segments. Anything else that is ambiguous
// is a *[PathError]: dot segments, other encoded slashes, double encoding, backslashes,
// control characters, invalid UTF-8, a fragment.
func (p *Path) Parse(raw string) error {
	*p = Path{sub: -1, group: -1}
	if raw == "" || raw[0] != '/' {
		return &PathError{InvalidRequestURI, "a path begins with a slash"}
	}
	if len(raw) > 1<<15 {
		return &PathError{InvalidRequestURI, "the path is longer than 32768 bytes"}
	}
	canonical, plain, err := canonicalForm(raw)
	if err != nil {
		return err
	}
	if canonical {
		p.text, p.plain = raw, plain
		return p.walk(raw, false)
	}
	expanded, err := expandScope(raw)
	if err != nil {
		return err
	}
	err = p.walk(expanded, true)
	if err != nil {
		*p = Path{sub: -1, group: -1} // without text, positions must not point into it
	}
	return err
}

// canonicalForm reports whether raw is already canonical: no escape, no empty segment,
// no final slash. plain reports whether it is also its own encoded form.
func canonicalForm(raw string) (canonical, plain bool, err error) {
	canonical, plain = true, true
	ascii := true
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case plainByte(c):
		case c == '/':
			if i+1 == len(raw) || raw[i+1] == '/' {
				canonical = false
			}
		case c == '%':
			canonical = false
		case c == '\\':
			return false, false, &PathError{InvalidRequestURI, "a path holds no backslash"}
		case c == '#':
			return false, false, &PathError{InvalidRequestURI, "a request has no fragment"}
		case c < ' ' || c == 0x7f:
			return false, false, &PathError{InvalidRequestURI, "a path holds no control character"}
		case c >= utf8.RuneSelf:
			ascii = false
		default:
			plain = false
		}
	}
	if !ascii {
		if !utf8.ValidString(raw) {
			return false, false, &PathError{InvalidRequestURI, "a path is UTF-8"}
		}
		canonical = false // its encoded form differs
	}
	return canonical, plain, nil
}

// expandScope decodes a first segment that is a whole scope with encoded slashes:
// generated clients escape the {scope} of extension resources like that.
func expandScope(raw string) (string, error) {
	first := strings.TrimLeft(raw, "/")
	rest := ""
	if i := strings.IndexByte(first, '/'); i >= 0 {
		first, rest = first[:i], first[i:]
	}
	if !strings.Contains(first, "%") {
		return raw, nil
	}
	scope, err := unescape(first)
	if err != nil {
		return "", err
	}
	scope = strings.TrimLeft(scope, "/")
	word, _, more := strings.Cut(scope, "/")
	if !more || !EqualFold(word, "subscriptions") {
		return raw, nil
	}
	if err := checkDecoded(scope); err != nil {
		return "", err
	}
	return "/" + scope + rest, nil
}

// walk reads raw segment by segment. With build it also assembles the canonical text;
// without build, raw is that text.
func (p *Path) walk(raw string, build bool) error {
	var text strings.Builder
	if build {
		text.Grow(len(raw))
	}
	at := atRoot
	for i := 0; i < len(raw); {
		i++ // the slash
		end := i + strings.IndexByte(raw[i:], '/')
		if end < i {
			end = len(raw)
		}
		segment := raw[i:end]
		i = end
		if segment == "" {
			if at == atRoot || at == atFirstType || strings.Trim(raw[i:], "/") == "" {
				continue
			}
			return emptyAt(at)
		}
		segment, err := decodeSegment(segment)
		if err != nil {
			return err
		}
		if p.n == maxSegments {
			return &PathError{InvalidRequestURI, "a path has at most 64 segments"}
		}
		if build {
			text.WriteByte('/')
			text.WriteString(segment)
			p.ends[p.n] = uint16(text.Len())
		} else {
			p.ends[p.n] = uint16(end)
		}
		if at, err = p.placeSegment(at, segment); err != nil {
			return err
		}
		p.n++
	}
	if build {
		p.text = text.String()
		p.plain = plainText(p.text)
	} else if p.n == 0 {
		p.text = ""
	}
	return nil
}

// placeSegment records the meaning of segment p.n at the given position, and returns the next
// segment's position.
func (p *Path) placeSegment(at position, segment string) (position, error) {
	switch at {
	case atRoot:
		if EqualFold(segment, "subscriptions") {
			return atSubscription, nil
		}
		return p.hopOrOwn(segment)
	case atSubscription:
		p.sub = int8(p.n)
		return atSubscriptionChild, nil
	case atSubscriptionChild:
		if EqualFold(segment, "resourceGroups") {
			return atGroup, nil
		}
		return p.hopOrOwn(segment)
	case atGroup:
		p.group = int8(p.n)
		return atGroupChild, nil
	case atGroupChild:
		return p.hopOrOwn(segment)
	case atNamespace:
		return atFirstType, nil
	case atFirstType:
		return atName, nil
	case atName:
		return atType, nil
	case atType:
		if EqualFold(segment, "providers") {
			return p.hopOrOwn(segment)
		}
		return atName, nil
	}
	return atOwn, nil
}

func (p *Path) hopOrOwn(segment string) (position, error) {
	if !EqualFold(segment, "providers") {
		return atOwn, nil
	}
	if p.hopCount == maxHops {
		return 0, &PathError{InvalidRequestURI, "a path names at most 8 providers"}
	}
	p.hops[p.hopCount] = int8(p.n)
	p.hopCount++
	return atNamespace, nil
}

func emptyAt(at position) error {
	code := InvalidRequestURI
	switch at {
	case atSubscription:
		code = InvalidSubscriptionID
	case atGroup:
		code = InvalidResourceGroup
	case atName:
		code = InvalidResourceName
	}
	return &PathError{code, "a segment is empty"}
}

func decodeSegment(segment string) (string, error) {
	if strings.IndexByte(segment, '%') >= 0 {
		var err error
		if segment, err = unescape(segment); err != nil {
			return "", err
		}
		if strings.IndexByte(segment, '/') >= 0 {
			return "", &PathError{InvalidRequestURI, "a segment holds no encoded slash"}
		}
		if err := checkDecoded(segment); err != nil {
			return "", err
		}
	}
	if segment == "." || segment == ".." {
		return "", &PathError{InvalidRequestURI, "a path has no dot segments"}
	}
	return segment, nil
}

// checkDecoded refuses characters that must not result from decoding.
func checkDecoded(s string) error {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			return &PathError{InvalidRequestURI, "a path holds no backslash"}
		case c == '%':
			return &PathError{InvalidRequestURI, "a path is encoded once"}
		case c < ' ' || c == 0x7f:
			return &PathError{InvalidRequestURI, "a path holds no control character"}
		}
	}
	if !utf8.ValidString(s) {
		return &PathError{InvalidRequestURI, "a path is UTF-8"}
	}
	return nil
}

func unescape(s string) (string, error) {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", &PathError{InvalidRequestURI, "a percent sign begins two hexadecimal digits"}
		}
		high, low := unhex(s[i+1]), unhex(s[i+2])
		if high < 0 || low < 0 {
			return "", &PathError{InvalidRequestURI, "a percent sign begins two hexadecimal digits"}
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	return b.String(), nil
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// String returns the canonical, decoded form: "/" for the tenant root,
// otherwise without a final slash.
func (p *Path) String() string {
	if p.text == "" {
		return "/"
	}
	return p.text
}

// Escaped returns the path as written in a request target. Each path has one such form,
// whatever its spelling on arrival.
func (p *Path) Escaped() string {
	if p.plain || p.text == "" {
		return p.String()
	}
	var b strings.Builder
	b.Grow(len(p.text) + 16)
	const digits = "0123456789ABCDEF"
	for i := 0; i < len(p.text); i++ {
		if c := p.text[i]; c == '/' || plainByte(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}

func plainText(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] != '/' && !plainByte(s[i]) {
			return false
		}
	}
	return true
}

// plainLow and plainHigh have a bit for each byte, below 64 and from 64 on, that an
// escaped path contains unescaped. RFC 3986 allows more in a segment, but some servers
// give four of them a meaning: a semicolon begins parameters, which are cut off, a plus
// sign becomes a space, an ampersand ends a parameter, and a colon ends a scheme.
const (
	plainLow  uint64 = 1<<'-' | 1<<'.' | 1<<'!' | 1<<'$' | 1<<'\'' | 1<<'(' | 1<<')' | 1<<'*' | 1<<',' | 1<<'=' | (1<<10-1)<<'0'
	plainHigh uint64 = 1<<('_'-64) | 1<<('~'-64) | 1<<('@'-64) | (1<<26-1)<<('A'-64) | (1<<26-1)<<('a'-64)
)

// plainByte reports whether an escaped path contains c unescaped.
func plainByte(c byte) bool {
	switch {
	case c < 64:
		return plainLow>>c&1 != 0
	case c < utf8.RuneSelf:
		return plainHigh>>(c-64)&1 != 0
	}
	return false
}

// Len returns the number of segments.
func (p *Path) Len() int { return p.n }

// Segment returns the decoded segment i, counted from 0.
func (p *Path) Segment(i int) string {
	start := 0
	if i > 0 {
		start = int(p.ends[i-1])
	}
	return p.text[start+1 : p.ends[i]]
}

// Prefix returns the canonical text of the first n segments.
func (p *Path) Prefix(n int) string {
	if n == 0 {
		return ""
	}
	return p.text[:p.ends[n-1]]
}

// Subscription returns the subscription's id as written, "" outside one.
func (p *Path) Subscription() string { return p.segmentAt(p.sub) }

// Group returns the resource group's name as written, "" outside one.
func (p *Path) Group() string { return p.segmentAt(p.group) }

func (p *Path) segmentAt(i int8) string {
	if i < 0 {
		return ""
	}
	return p.Segment(int(i))
}

// Own returns the index of the first segment below the scope that does not
// begin a provider hop, and whether there is one: only the front door itself
// can serve such a route.
func (p *Path) Own() (int, bool) {
	if p.hopCount > 0 {
		return 0, false
	}
	scope := 0
	switch {
	case p.group >= 0:
		scope = int(p.group) + 1
	case p.sub >= 0:
		scope = int(p.sub) + 1
	}
	return scope, scope < p.n
}

// Hops returns the number of provider hops: 0 for the front door's own routes,
// 2 or more for extension resources.
func (p *Path) Hops() int { return int(p.hopCount) }

// Hop returns hop i, counted from 0.
func (p *Path) Hop(i int) Hop {
	end := p.n
	if i+1 < int(p.hopCount) {
		end = int(p.hops[i+1])
	}
	return Hop{path: p, start: int(p.hops[i]), end: end}
}

// LastHop returns the hop with the namespace and type of the path, which must have hops.
func (p *Path) LastHop() Hop { return p.Hop(int(p.hopCount) - 1) }

// Hop is one part "/providers/{ns}/{type}/{name}…" of a [Path].
type Hop struct {
	path       *Path
	start, end int
}

// Start returns the index of the segment "providers": the number of segments
// of the hop's scope.
func (h Hop) Start() int { return h.start }

// Namespace returns the provider namespace as written, "" if the path ends before it.
func (h Hop) Namespace() string {
	if h.start+1 >= h.end {
		return ""
	}
	return h.path.Segment(h.start + 1)
}

// Len returns the number of segments after the namespace: even for an
// instance, odd for a collection or an action.
func (h Hop) Len() int { return max(0, h.end-h.start-2) }

// Segment returns segment i after the namespace: types are at even indexes,
// names at odd ones.
func (h Hop) Segment(i int) string { return h.path.Segment(h.start + 2 + i) }

// AppendTypeKey appends the folded type of the hop's first pairs segments of
// type and name, joined by slashes: its key in the region map.
func (h Hop) AppendTypeKey(dst []byte, pairs int) []byte {
	for i := range pairs {
		if i > 0 {
			dst = append(dst, '/')
		}
		dst = AppendFold(dst, h.Segment(2*i))
	}
	return dst
}
