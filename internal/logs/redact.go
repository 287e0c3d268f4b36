package logs

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// Redacted replaces a secret.
const Redacted = "REDACTED"

// Clip shortens a client's text to at most n bytes, and marks the cut.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// harmless reports whether a parameter, folded, may be logged with its value.
func harmless(name string) bool {
	switch name {
	case "api-version", "$top", "$filter", "$expand", "$select", "$orderby":
		return true
	}
	return false
}

// mostParameters bounds the logged parameters of a query.
const mostParameters = 32

// Query returns a raw query with the values of all parameters redacted,
// except known harmless ones: a signature or a token can have any name.
func Query(raw string) string {
	if raw == "" {
		return ""
	}
	if name, value, _ := strings.Cut(raw, "="); name == "api-version" && !strings.ContainsAny(raw, "&%") {
		if shown := harmlessValue(name, value); shown != value {
			return name + raw[len(name):len(raw)-len(value)] + shown
		}
		return raw // most requests have nothing else
	}
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(raw, "&") {
		if n > 0 {
			b.WriteByte('&')
		}
		if n++; n > mostParameters {
			b.WriteString("…")
			break
		}
		name, value, valued := strings.Cut(part, "=")
		decoded, err := url.QueryUnescape(name)
		switch {
		case err == nil && harmless(strings.ToLower(decoded)):
			b.WriteString(name)
			if valued {
				b.WriteByte('=')
				b.WriteString(harmlessValue(strings.ToLower(decoded), value))
			}
		case valued && len(name) <= 40:
			b.WriteString(name + "=" + Redacted)
		default: // a parameter of unknown meaning
			b.WriteString(Redacted)
		}
	}
	return b.String()
}

// longestVersion bounds a plausible api-version.
const longestVersion = 30

// harmlessValue returns the value of a harmless parameter, redacted if it may
// contain a secret nevertheless.
func harmlessValue(name, value string) string {
	if name == "api-version" && len(value) > longestVersion {
		return Redacted
	}
	return Detail(value)
}

// Detail is like Text, for texts that need not show the name of a resource:
// it removes everything that may be a key of any kind.
func Detail(text string) string { return redactTokens(Text(text), opaque) }

// Text redacts everything in a text that looks like a credential: user and password in a
// URL, texts after Bearer, Authorization: or Cookie:, the values of names such as
// token=, sig= or password=, JSON Web Tokens, and keys in base64.
func Text(text string) string {
	if !suspicious(text) {
		return text
	}
	text = redactHeaders(text)
	text = redactUserinfo(text)
	text = redactValues(text)
	return redactTokens(text, base64Key)
}

func suspicious(text string) bool {
	for i := range len(text) {
		if !suspects[text[i]] {
			continue
		}
		switch text[i] {
		case '=', '@', '%', '+':
			return true
		case ' ', '\t':
			if hasFoldSuffix(text[:i], "bearer") {
				return true
			}
		case 'J':
			if strings.HasSuffix(text[:i], "ey") {
				return true
			}
		case ':':
			if hasFoldSuffix(text[:i], "authorization") || hasFoldSuffix(text[:i], "cookie") {
				return true
			}
		}
	}
	return false
}

// suspects holds the bytes that make suspicious examine a text closely.
var suspects = [256]bool{'=': true, '@': true, '%': true, '+': true, ' ': true, '\t': true, 'J': true, ':': true}

func hasFoldSuffix(text, suffix string) bool {
	return len(text) >= len(suffix) && strings.EqualFold(text[len(text)-len(suffix):], suffix)
}

// redactHeaders redacts the rest of the line after a credential's name, and
// the next word after Bearer.
func redactHeaders(text string) string {
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); i++ {
		begin, end := i+1, -1
		switch {
		case text[i] == ':' && (hasFoldSuffix(text[:i], "authorization") || hasFoldSuffix(text[:i], "cookie")):
			end = endOf(text, begin, "\r\n")
		case (text[i] == ' ' || text[i] == '+' || text[i] == '\t') && hasFoldSuffix(text[:i], "bearer"):
			end = endOf(text, begin, " \t\r\n,;\"'")
		case strings.HasPrefix(text[i:], "%20") && hasFoldSuffix(text[:i], "bearer"):
			begin = i + len("%20")
			end = endOf(text, begin, " \t\r\n,;\"'/&?")
		}
		if end > begin {
			b.WriteString(text[from:begin] + Redacted)
			from, i = end, end-1
		}
	}
	b.WriteString(text[from:])
	return b.String()
}

// endOf returns the index of the first of some bytes at or after from, or the
// length of the text.
func endOf(text string, from int, ends string) int {
	if i := strings.IndexAny(text[from:], ends); i >= 0 {
		return from + i
	}
	return len(text)
}

// redactUserinfo redacts user and password in URLs.
func redactUserinfo(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "://")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("://")
		if at := strings.LastIndexByte(after[:endOf(after, 0, "/?# \t\r\n\"'")], '@'); at >= 0 {
			b.WriteString(Redacted)
			after = after[at:]
		}
		text = after
	}
}

// redactValues redacts the values of secret names.
func redactValues(text string) string {
	var b strings.Builder
	for {
		i, n := indexEquals(text)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i+n])
		secret := secretName(nameBefore(text[:i]))
		text = text[i+n:]
		if secret && text != "" {
			b.WriteString(Redacted)
			text = text[endOf(text, 0, "& \t\r\n\"'<>,;)"):]
		}
	}
}

// indexEquals returns the index and length of the first equals sign of a
// text, escaped or not; the index is -1 if there is none.
func indexEquals(text string) (at, length int) {
	for i := range len(text) {
		switch {
		case text[i] == '=':
			return i, 1
		case text[i] == '%' && i+2 < len(text) && text[i+1] == '3' && text[i+2]|0x20 == 'd':
			return i, 3
		}
	}
	return -1, 0
}

// nameBefore returns the name at the end of a text.
func nameBefore(text string) string {
	i := len(text)
	for i > 0 {
		c := text[i-1]
		if c != '_' && c != '-' && c != '$' && c != '.' && c != '%' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		i--
	}
	return text[i:]
}

func secretName(name string) bool {
	if decoded, err := url.QueryUnescape(name); err == nil {
		name = decoded
	}
	name = strings.ToLower(name)
	name = name[strings.LastIndexAny(name, "&?;/")+1:] // without an escaped prefix
	switch name {
	case "sig", "code", "key", "pwd", "signature":
		return true
	}
	for _, part := range []string{"token", "secret", "password", "credential", "apikey", "accesskey", "sharedaccess"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
