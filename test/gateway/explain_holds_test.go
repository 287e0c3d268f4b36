package gateway_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	adminapi "portico/gateway/admin/api"
	"portico/gateway/exchange"
)

// explains is set while tests run anew, to hold the explanation of each of their requests
// against what then happens.
var explains bool

// An explanation says what happens: of every request of these tests, which are sent in
// many situations, by whoever signs in and to whatever host. It changes nothing in the store, and no provider is called for it.
func TestExplanationsHold(t *testing.T) {
	explains = true
	t.Cleanup(func() { explains = false })
	for name, test := range map[string]func(*testing.T){
		"groups": TestGroupIsCreatedAndReplaced, "contents of groups": TestGroupContent, "patches of groups": TestGroupPatch,
		"entity tags": TestGroupPreconditions, "lists of groups": TestGroupFilter,
		"groups that are deleted or moved": TestGroupsInOtherStates,
		"methods":                          TestMethods, "contents": TestContent,
		"registrations": TestRegistration, "unregistered namespaces": TestRegistrationGuardsWrites, "features": TestFeatures,
		"refusals": TestWordsOfRefusals, "collections": TestCollections, "actions": TestRelayedCalls, "headers": TestHeadersOfCalls,
		"locks": TestLocksForbidWrites,
		"moves": TestMoveIsItsCallersAlone, "refused moves": TestMoveRefusals,
		"asynchronous creates": TestAsynchronousCreate, "asynchronous deletes": TestAsynchronousDelete, "asynchronous actions": TestAsynchronousAction,
		"polls of others": TestPollOfAnotherCaller, "polls of nobody's": TestPollWithoutARecord,
		"resources without a row": TestPreexistingResourceIsFound, "writes without a row": TestWritesMeetPreexistingResources,
		"lists without rows": TestListsOfTheEstate, "searches with a region down": TestEstateWithARegionDown,
		"providers": TestProvider,
		"roles":     TestRolesComeAndGo, "callers without a role": TestSubscriptionsWithoutARoleLookAbsent,
		"heads": TestHead, "heads without a row": TestHeadOfWhatHasNoRow, "stale caches": TestStaleCache,
		"resources": TestResourceLists, "offers": TestSKUsForNewResources, "subscriptions": TestSubscription, "tenants": TestPrincipalWithoutTenant,
		"locations": TestLocations, "states of subscriptions": TestSubscriptionStates, "metadata": TestMetadata,
		"tag names": TestTagNames, "tags": TestTags, "tags of resources": TestTagsOfResources, "internal subscriptions": TestResourceCreatedFor,
		"other locations": TestWriteToAnotherLocation, "providers that are down": TestProviderThatIsDown,
		"nothing to delete": TestDeleteOfWhatIsAbsent, "nested resources": TestNestedResources,
		"batches": TestBatchedRequestsFailApart, "callers that send too much": TestCallersAreThrottled, "subscriptions that get too much": TestSubscriptionsAreThrottled,
		"hosts": TestHostGuard, "tokens": TestExplainSignIn, "deletions": TestExplainNamesADeletion, "moving groups": TestExplainNamesAMove, "open writes": TestExplainNamesAnOpenWrite,
		"lists with a region down": TestPartialByType, "calls of lists": TestCallsOfAList, "skip tokens": TestEmptyListJudgesTokens,
	} {
		t.Run(name, test)
	}
}

// explainFirst explains each request before it is answered, and compares.
func (s *site) explainFirst(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(io.LimitReader(r.Body, s.config.Limits.RequestBody+1))
		rest := r.Body
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(content), rest), rest}
		explanation := s.explain(r, content)
		if err != nil || explanation == nil {
			next.ServeHTTP(w, r)
			return
		}
		answer := &answered{ResponseWriter: w}
		next.ServeHTTP(answer, r)
		s.holds(r, explanation, answer)
	})
}

// explain explains a request as it came in; nil for what does not come as far as that.
func (s *site) explain(r *http.Request, content []byte) *adminapi.Explanation {
	if int64(len(content)) > s.config.Limits.RequestBody {
		return nil
	}
	var sent bytes.Buffer
	fmt.Fprintf(&sent, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.RequestURI, r.Host)
	must(s.t, r.Header.Write(&sent))
	if r.ContentLength != 0 || r.Method == http.MethodPut {
		fmt.Fprintf(&sent, "Content-Length: %d\r\n", len(content))
	}
	sent.WriteString("\r\n")
	sent.Write(content)
	if sent.Len() > 45<<10 { // the admin listener takes 64 KiB, and this in base64
		return nil
	}
	before, calls := s.dump(), s.calls()
	e := s.explained(adminapi.Question{Raw: sent.Bytes()})
	if n := s.calls() - calls; n > 0 {
		s.t.Errorf("explain %s %s: %d calls", r.Method, r.RequestURI, n)
	}
	if after := s.dump(); after != before {
		s.t.Errorf("explain %s %s changed the store:\n%s\nthen\n%s", r.Method, r.RequestURI, before, after)
	}
	return &e
}

// dump is what the store holds.
func (s *site) dump() string {
	s.t.Helper()
	db, err := sql.Open("sqlite", s.path)
	must(s.t, err)
	defer db.Close()
	var all strings.Builder
	for _, table := range rowsOf(s.t, db, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
		fmt.Fprintf(&all, "%s\n%s\n", table, strings.Join(rowsOf(s.t, db, "SELECT * FROM "+table), "\n"))
	}
	return all.String()
}

// rowsOf are the rows of a query, each as text.
func rowsOf(t testing.TB, db *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(context.Background(), query)
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	for rows.Next() {
		texts, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range texts {
			into[i] = &texts[i]
		}
		must(t, rows.Scan(into...))
		var row []string
		for _, text := range texts {
			row = append(row, text.String)
		}
		all = append(all, strings.Join(row, " "))
	}
	must(t, rows.Err())
	return all
}

// calls is how many requests providers have got.
func (s *site) calls() (n int) {
	for _, got := range s.received() {
		n += len(got)
	}
	return n
}

// received is what providers have got, by their regions.
func (s *site) received() map[string][]received {
	all := map[string][]received{}
	for region, e := range s.providers {
		answer, err := e.server.Client().Get(e.server.URL + "/contoso/requests")
		if err != nil { // it is down
			continue
		}
		var list struct{ Value []received }
		err = json.NewDecoder(answer.Body).Decode(&list)
		_ = answer.Body.Close()
		if err != nil {
			s.t.Error(err)
		}
		all[region] = list.Value
	}
	return all
}

// answered is an answer on its way.
type answered struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (a *answered) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answered) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = 200
	}
	a.body.Write(p)
	return a.ResponseWriter.Write(p)
}

func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// holds compares an explanation with what happened.
//
// What a limit would have refused it may grant a moment later.
func (s *site) holds(r *http.Request, explanation *adminapi.Explanation, got *answered) {
	s.t.Helper()
	v := explanation.Verdict
	fail := func(format string, args ...any) {
		s.t.Helper()
		s.t.Errorf("%s %s: explained as %q, but "+format, append([]any{r.Method, r.RequestURI, v.Summary}, args...)...)
	}
	own := got.Header().Get("X-Ms-Failure-Cause") == exchange.CauseGateway
	switch v.Outcome {
	case adminapi.Answered, adminapi.Refused:
		var fault struct{ Error struct{ Code string } }
		_ = json.Unmarshal(got.body.Bytes(), &fault)
		if v.Status == http.StatusTooManyRequests && got.status < 400 && s.refills.oneMore() {
			return
		}
		if got.status != v.Status || own && r.Method != "HEAD" && fault.Error.Code != v.Code {
			fail("it is answered with %d %s: %s", got.status, fault.Error.Code, got.body.String())
		}
		if questions := s.calledFor(got.Header().Get("X-Ms-Correlation-Request-Id")); len(questions) > len(explanation.Calls) {
			fail("these are asked: %v", questions)
		}
	case adminapi.Forwarded:
		if v.Status != 0 && !own && got.status != v.Status && got.status < 400 {
			fail("it is answered with %d", got.status)
		}
		questions := s.calledFor(got.Header().Get("X-Ms-Correlation-Request-Id"))
		for _, c := range explanation.Calls {
			i := slices.IndexFunc(questions, func(a question) bool {
				return a.region == c.Region && a.got.Method == c.Method && strings.HasPrefix(c.Path, a.got.Path)
			})
			if i < 0 {
				if !own && s.serves(c) && !walksByTop(c) {
					fail("%s %s %s was not asked: %v", c.Region, c.Method, c.Path, questions)
				}
				continue
			}
			s.holdsHeaders(fail, c, questions[i].got)
		}
	case adminapi.Open:
	default:
		fail("that is no outcome")
	}
}

// serves reports whether a call goes to a provider that tells what it got.
func (s *site) serves(c adminapi.ExplainedCall) bool {
	e := s.providers[c.Region]
	if _, up := s.received()[c.Region]; !up {
		return false
	}
	return slices.ContainsFunc(c.Addresses, func(a adminapi.ExplainedAddress) bool { return a.URL == e.server.URL })
}

// walksByTop reports whether regions are asked one after the other, until a page is full.
func walksByTop(c adminapi.ExplainedCall) bool {
	return c.Purpose == adminapi.List && strings.Contains(c.Path, "top=")
}

type question struct {
	region string
	got    received
}

// calledFor are the requests that providers got for one with a correlation id.
func (s *site) calledFor(correlation string) (all []question) {
	for region, list := range s.received() {
		for _, got := range list {
			if got.Headers.Get("X-Ms-Correlation-Request-Id") == correlation {
				all = append(all, question{region, got})
			}
		}
	}
	return all
}

// refills are the requests that a limit granted though it would have refused them when
// they were explained.
type refills struct {
	mu    sync.Mutex
	first time.Time
	seen  int
}

// oneMore counts another one, and reports whether as many can have come back to the limits
// of these tests, which gain a few each second.
func (r *refills) oneMore() bool {
	const each = 3
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == 0 {
		r.first = time.Now()
	}
	r.seen++
	return r.seen <= each*(1+int(time.Since(r.first)/time.Second))
}

// holdsHeaders compares the headers of a call.
func (s *site) holdsHeaders(fail func(string, ...any), c adminapi.ExplainedCall, got received) {
	s.t.Helper()
	named := map[string]bool{}
	for _, h := range c.Headers {
		named[h.Name] = true
		values := got.Headers[h.Name]
		if len(values) == 0 || h.Value != "" && values[0] != h.Value {
			fail("the header %s is %q in place of %q", h.Name, values, h.Value)
		}
	}
	for name := range got.Headers {
		if !named[name] && !slices.Contains([]string{"Content-Length", "Accept-Encoding", "User-Agent", "Connection"}, name) {
			fail("the header %s went out", name)
		}
	}
}
