package operations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"portico/arm"
	"portico/fanout"
	"portico/jsonscan"
	"portico/routing"
	"portico/upstream"
)

const pagesPerList = 100_000

// collection reads every page of a list and hands over what the index does not
// have in this region. What the provider does wrong is noted as a fault, and
// ends the list.
func (rs *regionSweep) collection(ctx context.Context, rawPath string, unknown func(*routing.Request) error) error {
	var path arm.Path
	if err := path.Parse(rawPath); err != nil {
		return rs.fault(ctx, err)
	}
	links := fanout.Links{Public: rs.Asker.Public, Endpoint: rs.endpoint, Path: path.String()}
	patient := rs.Asker
	patient.Timeout = max(rs.Asker.Timeout, rs.Patience)
	seen := map[string]bool{}
	for query := "api-version=" + rs.version; query != ""; {
		if seen[query] || len(seen) == pagesPerList {
			return rs.fault(ctx, errors.New("the pages of its list never end"))
		}
		seen[query] = true
		answer, err := rs.get(ctx, patient, path.Escaped(), query)
		switch {
		case err != nil:
			return rs.fault(ctx, err)
		case answer.Status == http.StatusNotFound && len(seen) == 1:
			return nil // the provider knows neither subscription nor parent
		case answer.Status != http.StatusOK:
			return rs.fault(ctx, fmt.Errorf("its list: %w", statusError(answer.Status)))
		}
		page, err := fanout.ParsePage(answer.Body)
		if err != nil {
			return rs.fault(ctx, fmt.Errorf("its list cannot be read: %w", err))
		}
		if err := rs.page(ctx, page, unknown); err != nil {
			return err
		}
		if query, err = links.Query(page.NextLink); err != nil {
			return rs.fault(ctx, err)
		}
	}
	return nil
}

func (rs *regionSweep) page(ctx context.Context, page fanout.Page, unknown func(*routing.Request) error) error {
	rs.mu.Lock()
	rs.listed += len(page.Elements)
	rs.mu.Unlock()
	for _, element := range page.Elements {
		q, err := rs.named(element)
		if err != nil {
			err = rs.fault(ctx, err)
		} else if !rs.met(q.Key(), rs.endpoint.Region) {
			err = unknown(q)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// get asks the region, as patiently as asker says, and more than once where it
// is told to wait.
func (rs *regionSweep) get(ctx context.Context, asker Asker, path, query string) (upstream.Answer, error) {
	for try := 1; ; try++ {
		answer, err := asker.read(ctx, rs.header(), rs.endpoint, path, query)
		if err != nil || answer.Status != http.StatusTooManyRequests || try == throttledAtMost {
			return answer, err
		}
		pause, _ := upstream.RetryAfter(answer.Header, time.Now())
		timer := time.NewTimer(min(max(pause, time.Second), longestThrottle))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return answer, ctx.Err()
		}
	}
}

func (w *sweep) header() http.Header { return headerOf(w.report.CorrelationID, w.Region) }

// idOf returns the id of a list's element, "" where it has none.
func idOf(element []byte) (id string) {
	if len(element) == 0 || element[0] != '{' {
		return ""
	}
	_ = jsonscan.Object(element, func(m jsonscan.Member) error {
		if string(m.Key) != "id" {
			return nil
		}
		id, _ = jsonscan.Text(m.Value)
		return errIDFound
	})
	return id
}

var errIDFound = errors.New("found")
