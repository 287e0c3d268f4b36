package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
)

// firm holds for a row of which the index is sure.
func firm(row inventory.Resource) bool { return row.Phase == index.Live && !row.Verify }

// A provider may have carried out what it seems to refuse.
func TestRefusedCreate(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	for status, stays := range map[string]bool{"400": false, "403": false, "404": false, "307": false, "409": true, "412": true, "423": true, "429": true, "500": true, "503": true, "408": true} {
		m := machinePath("g", "m"+status)
		if got := s.do("PUT", m+api, westus, "x-contoso-fault", "status="+status); got.header.Get("X-Ms-Failure-Cause") != "service" && got.status >= 400 {
			t.Errorf("%s: %d %v", status, got.status, got.header)
		}
		row, there := s.row(m)
		if there != stays || there && (row.Phase != index.Pending || !row.Verify) {
			t.Errorf("%s leaves %v %+v", status, there, row)
		}
	}
	// A refusal changes nothing of what stands.
	m := s.machine("g", "there", "westus")
	s.want(400, "ContosoFault", "PUT", m+api, westus, "x-contoso-fault", "status=400")
	s.want(409, "ContosoFault", "DELETE", m+api, "", "x-contoso-fault", "status=409")
	if row, there := s.row(m); !there || !firm(row) {
		t.Errorf("%v %+v", there, row)
	}
}

// An answer that breaks off promised something that no one knows.
func TestBrokenAnswerToAWrite(t *testing.T) {
	s := newSite(t, setup{callTimeout: 200 * time.Millisecond})
	s.group("g")
	m := machinePath("g", "m")
	s.want(504, "GatewayTimeout", "PUT", m+api, westus, "x-contoso-fault", "stall")
	if row, there := s.row(m); !there || row.Phase != index.Pending || !row.Verify {
		t.Errorf("%v %+v", there, row)
	}
	s.ok(204, "HEAD", m+api, "") // it stands
	if row, _ := s.row(m); !firm(row) {
		t.Errorf("%+v", row)
	}
}

// One that is too large shows no resource, so the provider is asked for it.
func TestTooLargeAnswerToAWrite(t *testing.T) {
	s := newSite(t, setup{limits: "answerBody: 4KiB"})
	s.group("g")
	for _, fault := range []string{"big=8192", "big-chunked=8192"} {
		m := machinePath("g", fault[:3]+fault[len(fault)-4:])
		s.want(500, "ResponseTooLarge", "PUT", m+api, westus, "x-contoso-fault", fault)
		if row, there := s.row(m); !there || row.Phase != index.Pending || !row.FollowPut {
			t.Errorf("%s: %v %+v", fault, there, row)
		}
		s.ok(204, "HEAD", m+api, "")
		if row, _ := s.row(m); !firm(row) {
			t.Errorf("%s: %+v", fault, row)
		}
		s.ok(200, "DELETE", m+api, "")
	}
}

func TestProviderThatIsDown(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "there", "westus")
	s.at("westus").server.Close()
	got := s.want(502, "BadGatewayConnection", "PUT", machinePath("g", "m")+api, westus)
	got.says(t, "The network connectivity issue encountered for 'Contoso.Compute' in the location 'westus'; cannot fulfill the request.")
	if got.header.Get("X-Ms-Failure-Cause") != "gateway" {
		t.Errorf("%v", got.header)
	}
	if _, there := s.row(machinePath("g", "m")); there {
		t.Error("a create that never left has a row")
	}
	if got := s.want(502, "BadGatewayConnection", "GET", m+api, ""); !strings.Contains(got.text, `"target":"westus"`) {
		t.Errorf("%s", got.text)
	}
	s.want(502, "BadGatewayConnection", "PATCH", m+api, `{}`)
	s.want(502, "BadGatewayConnection", "POST", m+"/start"+api, "")
	s.want(502, "BadGatewayConnection", "DELETE", m+api, "")
	if row, there := s.row(m); !there || !firm(row) || s.openWrites("g") != 0 {
		t.Errorf("%v %+v", there, row)
	}
	s.ok(204, "HEAD", m+api, "") // the index knows
	if got := s.want(503, "ServiceUnavailable", "GET", machines+api, ""); !strings.Contains(got.text, `"target":"westus"`) {
		t.Errorf("a list of a region that is down: %s", got.text)
	}
}

func TestDeleteOfWhatIsAbsent(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := machinePath("g", "m")
	for _, target := range []string{m, m + "/disks/d", m + "/runCommands/r"} {
		s.ok(204, "DELETE", target+api, "")
	}
	s.want(404, "ResourceNotFound", "PATCH", m+api, `{}`)
	s.want(404, "ResourceNotFound", "GET", m+api, "")
	s.want(404, "ResourceNotFound", "POST", m+"/start"+api, "")
	for region, e := range s.providers {
		if requests := e.requests(); len(requests) != 0 {
			t.Errorf("%s was called: %v", region, requests)
		}
	}
	// What somebody else removed is gone by the provider's own word.
	s.machine("g", "m", "westus")
	s.at("westus").do("DELETE", m+api, "", 200)
	s.ok(204, "DELETE", m+api, "")
	if _, there := s.row(m); there {
		t.Error("the row stays")
	}
}

func TestNestedResources(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "eastus")
	disk := m + "/disks/d"
	s.want(400, "LocationNotAvailableForResourceType", "PUT", disk+api, westus)
	s.ok(201, "PUT", disk+api, eastus)
	s.ok(200, "PUT", disk+api, `{}`)
	s.want(400, "LocationNotAvailableForResourceType", "PUT", disk+api, westus)
	s.ok(201, "PUT", m+"/disks/e"+api, `{}`)
	if row, _ := s.row(disk); row.Region != "eastus" || row.Location != "eastus" || row.Name != "m/d" || !strings.EqualFold(row.Parent, m) {
		t.Errorf("%+v", row)
	}
	if len(s.at("westus").holds()) != 0 {
		t.Errorf("westus holds %v", s.at("westus").holds())
	}
	for _, method := range []string{"PUT", "GET", "PATCH"} {
		body := map[string]string{"PUT": `{}`, "PATCH": `{}`}[method]
		got := s.want(404, "ParentResourceNotFound", method, machinePath("g", "n")+"/disks/d"+api, body)
		if !strings.Contains(got.text, "Parent resource 'n' not found") || !strings.Contains(got.text, `"target":"`+machinePath("g", "n")+`"`) {
			t.Errorf("%s: %s", method, got.text)
		}
	}
	// A parent that is on its way out takes no children.
	s.ok(202, "DELETE", m+api, "", "x-contoso-async", "no-url", "x-contoso-duration", "1h")
	got := s.want(404, "ParentResourceNotFound", "PUT", m+"/disks/f"+api, `{}`)
	if !strings.Contains(got.text, "Parent resource 'm' not found") || !strings.Contains(got.text, `"target":"`+m+`"`) {
		t.Errorf("%s", got.text)
	}
	// When it is gone, what was below it is in doubt, and gone by the provider's word.
	s.at("eastus").clock.advance(2 * hour)
	s.want(404, "ResourceNotFound", "GET", m+api, "")
	if row, there := s.row(disk); there && !row.Verify {
		t.Errorf("%+v", row)
	}
}

// stamps is x-ms-arm-resource-system-data.
type stamps struct{ CreatedBy, CreatedByType, CreatedAt, LastModifiedBy, LastModifiedByType, LastModifiedAt string }

func TestSystemData(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	s.ok(201, "PUT", groupPath("g")+own, westus, "Authorization", bearer(secret))
	m := machinePath("g", "m")
	last := func(method, target, body, token string) stamps {
		t.Helper()
		s.at("westus").requests()
		if got := s.do(method, target+api, body, "Authorization", bearer(token), "X-Ms-Arm-Resource-System-Data", `{"createdBy":"me"}`); got.status >= 300 {
			t.Fatalf("%s %s: %d %s", method, target, got.status, got.text)
		}
		requests := s.at("westus").requests()
		if len(requests) != 1 {
			t.Fatalf("%v", requests)
		}
		var data stamps
		text := requests[0].Headers["X-Ms-Arm-Resource-System-Data"]
		if method == "GET" {
			if len(text) != 0 {
				t.Errorf("a read carries %s", text)
			}
			return data
		}
		if len(text) != 1 {
			t.Fatalf("%v", requests[0].Headers)
		}
		must(t, json.Unmarshal([]byte(text[0]), &data))
		return data
	}
	const service = "00000000-0000-0000-0000-00000000000b"
	created := last("PUT", m, westus, secret)
	if created.CreatedBy != "ann@example" || created.CreatedByType != "User" || created.LastModifiedBy != "ann@example" || created.CreatedAt != created.LastModifiedAt || created.CreatedAt == "" {
		t.Errorf("a create: %+v", created)
	}
	for _, c := range [][3]string{{"PUT", m, westus}, {"PATCH", m, `{"tags":{}}`}} {
		got := last(c[0], c[1], c[2], second)
		if got.CreatedBy != "ann@example" || got.CreatedByType != "User" || got.LastModifiedBy != service || got.LastModifiedByType != "Application" {
			t.Errorf("%s: %+v", c[0], got)
		}
		at, err := time.Parse(time.RFC3339Nano, got.CreatedAt)
		modified, merr := time.Parse(time.RFC3339Nano, got.LastModifiedAt)
		if err != nil || merr != nil || !modified.After(at) {
			t.Errorf("%s: %+v %v", c[0], got, errors.Join(err, merr))
		}
	}
	if got := last("POST", m+"/start", "", second); got.CreatedBy != "" || got.LastModifiedBy != service {
		t.Errorf("an action: %+v", got)
	}
	last("GET", m, "", second)
	if got := last("DELETE", m, "", second); got.LastModifiedBy != service || got.CreatedBy != "ann@example" {
		t.Errorf("a delete: %+v", got)
	}
}

// A client that goes away in the middle of a write does not leave it unsettled.
func TestClientThatGoesAway(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	for _, c := range []struct {
		method, body string
		settled      func(row inventory.Resource, there bool) bool
	}{
		{"PUT", westus, func(row inventory.Resource, there bool) bool { return there && firm(row) }},
		{"PATCH", `{"tags":{"a":"b"}}`, func(row inventory.Resource, there bool) bool {
			return there && firm(row) && row.Details.Tags["a"] == "b"
		}},
		{"DELETE", "", func(_ inventory.Resource, there bool) bool { return !there }},
	} {
		m := machinePath("g", "m")
		s.at("westus").requests()
		ctx, leave := context.WithCancel(context.Background())
		gone := make(chan error, 1)
		go func() {
			answer, err := s.server.Client().Do(request(t, s.server, c.method, m+api, c.body, "Host", "portico.example", "x-contoso-fault", "delay=2s").WithContext(ctx))
			if err == nil {
				err = errors.Join(answer.Body.Close(), errors.New("the client did not go away"))
			} else if errors.Is(err, context.Canceled) {
				err = nil
			}
			gone <- err
		}()
		s.within("the provider's call", func() bool { return len(s.at("westus").peek()) > 0 })
		leave()
		must(t, <-gone)
		s.within(c.method+"'s end", func() bool { return c.settled(s.row(m)) })
	}
}
