package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"portico/arm"
	"portico/inventory"
	"portico/jsonscan"
)

// poll carries a poll of an operation. When it shows that the operation has
// ended, the resource that it worked on is asked for before the client learns
// of the end, so that what the client does next meets an index that knows.
func (g *Gateway) poll(w http.ResponseWriter, r *http.Request, x *exchange, p proxied) error {
	if o := p.Operation; o != nil {
		principal := x.principal.In(p.Subscription.TenantID)
		if !arm.EqualFold(o.TenantID, principal.TenantID) || o.ObjectID != principal.ObjectID {
			return x.request.Unroutable()
		}
	}
	answer, err := g.call(r.Context(), r, x, p, http.MethodGet)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if p.Operation != nil && p.Operation.Resource != "" {
		ended, err := g.ended(answer, x.request.Provider.Namespace)
		if err != nil {
			return err
		}
		if ended {
			g.settleEnd(r.Context(), x, p)
		}
	}
	return g.deliver(r.Context(), w, x, p, answer)
}

// ended reads from a poll's answer whether the operation is over: finished, or
// lost (async reference, 202 Accepted and Location Headers; Azure-AsyncOperation
// Resource format).
func (g *Gateway) ended(answer *http.Response, namespace string) (bool, error) {
	switch status := answer.StatusCode; {
	case status == http.StatusNotFound, status == http.StatusNoContent, status == http.StatusCreated:
		return true, nil
	case status == http.StatusOK:
		text, err := g.hold(answer, namespace)
		if err != nil {
			return false, err
		}
		return terminal(operationState(text)), nil
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return false, nil // the reading failed, not the operation
	case status >= http.StatusBadRequest:
		return true, nil
	}
	return false, nil
}

// operationState finds the state in a poll's body: an operation's status, or
// the provisioningState of the resource that a finished Location shows.
func operationState(text []byte) string {
	status := ""
	_ = jsonscan.Object(text, func(m jsonscan.Member) error {
		if string(m.Key) == "status" {
			status, _ = jsonscan.Text(m.Value)
		}
		return nil
	})
	if status != "" {
		return status
	}
	state, _ := inventory.ReadDetails(text)
	return state
}

// terminal holds for the states in which nothing more will happen. Of operations
// that is also the British spelling of canceled, which some providers use.
func terminal(state string) bool {
	return strings.EqualFold(state, "cancelled") || inventory.Terminal(state)
}

func (g *Gateway) settleEnd(ctx context.Context, x *exchange, p proxied) {
	row, err := g.endOf(ctx, x, p.Operation)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return
	case err == nil:
		_, err = g.ask(ctx, x, p.Subscription.TenantID, row)
	}
	if err != nil {
		g.note(x, "the end of an operation was not confirmed", err)
	}
}

// endOf tells the inventory that an operation is over, and returns the row that
// it worked on.
func (g *Gateway) endOf(ctx context.Context, x *exchange, o *inventory.Operation) (inventory.Resource, error) {
	switch o.Method {
	case http.MethodPut:
		return g.store.EndFollow(ctx, x.subscription(), o.Resource, inventory.Put)
	case http.MethodDelete:
		return g.store.EndFollow(ctx, x.subscription(), o.Resource, inventory.Delete)
	}
	return g.store.Resource(ctx, x.subscription(), o.Resource)
}
