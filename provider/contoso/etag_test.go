package contoso

import (
	"regexp"
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
