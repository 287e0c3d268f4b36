package fanout

import (
	"fmt"
	"net/url"
	"strings"

	"portico/arm"
	"portico/internal/jsontext"
	"portico/regions"
	"portico/upstream/answers"
)

// NextLinks checks the links in a provider's pages: they must point to the listed
// path, on the front door or on the endpoint.
type NextLinks struct {
	Public   *url.URL // scheme and host of the front door as clients see them
	Endpoint *regions.Endpoint
	Path     string // of the request, canonical and decoded
}

// Query returns the raw query of a nextLink, "" at the end of the list. link is the
// member's JSON value, nil if absent; null and "" count as absent. A link to any
// other path or host is an error.
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
	return escapeInvalid(target.RawQuery), nil
}

// escapeInvalid percent-encodes bytes that a request line cannot carry: some
// providers send links with bare spaces.
func escapeInvalid(query string) string {
	var b strings.Builder
	for i := 0; i < len(query); i++ {
		if c := query[i]; c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (l NextLinks) allowed(target *url.URL) bool {
	return target.Opaque == "" && target.User == nil && (answers.Relative(target) || answers.OwnOrigin(target, l.Public, l.Endpoint))
}
