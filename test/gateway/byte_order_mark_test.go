package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"
)

const byteOrderMark = "\ufeff"

// A byte order mark in front of a provider's JSON hides nothing from Portico, and the
// client gets the answer as it was sent.
func TestMarkedAnswers(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	marked := []string{"x-contoso-fault", "byte-order-mark"}
	m := machinePath("g", "m")
	body := `{"location":"westus","tags":{"a":"b"}}`
	if got := s.ok(201, "PUT", m+api, body, append(marked, "x-contoso-async", "azure-async", "x-contoso-duration", "1ms")...); !strings.HasPrefix(got.text, byteOrderMark+"{") {
		t.Errorf("%q", got.text)
	}
	if row, _ := s.row(m); row.Details.Tags["a"] != "b" || row.ProvisioningState != "Creating" {
		t.Errorf("the index has %+v", row)
	}
	s.endFollows()
	if got := s.ok(200, "GET", m+api, "", marked...); !strings.HasPrefix(got.text, byteOrderMark+"{") {
		t.Errorf("%q", got.text)
	}
	s.machine("g", "n", "eastus")

	s.rule("westus", "GET", "/virtualMachines", "byte-order-mark", -1)
	names := strings.Fields(s.names(machines + api))
	slices.Sort(names)
	if !slices.Equal(names, []string{"m", "n"}) {
		t.Errorf("the merged list has %v", names)
	}
	if got := s.ok(200, "GET", m+"/disks"+api, ""); got.text != byteOrderMark+`{"value":[]}` {
		t.Errorf("%q", got.text)
	}

	// A 404 speaks of the resource with a mark, too.
	s.at("westus").do("DELETE", m+api, "", 200)
	row, _ := s.row(m)
	result, err := s.prober().Probe(context.Background(), request(t, s.server, "GET", "/", "", "Host", "portico.example").Header, row)
	if err != nil || !result.Removed() {
		t.Errorf("%+v, %v", result, err)
	}
}

// A marked request is read, by Portico and, without the mark, by the provider.
func TestMarkedRequests(t *testing.T) {
	s := newSite(t, setup{})
	s.ok(201, "PUT", groupPath("g")+own, byteOrderMark+`{"location":"westus","tags":{"a":"b"}}`)
	m := machinePath("g", "m")
	s.ok(201, "PUT", m+api, byteOrderMark+`{"location":"westus","tags":{"a":"b"}}`, "Content-Md5", "of what is sent")
	if row, _ := s.row(m); row.Region != "westus" || row.Details.Tags["a"] != "b" {
		t.Errorf("the index has %+v", row)
	}
	s.ok(200, "PATCH", m+api, byteOrderMark+`{"tags":{"a":"c"}}`)
	s.ok(200, "POST", m+"/start"+api, byteOrderMark+`{}`)
	s.ok(201, "PUT", m+"/runCommands/r"+api, byteOrderMark+`{"properties":{}}`)
	s.ok(200, "PUT", groupPath("g")+"/providers/Microsoft.Resources/tags/default?api-version=2021-04-01", byteOrderMark+`{"properties":{"tags":{"a":"d"}}}`)
	s.ok(200, "PUT", m+"/providers/Microsoft.Resources/tags/default?api-version=2021-04-01", byteOrderMark+`{"properties":{"tags":{"a":"d"}}}`)
	s.ok(200, "POST", "/batch?api-version=2020-06-01", byteOrderMark+`{"requests":[{"httpMethod":"GET","url":"`+m+api+`"}]}`)
	s.request(200, "", "POST", "/admin/explain", byteOrderMark+`{"method":"GET","path":"`+m+api+`"}`)
	for _, body := range []string{byteOrderMark, byteOrderMark + byteOrderMark + westus, "\xff\xfe{\x00}\x00"} {
		s.want(400, "InvalidRequestContent", "PUT", groupPath("h")+own, body)
		s.want(400, "InvalidRequestContent", "PUT", machinePath("g", "h")+api, body)
	}
}
