package logs

import "strings"

// Minimum lengths of runs of characters that may be secrets.
const (
	shortestJWT = 20
	shortestKey = 32
)

// redactTokens replaces JSON Web Tokens, and runs of key characters that secret selects.
func redactTokens(text string, secret func(run string) bool) string {
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); {
		end := runEnd(text, i)
		if end == i {
			i++
			continue
		}
		run := text[i:end]
		switch jwt := indexJWT(run); {
		case jwt >= 0:
			b.WriteString(text[from:i+jwt] + Redacted)
			from = end
		case len(run) >= shortestKey && secret(run):
			b.WriteString(text[from:i] + Redacted)
			from = end
		}
		i = end
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}

// runEnd returns the end of the run of token and key characters at i: base64
// without the slash, which separates the parts of paths, and their escapes.
func runEnd(text string, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case letterOrDigit(c) || strings.IndexByte("-_.~+=", c) >= 0:
			i++
		case escapedKeyByte(text[i:]):
			i += 3
		default:
			return i
		}
	}
	return i
}

func letterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// escapedKeyByte reports whether a text begins with %2B, %2F or %3D.
func escapedKeyByte(text string) bool {
	if len(text) < 3 || text[0] != '%' {
		return false
	}
	switch strings.ToUpper(text[1:3]) {
	case "2B", "2F", "3D":
		return true
	}
	return false
}

// indexJWT returns the index of a JSON Web Token in a run, -1 if there is
// none: its header is the base64 of an object, which begins with {".
func indexJWT(run string) int {
	for i := 0; i+shortestJWT <= len(run); i++ {
		if strings.HasPrefix(run[i:], "eyJ") && (i == 0 || !letterOrDigit(run[i-1]) || strings.HasSuffix(run[:i], "%2F")) {
			return i
		}
	}
	return -1
}

// base64Key reports whether a run cannot be a name: it has letters of both
// cases, digits, and one of base64's further characters.
func base64Key(run string) bool {
	upper, lower, digit := characterClasses(run)
	return upper && lower && digit && (strings.ContainsAny(run, "+=") || strings.Contains(run, "%2B") || strings.Contains(run, "%3D"))
}

// opaque reports whether a run may be a key of any kind, also hexadecimal. It
// is for values that need not show a resource's name.
func opaque(run string) bool {
	upper, lower, digit := characterClasses(run)
	if upper && lower && digit {
		return true
	}
	longest := 0
	for part := range strings.FieldsFuncSeq(run, func(c rune) bool { return c == '-' || c == '_' || c == '.' }) {
		longest = max(longest, len(part))
	}
	return digit && longest >= shortestKey
}

// characterClasses reports which kinds of characters a run has, ignoring escapes.
func characterClasses(run string) (upper, lower, digit bool) {
	for i := 0; i < len(run); i++ {
		switch c := run[i]; {
		case c == '%':
			i += 2
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= '0' && c <= '9':
			digit = true
		}
	}
	return upper, lower, digit
}
