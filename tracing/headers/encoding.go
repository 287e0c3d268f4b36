package headers

import (
	"net/http"
	"strconv"
	"strings"
)

// Encodings are the content codings that a client accepts, of those that the gateway supports.
type Encodings struct {
	Gzip     bool // accepted, and not less preferred than no coding
	Identity bool // an answer without coding is accepted
}

// AcceptedEncodings parses Accept-Encoding (RFC 9110, section 12.5.3). Gzip is not set if the
// client prefers no coding, or if the header is malformed.
func AcceptedEncodings(h http.Header) Encodings {
	const unsaid = -1
	lines := h["Accept-Encoding"]
	if len(lines) == 0 {
		return Encodings{Identity: true}
	}
	gzip, identity, rest := float64(unsaid), float64(unsaid), float64(unsaid)
	for _, line := range lines {
		for element := range strings.SplitSeq(line, ",") {
			name, weight, ok := parseWeighted(element)
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

// parseWeighted splits a list element into its name and its weight, which is 1 by default.
func parseWeighted(element string) (name string, weight float64, ok bool) {
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
