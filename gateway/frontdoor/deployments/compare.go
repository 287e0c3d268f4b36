package deployments

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/jobs/deploy"
	"portico/jobs/deploy/secret"
	"portico/jobs/deploy/whatif"
	"portico/template"
	"portico/template/expr"
)

// readsAtOnce bounds the resources that one what-if reads at a time.
const readsAtOnce = 8

// whatIfResult is the answer to a what-if, in the form of an ended operation.
type whatIfResult struct {
	Status     string `json:"status"`
	Properties struct {
		CorrelationID string          `json:"correlationId"`
		Changes       []whatif.Change `json:"changes"`
	} `json:"properties"`
}

// whatIf compares the resources that a template would send with those that its caller can
// read. It answers 200 at once, which clients accept as the end of an operation, so
// nothing has to be stored.
func (d WhatIf) whatIf(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	proposed, err := d.plan(r, x, req)
	if err != nil {
		return err
	}
	if proposed.order.ValidationLevel != "" { // otherwise refusals appear among the changes
		sent := append(nestedSent(proposed.Nested()), resourcesSent(proposed.Resources)...)
		if err := d.Judge.check(r, x, proposed.order.Scope, proposed.order.Name, sent, proposed.order.ValidationLevel); err != nil {
			return err
		}
	}
	grow, end := d.reserve(r, x)
	defer end() // once the answer is sent
	c := comparison{WhatIf: d, r: r, x: x, proposal: proposed, grow: grow, until: time.Now().Add(d.Reading)}
	result := whatIfResult{Status: "Succeeded"}
	result.Properties.CorrelationID = x.Identity.Correlation
	if result.Properties.Changes, err = c.changes(); err != nil {
		return err
	}
	if proposed.order.Scope.Group != "" {
		others, err := c.unnamedChanges()
		if err != nil {
			return err
		}
		result.Properties.Changes = append(result.Properties.Changes, others...)
	}
	if proposed.content.IDsOnly {
		for i, change := range result.Properties.Changes {
			result.Properties.Changes[i] = change.WithoutPayload()
		}
	}
	return x.Answer(w, http.StatusOK, result)
}

type comparison struct {
	WhatIf
	*proposal
	r     *http.Request
	x     *exchange.Exchange
	grow  func(n int) error
	until time.Time // no read begins later
}

// changes returns the changes of the template's resources, in its order.
func (c *comparison) changes() ([]whatif.Change, error) {
	var sent []*template.Resource
	for _, planned := range c.Resources {
		if !planned.Existing {
			sent = append(sent, planned)
		}
	}
	records, err := c.lastRecords(sent)
	if err != nil {
		return nil, err
	}
	standing := make([]readResult, len(sent))
	var under sync.WaitGroup
	places := make(chan struct{}, readsAtOnce)
	for i, planned := range sent {
		if !certainlySent(planned) {
			continue
		}
		places <- struct{}{}
		if time.Now().After(c.until) {
			standing[i].skipped = true
			<-places
			continue
		}
		under.Go(func() {
			standing[i] = c.readResource(planned)
			standing[i].last = records[arm.Fold(planned.ID)]
			<-places
		})
	}
	under.Wait()
	changes := make([]whatif.Change, 0, len(sent))
	for i, planned := range sent {
		if standing[i].failure != nil {
			return nil, standing[i].failure
		}
		changes = append(changes, c.change(planned, standing[i]))
	}
	return changes, nil
}

// lastSent is what a deployment last sent for a resource; the zero value if there was
// none.
type lastSent struct {
	record *whatif.Record
	digest secret.Digest // nil: the caller did not send its secrets
}

// lastRecords returns what deployments last sent for resources, by the folded IDs.
func (c *comparison) lastRecords(sent []*template.Resource) (map[string]lastSent, error) {
	of := map[string][]string{}
	for _, planned := range sent {
		of[planned.Scope.Subscription] = append(of[planned.Scope.Subscription], planned.ID)
	}
	records := map[string]lastSent{}
	for subscription, ids := range of {
		some, err := c.Deployed(c.r.Context(), subscription, ids)
		if err != nil {
			return nil, fmt.Errorf("read the records of deployed resources: %w", err)
		}
		for id, record := range some {
			if err := c.grow(len(record)); err != nil {
				return nil, err
			}
			var last lastSent
			if last.record, last.digest, err = deploy.Last(record, c.x.Caller()); err != nil {
				return nil, err
			}
			records[id] = last
		}
	}
	return records, nil
}

// readResult is a resource as the caller can read it; null if there is none.
type readResult struct {
	expr.Value
	last      lastSent
	readFault *arm.Error
	skipped   bool  // it was not read
	failure   error // fails the whole what-if
}

func (c *comparison) readResource(planned *template.Resource) (s readResult) {
	var there bool
	s.Value, there, s.readFault = c.read(c.r, c.x, planned.ID, planned.APIVersion)
	switch {
	case s.readFault != nil && s.readFault.Status == http.StatusTooManyRequests:
		s.failure = s.readFault
		return s
	case !there:
		s.Value = expr.Value{}
	}
	size := s.Size() + planned.Body.Size()
	if s.readFault != nil {
		size += len(s.readFault.Body())
	}
	s.failure = c.grow(size)
	return s
}

// change compares one resource. If that is impossible, the change gives the reason.
func (c *comparison) change(planned *template.Resource, stands readResult) whatif.Change {
	p := whatif.Planned{
		ID: planned.ID, Type: planned.Type, Name: planned.Name, APIVersion: planned.APIVersion, Body: planned.Body,
		OnlyIfNotExists: planned.Options.OnlyIfNotExists,
	}
	switch {
	case planned.Unfolds != nil:
		return whatif.NotCompared(&p, "What the nested deployment holds is known only once its parameters are.")
	case !certainlySent(planned):
		return whatif.NotCompared(&p, "Whether the resource is deployed is known only once its condition is.")
	case stands.skipped:
		return whatif.NotCompared(&p, "The resource was not read: what comes before it had taken "+c.Reading.String()+".")
	case stands.readFault != nil:
		return whatif.NotCompared(&p, "The resource cannot be read: "+inWords(c.x.Mask(stands.readFault)))
	}
	return whatif.Compare(&p, stands.Value, stands.last.record, stands.last.digest)
}

// inWords returns everything in an error as one sentence, because a change has no other
// place for it.
func inWords(fault *arm.Error) string {
	words := fault.Error()
	if fault.Target != "" {
		words += " (" + fault.Target + ")"
	}
	for i := range fault.Details {
		words += "; " + inWords(&fault.Details[i])
	}
	for _, more := range slices.Concat(fault.AdditionalInfo, fault.Further) {
		words += "; " + more.Type + ": " + string(more.Info)
	}
	return words
}

// unnamedChanges returns the changes of resources that the group contains and the
// template does not name: in complete mode they are deleted, unless they are managed by
// something, or a resource that stays is nested in them.
func (c *comparison) unnamedChanges() (changes []whatif.Change, err error) {
	named, kept := map[string]bool{}, deploy.Kept{}
	for _, planned := range c.Resources {
		named[arm.Fold(planned.ID)] = true
		kept.Add(planned.ID)
	}
	var held []expr.Value
	target := pathOf(c.order.Scope.ID()) + "/resources?api-version=" + groupsVersion
	for target != "" {
		var page []expr.Value
		var fault error
		if page, target, fault = c.page(target); fault != nil {
			return nil, fault
		}
		held = append(held, page...)
	}
	for _, stands := range held {
		if managedBy, _ := stands.Member("managedBy"); managedBy.Text() != "" {
			kept.Add(idOf(stands))
		}
	}
	for _, stands := range held {
		if id := idOf(stands); !named[arm.Fold(id)] {
			changes = append(changes, whatif.Gone(id, stands, c.order.Complete && !kept[arm.Fold(id)]))
		}
	}
	return changes, nil
}

func idOf(resource expr.Value) string {
	id, _ := resource.Member("id")
	return id.Text()
}

// page reads a page of a list. next is "" at the end.
func (c *comparison) page(target string) (elements []expr.Value, next string, err error) {
	list, fault := c.get(c.r, c.x, target)
	if fault != nil {
		return nil, "", fault
	}
	if err := c.grow(list.Size()); err != nil {
		return nil, "", err
	}
	value, _ := list.Member("value")
	link, _ := list.Member("nextLink")
	if u, err := url.Parse(link.Text()); err == nil && link.Text() != "" {
		next = u.RequestURI()
	}
	return value.Elements(), next, nil
}
