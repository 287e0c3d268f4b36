package contract

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// BodyLimit bounds how much of a body an [Exchange] shows.
const BodyLimit = 64 << 10

// longestURL bounds a URL in a report, as a provider chooses its own links.
const longestURL = 32 << 10

// exchange returns an answer and its request for a report.
func (a *Answer) exchange() *Exchange {
	if a == nil || a.sent == nil {
		return nil
	}
	adapter := a.s.Adapter
	e := &Exchange{
		Method: a.call.method, URL: adapter.concealTokens(a.sent.URL.String()), RequestHeader: adapter.concealHeader(a.sent.Header),
		Status: a.Status, Header: adapter.concealHeader(a.Header),
	}
	if a.sent.Header.Get("Authorization") != "" {
		e.RequestHeader.Set("Authorization", "Bearer "+credential[a.call.caller])
	}
	e.RequestBody, e.RequestBodyNote = adapter.showBody(a.call.body)
	e.Body, e.BodyNote = adapter.showBody(a.Body)
	if n := len(e.URL); n > longestURL {
		e.URL = clip(e.URL, longestURL)
		e.Curl = fmt.Sprintf("# the URL has %d bytes, which are not shown", n)
		return e
	}
	before, options, url := a.curlWords(e)
	e.Curl = before + "curl -i --path-as-is --globoff" + joined(append(options, url))
	return e
}

// newFault describes a violation, without secrets.
func (a *Adapter) newFault(expected, got string, last *Answer) Fault {
	return Fault{Expected: a.showText(expected), Got: a.showText(got), Exchange: last.exchange()}
}

// longestText bounds a fault's texts, which may quote a provider at any length.
const longestText = 4 << 10

func (a *Adapter) showText(text string) string {
	return clip(strings.ToValidUTF8(a.conceal(clip(text, 2*longestText)), "�"), longestText)
}

// showBody returns a body for a report, and a note if that is not the whole body.
func (a *Adapter) showBody(body []byte) (shown, note string) {
	if !isText(body) {
		const most = 32
		return fmt.Sprintf("% x", body[:min(len(body), most)]), fmt.Sprintf("binary, %d bytes; the first %d in hexadecimal", len(body), min(len(body), most))
	}
	// A token that begins within the limit is read completely, so that it is concealed.
	shown = a.conceal(clip(string(body), 2*BodyLimit))
	if len(shown) > BodyLimit || len(body) > 2*BodyLimit {
		return strings.ToValidUTF8(shown[:min(len(shown), BodyLimit)], ""), fmt.Sprintf("the first %d of %d bytes", BodyLimit, len(body))
	}
	return shown, ""
}

// isText reports whether a body can be shown as it is.
func isText(body []byte) bool {
	return utf8.Valid(body) && !strings.ContainsFunc(string(body), func(r rune) bool {
		return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r'
	})
}

// mostOctal bounds a binary body that is written out in a line for a shell.
const mostOctal = 4 << 10

// curlWords returns curl's options and URL for the request in e, and what
// must stand before curl in a POSIX shell.
func (a *Answer) curlWords(e *Exchange) (before string, options []string, url string) {
	body := a.call.body
	switch {
	case a.call.untilClose:
		options = append(options, "-X "+e.Method, "--http1.1", "--ignore-content-length")
	case e.Method == http.MethodHead:
		options = append(options, "--head")
	case e.Method != http.MethodGet || len(body) > 0:
		options = append(options, "-X "+e.Method)
	}
	for _, name := range slices.Sorted(maps.Keys(e.RequestHeader)) {
		for _, value := range e.RequestHeader[name] {
			line := name + ": " + value
			if value == "" {
				line = name + ";" // with a colon, curl would leave it out
			}
			options = append(options, "-H "+quote(line, name == "Authorization"))
		}
	}
	switch certificate := a.call.certificate; {
	case certificate == showsForged:
		options = append(options, `--cert "$FORGED"`)
	case certificate == showsOwn && a.s.Adapter.ownCertificate() != nil:
		options = append(options, `--cert "$TLS_CERT"`, `--key "$TLS_KEY"`)
	}
	if len(body) > 0 && e.RequestHeader.Get("Content-Type") == "" {
		options = append(options, "-H 'Content-Type:'") // curl would set one of its own
	}
	switch {
	case len(body) == 0:
	case e.RequestBodyNote == "":
		options = append(options, "--data-raw "+quote(e.RequestBody, false))
	case len(body) <= mostOctal:
		before = "printf '" + octal(body) + "' | "
		options = append(options, "--data-binary @-")
	default:
		options = append(options, "--data-binary @request-body")
	}
	return before, options, quote(e.URL, false)
}

// octal writes bytes for printf.
func octal(body []byte) string {
	var b strings.Builder
	for _, c := range body {
		fmt.Fprintf(&b, `\%03o`, c)
	}
	return b.String()
}

// quote quotes a word for a POSIX shell; variables in it are expanded only if
// variables is set.
func quote(word string, variables bool) string {
	if variables {
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
