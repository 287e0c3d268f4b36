package arm

import "strings"

// Location returns the normalised name of a location: lower case, without white space,
// so that "West US", "westus" and "West us" are one (resource reference, Put Resource,
// field location). It allocates only if s is not normalised yet. An empty result means
// that s names no location.
func Location(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x80 || c <= ' ' || 'A' <= c && c <= 'Z' {
			return Fold(strings.Join(strings.Fields(s), ""))
		}
	}
	return s
}

// GlobalLocation is the location of resources without a region, and the key of the
// endpoint that serves them.
const GlobalLocation = "global"

// ValidLocation reports whether s, already normalised, can name a location: an
// ASCII letter followed by ASCII letters and digits, 63 at most.
func ValidLocation(s string) bool {
	if s == "" || len(s) > 63 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := 1; i < len(s); i++ {
		if c := s[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}
