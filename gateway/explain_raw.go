package gateway

import (
	"context"
	"errors"
	"net/http"

	"portico/config"
	"portico/connections"
	"portico/connections/http1"
	adminapi "portico/gateway/admin/api"
	"portico/gateway/explain"
)

// HeadBytes is what the request line of a request may take, and its headers.
const HeadBytes = 16 << 10

// readRaw reads the bytes of a request as the public listener does. Unread is what is
// said of those that no handler gets to see.
func (g *Gateway) readRaw(ctx context.Context, sent []byte) (r *http.Request, unread *adminapi.Explanation) {
	r, err := http1.ReadRequest(ctx, sent, HeadBytes)
	if err == nil {
		r.RemoteAddr = anAddress
		return r, nil
	}
	var said adminapi.Explanation
	if refusal, ok := errors.AsType[*connections.Refusal](err); ok {
		said = explain.Refused(refusal, g.readerInWords())
	} else {
		said = explain.Unended(g.readerInWords())
	}
	return nil, &said
}

// readerInWords says by whose rules the bytes of a request are read.
func (g *Gateway) readerInWords() string {
	if g.config.Server.HTTPServer == config.StandardServer {
		return "read as by server.httpServer: " + config.HTTP1Server + "; standard, which is configured, takes some requests that this refuses"
	}
	return "read as the public listener reads it"
}
