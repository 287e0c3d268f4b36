package contoso

import (
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// TestPreconditions goes through the tables of the addendum, ETags for
// Resources. The word TAG stands for the resource's own tag.
func TestPreconditions(t *testing.T) {
	for _, c := range []struct {
		method, header string
		absent         int
		exists         int
	}{
		{"PUT", "If-Match: ", 201, 200},
		{"PUT", "If-Match: *", 412, 200},
		{"PUT", `If-Match: "xyz"`, 412, 412},
		{"PUT", `If-Match: "x,y", TAG`, 412, 200},
		{"PUT", "If-None-Match: *", 201, 412},
		{"PUT", "If-None-Match: TAG", 201, 412},
		{"PUT", `If-None-Match: "xyz"`, 201, 200},
		{"PATCH", "If-Match: ", 404, 200},
		{"PATCH", "If-Match: *", 404, 200},
		{"PATCH", `If-Match: "xyz"`, 404, 412},
		{"PATCH", `If-Match: "x,*,y"`, 404, 412},
		{"PATCH", "If-Match: TAG", 404, 200},
		{"DELETE", "If-Match: ", 204, 200},
		{"DELETE", "If-Match: *", 204, 200},
		{"DELETE", `If-Match: "xyz"`, 204, 412},
		{"DELETE", "If-Match: xyz, TAG", 204, 200},
	} {
		s := newSite(t, "westus")
		own := `W/"none"`
		for _, want := range []int{c.absent, c.exists} {
			header := regexp.MustCompile("TAG").ReplaceAllString(c.header, own)
			body := westVM
			if c.method == "PATCH" {
				body = `{"tags":{"n":"2"}}`
			}
			if got, err := s.send(c.method, vm+version, body, header); err != nil || got.status != want {
				t.Errorf("%s with %s: got %d (%v), want %d", c.method, header, got.status, err, want)
			}
			s.do(s.putStatus(), "PUT", vm+version, westVM)
			own = s.get(vm + version).header.Get("ETag")
		}
	}
}

// putStatus is what a PUT of vm will be answered with.
func (s *site) putStatus() int {
	if a, err := s.send("HEAD", vm+version, ""); err == nil && a.status == 200 {
		return 200
	}
	return 201
}

func TestETagsFollowTheContent(t *testing.T) {
	s := newSite(t, "westus")
	a := s.do(201, "PUT", vm+version, `{"location":"westus","properties":{"a":1,"b":2}}`, "x-ms-arm-resource-system-data: {}")
	first := a.header.Get("ETag")
	if !regexp.MustCompile(`^W/"[0-9a-f]{128}"$`).MatchString(first) {
		t.Fatalf("tag %q", first)
	}
	a.want(first, "etag")
	same := func(a reply, want bool) {
		t.Helper()
		a.want(a.header.Get("ETag"), "etag")
		if (a.header.Get("ETag") == first) != want {
			t.Errorf("%s: tag %q beside %q", a.what, a.header.Get("ETag"), first)
		}
	}
	same(s.get(vm+"?api-version=2024-06-01-preview"), true)
	same(s.do(200, "PUT", vm+version, `{"properties":{"b":2,"a":1},"location":"westus","etag":"x"}`, `x-ms-arm-resource-system-data: {"lastModifiedBy":"x"}`), true)
	same(s.do(200, "PATCH", vm+version, `{"properties":{"a":3}}`), false)
	list := s.get(compute + "/virtualMachines" + version)
	if item := list.at("value").([]any)[0].(map[string]any); item["etag"] != s.get(vm+version).header.Get("ETag") {
		t.Errorf("list item without its tag: %s", list.body)
	}
	same(s.do(200, "PATCH", vm+version, `{"properties":{"a":1}}`), true)
	if a := s.do(304, "GET", vm+version, "", "If-None-Match: "+first); a.header.Get("ETag") != first {
		t.Error("304 without the tag")
	}
	s.do(304, "HEAD", vm+version, "", "If-None-Match: *")
	s.do(200, "GET", vm+version, "", `If-None-Match: "other"`)
}

func TestTheOldVersionHasNoETags(t *testing.T) {
	s := newSite(t, "westus")
	a := s.do(201, "PUT", vm+old, westVM)
	for _, a := range []reply{a, s.get(vm + old), s.get(vm+old, "If-None-Match: *")} {
		if a.header.Get("ETag") != "" || a.at("etag") != nil {
			t.Errorf("%s: a tag", a.what)
		}
	}
	for _, m := range []string{"PUT", "PATCH", "DELETE"} {
		s.refused(406, "NotAcceptable", m, vm+old, westVM, "If-Match: *")
	}
	s.refused(406, "NotAcceptable", "PUT", vm+old, westVM, "If-None-Match: *")
	s.do(200, "PUT", vm+old, westVM, "If-Match: ")
}

func TestOfManyConditionalWritesOneWins(t *testing.T) {
	s := newSite(t, "westus")
	tag := s.do(201, "PUT", vm+version, westVM).header.Get("ETag")
	const writers = 100
	statuses := make(chan int, writers)
	var done sync.WaitGroup
	for i := range writers {
		done.Add(1)
		go func() {
			defer done.Done()
			a, err := s.send("PATCH", vm+version, `{"tags":{"n":"`+strconv.Itoa(i)+`"}}`, "If-Match: "+tag)
			if err != nil {
				t.Error(err)
			}
			statuses <- a.status
		}()
	}
	done.Wait()
	close(statuses)
	count := map[int]int{}
	for status := range statuses {
		count[status]++
	}
	if count[200] != 1 || count[412] != writers-1 {
		t.Errorf("statuses %v", count)
	}
}
