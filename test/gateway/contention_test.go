package gateway_test

import (
	"runtime"
	"strings"
	"sync"
	"testing"
)

// A lock that every request takes is what more processors cannot make faster. There are some
// for the time of a few instructions: of the log's lines that wait, of the requests that are
// watched, and of what a caller, or an endpoint, has in use. None of them may keep more than
// a few requests waiting where as many run as one caller may send at a time.
func TestRequestsDoNotWaitForEachOther(t *testing.T) {
	const (
		callers, each = 16, 2000
		most          = callers * each / 50
	)
	s := warmSite(t)
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	before := waitsByPlace(t)
	var reading sync.WaitGroup
	for range callers {
		reads := newReads(t, s.gateway.Public())
		reading.Go(func() {
			for range each {
				reads.read(t)
			}
		})
	}
	reading.Wait()
	for place, waits := range waitsByPlace(t) {
		if waits -= before[place]; waits > most {
			t.Errorf("%d of %d requests made others wait in %s", waits, callers*each, place)
		}
	}
}

// waitsByPlace counts how often each function that holds a lock has made others wait for it.
func waitsByPlace(t *testing.T) map[string]int64 {
	t.Helper()
	records := make([]runtime.BlockProfileRecord, 10000)
	n, whole := runtime.MutexProfile(records)
	if !whole {
		t.Fatalf("the profile has %d places", n)
	}
	places := map[string]int64{}
	for _, r := range records[:n] {
		frames := runtime.CallersFrames(r.Stack())
		for f, more := frames.Next(); more; f, more = frames.Next() {
			if strings.HasPrefix(f.Function, "sync.") {
				continue
			}
			if !strings.HasPrefix(f.Function, "runtime.") { // whose own locks are not ours to change
				places[f.Function] += r.Count
			}
			break
		}
	}
	return places
}
