package fanout

import (
	"crypto/sha256"
	"encoding/binary"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"portico/arm"
	"portico/routing"
)

// Parameters that are the front door's affair on a merged list.
const (
	skipToken = "$skipToken"
	pageSize  = "$top"
)

// ownQuery is the request's own query: what stays the same from page to page,
// however a client spells and orders it anew.
type ownQuery struct {
	raw        string // without the skip token
	parameters []parameter
}

// parameter is a parameter of the request's own, in the spelling of the moment.
type parameter struct{ name, value, raw string }

func ownQueryOf(q routing.Query) ownQuery {
	own := ownQuery{raw: q.Without(skipToken)}
	for raw := range strings.SplitSeq(own.raw, "&") {
		if p := parameterOf(raw); raw != "" && p.name != pageSize {
			own.parameters = append(own.parameters, p)
		}
	}
	slices.SortStableFunc(own.parameters, func(a, b parameter) int {
		if d := strings.Compare(a.name, b.name); d != 0 {
			return d
		}
		return strings.Compare(a.value, b.value)
	})
	return own
}

// parameterOf reads one parameter: its name folded, both parts decoded. What
// cannot be decoded stands for itself.
func parameterOf(raw string) parameter {
	decoded := func(s string) string {
		if d, err := url.QueryUnescape(s); err == nil {
			return d
		}
		return s
	}
	name, value, _ := strings.Cut(raw, "=")
	p := parameter{arm.Fold(decoded(name)), decoded(value), raw}
	if p.name == "api-version" {
		p.value = arm.Fold(p.value)
	}
	return p
}

// digest tells requests apart that list different things: other paths, or other
// parameters than $top and $skipToken.
func (o ownQuery) digest(path arm.Path) [32]byte {
	var text []byte
	add := func(s string) {
		text = binary.AppendUvarint(text, uint64(len(s)))
		text = append(text, s...)
	}
	add(arm.Fold(path.String())) // the subscription is a part of it
	for _, p := range o.parameters {
		add(p.name)
		add(p.value)
	}
	return sha256.Sum256(text)
}

// Codes of a parameter in a query that a token carries: any text; a skip token
// in one of its spellings; from ownFrom on, a parameter of the request's own.
const (
	codeText = 0
	codeOwn  = 5
)

func skipTokenSpellings() [codeOwn]string {
	return [codeOwn]string{"", "$skipToken=", "%24skipToken=", "$skiptoken=", "%24skiptoken="}
}

// appendQuery writes a provider's query: only what the request's own query does
// not say is written out.
func (o ownQuery) appendQuery(to []byte, query string) []byte {
	pairs := strings.Split(query, "&")
	used := make([]bool, len(o.parameters))
	to = binary.AppendUvarint(to, uint64(len(pairs)))
	for _, raw := range pairs {
		to = o.appendParameter(to, raw, used)
	}
	return to
}

func (o ownQuery) appendParameter(to []byte, raw string, used []bool) []byte {
	p := parameterOf(raw)
	for i, own := range o.parameters {
		if !used[i] && own.name == p.name && own.value == p.value {
			used[i] = true
			return binary.AppendUvarint(to, uint64(codeOwn+i))
		}
	}
	code, text := codeText, raw
	for c, spelling := range skipTokenSpellings() {
		if rest, found := strings.CutPrefix(raw, spelling); found && c != codeText {
			code, text = c, rest
		}
	}
	to = binary.AppendUvarint(to, uint64(code)) //nolint:gosec // not negative
	to = binary.AppendUvarint(to, uint64(len(text)))
	return append(to, text...)
}

// query reads what appendQuery wrote.
func (o ownQuery) decodeQuery(r *decoder) string {
	var b strings.Builder
	for i := range r.count() {
		if i > 0 {
			b.WriteByte('&')
		}
		code := r.number()
		if code < codeOwn {
			b.WriteString(skipTokenSpellings()[code])
			b.WriteString(r.text())
			continue
		}
		if code -= codeOwn; code >= uint64(len(o.parameters)) {
			r.invalid = true
			return ""
		}
		b.WriteString(o.parameters[code].raw)
	}
	return b.String()
}

// withTop returns a query whose $top, where it has one, is n.
func withTop(query string, n int) string {
	pairs := strings.Split(query, "&")
	for i, raw := range pairs {
		if p := parameterOf(raw); p.name == pageSize && p.value != strconv.Itoa(n) {
			name, _, _ := strings.Cut(raw, "=")
			pairs[i] = name + "=" + strconv.Itoa(n)
		}
	}
	return strings.Join(pairs, "&")
}

// markOf is what is remembered of a provider's query to know it again; the size
// of the page that was asked for does not count.
func queryHash(query string) uint64 {
	sum := sha256.Sum256([]byte(routing.Query{Raw: query}.Without(pageSize)))
	return binary.BigEndian.Uint64(sum[:])
}
