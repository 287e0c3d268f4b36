package http1

// Classes of bytes, as bits of classes.
const (
	tokenByte = 1 << iota // may stand in a name
	valueByte             // may stand in a value
	digitByte
)

var classes = func() (all [256]byte) {
	for c := range all {
		if c >= ' ' && c != 0x7f || c == '\t' {
			all[c] |= valueByte
		}
	}
	for c := '0'; c <= '9'; c++ {
		all[c] |= tokenByte | digitByte
	}
	for c := 'a'; c <= 'z'; c++ {
		all[c] |= tokenByte
		all[c-'a'+'A'] |= tokenByte
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		all[c] |= tokenByte
	}
	return all
}()

// all reports whether each byte of s is of a class.
func all[T string | []byte](s T, class byte) bool {
	for i := range len(s) {
		if classes[s[i]]&class == 0 {
			return false
		}
	}
	return true
}

func isToken[T string | []byte](s T) bool { return len(s) > 0 && all(s, tokenByte) }

func isFieldValue[T string | []byte](s T) bool { return all(s, valueByte) }

// isVisible reports whether s may stand in a request target: nothing of it ends or
// splits the line.
func isVisible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// trimSpace cuts off spaces and tabs.
func trimSpace(s string) string {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// equalFold compares without regard to the case of ASCII letters, and of no others: in
// Unicode a Kelvin sign is a k.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
