package fanout

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"portico/arm"
	"portico/jsonscan"
	"portico/regions"
	"portico/tracing"
	"portico/upstream"
)

// Bounds of one list.
const (
	maxRegionsAtOnce = 32
	maxPages         = 100_000 // of one region
	maxListBytes     = 256 << 20
	longestPause     = 60 * time.Second // asked of clients: they give up when it is longer
)

// Reader reads one page; *upstream.Client is one.
type Reader interface {
	Read(context.Context, upstream.Call) (upstream.Answer, error)
}

// List is a collection to be read from all its regions.
type List struct {
	Reader    Reader
	Endpoints []*regions.Endpoint // one per region
	Namespace string
	Public    *url.URL
	Path      arm.Path
	Query     string
	Header    http.Header // of each call; not changed
}

// Merged is the union of what the regions hold.
type Merged struct {
	// Elements are in the order of the regions, each id once (as it came
	// first), as the bytes they came in.
	Elements [][]byte
	// RequestIDs are the providers' ids of the calls, in the same order.
	RequestIDs []string
	// Strays counts the elements that a second region returned as well.
	Strays int
}

// Collect reads every page of every region. It returns all of it or an error:
// an *arm.Error with a detail for each region that failed.
func (l List) Collect(ctx context.Context) (Merged, error) {
	results := make([]regionResult, len(l.Endpoints))
	var left atomic.Int64
	left.Store(maxListBytes)
	slots := make(chan struct{}, maxRegionsAtOnce)
	var wait sync.WaitGroup
	for i, endpoint := range l.Endpoints {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = l.region(ctx, endpoint, &left)
		})
	}
	wait.Wait()
	if fault := l.failure(results); fault != nil {
		return Merged{}, fault
	}
	return merge(results), nil
}

// regionResult is what one region had to say.
type regionResult struct {
	region     string
	elements   [][]byte
	requestIDs []string
	fault      *arm.Error // nil when the region answered to its end
}

func (l List) region(ctx context.Context, endpoint *regions.Endpoint, left *atomic.Int64) regionResult {
	result := regionResult{region: endpoint.Region}
	links := Links{Public: l.Public, Endpoint: endpoint, Path: l.Path.String()}
	query, seen := l.Query, map[string]bool{}
	for page := 0; ; page++ {
		if page == maxPages || seen[query] {
			result.fault = l.invalid("its pages never end")
			return result
		}
		seen[query] = true
		answer, err := l.Reader.Read(ctx, upstream.Call{Endpoint: endpoint, Path: l.Path.Escaped(), Query: query, Header: l.Header})
		if err != nil {
			result.fault = l.readFault(err)
			return result
		}
		if id := answer.Header.Get(tracing.RequestHeader); id != "" {
			result.requestIDs = append(result.requestIDs, id)
		}
		if answer.Status == http.StatusNotFound && page == 0 {
			return result // a provider that does not know the subscription
		}
		if answer.Status != http.StatusOK {
			result.fault = l.statusFault(answer)
			return result
		}
		if query, result.fault = l.take(&result, answer.Body, links, left); query == "" {
			return result
		}
	}
}

// take adds a page to the result and returns the query of the next, "" at the
// end or on a fault. left counts down the bytes that the list may hold.
func (l List) take(result *regionResult, text []byte, links Links, left *atomic.Int64) (string, *arm.Error) {
	page, err := ParsePage(text)
	if err != nil {
		return "", l.invalid(err.Error())
	}
	if left.Add(-int64(len(text))) < 0 {
		return "", arm.NewError(arm.ResponseTooLarge, l.Namespace, "256 MB")
	}
	result.elements = append(result.elements, page.Elements...)
	next, err := links.Query(page.NextLink)
	if err != nil {
		return "", l.invalid(err.Error())
	}
	return next, nil
}

func (l List) invalid(reason string) *arm.Error {
	return arm.NewError(arm.InvalidProviderResponse, l.Namespace, reason)
}

func (l List) readFault(err error) *arm.Error {
	var fault *upstream.Fault
	switch {
	case errors.Is(err, upstream.ErrTooLarge):
		return arm.NewError(arm.ResponseTooLarge, l.Namespace, "8 MB")
	case errors.As(err, &fault):
		return fault.ARM(l.Namespace)
	}
	return arm.NewError(arm.BadGatewayConnection, l.Namespace).Because(err)
}

// statusFault carries a region's own code and words, where its answer has the
// form of an ARM error.
func (l List) statusFault(answer upstream.Answer) *arm.Error {
	fault := l.invalid(fmt.Sprintf("status %d", answer.Status)).WithStatus(answer.Status)
	if code, message := errorOf(answer.Body); code != "" {
		fault.Code, fault.Message = arm.Code(code), message
	}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
		fault.RetryAfter = min(time.Duration(min(seconds, 3600))*time.Second, longestPause)
	}
	return fault
}

// errorOf reads code and message of an ARM error body, "" where it is none.
func errorOf(body []byte) (code, message string) {
	_ = jsonscan.Object(body, func(m jsonscan.Member) error {
		if string(m.Key) != "error" {
			return nil
		}
		return jsonscan.Object(m.Value, func(m jsonscan.Member) error {
			switch string(m.Key) {
			case "code":
				code, _ = jsonscan.Text(m.Value)
			case "message":
				message, _ = jsonscan.Text(m.Value)
			}
			return nil
		})
	})
	return code, message
}

// failure is the fault of the list, nil when every region answered: 429 if all
// that failed were throttled, 504 if all timed out, else 503.
func (l List) failure(results []regionResult) *arm.Error {
	var fault *arm.Error
	throttled, late := true, true
	for _, r := range results {
		if r.fault == nil {
			continue
		}
		if fault == nil {
			fault = arm.NewError(arm.InvalidProviderResponse, l.Namespace, "")
			fault.Cause = r.fault.Cause
		}
		throttled = throttled && r.fault.Status == http.StatusTooManyRequests
		late = late && r.fault.Status == http.StatusGatewayTimeout
		fault.RetryAfter = max(fault.RetryAfter, r.fault.RetryAfter)
		fault.Details = append(fault.Details, arm.Error{Code: r.fault.Code, Message: r.fault.Message, Target: r.region})
	}
	if fault == nil {
		return nil
	}
	fault.Code, fault.Status = "ServiceUnavailable", http.StatusServiceUnavailable
	switch {
	case throttled:
		fault.Code, fault.Status = "TooManyRequests", http.StatusTooManyRequests
	case late:
		fault.Code, fault.Status = arm.GatewayTimeout, http.StatusGatewayTimeout
	}
	return fault.Saying("The list could not be completed: %d of %d regions of '%s' did not answer. Please see details.", len(fault.Details), len(results), l.Namespace)
}

func merge(results []regionResult) Merged {
	var merged Merged
	regionOf := map[string]string{}
	for _, r := range results {
		merged.RequestIDs = append(merged.RequestIDs, r.requestIDs...)
		for _, element := range r.elements {
			if id := idOf(element); id != "" {
				if first, seen := regionOf[id]; seen {
					if first != r.region {
						merged.Strays++
					}
					continue
				}
				regionOf[id] = r.region
			}
			merged.Elements = append(merged.Elements, element)
		}
	}
	merged.Elements = slices.Clip(merged.Elements)
	return merged
}

// idOf returns the folded id of an element, "" where it has none.
func idOf(element []byte) (id string) {
	if len(element) == 0 || element[0] != '{' {
		return ""
	}
	_ = jsonscan.Object(element, func(m jsonscan.Member) error {
		if string(m.Key) == "id" {
			id, _ = jsonscan.Text(m.Value)
			return errFound
		}
		return nil
	})
	return arm.Fold(id)
}

var errFound = errors.New("found")
