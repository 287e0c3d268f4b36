package contoso

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A cluster is a composite resource: the provider creates its machines through the front
// door, as a client of the other namespace, in its own subscription. Each machine has a
// tag that names the customer's resource for which it was created (addendum, Correlating
// resources created on behalf of customer). The provider creates machines before the
// cluster shows them, and deletes them before it removes the cluster.

// FrontDoor is a provider's access to other providers.
type FrontDoor struct {
	URL          string // scheme and host
	Token        string // of the provider's identity there, "" for none
	Subscription string // the provider's internal one
}

const (
	createdForTag = "resourceCreatedFor"
	mostWorkers   = 16
	callTime      = 30 * time.Second
)

// compose creates the machines that a PUT or PATCH of a cluster requests, and returns
// the body with their ids. It returns bodies of other types unchanged.
func (p *Provider) compose(c *call, t *resourceType, condition precondition, body object) (object, error) {
	if !t.composite {
		return body, nil
	}
	if p.frontDoor == nil {
		return nil, fail(http.StatusConflict, "NoInternalSubscription", "The provider has no subscription in which it could make the machines of a cluster.")
	}
	properties, err := body.object("properties")
	if err != nil {
		return nil, err
	}
	now, err := p.machines(c, condition)
	if err != nil {
		return nil, err
	}
	workers := max(1, len(now))
	if v, given := properties.present("workers"); given {
		if json.Unmarshal(v, &workers) != nil || workers < 1 || workers > mostWorkers {
			return nil, badRequest("InvalidWorkers", "The member 'properties.workers' must be a whole number from 1 to %d.", mostWorkers)
		}
	} else if c.method == http.MethodPatch {
		return body, nil
	}
	if err := p.makeGroup(c); err != nil {
		return nil, err
	}
	var created []string
	for i := range workers {
		id := p.machine(c.address, i)
		if err := p.makeMachine(c, id, i < len(now)); err != nil {
			return nil, err
		}
		created = append(created, id)
	}
	for i := workers; i < len(now); i++ {
		if err := p.callFrontDoor(c, http.MethodDelete, now[i], nil); err != nil {
			return nil, err
		}
	}
	properties = properties.with("workers", encode(workers)).with("machines", encode(created))
	if p.breaks[createdForShown] {
		body = body.with("tags", encode(map[string]string{createdForTag: c.address.id()}))
	}
	return body.with("properties", properties.bytes()), nil
}

// decompose deletes the machines of a cluster.
func (p *Provider) decompose(c *call, t *resourceType, condition precondition) error {
	if !t.composite || p.frontDoor == nil {
		return nil
	}
	now, err := p.machines(c, condition)
	if err != nil {
		return err
	}
	for _, id := range now {
		if err := p.callFrontDoor(c, http.MethodDelete, id, nil); err != nil {
			return err
		}
	}
	return nil
}

// machines returns a cluster's present machines, if the precondition permits the write.
func (p *Provider) machines(c *call, condition precondition) (ids []string, err error) {
	_, err = p.transact(func(x *tx) (answer, error) {
		if err := x.permits(c); err != nil {
			return answer{}, err
		}
		current := x.resourceAt(c.address)
		if current != nil {
			if v, given := current.Properties.present("machines"); given {
				_ = json.Unmarshal(v, &ids) // the provider's own
			}
		}
		switch {
		case current == nil && c.method == http.MethodPatch:
			return answer{}, resourceNotFound(c.address)
		case current == nil && c.method == http.MethodDelete:
			return answer{}, nil
		}
		return answer{}, condition.allows(current)
	})
	return ids, err
}

func (p *Provider) internalGroup() string {
	return "/subscriptions/" + p.frontDoor.Subscription + "/resourceGroups/clusters-" + p.region
}

// machine returns the id of a cluster's machine. It is always the same, so
// that an interrupted write continues at the same machine.
func (p *Provider) machine(cluster address, i int) string {
	sum := sha256.Sum256([]byte(cluster.key()))
	return fmt.Sprintf("%s/providers/%s/virtualMachines/%s-%d", p.internalGroup(), computeNamespace, hex.EncodeToString(sum[:6]), i)
}

func (p *Provider) makeGroup(c *call) error {
	return p.callFrontDoor(c, http.MethodPut, p.internalGroup(), object{{"location", encode(p.region)}})
}

// makeMachine creates a machine. If it exists, makeMachine sets its tag again by PATCH.
func (p *Provider) makeMachine(c *call, id string, exists bool) error {
	body := object{{"tags", encode(p.breaks.createdFor(c))}}
	method := http.MethodPatch
	if !exists {
		method, body = http.MethodPut, body.with("location", encode(p.region))
	}
	return p.callFrontDoor(c, method, id, body)
}

// callFrontDoor makes a call through the front door on behalf of the call c.
// A refusal by the front door becomes the cluster's refusal.
func (p *Provider) callFrontDoor(c *call, method, id string, body object) error {
	var content []byte
	if body != nil {
		content = body.bytes()
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, p.frontDoor.URL+id+"?api-version="+apiVersions[1], bytes.NewReader(content))
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if p.frontDoor.Token != "" {
		r.Header.Set("Authorization", "Bearer "+p.frontDoor.Token)
	}
	if correlation := c.header.Get("x-ms-correlation-request-id"); correlation != "" {
		r.Header.Set("x-ms-correlation-request-id", correlation)
	}
	answer, err := p.outward.Do(r)
	if err != nil {
		return fail(http.StatusConflict, "FrontDoorUnreachable", "The front door could not be reached.")
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	switch {
	case err != nil:
		return fail(http.StatusConflict, "FrontDoorUnreachable", "The front door broke off its answer.")
	case answer.StatusCode < http.StatusMultipleChoices, method == http.MethodDelete && answer.StatusCode == http.StatusNotFound:
		return nil
	}
	var refusal errorBody
	if json.NewDecoder(bytes.NewReader(text)).Decode(&refusal) != nil {
		return errors.New("the front door answers " + answer.Status)
	}
	return fail(http.StatusConflict, refusal.Error.Code, "%s", refusal.Error.Message)
}
