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

// readsAtOnce is how many resources one what-if reads at a time.
const readsAtOnce = 8

// whatIfResult is the answer of a what-if, as of an operation that has ended.
type whatIfResult struct {
	Status     string `json:"status"`
	Properties struct {
		CorrelationID string          `json:"correlationId"`
		Changes       []whatif.Change `json:"changes"`
	} `json:"properties"`
}

// whatIf compares what a template would send with what its caller can read. Clients take 200
// for the end of an operation that they would poll if it were accepted, so nothing of it has to
// be kept.
func (d WhatIf) whatIf(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	of, err := d.plan(r, x, req)
	if err != nil {
		return err
	}
	if of.order.ValidationLevel != "" { // else what would be refused is shown among the changes
		sent := append(nested(of.Nested()), sentBy(of.Resources)...)
		if err := d.Judge.check(r, x, of.order.Scope, of.order.Name, sent, of.order.ValidationLevel); err != nil {
			return err
		}
	}
	grow, end := d.reserve(r, x)
	defer end() // when all is sent
	c := comparing{WhatIf: d, r: r, x: x, proposal: of, grow: grow, until: time.Now().Add(d.Reading)}
	result := whatIfResult{Status: "Succeeded"}
	result.Properties.CorrelationID = x.Identity.Correlation
	if result.Properties.Changes, err = c.changes(); err != nil {
		return err
	}
	if of.order.Scope.Group != "" {
		others, err := c.others()
		if err != nil {
			return err
		}
		result.Properties.Changes = append(result.Properties.Changes, others...)
	}
	if of.content.IDsOnly {
		for i, change := range result.Properties.Changes {
			result.Properties.Changes[i] = change.WithoutPayload()
		}
	}
	return x.Answer(w, http.StatusOK, result)
}

// comparing is a what-if under way.
type comparing struct {
	WhatIf
	*proposal
	r     *http.Request
	x     *exchange.Exchange
	grow  func(n int) error
	until time.Time // when the last read begins
}

// changes are those of the template's resources, in its order.
func (c *comparing) changes() ([]whatif.Change, error) {
	var sent []*template.Resource
	for _, planned := range c.Resources {
		if !planned.Existing {
			sent = append(sent, planned)
		}
	}
	records, err := c.records(sent)
	if err != nil {
		return nil, err
	}
	standing := make([]standing, len(sent))
	var under sync.WaitGroup
	places := make(chan struct{}, readsAtOnce)
	for i, planned := range sent {
		if !certain(planned) {
			continue
		}
		places <- struct{}{}
		if time.Now().After(c.until) {
			standing[i].late = true
			<-places
			continue
		}
		under.Go(func() {
			standing[i] = c.standing(planned)
			standing[i].last = records[arm.Fold(planned.ID)]
			<-places
		})
	}
	under.Wait()
	changes := make([]whatif.Change, 0, len(sent))
	for i, planned := range sent {
		if standing[i].over != nil {
			return nil, standing[i].over
		}
		changes = append(changes, c.change(planned, standing[i]))
	}
	return changes, nil
}

// lastSent is what a deployment sent last of a resource; without a record, none did.
type lastSent struct {
	record *whatif.Record
	digest secret.Digest // nil: the caller did not send its secrets
}

// records are what deployments sent last of resources, by their folded IDs.
func (c *comparing) records(sent []*template.Resource) (map[string]lastSent, error) {
	of := map[string][]string{}
	for _, planned := range sent {
		of[planned.Scope.Subscription] = append(of[planned.Scope.Subscription], planned.ID)
	}
	records := map[string]lastSent{}
	for subscription, ids := range of {
		some, err := c.Deployed(c.r.Context(), subscription, ids)
		if err != nil {
			return nil, fmt.Errorf("read what was deployed: %w", err)
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

// standing is what the caller can read of a resource; null: there is none.
type standing struct {
	expr.Value
	last   lastSent
	unread *arm.Error
	late   bool  // it was not read
	over   error // ends the whole what-if
}

func (c *comparing) standing(planned *template.Resource) (s standing) {
	var there bool
	s.Value, there, s.unread = c.read(c.r, c.x, planned.ID, planned.APIVersion)
	switch {
	case s.unread != nil && s.unread.Status == http.StatusTooManyRequests:
		s.over = s.unread
		return s
	case !there:
		s.Value = expr.Value{}
	}
	size := s.Size() + planned.Body.Size()
	if s.unread != nil {
		size += len(s.unread.Body())
	}
	s.over = c.grow(size)
	return s
}

// change compares one resource. One that cannot be compared says why.
func (c *comparing) change(planned *template.Resource, stands standing) whatif.Change {
	p := whatif.Planned{
		ID: planned.ID, Type: planned.Type, Name: planned.Name, APIVersion: planned.APIVersion, Body: planned.Body,
		OnlyIfNotExists: planned.Options.OnlyIfNotExists,
	}
	switch {
	case planned.Unfolds != nil:
		return whatif.NotCompared(&p, "What the nested deployment holds is known only once its parameters are.")
	case !certain(planned):
		return whatif.NotCompared(&p, "Whether the resource is deployed is known only once its condition is.")
	case stands.late:
		return whatif.NotCompared(&p, "The resource was not read: what comes before it had taken "+c.Reading.String()+".")
	case stands.unread != nil:
		return whatif.NotCompared(&p, "The resource cannot be read: "+inWords(c.x.Mask(stands.unread)))
	}
	return whatif.Compare(&p, stands.Value, stands.last.record, stands.last.digest)
}

// inWords returns all that an error says as a sentence, because a change has no other place
// for it.
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

// others are the changes of what the group holds and the template does not name: in complete
// mode it is deleted, unless it is managed by something, or one that stays lies below it.
func (c *comparing) others() (changes []whatif.Change, err error) {
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

// page reads a page of a list. The next is "" at its end.
func (c *comparing) page(target string) (elements []expr.Value, next string, err error) {
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
