package headers

import (
	"net/http"
	"strconv"
	"strings"
)

// Encodings are the codings that a client takes an answer in, of those that the gateway
// knows.
type Encodings struct {
	Gzip     bool // it asks for it: no coding is better than that only where it says so
	Identity bool // it takes an answer without any
}

// AcceptedEncodings reads Accept-Encoding (RFC 9110, section 12.5.3). A client that
// prefers no coding to gzip, or sends what cannot be read, does not ask for gzip.
func AcceptedEncodings(h http.Header) Encodings {
	const unsaid = -1
	lines := h["Accept-Encoding"]
	if len(lines) == 0 {
		return Encodings{Identity: true}
	}
	gzip, identity, rest := float64(unsaid), float64(unsaid), float64(unsaid)
	for _, line := range lines {
		for element := range strings.SplitSeq(line, ",") {
			name, weight, ok := weighted(element)
			switch {
			case !ok:
				return Encodings{Identity: true}
			case EqualFold(name, "gzip"), EqualFold(name, "x-gzip"):
				gzip = max(gzip, weight)
			case EqualFold(name, "identity"):
				identity = weight
			case name == "*":
				rest = weight
			}
		}
	}
	if gzip == unsaid {
		gzip = rest
	}
	none := identity == 0 || identity == unsaid && rest == 0
	return Encodings{Gzip: gzip > 0 && gzip >= identity, Identity: !none}
}

// weighted splits an element of a list into its name and its weight, which is 1 where the
// element has none.
func weighted(element string) (name string, weight float64, ok bool) {
	name, parameter, has := strings.Cut(element, ";")
	name = TrimSpace(name)
	if !has {
		return name, 1, true
	}
	key, value, _ := strings.Cut(parameter, "=")
	if !EqualFold(TrimSpace(key), "q") {
		return name, 0, false
	}
	weight, err := strconv.ParseFloat(TrimSpace(value), 64)
	return name, weight, err == nil && weight >= 0 && weight <= 1
}
