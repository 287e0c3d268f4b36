package contoso

import (
	"slices"
	"strings"
	"time"
)

// state is the complete state of a provider. Keys are folded ids.
type state struct {
	resources     map[string]*resource
	keys          []string // of resources, in order
	operations    map[string]*operation
	running       map[string]*operation // the operations that have not ended
	subscriptions map[string]*subscription
	forgotten     time.Time // when old operations were last removed
}

func newState() *state {
	return &state{
		resources:     map[string]*resource{},
		operations:    map[string]*operation{},
		running:       map[string]*operation{},
		subscriptions: map[string]*subscription{},
	}
}

// change is the effect of one transaction on the state. It is journalled and
// becomes visible as a whole. A nil value removes the key.
type change struct {
	Resources     map[string]*resource     `json:"resources,omitempty"`
	Operations    map[string]*operation    `json:"operations,omitempty"`
	Subscriptions map[string]*subscription `json:"subscriptions,omitempty"`
}

func (c *change) empty() bool {
	return len(c.Resources)+len(c.Operations)+len(c.Subscriptions) == 0
}

func (s *state) apply(c *change) {
	for k, r := range c.Resources {
		i, held := slices.BinarySearch(s.keys, k)
		switch {
		case r == nil && held:
			s.keys = slices.Delete(s.keys, i, i+1)
		case r != nil && !held:
			s.keys = slices.Insert(s.keys, i, k)
		}
	}
	s.applyUnordered(c)
}

// applyUnordered applies a change without ordering the keys, which needs a later call of
// order: replaying a long journal would otherwise take quadratic time.
func (s *state) applyUnordered(c *change) {
	set(s.resources, c.Resources)
	set(s.operations, c.Operations)
	set(s.subscriptions, c.Subscriptions)
	for id, o := range c.Operations {
		if o != nil && o.Ended.IsZero() {
			s.running[id] = o
		} else {
			delete(s.running, id)
		}
	}
}

func (s *state) order() {
	s.keys = s.keys[:0]
	for k := range s.resources {
		s.keys = append(s.keys, k)
	}
	slices.Sort(s.keys)
}

func set[V any](into, from map[string]*V) {
	for k, v := range from {
		if v == nil {
			delete(into, k)
		} else {
			into[k] = v
		}
	}
}

// keysBelow returns the keys that begin with prefix and come after the key
// "after", in order.
func (s *state) keysBelow(prefix, after string) []string {
	from, _ := slices.BinarySearch(s.keys, max(prefix, after+"\x00"))
	to, _ := slices.BinarySearch(s.keys, prefix+"\xff") // keys are UTF-8, which has no such byte
	return s.keys[min(from, to):to]
}

// tx is one transaction: the previous state, overlaid by the transaction's own change.
type tx struct {
	*state
	catalog catalog
	breaks  breaks
	now     time.Time
	change  change
}

func (t *tx) resource(key string) *resource {
	if r, ok := t.change.Resources[key]; ok {
		return r
	}
	return t.resources[key]
}

func (t *tx) setResource(key string, r *resource) {
	if t.change.Resources == nil {
		t.change.Resources = map[string]*resource{}
	}
	t.change.Resources[key] = r
}

func (t *tx) put(r *resource) { t.setResource(r.key(), r) }

// removeTree removes the resource with everything below it, nested resources and
// extensions alike, and ends their operations.
func (t *tx) removeTree(key string) {
	t.cancel(func(o *operation) bool {
		return o.Kind != deleteOperation && (o.Key == key || strings.HasPrefix(o.Key, key+"/"))
	})
	if t.resource(key) != nil {
		t.setResource(key, nil)
	}
	for _, k := range t.keysBelow(key+"/", "") {
		t.setResource(k, nil)
	}
}

func (t *tx) operation(id string) *operation {
	if o, ok := t.change.Operations[id]; ok {
		return o
	}
	return t.operations[id]
}

func (t *tx) setOperation(id string, o *operation) {
	if t.change.Operations == nil {
		t.change.Operations = map[string]*operation{}
	}
	t.change.Operations[id] = o
}

// cancel ends the running operations that another write has superseded.
func (t *tx) cancel(overtaken func(*operation) bool) {
	for id, o := range t.running {
		if !overtaken(o) {
			continue
		}
		c := *o
		c.Status, c.Ended, c.Hidden, c.Previous, c.Children = stateCanceled, t.now, nil, nil, nil
		c.Error = &errorDetail{Code: "OperationPreempted", Message: "The operation was overtaken by a later one on the same resource."}
		t.setOperation(id, &c)
	}
}
