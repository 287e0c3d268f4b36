package headers

import (
	"net/url"
	"strings"

	"portico/arm"
)

// Referer returns the Referer for a call whose public URL is link: that URL without $skipToken.
// Providers append the token of the next page to the Referer (resource reference, Paging Response
// Body), so keeping this page's token would give their link two. Portico and the suite that tests
// providers both use it.
func Referer(link string) string {
	base, query, _ := strings.Cut(link, "?")
	if strings.IndexByte(query, '$') < 0 && strings.IndexByte(query, '%') < 0 {
		return link
	}
	var kept []string
	removed := false
	for pair := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(pair, "=")
		if key, err := url.QueryUnescape(key); err == nil && arm.EqualFold(key, "$skipToken") {
			removed = true
			continue
		}
		kept = append(kept, pair)
	}
	switch {
	case !removed:
		return link
	case len(kept) == 0:
		return base
	}
	return base + "?" + strings.Join(kept, "&")
}
