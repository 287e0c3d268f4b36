package contoso

import (
	"net/url"
	"portico/provider/contoso/fault"
	"strings"
)

// foreignBase is the wrong host in links of some faults.
const foreignBase = "https://evil.example"

// referer returns the public URL that the client used. Links are built from it, never
// from the request's own host (async reference, 202 Accepted and Location Headers).
func (c *call) referer() (*url.URL, error) {
	u, err := url.Parse(c.header.Get("Referer"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, badRequest("RefererRequired", "A link must be built, and the request has no referer header with an absolute URL.")
	}
	return u, nil
}

// pollBase returns the scheme and host of polling URLs; locationBase returns them for
// the Location header, which differ only if a rule is broken on purpose.
func (c *call) pollBase() (string, error) {
	switch c.fault.Name {
	case fault.ForeignLocation:
		return foreignBase, nil
	case fault.OwnLocation:
		return c.own, nil
	}
	u, err := c.referer()
	if err != nil {
		return "", err
	}
	return u.Scheme + "://" + u.Host, nil
}

func (c *call) locationBase(base string) string {
	switch {
	case c.breaks[locationRelative]:
		return ""
	case c.breaks[locationFromHost]:
		return "http://" + c.host
	}
	return base
}

// nextLink returns the referer with the token of the page after the given key.
func (c *call) nextLink(last string) (string, error) {
	u, err := c.referer()
	if err != nil {
		return "", err
	}
	base := u.Scheme + "://" + u.Host
	if c.breaks[nextLinkFromHost] {
		base = "http://" + c.host
	}
	switch c.fault.Name {
	case fault.ForeignNext:
		base = foreignBase
	case fault.OwnNext:
		base = c.own
	}
	query := "$skipToken=" + skipToken(last)
	switch {
	case c.fault.Name == fault.LongNext:
		query += padding(c.fault.Number)
	case c.breaks[nextLinkLong]:
		query += padding(16 << 10)
	}
	if c.habits[AppendToken] {
		return base + u.EscapedPath() + "?" + u.RawQuery + "&" + query, nil
	}
	var kept []string
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		key, _, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(key)
		if part != "" && (err != nil || fold(name) != "$skiptoken") {
			kept = append(kept, part)
		}
	}
	return base + u.EscapedPath() + "?" + strings.Join(append(kept, query), "&"), nil
}
