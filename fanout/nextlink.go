package fanout

import (
	"fmt"
	"net/url"
	"strings"

	"portico/arm"
	"portico/internal/jsontext"
	"portico/regions"
	"portico/routing"
	"portico/upstream/answers"
)

// NextLinks checks the links in a provider's pages: they must point to the listed path,
// on the front door or on the endpoint. It repairs common mistakes in their queries.
type NextLinks struct {
	Public   *url.URL // scheme and host of the front door as clients see them
	Endpoint *regions.Endpoint
	Path     string // of the request, canonical and decoded
	// Longest bounds path and query of a link, in bytes; 0: unbounded.
	Longest int
	// Accepts, if set, reports whether the front door accepts a request for the
	// path with a query. Version is an api-version that it accepts.
	Accepts func(query string) bool
	Version string
}

// MaxTarget bounds path and query of a page: a request line may have 16 KiB.
const MaxTarget = 15 << 10

// ErrLinkTooLong is the error of a link that no request could carry.
var ErrLinkTooLong = fmt.Errorf("its nextLink is too long: path and query of the client's next request may have %d bytes", MaxTarget)

// Query returns the raw query of a nextLink, "" at the end of the list. link is the
// member's JSON value, nil if absent; null and "" count as absent. A link to any other
// path or host is an error, and so is one that no request can follow.
func (l NextLinks) Query(link []byte) (string, error) {
	if jsontext.Null(link) {
		return "", nil
	}
	text, ok := jsontext.Text(link)
	if !ok {
		return "", fmt.Errorf("its nextLink is no string")
	}
	if text == "" {
		return "", nil
	}
	target, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("its nextLink is no URL")
	}
	if !l.allowed(target) {
		return "", fmt.Errorf("its nextLink leads to another host")
	}
	var path arm.Path
	if target.Path != "" || target.Host != "" {
		if err := path.Parse(target.EscapedPath()); err != nil || !arm.EqualFold(path.String(), l.Path) {
			return "", fmt.Errorf("its nextLink leads to another path")
		}
	}
	if target.RawQuery == "" {
		return "", fmt.Errorf("its nextLink has no query")
	}
	query := separateAtQuestionMarks(escapeInvalid(target.RawQuery))
	if l.Accepts != nil && !l.Accepts(query) {
		if query = withVersion(query, l.Version); !l.Accepts(query) {
			return "", fmt.Errorf("its nextLink has a query that no request may have")
		}
	}
	if l.Longest > 0 && len(l.Path)+len("?")+len(query) > l.Longest {
		return "", ErrLinkTooLong
	}
	return query, nil
}

// escapeInvalid percent-encodes bytes that a request line cannot carry, and
// percent signs that do not begin an escape: some providers send links with
// bare spaces and tokens.
func escapeInvalid(query string) string {
	var b strings.Builder
	for i := 0; i < len(query); i++ {
		c := query[i]
		stray := c == '%' && (i+2 >= len(query) || hexDigit(query[i+1]) < 0 || hexDigit(query[i+2]) < 0)
		if c <= ' ' || c >= 0x7f || stray {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// separateAtQuestionMarks replaces question marks that act as separators by
// ampersands: some providers append their skip token to the referer with a
// second question mark. Elsewhere it is text. An api-version never has one.
func separateAtQuestionMarks(query string) string {
	if strings.IndexByte(query, '?') < 0 {
		return query
	}
	var pairs []string
	for pair := range strings.SplitSeq(query, "&") {
		version, from := parameterOf(pair).name == versionName, 0
		for i := range len(pair) {
			if pair[i] != '?' || !version && !beginsWithSkipToken(pair[i+1:]) {
				continue
			}
			if i > from {
				pairs = append(pairs, pair[from:i])
			}
			from, version = i+1, false
		}
		pairs = append(pairs, pair[from:])
	}
	return strings.Join(pairs, "&")
}

// beginsWithSkipToken reports whether a text begins with a skip token, in any spelling.
func beginsWithSkipToken(text string) bool {
	const longest = len(skipToken) * len("%24")
	name, _, found := strings.Cut(text[:min(len(text), longest+1)], "=")
	return found && parameterOf(name).name == arm.Fold(skipToken)
}

// withVersion returns a query with only this api-version.
func withVersion(query, version string) string {
	query = routing.Query{Raw: query}.Without(versionName)
	if query != "" {
		query += "&"
	}
	return query + versionName + "=" + url.QueryEscape(version)
}

func (l NextLinks) allowed(target *url.URL) bool {
	return target.Opaque == "" && target.User == nil && (answers.Relative(target) || answers.OwnOrigin(target, l.Public, l.Endpoint))
}
