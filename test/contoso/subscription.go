package contoso

import (
	"encoding/json"
	"net/http"
	"slices"
)

// subscription is the latest notice about one: PUT /subscriptions/{id}.
type subscription struct {
	State  string          `json:"state"`
	Notice json.RawMessage `json:"notice"`
}

var subscriptionStates = [...]string{"Registered", "Unregistered", "Warned", "Suspended", "Deleted"}

// writable says whether the subscription may be written to. One that the
// provider was never told of counts as registered, and so does an
// unregistered one: the notice does not say which of the endpoint's
// namespaces it means.
func (s *subscription) writable(method string) error {
	if s == nil || s.State == "Registered" || s.State == "Unregistered" {
		return nil
	}
	if method == http.MethodDelete && s.State != "Deleted" {
		return nil
	}
	return fail(http.StatusConflict, "InvalidSubscriptionState", "The subscription is %s; this operation is not allowed.", s.State)
}

// subscriptionNotice keeps what the front door says of a subscription. A
// deleted subscription's resources go with it.
func (p *Provider) subscriptionNotice(c *call) (answer, error) {
	if c.method != http.MethodPut {
		return answer{}, notAllowed(http.MethodPut)
	}
	if v := c.query.Get("api-version"); v != "2.0" {
		return answer{}, badRequest("InvalidApiVersionParameter", "The api-version '%s' is invalid. The supported versions are '2.0'.", v)
	}
	body, err := c.object()
	if err != nil {
		return answer{}, err
	}
	state, err := body.text("state")
	if err != nil {
		return answer{}, err
	}
	if !slices.Contains(subscriptionStates[:], state) {
		return answer{}, invalidContent("The member 'state' must be one of %v.", subscriptionStates)
	}
	return p.transact(func(t *tx) (answer, error) {
		key := fold(c.address.subscription)
		t.change.Subscriptions = map[string]*subscription{key: {State: state, Notice: body.bytes()}}
		if state == "Deleted" {
			t.removeTree(c.address.key())
		}
		return bodyAnswer(http.StatusOK, body.bytes()), nil
	})
}
