package arm

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Maximum lengths of names in the contract, in characters.
const (
	MaxGroupName    = 90
	MaxResourceName = 260
)

// ValidGUID reports whether s is a GUID in its plain form: 32 hexadecimal
// digits in groups of 8-4-4-4-12, of either case, without braces.
func ValidGUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				return false
			}
		}
	}
	return true
}

// ValidGroupName reports whether s may name a resource group: 1 to 90 Unicode
// letters, decimal digits, and any of - _ . ( ), not ending in a full stop
// (resource reference, arguments); in normalization form C, and without
// letters that servers mistake for others.
func ValidGroupName(s string) bool {
	if s == "" || s[len(s)-1] == '.' {
		return false
	}
	n := 0
	for _, r := range s {
		if !groupNameRune(r) {
			return false
		}
		n++
	}
	return n <= MaxGroupName && Composed(s)
}

func groupNameRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	case r < utf8.RuneSelf:
		return strings.ContainsRune("-_.()", r)
	case r == utf8.RuneError:
		return false
	}
	return (unicode.IsLetter(r) || unicode.Is(unicode.Nd, r)) && !ignorable(r) && !foldsToASCII(r)
}

// DeploymentNames describes the names that [ValidDeploymentName] accepts.
const DeploymentNames = "has 1 to 64 characters: letters, digits, '-', '_', '.', '(' and ')', and does not end in '.'"

// ValidDeploymentName reports whether s may name a deployment, nested or not.
func ValidDeploymentName(s string) bool {
	return s != "" && len(s) <= 64 && s[len(s)-1] != '.' && strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.()", c)
	}) < 0
}

// InvalidGroupNameCharacters returns the characters of s that a group name may not
// contain, each once, in the order of their occurrence; ARM quotes them.
func InvalidGroupNameCharacters(s string) string {
	var bad strings.Builder
	for _, r := range s {
		if !groupNameRune(r) && !strings.ContainsRune(bad.String(), r) {
			bad.WriteRune(r)
		}
	}
	return bad.String()
}

// ValidResourceName reports whether s may name a resource; see [CheckResourceName].
func ValidResourceName(s string) bool { return CheckResourceName(s) == nil }

// CheckResourceName returns an error unless s may name a resource. The
// contract requires 1 to 260 characters, none of < > % & : \ ? / and no
// control character (resource reference, arguments). It also refuses names
// that some servers take for another resource.
func CheckResourceName(s string) *Error {
	if !allowedName(s) {
		return NewError(InvalidResourceName, s).WithTarget("resourceName")
	}
	if why := ambiguity(s); why != "" {
		return NewError(InvalidResourceName, s).WithTarget("resourceName").WithMessage("The provided resource name '%s' is invalid: %s.", s, why)
	}
	return nil
}

func allowedName(s string) bool {
	n := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if forbiddenInName(c) {
				return false
			}
			i++
		} else {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 || unicode.IsControl(r) {
				return false
			}
			i += size
		}
		n++
	}
	return 0 < n && n <= MaxResourceName
}

func forbiddenInName(c byte) bool {
	if c < ' ' || c == 0x7f {
		return true
	}
	switch c {
	case '<', '>', '%', '&', ':', '\\', '?', '/':
		return true
	}
	return false
}

// ValidNamespace reports whether s may be a provider namespace: ASCII
// letters, digits and full stops, with no full stop first, last or doubled.
func ValidNamespace(s string) bool {
	previous := byte('.')
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '.' && previous == '.' || c != '.' && !asciiAlphanumeric(c) {
			return false
		}
		previous = c
	}
	return previous != '.' && len(s) <= MaxResourceName
}

// ValidTypeName reports whether s may be one segment of a resource type: ASCII
// letters and digits (resource reference, arguments).
func ValidTypeName(s string) bool {
	if s == "" || len(s) > MaxResourceName {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !asciiAlphanumeric(s[i]) {
			return false
		}
	}
	return true
}

func asciiAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// Trademarked words. The first ones may not be a resource's name, the others
// not even a part of it.
var (
	reservedNames = []string{
		"access", "azure", "bing", "bizspark", "biztalk", "cortana", "directx", "dotnet", "dynamics", "excel",
		"exchange", "forefront", "groove", "hololens", "hyperv", "kinect", "lync", "msdn", "o365", "office",
		"office365", "onedrive", "onenote", "outlook", "powerpoint", "sharepoint", "skype", "visio", "visualstudio",
	}
	reservedParts = []string{"login", "microsoft", "windows", "xbox"}
)

// ReservedName reports whether a resource name, in any casing, is a reserved
// word or contains one that may not be a part of a name.
func ReservedName(name string) bool {
	folded := Fold(name)
	return slices.Contains(reservedNames, folded) ||
		slices.ContainsFunc(reservedParts, func(part string) bool { return strings.Contains(folded, part) })
}

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

// Location returns the normalised name of a location: lower case, without
// white space, so that "West US", "westus" and "West us" are equal (resource
// reference, Put Resource, field location). It allocates only if s is not
// normalised yet. An empty result means that s names no location.
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

// ValidLocation reports whether s, already normalised, may name a location: an ASCII
// letter followed by ASCII letters and digits, at most 63 characters.
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
