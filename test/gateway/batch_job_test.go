package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"portico/inventory/jobrow"
	"portico/inventory/polls"
)

// longBatch is so many PUTs of machines, each followed by a GET of it, in one.
func longBatch(n int) string {
	var requests []string
	for i := range n {
		m := machinePath("g", fmt.Sprint("m", i)) + api
		requests = append(requests,
			fmt.Sprintf(`{"name":"p%d","httpMethod":"PUT","url":%q,"content":{"location":"westus","properties":{"secret":"hunter2-%d"}}}`, i, m, i),
			fmt.Sprintf(`{"name":"g%d","httpMethod":"GET","url":%q}`, i, groupPath("g")+own))
	}
	return `{"requests":[` + strings.Join(requests, ",") + `]}`
}

// waiting is a site whose batches are long from the third request on, with a
// group g.
func waiting(t *testing.T, as setup) *site {
	t.Helper()
	as.sections = "batch: {immediate: 2, requests: 40, perCaller: 2}\n" + as.sections
	s := newSite(t, as)
	if as.tokens {
		s.ok(201, "PUT", groupPath("g")+own, westus, "Authorization", bearer(secret))
	} else {
		s.group("g")
	}
	return s
}

// puts counts the PUTs that westus got, by the machine's name.
func (s *site) puts() map[string]int {
	s.t.Helper()
	got := map[string]int{}
	for _, r := range s.at("westus").peek() {
		if r.Method == "PUT" {
			got[r.Path[strings.LastIndexByte(r.Path, '/')+1:]]++
		}
	}
	return got
}

func TestLongBatch(t *testing.T) {
	s := waiting(t, setup{tokens: true})
	ann := []string{"Authorization", bearer(secret), "User-Agent", "portal/1"}
	const correlation = "0f0e0d0c-0000-4000-8000-00000000c0de"
	accepted := s.ok(202, "POST", batchPath, longBatch(10), append(ann, "x-ms-correlation-request-id", correlation)...)
	if accepted.header.Get("Retry-After") != "1" || accepted.text != "" || accepted.header.Get("Content-Length") != "0" {
		t.Errorf("%v %s", accepted.header, accepted.text)
	}
	poll := s.local(accepted.header.Get("Location"))
	if !strings.HasPrefix(poll, "/operationresults/") || !strings.HasSuffix(poll, "?api-version=2020-06-01") {
		t.Error(poll)
	}
	again := s.ok(202, "GET", poll, "", ann...)
	if s.local(again.header.Get("Location")) != poll || again.header.Get("Retry-After") != "1" {
		t.Errorf("%v", again.header)
	}
	for _, other := range []string{second, stranger} {
		s.want(404, "HttpResourceNotFound", "GET", poll, "", "Authorization", bearer(other))
	}
	s.want(404, "HttpResourceNotFound", "GET", strings.Replace(poll, "results/", "results/0", 1), "", ann...)
	if held := len(s.at("westus").holds()); held != 0 {
		t.Errorf("%d were made before the answer", held)
	}
	s.sealed("hunter2")
	s.work()
	got := s.end(accepted, append(ann, "Accept-Encoding", "identity")...)
	all := decode[responses](t, got).Responses
	if got.status != 200 || len(all) != 20 || got.header.Get("Content-Length") != fmt.Sprint(len(got.text)) {
		t.Fatalf("%d %v %d", got.status, got.header, len(all))
	}
	for i, r := range all {
		name, want := fmt.Sprintf(`"p%d"`, i/2), 201
		if i%2 == 1 {
			name, want = fmt.Sprintf(`"g%d"`, i/2), 200
		}
		if string(r.Name) != name || r.HTTPStatusCode != want || r.Headers["x-ms-correlation-request-id"] != correlation {
			t.Errorf("%d: %s %d %v", i, r.Name, r.HTTPStatusCode, r.Headers)
		}
	}
	for name, n := range s.puts() {
		if n != 1 {
			t.Errorf("%s was sent %d times", name, n)
		}
	}
	for _, r := range s.at("westus").peek() {
		if r.Headers.Get("X-Ms-Client-Object-Id") != callers[secret].ObjectID || r.Headers.Get("User-Agent") != "portal/1" {
			t.Errorf("%v", r.Headers)
		}
	}
	s.sealed("hunter2")
	for _, other := range []string{second, stranger} {
		s.want(404, "HttpResourceNotFound", "GET", poll, "", "Authorization", bearer(other))
	}
	if again := s.ok(200, "GET", poll, "", ann...); again.text != got.text {
		t.Error("another answer to another poll")
	}
	s.clock.advance(49 * hour)
	s.want(404, "HttpResourceNotFound", "GET", poll, "", ann...)
}

// sealed asserts that a text stands nowhere in the store's files.
func (s *site) sealed(text string) {
	s.t.Helper()
	found := 0
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(s.path + suffix)
		if err != nil {
			continue
		}
		found++
		if bytes.Contains(content, []byte(text)) {
			s.t.Errorf("%q stands in the store", text)
		}
	}
	if found == 0 {
		s.t.Error("the store has no file")
	}
}

// A gateway died in the middle of a batch: what it had sent is not sent again,
// what it had not is sent by another.
func TestBatchTakenOver(t *testing.T) {
	s := waiting(t, setup{})
	accepted := s.ok(202, "POST", batchPath, longBatch(10), "x-ms-correlation-request-id", "0f0e0d0c-0000-4000-8000-00000000c0de")
	dead, err := s.store.Jobs.Claim(context.Background(), "dead", time.Second, 1, polls.BatchJob)
	if err != nil || len(dead) != 1 {
		t.Fatal(dead, err)
	}
	for _, i := range []int{0, 4} {
		if first, err := s.store.Batches.BeginPart(context.Background(), dead[0], i); !first || err != nil {
			t.Fatal(first, err)
		}
	}
	s.clock.advance(2 * time.Second)
	s.work()
	s.within("what was not sent", func() bool { return len(s.puts()) == 8 })
	s.within("all answers but two", func() bool {
		batch, err := s.store.Batches.Batch(context.Background(), dead[0].ID)
		return err == nil && len(batch.Parts) == 20 && !batch.Parts[0].Answered && batch.Parts[19].Answered
	})
	poll := s.local(accepted.header.Get("Location"))
	s.ok(202, "GET", poll, "")
	// Its answer still counts if it comes.
	must(t, s.store.Batches.EndPart(context.Background(), dead[0].ID, 4, []byte(`{"name":"p2","httpStatusCode":201,"headers":{},"contentLength":0}`)))
	s.ok(202, "GET", poll, "")
	s.released(polls.BatchJob)
	s.clock.advance(2 * time.Minute)
	all := decode[responses](t, s.end(accepted)).Responses
	if len(all) != 20 {
		t.Fatal(len(all))
	}
	for i, r := range all {
		want := "200"
		switch {
		case i == 0:
			want = "500 InternalServerError"
		case i%2 == 0:
			want = "201"
		}
		if r.brief() != want {
			t.Errorf("%d: %s %s", i, r.brief(), r.Content)
		}
	}
	if !strings.Contains(string(all[0].Content), "The outcome of the request is unknown") || string(all[0].Name) != `"p0"` ||
		all[0].Headers["x-ms-correlation-request-id"] != "0f0e0d0c-0000-4000-8000-00000000c0de" {
		t.Errorf("%s %v %s", all[0].Name, all[0].Headers, all[0].Content)
	}
	puts := s.puts()
	if len(puts) != 8 || puts["m0"] != 0 || puts["m2"] != 0 {
		t.Errorf("%v", puts)
	}
	job, err := s.store.Jobs.Get(context.Background(), "", dead[0].ID)
	if err != nil || job.State != jobrow.Done || job.Payload != `{"progress":{"total":20,"answered":19,"unknown":1}}` {
		t.Errorf("%v %s %v", job.State, job.Payload, err)
	}
}

// A gateway gave up a lost answer, and died before it ended the batch: the one that
// ends it counts that answer as lost too.
func TestBatchTakenOverBeforeItsEnd(t *testing.T) {
	s := waiting(t, setup{})
	accepted := s.ok(202, "POST", batchPath, longBatch(10))
	dead, err := s.store.Jobs.Claim(context.Background(), "dead", time.Hour, 1, polls.BatchJob)
	if err != nil || len(dead) != 1 {
		t.Fatal(dead, err)
	}
	if first, err := s.store.Batches.BeginPart(context.Background(), dead[0], 0); !first || err != nil {
		t.Fatal(first, err)
	}
	s.clock.advance(10 * time.Minute)
	must(t, s.store.Batches.EndPart(context.Background(), dead[0].ID, 0, []byte(`{"httpStatusCode":500,"headers":{},"contentLength":0}`)))
	s.clock.advance(time.Hour)
	s.work()
	s.end(accepted)
	job, err := s.store.Jobs.Get(context.Background(), "", dead[0].ID)
	if err != nil || job.Payload != `{"progress":{"total":20,"answered":19,"unknown":1}}` {
		t.Errorf("%s %v", job.Payload, err)
	}
}

// An operator calls a batch off: what was not sent is not.
func TestBatchCanceled(t *testing.T) {
	s := waiting(t, setup{})
	accepted := s.ok(202, "POST", batchPath, longBatch(3))
	jobs, err := s.store.Jobs.List(context.Background(), jobrow.Query{Kind: polls.BatchJob})
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	s.request(202, "", "POST", "/admin/jobs/"+jobs[0].Name()+"/cancel", "")
	s.work()
	for _, r := range decode[responses](t, s.end(accepted)).Responses {
		if r.brief() != "409 OperationCanceled" || !strings.Contains(string(r.Content), "before this request was sent") {
			t.Errorf("%s %s", r.brief(), r.Content)
		}
	}
	if puts := s.puts(); len(puts) != 0 {
		t.Errorf("%v", puts)
	}
	if job, err := s.store.Jobs.Get(context.Background(), "", jobs[0].ID); err != nil || job.State != jobrow.Cancelled {
		t.Errorf("%v %v", job.State, err)
	}
}

func TestLongBatchesOfOneCaller(t *testing.T) {
	s := waiting(t, setup{})
	s.ok(202, "POST", batchPath, longBatch(2))
	last := s.ok(202, "POST", batchPath, longBatch(2))
	refused := s.want(429, "TooManyRequests", "POST", batchPath, longBatch(2))
	if refused.header.Get("Retry-After") != "15" {
		t.Errorf("%v", refused.header)
	}
	s.work()
	s.end(last)
	s.ok(202, "POST", batchPath, longBatch(2))
}

// A batch whose answers take more than there is room for ends all the same.
func TestLongBatchBeyondItsRoom(t *testing.T) {
	s := waiting(t, setup{limits: "answerBody: 64KiB", sections: "lists: {memory: 1MiB}"})
	s.config.Batch.Memory, s.config.Batch.TotalMemory = 200<<10, 400<<10
	var requests []string
	for i := range 12 {
		s.ok(201, "PUT", machinePath("g", fmt.Sprint("m", i))+api, `{"location":"westus","properties":{"text":"`+strings.Repeat("x", 40<<10)+`"}}`)
		requests = append(requests, get(machinePath("g", fmt.Sprint("m", i))+api))
	}
	s.at("westus").requests()
	accepted := s.ok(202, "POST", batchPath, `{"requests":[`+strings.Join(requests, ",")+`]}`)
	s.work()
	got := map[string]int{}
	for _, r := range decode[responses](t, s.end(accepted)).Responses {
		got[r.brief()]++
	}
	if got["200"] == 0 || got["503 ServerBusy"] == 0 || got["200"]+got["503 ServerBusy"] != 12 || len(s.at("westus").peek()) != got["200"] {
		t.Errorf("%v, %d sent", got, len(s.at("westus").peek()))
	}
}

// Answers are kept for a while after the end, and for less once they were fetched.
func TestAnswersOfABatchGo(t *testing.T) {
	s := waiting(t, setup{sections: "operations: {records: 48h, firstAnswer: 0s}"})
	s.config.Batch.AnswersKept = hour
	s.work()
	for _, c := range []struct {
		fetched bool
		kept    time.Duration
	}{{true, 5 * time.Minute}, {false, hour}} {
		accepted := s.ok(202, "POST", batchPath, longBatch(2))
		poll := s.local(accepted.header.Get("Location"))
		if c.fetched {
			s.end(accepted)
			s.clock.advance(c.kept - time.Minute)
			s.ok(200, "GET", poll, "") // it may have been lost on the way
			s.clock.advance(2 * time.Minute)
		} else {
			s.within("end of a batch", func() bool {
				jobs, err := s.store.Jobs.CountKind(context.Background(), polls.BatchJob, hour, hour)
				return err == nil && jobs.All == 0
			})
			s.clock.advance(c.kept + time.Minute)
		}
		s.want(404, "HttpResourceNotFound", "GET", poll, "")
		s.within("room", func() bool {
			_, all, err := s.store.Batches.Room(context.Background(), "", "", polls.BatchLimits{TotalStored: 1})
			return err == nil && all == 1
		})
	}
}
