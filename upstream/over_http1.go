package upstream

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"portico/internal/http1/client"
)

// overHTTP1 sends the request by the package internal/http1/client.
func (x *request) overHTTP1(ctx context.Context, t *transports, call *Call, began time.Time) (*http.Response, error) {
	x.sent = client.Request{
		Method: call.Method, Path: targetPath(call.Path), Query: call.Query,
		Header: x.header, Own: call.Own, Content: call.Content, Deadline: call.deadline, Started: began, Observer: x,
	}
	if !isWrite(call.Method) {
		return t.reads.Do(ctx, &x.sent)
	}
	x.sent.Guard = &x.guard
	return t.writes.Do(ctx, &x.sent)
}

// targetPath returns a path for a request line; nearly all paths are unchanged.
func targetPath(path string) string {
	for i := range len(path) {
		switch c := path[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("/-_.~!$&'()*+,;=:@[]", c) >= 0:
		case c == '%' && i+2 < len(path) && isHex(path[i+1]) && isHex(path[i+2]):
		default:
			plain, err := url.PathUnescape(path)
			if err != nil {
				plain = path
			}
			return (&url.URL{Path: plain, RawPath: path}).EscapedPath()
		}
	}
	return path
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
