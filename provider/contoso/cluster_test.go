package contoso

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

const cluster = sub + "/resourceGroups/rg/providers/Contoso.Insight/clusters/c"

// door is a front door that notes what it is asked, and answers with a status.
type door struct {
	mu     sync.Mutex
	calls  []string
	status int
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, r.Method+" "+r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]+" "+string(body)+" "+r.Header.Get("Authorization"))
	if d.status != 0 {
		w.WriteHeader(d.status)
		_, _ = io.WriteString(w, `{"error":{"code":"Refused","message":"No."}}`)
	}
}

func (d *door) heard() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls := d.calls
	d.calls = nil
	return calls
}

func (d *door) refuse(status int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status = status
}

func TestClusters(t *testing.T) {
	d := &door{}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	s := newSiteWith(t, Options{Region: "westus", FrontDoor: &FrontDoor{URL: server.URL, Token: "secret", Subscription: "internal"}})
	calls := func(want ...string) {
		t.Helper()
		got := d.heard()
		if len(got) != len(want) {
			t.Fatalf("%q", got)
		}
		for i, call := range got {
			if !strings.HasPrefix(call, want[i]) || !strings.HasSuffix(call, " Bearer secret") {
				t.Errorf("call %d is %q, want %q", i, call, want[i])
			}
			if strings.Contains(call, `"tags"`) && !strings.Contains(call, `"tags":{"resourceCreatedFor":"`+cluster+`"}`) {
				t.Errorf("%q", call)
			}
		}
	}
	created := s.do(201, "PUT", cluster+version, `{"location":"westus","properties":{"workers":2}}`)
	if !strings.Contains(created.body, `"workers":2`) || strings.Count(created.body, "/subscriptions/internal/resourceGroups/clusters-westus/providers/Contoso.Compute/virtualMachines/") != 2 {
		t.Error(created.body)
	}
	calls(`PUT clusters-westus {"location":"westus"}`, `PUT `, `PUT `)
	s.do(200, "PATCH", cluster+version, `{"tags":{"a":"b"}}`)
	calls()
	s.do(200, "PATCH", cluster+version, `{"properties":{"workers":3}}`)
	calls(`PUT clusters-westus`, `PATCH `, `PATCH `, `PUT `)
	s.do(200, "PUT", cluster+version, `{"location":"westus","properties":{"workers":1}}`)
	calls(`PUT clusters-westus`, `PATCH `, `DELETE `, `DELETE `)

	// What cannot be has no effect anywhere.
	for _, workers := range []string{"0", "17", "1.5", `"1"`} {
		s.do(400, "PUT", cluster+version, `{"location":"westus","properties":{"workers":`+workers+`}}`)
	}
	s.do(412, "DELETE", cluster+version, "", `If-Match: "other"`)
	s.do(412, "PUT", cluster+version, `{"location":"westus"}`, `If-None-Match: *`)
	s.do(404, "PATCH", cluster+"2"+version, `{"properties":{"workers":2}}`)
	s.do(204, "DELETE", cluster+"2"+version, "")
	calls()
	d.refuse(http.StatusForbidden)
	for _, c := range [][2]string{{"PUT", `{"location":"westus","properties":{"workers":2}}`}, {"DELETE", ""}} {
		if got := s.do(409, c[0], cluster+version, c[1]); !strings.Contains(got.body, `"code":"Refused"`) {
			t.Error(got.body)
		}
		d.heard()
	}
	d.refuse(0)
	s.do(200, "DELETE", cluster+version, "")
	calls(`DELETE `)

	alone := newSite(t, "westus")
	if got := alone.do(409, "PUT", cluster+version, `{"location":"westus"}`); !strings.Contains(got.body, "NoInternalSubscription") {
		t.Error(got.body)
	}
}
