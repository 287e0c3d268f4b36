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

// Parameters that the front door interprets on a merged list.
const (
	skipToken = "$skipToken"
	pageSize  = "$top"

	versionName = "api-version"
)

// ownQuery is the client's query without paging: it is equal on all pages of
// a list, whatever the spelling and order of parameters.
type ownQuery struct {
	raw        string // without the skip token
	parameters []parameter
}

// parameter is a parameter of the client's query; raw is its current spelling.
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

// parameterOf parses one parameter: it folds the name's case and decodes both
// parts. Text that cannot be decoded is kept.
func parameterOf(raw string) parameter {
	decoded := func(s string) string {
		if d, err := url.QueryUnescape(s); err == nil {
			return d
		}
		return s
	}
	name, value, _ := strings.Cut(raw, "=")
	p := parameter{arm.Fold(decoded(name)), decoded(value), raw}
	if p.name == versionName {
		p.value = arm.Fold(p.value)
	}
	return p
}

// digest identifies the list: its path and its parameters except $top and
// $skipToken.
func (o ownQuery) digest(path arm.Path) [32]byte {
	var text []byte
	add := func(s string) {
		text = binary.AppendUvarint(text, uint64(len(s)))
		text = append(text, s...)
	}
	add(arm.Fold(path.String())) // includes the subscription
	for _, p := range o.parameters {
		add(p.name)
		add(p.value)
	}
	return sha256.Sum256(text)
}

// Codes of a query's parameter in a token: any text; a skip token in one of
// its spellings; from codeOwn on, a parameter of the client's own query.
const (
	codeText = 0
	codeOwn  = 5
)

func skipTokenSpellings() [codeOwn]string {
	return [codeOwn]string{"", "$skipToken=", "%24skipToken=", "$skiptoken=", "%24skiptoken="}
}

// appendQuery encodes a provider's query. Parameters of the client's query are
// written as references.
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

// decodeQuery reads the output of appendQuery.
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

// withTop returns a query with $top set to n, if it has a $top.
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

// withoutTop returns a query without its $top.
func withoutTop(query string) string { return routing.Query{Raw: query}.Without(pageSize) }

// queryHash identifies a provider's query, without its page size, to detect circles.
func queryHash(query string) uint64 {
	sum := sha256.Sum256([]byte(withoutTop(query)))
	return binary.BigEndian.Uint64(sum[:])
}
