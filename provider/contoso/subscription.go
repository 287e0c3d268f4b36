package contoso

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// subscription is the state of a subscription according to its notifications,
// PUT /subscriptions/{id}.
type subscription struct {
	State  string          `json:"state"`
	Notice json.RawMessage `json:"notice"`
	// Namespaces holds the states from notifications for a single namespace,
	// by folded namespace.
	Namespaces map[string]string `json:"namespaces,omitempty"`
	// Notices holds the latest notice of each of these namespaces.
	Notices map[string]json.RawMessage `json:"notices,omitempty"`
	// Journal holds the latest notifications, in the order of their arrival.
	Journal []journalledNotice `json:"journal,omitempty"`
}

// journalledNotice is a notice in the journal.
type journalledNotice struct {
	Namespace   string    `json:"namespace,omitempty"` // folded; "": all that the endpoint serves
	State       string    `json:"state"`
	QuotaID     string    `json:"quotaId,omitempty"`
	Time        time.Time `json:"time"`
	Correlation string    `json:"correlationId,omitempty"`
}

// journalKept bounds a subscription's journal.
const journalKept = 100

// States of a subscription at a resource provider.
const (
	subscriptionRegistered   = "Registered"
	subscriptionUnregistered = "Unregistered"
	subscriptionWarned       = "Warned"
	subscriptionSuspended    = "Suspended"
	subscriptionDeleted      = "Deleted"
)

var subscriptionStates = [...]string{subscriptionRegistered, subscriptionUnregistered, subscriptionWarned, subscriptionSuspended, subscriptionDeleted}

// stateFor returns the state of the address's subscription, for the namespace of the
// address. A subscription that the provider was never notified of counts as registered.
func (t *tx) stateFor(a address) string {
	s := t.subscriptions[fold(a.subscription)]
	if s == nil {
		return subscriptionRegistered
	}
	if state, notified := s.Namespaces[fold(a.namespace)]; notified {
		return state
	}
	return s.State
}

// permits refuses a method that the subscription's state forbids. A
// registered subscription permits all methods, a warned or suspended one
// reads and deletes, any other only reads.
func (t *tx) permits(c *call) error {
	state := cmp.Or(c.known, t.stateFor(c.address))
	switch {
	case state == subscriptionRegistered, c.method == http.MethodGet, c.method == http.MethodHead:
		return nil
	case c.method == http.MethodDelete && (state == subscriptionWarned || state == subscriptionSuspended):
		return nil
	}
	return fail(http.StatusConflict, "InvalidSubscriptionState", "The subscription is %s for the namespace '%s'; this operation is not allowed.", state,
		c.address.namespace)
}

// isNotice reports whether a request is a notification by the front door.
func isNotice(r *http.Request) bool {
	rest, found := strings.CutPrefix(r.URL.Path, "/subscriptions/")
	return found && r.Method == http.MethodPut && !strings.Contains(rest, "/")
}

// subscriptionNotice handles a notification of a subscription. It removes a
// deleted subscription's resources. A notice applies to all namespaces of the
// endpoint, unless it names one in properties.additionalProperties, as in the
// contract, or in the query parameter namespace.
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
	if namespace == "" {
		namespace = namespaceOf(body)
	}
	if namespace != "" {
		if namespace, err = p.namespace(namespace); err != nil {
			return answer{}, err
		}
	}
	return p.transact(func(t *tx) (answer, error) {
		key := fold(c.address.subscription)
		entry := journalledNotice{fold(namespace), state, quotaOf(body), p.now().UTC(), c.header.Get("x-ms-correlation-request-id")}
		t.change.Subscriptions = map[string]*subscription{key: t.subscriptions[key].notified(namespace, entry, body.bytes())}
		if state == subscriptionDeleted {
			t.removeResources(c.address.key(), namespace)
		}
		return bodyAnswer(http.StatusOK, body.bytes()), nil
	})
}

// namespaceOf returns the namespace that a notice names (subscription
// lifecycle, AdditionalProperties), "" if it names none.
func namespaceOf(body object) string {
	var at struct {
		Properties struct {
			AdditionalProperties struct {
				ResourceProviderProperties struct {
					ResourceProviderNamespace string `json:"resourceProviderNamespace"`
				} `json:"resourceProviderProperties"`
			} `json:"additionalProperties"`
		} `json:"properties"`
	}
	if json.Unmarshal(body.bytes(), &at) != nil { // not a name, whatever else it is
		return ""
	}
	return at.Properties.AdditionalProperties.ResourceProviderProperties.ResourceProviderNamespace
}

// quotaOf returns the quotaId of a notification, "" if it has none.
func quotaOf(body object) string {
	var at struct {
		Properties struct {
			QuotaID string `json:"quotaId"`
		} `json:"properties"`
	}
	if json.Unmarshal(body.bytes(), &at) != nil {
		return ""
	}
	return at.Properties.QuotaID
}

// notified returns the subscription after a notification. s may be nil.
func (s *subscription) notified(namespace string, entry journalledNotice, notice json.RawMessage) *subscription {
	next := &subscription{State: entry.State, Notice: notice}
	if s != nil {
		next.Journal = slices.Clone(s.Journal)
	}
	if next.Journal = append(next.Journal, entry); len(next.Journal) > journalKept {
		next.Journal = next.Journal[len(next.Journal)-journalKept:]
	}
	if namespace == "" {
		return next
	}
	next.State, next.Namespaces, next.Notices = subscriptionRegistered, map[string]string{}, map[string]json.RawMessage{}
	if s != nil {
		next.State = s.State
		maps.Copy(next.Namespaces, s.Namespaces)
		maps.Copy(next.Notices, s.Notices)
	}
	next.Namespaces[fold(namespace)], next.Notices[fold(namespace)] = entry.State, notice
	return next
}

// removeResources removes a deleted subscription's resources of one
// namespace, or ("") of all.
func (t *tx) removeResources(key, namespace string) {
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
