package arm

import "strings"

// maxFeatureName bounds the name of a feature, without its namespace.
const maxFeatureName = 128

// ValidFeatureName reports whether s may name a feature of a provider: ASCII letters,
// digits, full stops, hyphens and underscores.
func ValidFeatureName(s string) bool {
	if s == "" || len(s) > maxFeatureName {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// CutFeature splits the full name of a feature, "Namespace/name".
func CutFeature(full string) (namespace, name string, ok bool) {
	namespace, name, found := strings.Cut(full, "/")
	return namespace, name, found && ValidNamespace(namespace) && ValidFeatureName(name)
}
