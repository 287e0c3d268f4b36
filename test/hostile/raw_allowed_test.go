package hostile

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"portico/test/harness"
)

// What may reach a provider, whatever a client sends.
var (
	allowedMethods = []string{"GET", "HEAD", "PUT", "PATCH", "POST", "DELETE"}

	// allowedHeaders are those of HTTP that pass, in lower case; x-ms-* passes as well,
	// except reservedFamilies.
	allowedHeaders = []string{
		"accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "pragma", "date", "prefer", "user-agent",
		"content-length", "content-disposition", "content-encoding", "content-language", "content-md5", "content-range", "content-type",
		"if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range",
		"idempotency-key", "repeatability-client-id", "repeatability-first-sent", "repeatability-request-id", "traceparent", "tracestate",
	}

	// reservedFamilies begin the names that only Portico sets.
	reservedFamilies = []string{
		"x-ms-client-", "x-ms-home-", "x-ms-arm-", "x-ms-identity-", "x-ms-routing-", "x-ms-management-group-", "x-ms-providerhub-",
		"x-ms-original-", "x-ms-portico-", "x-ms-authorization-", "x-ms-token-",
	}

	// stamps are Portico's own headers. None has a client's value, except the id that a
	// client gives its request.
	stamps = []string{
		"x-ms-correlation-request-id", "x-ms-routing-request-id", "x-ms-client-request-id", "x-ms-client-tenant-id", "x-ms-client-object-id", "x-ms-client-app-id",
		"x-ms-client-principal-name", "x-ms-client-authorization-source", "x-ms-client-principal-id", "x-ms-client-ip-address", "x-ms-home-tenant-id", "x-ms-arm-resource-system-data",
		"referer", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host",
	}
)

// plainInPath are the characters that a canonical path does not escape.
const plainInPath = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$'()*,=@"

// owners are the principals by object id, with the only subscription that each may
// reach and the mark in the names that it requests.
var owners = map[string]struct{ subscription, mark string }{
	alice.ObjectID: {ours, "zza"},
	bob.ObjectID:   {theirs, "zzb"},
}

// unowned marks requests without a token.
const unowned = "zzn"

// forbidden describes the fault of a request that reached a provider.
func forbidden(r *http.Request, public string) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if !slices.Contains(allowedMethods, r.Method) {
		say("method %q", r.Method)
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	plain := forbiddenInPath(path, say)
	forbiddenHeaders(r.Header, public, say)
	if own, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr); own == nil || r.Host != own.String() {
		say("host %q", r.Host)
	}
	if len(r.TransferEncoding) > 0 || r.ContentLength < 0 {
		say("content framed by %q and length %d", r.TransferEncoding, r.ContentLength)
	}
	forbiddenOwner(r.Header.Get("X-Ms-Client-Object-Id"), plain, say)
	return wrong
}

// forbiddenInPath checks a path, and returns it decoded and in lower case.
func forbiddenInPath(path string, say func(string, ...any)) string {
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "//") || strings.HasSuffix(path, "/") {
		say("an empty segment in %q", path)
	}
	var plain []string
	for segment := range strings.SplitSeq(path, "/") {
		name, err := url.PathUnescape(segment)
		switch {
		case err != nil:
			say("%v", err)
		case name == "." || name == "..":
			say("the segment %q", segment)
		case strings.ContainsAny(name, "/\\%?#\x00\r\n"):
			say("the name %q", name)
		case segment != canonical(name):
			say("%q is not the one encoding of a name, %q", segment, canonical(name))
		}
		plain = append(plain, strings.ToLower(name))
	}
	return strings.Join(plain, "/")
}

func canonical(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if strings.IndexByte(plainInPath, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func forbiddenHeaders(h http.Header, public string, say func(string, ...any)) {
	for name, values := range h {
		folded := strings.ToLower(name)
		switch {
		case slices.Contains(stamps, folded):
			if len(values) != 1 || strings.Contains(strings.Join(values, " "), evilMark) && folded != "x-ms-client-request-id" {
				say("%s: %q is not Portico's own", name, values)
			}
		case slices.Contains(allowedHeaders, folded):
		case !strings.HasPrefix(folded, "x-ms-") || strings.Trim(folded, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" ||
			slices.ContainsFunc(reservedFamilies, func(family string) bool { return strings.HasPrefix(folded, family) }):
			say("the header %s: %q", name, values)
		}
	}
	host := public[strings.Index(public, "//")+2:]
	for name, want := range map[string]string{"X-Forwarded-For": "127.0.0.1", "X-Ms-Client-Ip-Address": "127.0.0.1", "X-Forwarded-Host": host, "X-Forwarded-Proto": "http"} {
		if got, given := h[name]; given && got[0] != want {
			say("%s: %q, not %q", name, got, want)
		}
	}
	if referer := h.Get("Referer"); referer != "" && !strings.HasPrefix(referer, public+"/") {
		say("Referer: %q", referer)
	}
}

// forbiddenOwner checks that the principal of a call to a provider may reach the path.
// Portico's own calls have none.
func forbiddenOwner(principal, path string, say func(string, ...any)) {
	if strings.Contains(path, unowned) {
		say("it was asked for without a token")
	}
	owner, known := owners[principal]
	if principal != "" && !known {
		say("nobody is %q", principal)
	}
	for other, o := range owners {
		if known && other != principal && strings.Contains(path, o.mark) {
			say("%s asked for it, not %s", other, principal)
		}
	}
	parts := strings.Split(path, "/")
	for i := 1; i < len(parts)-1; i += 2 {
		if id := parts[i+1]; parts[i] == "subscriptions" && id != owner.subscription && (known || id != ours && id != theirs) {
			say("the subscription %q for %q", id, principal)
		}
	}
}

// evilMark is in every header value that a client forges.
const evilMark = "4711e711"

// tokens by their holders' marks.
var markOf = map[string]harness.Token{"zza": alice, "zzb": bob}
