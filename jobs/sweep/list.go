package sweep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"portico/arm"
	"portico/fanout"
	"portico/internal/timing"
	"portico/inventory"
	"portico/jobs"
	"portico/probe"
	"portico/routing"
	"portico/upstream"
	"portico/upstream/answers"
)

// readCollection reads every page of a list, and calls differs for each resource that the index
// does not have in this region, or has with other tags. A fault of the provider is recorded and
// ends the list.
func (rs *regionSweep) readCollection(ctx context.Context, id string, differs func(listedResource) error) error {
	c := fanout.Collection{
		Reader: patientReader{rs}, Endpoint: rs.endpoint, Namespace: rs.typ.Provider.Namespace, Public: rs.Prober.Public,
		Query: "api-version=" + rs.version,
	}
	if err := c.Path.Parse(arm.PathOf(id)); err != nil {
		return rs.recordFault(ctx, err)
	}
	err := c.Each(ctx, func(page fanout.Page) error { return rs.page(ctx, page, differs) })
	if fault, ok := errors.AsType[*arm.Error](err); ok {
		return rs.recordFault(ctx, fmt.Errorf("its list: %w", fault))
	}
	return err
}

// patientReader reads pages by get.
type patientReader struct{ *regionSweep }

func (r patientReader) Read(ctx context.Context, call upstream.Call) (upstream.Answer, error) {
	patient := r.Prober
	patient.Timeout = max(r.Prober.Timeout, r.Patience)
	return r.get(ctx, patient, call.Path, call.Query)
}

func (rs *regionSweep) page(ctx context.Context, page fanout.Page, differs func(listedResource) error) error {
	rs.mu.Lock()
	rs.listed += len(page.Elements)
	rs.mu.Unlock()
	for _, element := range page.Elements {
		q, err := rs.requestFor(page.ID(element))
		if err != nil {
			err = rs.recordFault(ctx, err)
		} else if l := (listedResource{Request: q, tags: listedTags(page.TextOf(element))}); !rs.markListed(&l, rs.endpoint.Region) {
			err = differs(l)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listedResource is an element of a list.
type listedResource struct {
	*routing.Request
	tags  fingerprint
	known bool // the index has it in the region
}

// examine examines a resource that was listed since a time and that differs from its row
// in the index.
func (rs *regionSweep) examine(ctx context.Context, l listedResource, since time.Time) error {
	if l.known {
		return rs.compareTags(ctx, l)
	}
	return rs.adoptListed(ctx, l.Request, since)
}

// compareTags updates the index with the tags of a resource, unless it has the listed
// tags by now. It skips a followed row, which is verified when its operation ends.
func (rs *regionSweep) compareTags(ctx context.Context, l listedResource) error {
	row, err := rs.store.Resource(ctx, rs.sub, l.Key())
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read the row of a listed resource: %w", err)
	case row.NeedsVerify() || row.FollowPut || row.FollowPatch || row.Region != rs.endpoint.Region || tagsOf(row.Details.Tags) == l.tags:
		return nil
	}
	rs.updateReport(func(r *Report) { r.ChangedTags.add(row.ID) })
	if rs.order.DryRun {
		return nil
	}
	return rs.verifyRow(ctx, row)
}

// get reads from the region, and tries again if the region asks it to wait.
func (rs *regionSweep) get(ctx context.Context, prober probe.Prober, path, query string) (upstream.Answer, error) {
	for try := 1; ; try++ {
		answer, err := prober.Read(ctx, rs.header(), rs.endpoint, path, query)
		rs.recordAnswer(answer, err)
		if err != nil || !answers.SweepAgain(answer.Status) || try == triesAtMost {
			return answer, err
		}
		pause, _ := timing.RetryAfter(answer.Header, time.Now())
		if err := timing.Sleep(ctx, min(max(pause, time.Second), longestThrottle)); err != nil {
			return answer, err
		}
	}
}

// recordAnswer records whether the region answers in a way that a search could use.
func (rs *regionSweep) recordAnswer(answer upstream.Answer, err error) {
	if err == nil && (answer.Status == http.StatusOK || answer.Status == http.StatusNotFound) {
		rs.mu.Lock()
		defer rs.mu.Unlock()
		rs.answered = true
	}
}

func (w *sweep) header() http.Header { return jobs.Header(w.report.CorrelationID, "", w.Region) }
