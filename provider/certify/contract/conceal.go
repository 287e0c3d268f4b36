package contract

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// credential names the variable that stands for a caller's bearer token in what is shown.
var credential = map[Caller]string{Owner: "$OWNER_TOKEN", Colleague: "$COLLEAGUE_TOKEN", Stranger: "$STRANGER_TOKEN"}

// concealed stands for a secret in what is shown.
const concealed = "(removed)"

// conceal replaces secrets in a text that goes into a report: the callers' tokens,
// wherever a provider repeats them, and the values of JSON members that are named like
// secrets. The end of a value may be cut off.
func (a *Adapter) conceal(text string) string {
	return secretMember.ReplaceAllString(a.concealTokens(text), `${1}"`+concealed+`"`)
}

var secretMember = regexp.MustCompile(`(?i)("[^"\\]*` +
	`(?:password|passwd|passphrase|secret|sastoken|accesstoken|refreshtoken|connectionstring|credential|privatekey|` +
	`(?:account|access|admin|api|master|primary|secondary|shared)_?key)s?"\s*:\s*)"(?:[^"\\]|\\.)*(?:"|\\?$)`)

func (a *Adapter) concealTokens(text string) string {
	callers := slices.SortedFunc(maps.Keys(a.tokens), func(x, y Caller) int {
		return cmp.Compare(len(a.tokens[y]), len(a.tokens[x])) // a token may begin with another
	})
	var pairs []string
	for _, caller := range callers {
		if token := a.tokens[caller]; token != "" {
			pairs = append(pairs, token, credential[caller], url.QueryEscape(token), credential[caller])
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Bounds of the headers that are shown of an answer, for a provider that sends many.
const (
	longestValue = 4 << 10
	mostValues   = 200
)

// concealHeader returns a header without its secrets.
func (a *Adapter) concealHeader(header http.Header) http.Header {
	shown, count := http.Header{}, 0
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			if count++; count > mostValues {
				return shown
			}
			if secretHeader(name) {
				value = concealed
			}
			shown[name] = append(shown[name], clip(strings.ToValidUTF8(a.concealTokens(value), "�"), longestValue))
		}
	}
	return shown
}

// secretHeader reports whether a header of this name carries a credential.
func secretHeader(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "")
	for _, word := range []string{"authorization", "cookie", "password", "secret", "apikey", "subscriptionkey", "accesskey"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return strings.HasSuffix(name, "token")
}
