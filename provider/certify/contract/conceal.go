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

// credential names the variables that replace callers' bearer tokens in reports.
var credential = map[Caller]string{Owner: "$OWNER_TOKEN", Colleague: "$COLLEAGUE_TOKEN", Stranger: "$STRANGER_TOKEN"}

// concealed replaces a secret in a report.
const concealed = "(removed)"

// conceal replaces secrets in a text for a report: the callers' tokens, also
// where a provider repeats them, and the values of JSON members with the
// names of secrets, even if a value is cut off.
func (a *Adapter) conceal(text string) string {
	return secretMember.ReplaceAllString(a.concealTokens(text), `${1}"`+concealed+`"`)
}

var secretMember = regexp.MustCompile(`(?i)("[^"\\]*` +
	`(?:password|passwd|passphrase|secret|sastoken|accesstoken|refreshtoken|connectionstring|credential|privatekey|` +
	`(?:account|access|admin|api|master|primary|secondary|shared)_?key)s?"\s*:\s*)"(?:[^"\\]|\\.)*(?:"|\\?$)`)

func (a *Adapter) concealTokens(text string) string {
	callers := slices.SortedFunc(maps.Keys(a.tokens), func(x, y Caller) int {
		return cmp.Compare(len(a.tokens[y]), len(a.tokens[x])) // longest first: a token may be a prefix of another
	})
	var pairs []string
	for _, caller := range callers {
		if token := a.tokens[caller]; token != "" {
			pairs = append(pairs, token, credential[caller], url.QueryEscape(token), credential[caller])
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Bounds of the headers that a report shows, for a provider that sends many.
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
