package explain

import (
	"context"
	"errors"
	"net/http"

	"portico/config"
	"portico/connections"
	"portico/connections/http1"
	"portico/gateway/admin/api"
	"portico/gateway/chain"
	"portico/gateway/exchange"
)

// readRaw reads the bytes of a request as the public listener does. Unread is what is
// said of those that no handler gets to see.
func (e *Explainer) readRaw(ctx context.Context, sent []byte) (r *http.Request, unread *api.Explanation) {
	r, err := http1.ReadRequest(ctx, sent, chain.HeadBytes)
	if err == nil {
		r.RemoteAddr = exchange.NoAddress
		return r, nil
	}
	var said api.Explanation
	if refusal, ok := errors.AsType[*connections.Refusal](err); ok {
		said = Refused(refusal, e.readerInWords())
	} else {
		said = Unended(e.readerInWords())
	}
	return nil, &said
}

// readerInWords says by whose rules the bytes of a request are read.
func (e *Explainer) readerInWords() string {
	if e.Config.Server.HTTPServer == config.StandardServer {
		return "read as by server.httpServer: " + config.HTTP1Server + "; standard, which is configured, takes some requests that this refuses"
	}
	return "read as the public listener reads it"
}
