package contoso

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// subscription is what notices, PUT /subscriptions/{id}, have said of one.
type subscription struct {
	State  string          `json:"state"`
	Notice json.RawMessage `json:"notice"`
	// Namespaces has the states of which a notice told for one namespace alone.
	// Keys are folded.
	Namespaces map[string]string `json:"namespaces,omitempty"`
}

// States of a subscription at a resource provider.
const (
	subscriptionRegistered   = "Registered"
	subscriptionUnregistered = "Unregistered"
	subscriptionWarned       = "Warned"
	subscriptionSuspended    = "Suspended"
	subscriptionDeleted      = "Deleted"
)

var subscriptionStates = [...]string{subscriptionRegistered, subscriptionUnregistered, subscriptionWarned, subscriptionSuspended, subscriptionDeleted}

// stateFor gives the state of the subscription in which the address lies, for
// the namespace of the address. One that the provider was never told of counts
// as registered.
func (t *tx) stateFor(a address) string {
	s := t.subscriptions[fold(a.subscription)]
	if s == nil {
		return subscriptionRegistered
	}
	if state, told := s.Namespaces[fold(a.namespace)]; told {
		return state
	}
	return s.State
}

// permits says what the subscription's state leaves of the methods: all while
// it is registered, reads and deletes while it is warned or suspended, else
// reads alone.
func (t *tx) permits(c *call) error {
	state := t.stateFor(c.address)
	switch {
	case state == subscriptionRegistered, c.method == http.MethodGet, c.method == http.MethodHead:
		return nil
	case c.method == http.MethodDelete && (state == subscriptionWarned || state == subscriptionSuspended):
		return nil
	}
	return fail(http.StatusConflict, "InvalidSubscriptionState", "The subscription is %s for the namespace '%s'; this operation is not allowed.", state, c.address.namespace)
}

// subscriptionNotice keeps what the front door says of a subscription. A
// deleted subscription's resources go with it. The contract's notice does not
// name a namespace, and so counts for all that the endpoint serves; the query
// parameter namespace has it count for one alone.
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
	namespace := c.query.Get("namespace")
	if namespace != "" {
		if namespace, err = p.catalog.namespace(namespace); err != nil {
			return answer{}, err
		}
	}
	return p.transact(func(t *tx) (answer, error) {
		key := fold(c.address.subscription)
		t.change.Subscriptions = map[string]*subscription{key: t.subscriptions[key].told(namespace, state, body.bytes())}
		if state == subscriptionDeleted {
			t.forget(c.address.key(), namespace)
		}
		return bodyAnswer(http.StatusOK, body.bytes()), nil
	})
}

// told gives the subscription as a notice leaves it. s may be nil.
func (s *subscription) told(namespace, state string, notice json.RawMessage) *subscription {
	if namespace == "" {
		return &subscription{State: state, Notice: notice}
	}
	next := &subscription{State: subscriptionRegistered, Notice: notice, Namespaces: map[string]string{}}
	if s != nil {
		next.State = s.State
		for k, v := range s.Namespaces {
			next.Namespaces[k] = v
		}
	}
	next.Namespaces[fold(namespace)] = state
	return next
}

// forget removes a deleted subscription's resources, of one namespace or ("")
// of all.
func (t *tx) forget(key, namespace string) {
	if namespace == "" {
		t.removeTree(key)
		return
	}
	for _, k := range t.keysBelow(key+"/", "") {
		if strings.HasPrefix(t.resources[k].Type, namespace+"/") {
			t.removeTree(k)
		}
	}
}
