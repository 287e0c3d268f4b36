package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/operations/deploy"
)

// OrderCaller returns the caller of a request in the form in which a deployment keeps it.
func OrderCaller(r *http.Request, x *exchange.Exchange) (json.RawMessage, error) {
	return json.Marshal(NewCaller(r, x))
}

// ReadCaller reads what OrderCaller wrote.
func ReadCaller(written json.RawMessage) (caller Caller, err error) {
	if err = json.Unmarshal(written, &caller); err != nil {
		err = fmt.Errorf("read the caller of a deployment: %w", err)
	}
	return caller, err
}

// Sender returns what sends the calls of a deployment on the way of a batch's requests.
func (b *Batches) Sender(caller json.RawMessage) (deploy.Sender, error) {
	by, err := ReadCaller(caller)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, c deploy.Call) (deploy.Answer, error) {
		by := by
		by.Principal = by.Principal.Outlasting(time.Now())
		q := &Request{Method: c.Method, URL: c.Target, Content: c.Content, Origin: originOf(&c), Parent: c.Parent}
		status, header, body, fault := b.Send(ctx, &by, q)
		if fault != nil {
			return deploy.Answer{Status: fault.Status, Header: header, Body: fault.Body()}, ctx.Err()
		}
		if status == arm.StatusClientClosed {
			return deploy.Answer{}, ctx.Err()
		}
		return deploy.Answer{Status: status, Header: header, Body: body}, nil
	}, nil
}

func originOf(c *deploy.Call) exchange.Origin {
	switch {
	case c.Parent != nil:
		return exchange.OriginNested
	case c.Method == http.MethodDelete:
		return exchange.OriginRemoval
	}
	return exchange.OriginStep
}
