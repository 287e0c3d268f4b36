package routing

import (
	"net/url"
	"strings"

	"portico/arm"
)

// Query is the query string of a request. It is forwarded to the provider
// unchanged; the front door only reads it.
type Query struct {
	Raw string
	// APIVersion is the api-version as the client wrote it, "" if absent.
	APIVersion string
}

// parseQuery parses a raw query. It refuses queries that two parsers could
// read differently: a broken escape, a second api-version, an api-version
// next to a semicolon. Parameter names match without case. An error lists the
// supported api-versions.
func parseQuery(raw string, supported []string) (Query, *arm.Error) {
	q := Query{Raw: raw}
	seen := false
	for rest := raw; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		key, value, _ := strings.Cut(pair, "=")
		name, err := unescapeQuery(key)
		if err != nil {
			return q, arm.NewError(arm.InvalidQueryParameter, key, "a percent sign begins two hexadecimal digits").WithTarget(key)
		}
		version := arm.EqualFold(name, "api-version")
		text, err := unescapeQuery(value)
		switch {
		case version && (err != nil || seen || text == ""):
			return q, invalidVersion(versionsIn(raw), supported)
		case err != nil:
			return q, arm.NewError(arm.InvalidQueryParameter, name, "a percent sign begins two hexadecimal digits").WithTarget(name)
		case strings.IndexByte(pair, ';') >= 0 && hidesVersion(pair):
			return q, invalidVersion(value, supported)
		case version:
			seen = true
			q.APIVersion = text
		}
	}
	return q, nil
}

// versionsIn returns all api-versions in a raw query, separated by commas, as
// ARM quotes them; one with a broken escape is not decoded.
func versionsIn(raw string) string {
	var sent []string
	for pair := range strings.SplitSeq(raw, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if name, err := unescapeQuery(key); err != nil || !arm.EqualFold(name, "api-version") {
			continue
		}
		if text, err := unescapeQuery(value); err == nil {
			value = text
		}
		sent = append(sent, value)
	}
	return strings.Join(sent, ",")
}

// hidesVersion reports whether a parser that takes semicolons for separators would find
// an api-version in pair. Elsewhere a semicolon is plain text, as in OData's $expand.
func hidesVersion(pair string) bool {
	for part := range strings.SplitSeq(pair, ";") {
		key, _, _ := strings.Cut(part, "=")
		if key, err := unescapeQuery(key); err == nil && arm.EqualFold(strings.TrimSpace(key), "api-version") {
			return true
		}
	}
	return false
}

func unescapeQuery(s string) (string, error) {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s, nil
	}
	return url.QueryUnescape(s)
}

// Get returns the decoded value of the first parameter of that name, in any
// casing and encoding ($skipToken, $skiptoken and %24skipToken are equal),
// and whether there is one.
func (q Query) Get(name string) (string, bool) {
	for rest := q.Raw; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		key, value, _ := strings.Cut(pair, "=")
		if key, err := unescapeQuery(key); err != nil || !arm.EqualFold(key, name) {
			continue
		}
		text, err := unescapeQuery(value)
		return text, err == nil
	}
	return "", false
}

// CheckOptions refuses an option (a parameter whose name begins with a dollar sign) that
// is given twice, in any casing and encoding, as OData does. It is for requests whose
// options the front door interprets; for others the provider decides.
func (q Query) CheckOptions() *arm.Error {
	if strings.Count(q.Raw, "&") == 0 {
		return nil
	}
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(q.Raw, "&") {
		key, _, _ := strings.Cut(pair, "=")
		name, err := unescapeQuery(key)
		if err != nil || !strings.HasPrefix(name, "$") {
			continue
		}
		if seen[arm.Fold(name)] {
			return arm.NewError(arm.InvalidQueryParameter, name, "it is given more than once").WithTarget(name)
		}
		seen[arm.Fold(name)] = true
	}
	return nil
}

// Without returns the raw query without the parameters of that name.
func (q Query) Without(name string) string {
	var kept []string
	for pair := range strings.SplitSeq(q.Raw, "&") {
		key, _, _ := strings.Cut(pair, "=")
		if key, err := unescapeQuery(key); pair == "" || err == nil && arm.EqualFold(key, name) {
			continue
		}
		kept = append(kept, pair)
	}
	return strings.Join(kept, "&")
}

// ownVersions are listed to clients that send a malformed api-version where
// no type's versions apply; there, any well-formed date is accepted.
var ownVersions = []string{"2022-12-01", "2022-09-01", "2021-04-01", "2019-05-01"}

func invalidVersion(sent string, supported []string) *arm.Error {
	return arm.NewError(arm.InvalidAPIVersionParameter, sent, strings.Join(supported, ",")).WithTarget("api-version")
}
