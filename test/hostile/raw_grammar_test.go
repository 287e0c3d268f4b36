package hostile

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"portico/test/harness"
)

// grammar makes requests byte by byte: valid ones, with one or several elements that
// servers, proxies and libraries have been found to read in different ways.
type grammar struct {
	*rand.Rand
	host string
}

// rawRequest is the bytes for a connection.
type rawRequest struct {
	text string
	// unfinished: the server may wait for more of it, or take the next bytes for its end,
	// so nothing may follow.
	unfinished bool
}

func pick[T any](g *grammar, from ...T) T { return from[g.IntN(len(from))] }

// once in n.
func (g *grammar) once(n int) bool { return g.IntN(n) == 0 }

// names is how many things each caller has.
const rawNames = 20

func (g *grammar) request() rawRequest {
	mark, token := g.caller()
	method, target := g.method(), g.target(mark)
	body := ""
	if method != "GET" && method != "HEAD" && !g.once(5) {
		body = g.body()
	}
	if method == "POST" && !g.once(4) {
		path, query, _ := strings.Cut(target, "?")
		target = path + "/start?" + query
	}
	if g.once(12) {
		method, target, body = "POST", "/batch?api-version=2020-06-01", g.batch(mark)
	}
	lines := []string{g.hostLine()}
	if token != "" {
		lines = append(lines, token)
	}
	if body != "" {
		kind := pick(g, "Content-Type: application/json", "content-type:application/json; charset=utf-8")
		if g.once(15) {
			kind = pick(g, "Content-Type: text/plain", "Content-Type: application/json\r\nContent-Type: text/html")
		}
		lines = append(lines, kind)
	}
	for n := g.IntN(3) * g.IntN(4); n > 0; n-- {
		lines = append(lines, g.headerLine())
	}
	framing, content, unfinished := g.framing(body, mark)
	lines = append(lines, framing...)
	g.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	end := "\r\n"
	if g.once(60) {
		end = "\n"
	}
	line := fmt.Sprintf("%s %s %s", method, target, g.version())
	if g.once(80) {
		line = pick(g, " "+line, strings.Replace(line, " ", "\t", 1), strings.Replace(line, " ", "  ", 1), line+" ", "\r\n"+line, line+"\rX: y")
	}
	return rawRequest{line + end + strings.Join(lines, end) + end + end + content, unfinished || strings.Contains(line, "CONNECT") || strings.HasPrefix(line, "\r\n")}
}

// caller chooses a caller: its mark and the line of its token.
func (g *grammar) caller() (mark, line string) {
	spell := func(token string) string {
		return pick(g, "Authorization: ", "authorization: ", "AUTHORIZATION:", "Authorization:\t") + pick(g, "Bearer ", "Bearer ", "bearer ", "BEARER ") + token
	}
	switch n := g.IntN(40); {
	case n < 26:
		return "zza", spell(alice.Raw)
	case n < 35:
		return "zzb", spell(bob.Raw)
	case n < 36:
		return unowned, ""
	default:
		return unowned, pick(g,
			"Authorization: Bearer ", "Authorization: Bearer guess", "Authorization: "+alice.Raw, "Authorization: Basic "+alice.Raw, "Proxy-Authorization: Bearer "+alice.Raw,
			"Authorization_: Bearer "+alice.Raw, "Authorization : Bearer "+alice.Raw, "X-Authorization: Bearer "+alice.Raw, "Cookie: Authorization=Bearer "+alice.Raw,
			"Authorization: Bearer "+alice.Raw[:5]+"\r\n "+alice.Raw[5:], "x-ms-authorization-auxiliary: Bearer "+alice.Raw, "Authorization: Bearer "+alice.Raw+", Bearer "+bob.Raw,
			"Authorization: Bearer "+alice.Raw+"\r\nAuthorization: Bearer "+bob.Raw, "Authorization: Bearer\x0b"+alice.Raw, "Authorization: Bearer "+strings.ToUpper(alice.Raw), "Authorization: Bearer "+alice.SHA256())
	}
}

func (g *grammar) method() string {
	if g.once(12) {
		return pick(g, "get", "Put", "OPTIONS", "TRACE", "CONNECT", "PURGE", "PROPFIND", "MOVE", "PATCH\x00", "", "GET,PUT", "LOCK", "QUERY", "X", strings.Repeat("A", 300))
	}
	return pick(g, "GET", "GET", "GET", "GET", "PUT", "PUT", "PUT", "PUT", "PATCH", "POST", "DELETE", "HEAD")
}

func (g *grammar) version() string {
	if g.once(40) {
		return pick(g, "HTTP/1.0", "HTTP/1.0", "HTTP/2.0", "HTTP/1.2", "http/1.1", "HTTP/1.1 x", "HTTP/01.1", "")
	}
	return "HTTP/1.1"
}

func (g *grammar) target(mark string) string {
	target := g.path(mark) + "?" + g.query()
	switch {
	case g.once(30):
		return pick(g, "http://"+g.host, "http://evil.example", "http://a:b@"+g.host, "HTTP://"+g.host, "https://"+g.host+":443", "//evil.example", "http:", "http://["+g.host+"]") + target
	case g.once(150):
		return pick(g, "*", "", g.host, "/", "?", "//", "/?"+g.query())
	}
	return target
}

func (g *grammar) path(mark string) string {
	sub, group := ours, "rga"
	if mark == "zzb" {
		sub, group = theirs, "rgb"
	}
	switch {
	case g.once(10): // of the other tenant
		sub, group = pick(g, ours, theirs), pick(g, "rga", "rgb")
	case g.once(20):
		sub = pick(g, "00000000-0000-0000-0000-0000000000ff", "x", sub+"%00", strings.ReplaceAll(sub, "-", ""), "{"+sub+"}", sub+".", "%20"+sub)
	}
	name := fmt.Sprintf("%s%d", mark, g.IntN(rawNames))
	below := "/subscriptions/" + sub + "/resourceGroups/" + group + "/providers/Evil.Test/"
	path := below + pick(g, "things/"+name, "things/"+name, "things/"+name, "things/"+name+"/parts/"+name, "things/"+name+"/notes/"+name, "globals/"+name,
		"things/"+name+"/providers/Evil.Test/marks/"+name, "things", "other/"+name)
	if g.once(15) {
		path = pick(g, "/providers/Evil.Test/globals/"+name, "/subscriptions/"+sub+"/providers/Evil.Test/things", "/subscriptions/"+sub+"/providers/Evil.Test/locations/westus/operations/"+name,
			below+"things/"+name+"/subscriptions/"+pick(g, ours, theirs), "/providers/Evil.Test/operations", "/subscriptions/"+sub+"/resources", "/subscriptions/"+sub+"/resourceGroups/"+group+"/resources",
			"/providers/Evil.Test/globals/"+name+"/subscriptions/"+pick(g, ours, theirs)+"/resourceGroups/"+group)
	}
	for n := max(0, g.IntN(8)-5); n > 0; n-- {
		path = g.spoilPath(path)
	}
	return path
}

func (g *grammar) spoilPath(path string) string {
	at := g.IntN(len(path))
	if g.once(2) { // in the name
		at = len(path) - g.IntN(len(path)-strings.LastIndexByte(path, '/'))
	} else if slash := strings.IndexByte(path[at:], '/'); slash >= 0 && !g.once(3) {
		at += slash
	}
	if at < len(path) && g.once(3) { // another spelling of a character
		c := path[at]
		return path[:at] + pick(g, fmt.Sprintf("%%%02x", c), fmt.Sprintf("%%%02X", c), fmt.Sprintf("%%25%02x", c), strings.ToUpper(string(c)), fmt.Sprintf("%%u00%02x", c)) + path[at+1:]
	}
	return path[:at] + pick(g,
		"/", "//", "/.", "/..", "/./", "/../", "/%2e%2e/", "/.%2e/", "/..;/", ";", ";x=1", "%3b", "%3Bx", "/..%2f", "%2f", "%2F..%2F", "\\", "%5c", "/..\\", "%00", "%0d%0a", "%09", " ", "%20", "+", "%2b",
		"%c0%af", "%c0%ae%c0%ae/", "%e0%80%af", "%ff", "\xff", "é", "%C3%A9", "e\u0301", "\u212a", "%E2%84%AA", "\u017f", "\u200b", "%EF%BB%BF", "％２ｅ", "%", "%zz", "%1", "#", "#x", "?", "??", ".", "...", "~", "*", ":", "@", "!", "&", "=", "|", "<", "\"", "`", "^", "{", "}", "[", "]", ",", "$", "'", "(",
		"\u202e", "\x01", "\x7f", "%7f", "%C2%85", "\u3164", strings.Repeat("a", 300),
	) + path[at:]
}

func (g *grammar) query() string {
	query := "api-version=" + pick(g, harness.Version, harness.Version, harness.Version, harness.VersionOld)
	for n := max(0, g.IntN(8)-5); n > 0; n-- {
		query += pick(g, "&", "&", ";", "&&", "%26") + pick(g, "$filter=name%20eq%20'x'", "$top=1", "$skiptoken=x", "$skipToken=%00", "api-version=1", "API-Version=2023-01-01", "x=1;y=2", "x", "=", "%zz", "a=%0d%0ax:%20y", "a=#b", "sig=abc", "\xff", "a=\x01", "a b", "$expand=*", strings.Repeat("q", 200))
	}
	return query
}

func (g *grammar) hostLine() string {
	if g.once(30) {
		return pick(g, "Host: evil.example", "Host: "+g.host+"\r\nHost: evil.example", "Host:", "Host: "+g.host+"@evil.example", "Host: "+g.host+"/x", "X: 1", "Host : "+g.host, "host:\t"+g.host+"\t", "Host: "+g.host+", evil.example", "Host: \x01", "Host: 169.254.169.254", "Host: "+g.host+"\r\n evil.example")
	}
	return "Host: " + g.host
}

// names that a client may not set, or that concern one connection only.
var rawHeaderNames = []string{
	"x-ms-client-tenant-id", "x-ms-client-object-id", "x-ms-client-principal-name", "x-ms-client-app-id", "x-ms-client-ip-address", "x-ms-client-anything", "x-ms-home-tenant-id", "x-ms-arm-resource-system-data",
	"x-ms-arm-signed-user-token", "x-ms-identity-url", "x-ms-identity-principal-id", "x-ms-routing-request-id", "x-ms-management-group-ancestors", "x-ms-providerhub-x", "x-ms-original-url", "x-ms-portico-x",
	"x-ms-correlation-request-id", "x-ms-authorization-auxiliary", "x-ms-token-aad-access-token", "x-ms-request-id", "cookie", "cookie2", "set-cookie", "proxy-authorization", "proxy-connection", "proxy-authenticate", "proxy",
	"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port", "x-forwarded-prefix", "x-forwarded-uri", "x-forwarded-user", "x-forwarded-access-token", "forwarded", "x-real-ip", "true-client-ip", "x-client-ip",
	"x-cluster-client-ip", "cf-connecting-ip", "via", "x-original-url", "x-rewrite-url", "x-http-method-override", "x-http-method", "x-method-override", "x-remote-user", "x-remote-group", "remote-user", "impersonate-user",
	"x-auth-request-user", "x-envoy-external-address", "x-ssl-client-cert", "client-cert", "x-arr-clientcert", "x-host", "x-user", "x-custom", "referer", "referrer", "origin", "upgrade", "http2-settings", "te", "trailer", "keep-alive",
	"expect", "max-forwards", "destination", "depth", "baggage", "x-request-id", "x-amz-security-token", "metadata", "x-aws-ec2-metadata-token", "x-envoy-original-path", "transfer-encoding2", "content-length2", "sec-websocket-key",
}

func (g *grammar) headerLine() string {
	value := pick(g, evilMark, evilMark, "evil "+evilMark, evilMark+"\r\n "+evilMark, "\t"+evilMark+"\t", evilMark+"\xe9", "\u202e"+evilMark, strings.Repeat(evilMark, 20), `{"a":"`+evilMark+`"}`, evilMark+", "+evilMark)
	if g.once(50) {
		value = pick(g, evilMark+"\x00", evilMark+"\rX-Ms-Client-Object-Id: "+evilMark, evilMark+"\x7f")
	}
	colon := pick(g, ": ", ": ", ":", ":  ", ":\t")
	if g.once(50) {
		colon = pick(g, " : ", "\t:", " ", "")
	}
	switch g.IntN(10) {
	case 0:
		return pick(g, "Connection: ", "connection: close, ", "Connection:keep-alive,") + pick(g, rawHeaderNames[g.IntN(len(rawHeaderNames))], "x-ms-client-tenant-id, host, authorization", "content-length", "transfer-encoding, te", "if-match", "upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__", "upgrade\r\nUpgrade: websocket", "x-ms-arm-resource-system-data,,", "\"")
	case 1:
		return pick(g, "If-Match: *", "If-None-Match: *", "Accept: application/json", "Accept-Language: de", "User-Agent: "+evilMark, "traceparent: 00-4711e7114711e7114711e7114711e711-4711e7114711e711-01", "tracestate: a="+evilMark, "x-ms-foo: "+evilMark, "x-ms-date: "+evilMark, "x-ms-client-request-id: "+evilMark,
			"x-ms-return-client-request-id: true", "Content-Encoding: gzip", "Range: bytes=0-1", "Expect: 100-continue", "Expect: x", "Idempotency-Key: "+evilMark, "Accept-Encoding: gzip", "Prefer: respond-async", "Content-MD5: "+evilMark)
	}
	return g.spell(rawHeaderNames[g.IntN(len(rawHeaderNames))]) + colon + value
}

// spell spells a header name in one of the ways that some server reads as that name.
func (g *grammar) spell(name string) string {
	if g.once(60) {
		return pick(g, " "+name, "\x0b"+name, name+" ", name+"\x00", name+"\t", name+"\r", name+"\u00a0", strings.ReplaceAll(name, "s", "\u017f"))
	}
	switch g.IntN(9) {
	case 0:
		return strings.ToUpper(name)
	case 1:
		return strings.ReplaceAll(name, "-", "_")
	case 2:
		return strings.Replace(name, "-", "_", 1)
	case 3:
		return strings.ReplaceAll(name, "-", ".")
	case 4:
		return name + pick(g, "%20", "-", "_", "'", "+")
	case 5:
		return pick(g, "_", "-", "HTTP_", "!") + name
	}
	return name
}

// framing frames a body, or omits that.
func (g *grammar) framing(body, mark string) (lines []string, content string, unfinished bool) {
	length := fmt.Sprintf("Content-Length: %d", len(body))
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	if body == "" {
		chunks = "0\r\n\r\n"
	}
	switch n := g.IntN(60); {
	case n < 40:
		if body == "" {
			return nil, "", false
		}
		return []string{length}, body, false
	case n < 48:
		return []string{"Transfer-Encoding: chunked"}, chunks, false
	case n < 50: // extensions and trailers
		ext := pick(g, ";a=b", ";a=\"x;y\"", "; "+strings.Repeat("x", 500), ";\x00", " ;a", "\t", ";a\rb")
		trailer := pick(g, "", "x-ms-client-object-id: "+evilMark+"\r\n", "Content-Length: 3\r\n", "Authorization: Bearer "+bob.Raw+"\r\n", "Host: evil.example\r\n", "X\r\n")
		return []string{"Transfer-Encoding: chunked", "Trailer: x-ms-client-object-id, host"}, fmt.Sprintf("%x%s\r\n%s\r\n0%s\r\n%s\r\n", len(body)+1, ext, body+" ", ext, trailer), true
	case n < 53: // both
		hidden := g.hidden(mark)
		return []string{pick(g, length, fmt.Sprintf("Content-Length: %d", len(chunks)+len(hidden)), "Content-Length: 0", "Content-Length: 4"), pick(g, "Transfer-Encoding: chunked", "transfer-encoding: CHUNKED", "Transfer-Encoding:\tchunked")}, chunks + hidden, true
	case n < 56: // invalid framing
		return []string{pick(g, "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: identity", "Transfer-Encoding : chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: \x0bchunked", "X: 1\nTransfer-Encoding: chunked", "Transfer-Encoding:\r\n chunked",
			"Content-Length: +5", "Content-Length: 5, 5", "Content-Length: 0x5", "Content-Length: -1", "Content-Length:", "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 99999999999999999999", "Content-Length: 5 5", "Content_Length: 5", "Content-Length\t: 5")}, body + g.hidden(mark), true
	case n < 57: // too short, too long
		hidden := g.hidden(mark)
		return []string{fmt.Sprintf("Content-Length: %d", max(0, len(body)+pick(g, -1, 1, 10, len(hidden))))}, body + hidden, true
	case n < 58: // invalid chunks
		return []string{"Transfer-Encoding: chunked"}, pick(g, "-1\r\n", "ffffffffffffffff\r\nx", "10000000000000000\r\n", "0x5\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n", "5\r\nhelloXX0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n", "5\r\nhel", "g\r\n") + g.hidden(mark), true
	default: // a pipelined request
		if body == "" {
			return nil, g.hidden(mark), true
		}
		return []string{length}, body + g.hidden(mark), true
	}
}

// hidden is a request that one of two readers may see, with the token of its mark.
func (g *grammar) hidden(mark string) string {
	token := ""
	if mark != unowned && g.once(2) {
		token = "Authorization: Bearer " + markOf[mark].Raw + "\r\n"
	} else {
		mark = unowned
	}
	return pick(g, "GET ", "PUT ", "DELETE ") + g.path(mark) + "?api-version=" + harness.Version + " HTTP/1.1\r\nHost: " + g.host + "\r\n" + token + pick(g, "\r\n", "Content-Length: 0\r\n\r\n", "X: ")
}

func (g *grammar) body() string {
	if !g.once(3) {
		return located(pick(g, "westus", "westus", "westus", "eastus"))
	}
	return pick(g, `{}`, `[]`, `x`, `{"location":"westus","properties":{"a":"`+evilMark+`"}}`, `{"location":"westus"`, "\xef\xbb\xbf{}", `{"location":"westus","location":"eastus"}`, "GET / HTTP/1.1\r\n\r\n", strings.Repeat(" ", 5000)+"{}")
}

// batch is the content of a batch, whose requests are made like others.
func (g *grammar) batch(mark string) string {
	var requests []any
	for range 1 + g.IntN(3) {
		headers := map[string]any{}
		for range g.IntN(4) {
			headers[g.spell(rawHeaderNames[g.IntN(len(rawHeaderNames))])] = pick[any](g, evilMark, []string{evilMark, evilMark}, evilMark+"\r\nX: y", "")
		}
		if g.once(4) {
			headers["Authorization"] = "Bearer " + pick(g, alice, bob).Raw
		}
		requests = append(requests, map[string]any{
			pick(g, "httpMethod", "HTTPMETHOD"): strings.ToValidUTF8(g.method(), ""), pick(g, "url", "relativeUrl"): strings.ToValidUTF8(pick(g, "", "", "http://"+g.host, "http://evil.example", "//evil.example")+g.path(mark)+"?"+g.query(), ""),
			pick(g, "headers", "requestHeaderDetails", "requestHeaderDictionary"): headers, "content": json.RawMessage(pick(g, located("westus"), `{}`, `null`, `"x"`)), "name": pick[any](g, "a", 1, nil),
		})
	}
	text, err := json.Marshal(map[string]any{"requests": requests})
	if err != nil {
		panic(err) // all of it has a JSON form
	}
	return string(text)
}
