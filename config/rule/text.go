package rule

import (
	"encoding/base64"
	"net/url"
	"strings"
	"unicode"

	"portico/arm"
)

// GUID accepts a GUID and converts it to lower case.
func GUID() Rule[string] {
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			return strings.ToLower(text), arm.ValidGUID(text)
		},
		Shown:   true,
		Noun:    "GUID",
		Allowed: "a GUID such as 00000000-0000-0000-0000-000000000001",
		Schema:  matching("^" + guidPattern + "$"),
	}
}

// Tenant accepts a tenant for clients' metadata.
func Tenant() Rule[string] {
	g := GUID()
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			if text == "common" || text == "organizations" {
				return text, true
			}
			return g.Parse(text)
		},
		Shown:   true,
		Noun:    "tenant",
		Allowed: "a GUID, common, organizations",
		Schema:  matching("^(common|organizations|" + guidPattern + ")$"),
	}
}

// Scope accepts the ID of a scope: a tenant, subscription, group or resource.
func Scope() Rule[string] {
	return Rule[string]{
		Parse:   func(text string) (string, bool) { return text, arm.ValidScope(text) },
		Shown:   true,
		Noun:    "scope",
		Allowed: "/, /subscriptions/GUID, /subscriptions/GUID/resourceGroups/NAME, or the ID of a resource in a group",
		Schema:  matching("^/($|[sS][uU][bB][sS][cC][rR][iI][pP][tT][iI][oO][nN][sS]/" + guidPattern + "($|/))"),
	}
}

// SHA256 accepts the hash of a token. It is not quoted, because the token itself may be there by
// mistake.
func SHA256() Rule[string] {
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			return text, len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
		},
		Noun:    "SHA-256",
		Allowed: "the SHA-256 of the token's bytes: 64 hexadecimal digits in lower case",
		Secret:  true,
		Schema:  matching("^[0-9a-f]{64}$"),
	}
}

// Key accepts 32 secret bytes.
func Key() Rule[[32]byte] {
	return Rule[[32]byte]{
		Parse: func(text string) (key [32]byte, ok bool) {
			raw, err := base64.StdEncoding.Strict().DecodeString(text)
			if err != nil || len(raw) != len(key) {
				return key, false
			}
			return [32]byte(raw), true
		},
		Noun:    "key",
		Allowed: "base64 of 32 random bytes",
		Secret:  true,
		Schema:  matching("^[0-9A-Za-z+/]{43}=$"),
	}
}

// Text accepts a name for people.
func Text() Rule[string] {
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			return text, text != "" && len(text) <= 256 && strings.IndexFunc(text, unicode.IsControl) < 0 &&
				strings.TrimSpace(text) == text
		},
		Noun:    "text",
		Allowed: "1 to 256 bytes without control characters or surrounding white space",
		Schema:  Schema{Patterns: []string{`^\S(.*\S)?$`}, MaxLength: 256},
	}
}

// TextLike accepts what Text does. The form is checked elsewhere.
func TextLike(form string) Rule[string] {
	r := Text()
	r.Allowed, r.Shown = form, true
	return r
}

// PEMFile accepts the path of a file with keys or certificates.
func PEMFile() Rule[string] {
	return Rule[string]{
		Parse:   func(text string) (string, bool) { return text, text != "" },
		Shown:   true,
		Noun:    "path",
		Allowed: "the path of a PEM file",
	}
}

// File accepts the path of a file.
func File() Rule[string] {
	r := PEMFile()
	r.Allowed = "the path of a file"
	return r
}

// Folder accepts the path of a directory.
func Folder() Rule[string] {
	r := PEMFile()
	r.Allowed = "the path of a folder"
	return r
}

// Identifier accepts a name for programs.
func Identifier() Rule[string] {
	const legal = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			return text, text != "" && len(text) <= 64 && strings.Trim(text, legal) == ""
		},
		Shown:   true,
		Noun:    "identifier",
		Allowed: "1 to 64 ASCII letters, digits, -, _ and .",
		Schema:  matching("^[0-9A-Za-z._-]{1,64}$"),
	}
}

// RegionName accepts the name of a region and normalizes it.
func RegionName() Rule[string] {
	r := Location("a letter followed by letters and digits, at most 63, other than global")
	valid := r.Parse
	r.Parse = func(text string) (string, bool) {
		l, ok := valid(text)
		return l, ok && l != arm.GlobalLocation
	}
	r.Noun = "region name"
	return r
}

// Location accepts the name of a region, or global, and normalizes it.
func Location(allowed string) Rule[string] {
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			l := arm.Location(text)
			return l, arm.ValidLocation(l)
		},
		Shown:   true,
		Noun:    "location",
		Allowed: allowed,
		Schema:  matching(locationPattern),
	}
}

// APIVersion accepts an api-version.
func APIVersion() Rule[string] {
	return Rule[string]{
		Parse:   func(text string) (string, bool) { return text, arm.ValidAPIVersion(text) },
		Shown:   true,
		Noun:    "api-version",
		Allowed: "YYYY-MM-DD of a day that exists, then nothing or one of -preview, -alpha, -beta, -rc, -privatepreview",
		Schema:  matching(apiVersionPattern),
	}
}

// FeatureName accepts the name of a provider's feature.
func FeatureName() Rule[string] {
	return Rule[string]{
		Parse:   func(text string) (string, bool) { return text, arm.ValidFeatureName(text) },
		Shown:   true,
		Noun:    "feature name",
		Allowed: "letters, digits, full stops, hyphens and underscores, at most 128",
	}
}

// FullFeatureName accepts a feature's name with its namespace.
func FullFeatureName() Rule[string] {
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			_, _, ok := arm.CutFeature(text)
			return text, ok
		},
		Shown:   true,
		Noun:    "feature name with namespace",
		Allowed: "a namespace and the name of a feature, such as Contoso.Compute/bigMachines",
	}
}

// RequestTarget accepts the path of a URL, with or without a query.
func RequestTarget() Rule[string] {
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			u, err := url.ParseRequestURI(text)
			return text, err == nil && u.Host == "" && strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") && len(text) <= 1024 &&
				!strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' })
		},
		Noun:    "path",
		Allowed: "an absolute path, optionally with a query, in ASCII and without #, such as /healthz",
	}
}
