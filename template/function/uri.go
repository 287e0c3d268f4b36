package function

import (
	"net/url"
	"strconv"
	"strings"
)

// defaultPorts are omitted from URIs.
var defaultPorts = map[string]string{"http": "80", "https": "443", "ftp": "21"}

// parseURL parses an absolute URI with a host.
func parseURL(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return nil, false
	}
	u.Host = strings.ToLower(u.Host)
	if port := u.Port(); port != "" && port == defaultPorts[u.Scheme] {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, true
}

// combineURL resolves a URI relative to another.
func combineURL(base, relative string) (string, bool) {
	b, ok := parseURL(base)
	if !ok {
		return "", false
	}
	r, err := url.Parse(relative)
	if err != nil {
		return "", false
	}
	return b.ResolveReference(r).String(), true
}

const upperHex = "0123456789ABCDEF"

// escapedSize returns the length of escapeData's result.
func escapedSize(s string) int {
	n := 0
	for i := range len(s) {
		if unreserved(s[i]) {
			n++
		} else {
			n += 3
		}
	}
	return n
}

// escapeData escapes everything but RFC 3986's unreserved characters.
func escapeData(s string) string {
	text := make([]byte, 0, escapedSize(s))
	for i := range len(s) {
		if c := s[i]; unreserved(c) {
			text = append(text, c)
		} else {
			text = append(text, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(text)
}

func unreserved(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == '~'
}

// unescapeData reverses escapeData. A percent sign that does not start an escape is kept.
func unescapeData(s string) string {
	text := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				text = append(text, byte(c))
				i += 2
				continue
			}
		}
		text = append(text, s[i])
	}
	return string(text)
}
