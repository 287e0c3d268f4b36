package wire

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
)

const missingVersion = "The api-version query parameter (?api-version=) is required for all requests."

// invalidVersion is the answer to a malformed version.
func invalidVersion(version, supported string) want {
	return want{status: 400, code: "InvalidApiVersionParameter", about: "api-version",
		text: "The api-version '" + version + "' is invalid. The supported versions are '" + supported + "'."}
}

// The versions that faults list, on the front door's own routes and on those of this
// map's types.
const (
	ownVersions  = "2022-12-01,2022-09-01,2021-04-01,2019-05-01"
	typeVersions = "2024-06-01-preview,2024-01-01,2023-01-01"
)

func testVersions(t *testing.T, w *world) {
	g := w.group(t, "versions")
	vm := w.machine(t, g, "n", "westus")
	types := g + "/providers/Contoso.Compute/virtualMachines"

	var rows []row
	for _, v := range []string{
		"2024-06-10", "2024-06-10-preview", "2024-06-10-alpha", "2024-06-10-beta", "2024-06-10-rc", "2024-06-10-privatepreview",
		"2024-06-10-PREVIEW", "2019-05-01", "2015-11-01", "2099-12-31", "2024-02-29",
	} {
		rows = append(rows, row{"own route takes " + v, message{target: g + "?api-version=" + v}, want{status: 200, check: body("name", "versions")}})
	}
	for _, v := range []string{
		"2024-6-1", "1999", "2024-06-10-", "2024-06-10-foo", "2024-06-10preview", "2024-06-10-preview-1", "20240610", "2024/06/10",
		"2024-13-01", "2024-02-30", "2023-02-29", "2024-04-31-preview", "2024-00-10", "2024-06-32", "2024-06-00", "latest", "2.0", "24-06-10", "02024-06-10", "2024-06-10T00:00:00Z",
		"-preview", "2024-06-10-previeW2", "２０２４-06-10", "2024-06-10\x00", "2024-06-10\n", " 2024-06-10", "2024-06-10 ", "'", "2024-06-10,2024-06-10",
	} {
		escaped := url.QueryEscape(v)
		rows = append(rows,
			row{"own route refuses " + v, message{target: g + "?api-version=" + escaped}, invalidVersion(v, ownVersions)},
			row{"typed route refuses " + v, message{target: vm + "?api-version=" + escaped}, invalidVersion(v, typeVersions)},
		)
	}
	w.table(t, rows)

	const supported = "The supported api-versions are '2024-06-01-preview, 2024-01-01, 2023-01-01'."
	// The location is that of the content, else that of the resource.
	unknown := func(version, location, name string) want {
		return want{status: 400, code: "NoRegisteredProviderFound", about: "api-version",
			text: "No registered resource provider found for location '" + location + "' and API version '" + version + "' for type '" + name + "'. " +
				supported + " The supported locations are 'westus, eastus, northeurope'."}
	}
	anywhere := func(name string) want {
		return want{status: 400, code: "NoRegisteredProviderFound", about: "api-version",
			text: "No registered resource provider found for API version '2024-01-02' for type '" + name + "'. " + supported}
	}
	missing := want{status: 400, code: "MissingApiVersionParameter", text: missingVersion, about: "api-version"}
	w.table(t, []row{
		{"missing, own route", message{target: g}, missing},
		{"missing, empty query", message{target: g + "?"}, missing},
		{"missing, other parameters", message{target: g + "?x=1&$top=1"}, missing},
		{"missing, typed route", message{target: vm}, missing},
		{"missing, put", message{method: "PUT", target: types + "/m", body: located("westus")}, missing},
		{"missing, tenant call", message{target: "/providers/Contoso.Compute/operations"}, missing},
		{"missing, subscription", message{target: S}, missing},
		{"a number, metadata", message{target: "/metadata/endpoints?api-version=1.0"}, want{status: 200, check: body("portalEndpoint", "")}},
		{"neither a number nor a date, metadata", message{target: "/metadata/endpoints?api-version=one"}, invalidVersion("one", ownVersions)},
		{"known", message{target: vm + "?api-version=2024-01-01"}, want{status: 200, reaches: "westus"}},
		{"known, preview", message{target: vm + "?api-version=2024-06-01-preview"}, want{status: 200, reaches: "westus"}},
		{"known, in capitals", message{target: vm + "?api-version=2024-06-01-PREVIEW"}, want{status: 200, reaches: "westus"}},
		{"known, not first in the query", message{target: vm + "?x=1&api-version=2024-01-01&$y=%20z"}, want{status: 200, reaches: "westus"}},
		{"known, escaped value", message{target: vm + "?api-version=2024%2D01%2D01"}, want{status: 200, reaches: "westus"}},
		{"known, escaped name", message{target: vm + "?api%2Dversion=2024-01-01"}, want{status: 200, reaches: "westus"}},
		{"unknown, put", message{method: "PUT", target: types + "/m?api-version=2024-01-02", body: located("West US")}, unknown("2024-01-02", "westus", "virtualMachines")},
		{"unknown, put elsewhere", message{method: "PUT", target: vm + "?api-version=2024-01-02", body: located("eastus")}, unknown("2024-01-02", "eastus", "virtualMachines")},
		{"unknown, put without a location", message{method: "PUT", target: types + "/m?api-version=2024-01-02", body: "{}"}, anywhere("virtualMachines")},
		{"unknown, get", message{target: vm + "?api-version=2024-01-02"}, unknown("2024-01-02", "westus", "virtualMachines")},
		{"unknown, head", message{method: "HEAD", target: vm + "?api-version=2024-01-02"}, unknown("2024-01-02", "westus", "virtualMachines")},
		{"unknown, patch", message{method: "PATCH", target: vm + "?api-version=2024-01-02", body: `{"tags":{}}`}, unknown("2024-01-02", "westus", "virtualMachines")},
		{"unknown, delete", message{method: "DELETE", target: vm + "?api-version=2024-01-02"}, unknown("2024-01-02", "westus", "virtualMachines")},
		{"unknown, get of what is absent", message{target: types + "/absent?api-version=2024-01-02"}, anywhere("virtualMachines")},
		{"unknown, in no subscription", message{target: "/subscriptions/00000000-0000-0000-0000-0000000000ff" + strings.TrimPrefix(vm, S) + "?api-version=2024-01-02"}, anywhere("virtualMachines")},
		{"unknown, list", message{target: types + "?api-version=2024-01-02"}, anywhere("virtualMachines")},
		{"unknown, nested", message{target: vm + "/disks/d?api-version=2024-01-02"}, unknown("2024-01-02", "westus", "virtualMachines/disks")},
		{"unknown, nested list", message{target: vm + "/disks?api-version=2024-01-02"}, unknown("2024-01-02", "westus", "virtualMachines/disks")},
		{"unknown, action", message{method: "POST", target: vm + "/start?api-version=2024-01-02"}, unknown("2024-01-02", "westus", "virtualMachines")},
		{"unknown, known date with another suffix", message{target: vm + "?api-version=2024-01-01-preview"}, unknown("2024-01-01-preview", "westus", "virtualMachines")},
		{"unknown, without the suffix", message{target: vm + "?api-version=2024-06-01"}, unknown("2024-06-01", "westus", "virtualMachines")},
	})

	t.Run("newest first", func(t *testing.T) {
		got := w.must(t, message{target: "/providers/Contoso.Compute?" + V}, 200)
		var v struct {
			ResourceTypes []struct {
				ResourceType string
				APIVersions  []string `json:"apiVersions"`
			} `json:"resourceTypes"`
		}
		if err := json.Unmarshal(got.body, &v); err != nil || len(v.ResourceTypes) == 0 {
			t.Fatalf("no types (%v)\n%s", err, got)
		}
		for _, x := range v.ResourceTypes {
			if !slices.Equal(x.APIVersions, []string{"2024-06-01-preview", "2024-01-01", "2023-01-01"}) {
				t.Errorf("%s: %q", x.ResourceType, x.APIVersions)
			}
		}
	})
}

// Enabled and PastDue permit all calls; Warned and Disabled permit GET, HEAD
// and DELETE; a deleted subscription is not found.
func testStates(t *testing.T, w *world) {
	const q = "?" + V
	var rows []row
	for _, state := range []string{"Enabled", "PastDue"} {
		s := "/subscriptions/" + subscriptionStates[state]
		rows = append(rows,
			row{state + " get", message{target: s + q}, want{status: 200, check: body("state", state)}},
			row{state + " put", message{method: "PUT", target: s + "/resourceGroups/states" + q, body: `{"location":"westus"}`}, want{status: 201}},
			row{state + " patch", message{method: "PATCH", target: s + "/resourceGroups/states" + q, body: `{"tags":{}}`}, want{status: 200}},
			row{state + " delete", message{method: "DELETE", target: s + "/resourceGroups/states" + q}, want{status: 200}}, // it is empty
		)
	}
	for _, state := range []string{"Warned", "Disabled"} {
		id := subscriptionStates[state]
		s := "/subscriptions/" + id
		readOnly := want{status: 409, code: "ReadOnlyDisabledSubscription", about: "subscriptionId",
			text: "The subscription '" + id + "' is disabled and therefore marked as read only. You cannot perform any write actions on this subscription until it is re-enabled."}
		rows = append(rows,
			row{state + " get", message{target: s + q}, want{status: 200, check: body("state", state)}},
			row{state + " list", message{target: s + "/resourceGroups" + q}, want{status: 200, check: listed}},
			row{state + " head", message{method: "HEAD", target: s + "/resourceGroups/none" + q}, want{status: 404, code: "ResourceGroupNotFound"}},
			row{state + " delete", message{method: "DELETE", target: s + "/resourceGroups/none" + q}, want{status: 404, code: "ResourceGroupNotFound"}},
			row{state + " put", message{method: "PUT", target: s + "/resourceGroups/states" + q, body: `{"location":"westus"}`}, readOnly},
			row{state + " patch", message{method: "PATCH", target: s + "/resourceGroups/states" + q, body: `{"tags":{}}`}, readOnly},
			row{state + " post", message{method: "POST", target: s + "/providers/Contoso.Compute/checkNameAvailability" + q, body: `{"name":"x","type":"y"}`}, readOnly},
			row{state + " put of a resource", message{method: "PUT", target: s + "/resourceGroups/states/providers/Contoso.Compute/virtualMachines/n" + q, body: located("westus")}, readOnly},
		)
	}
	for name, id := range map[string]string{"Deleted": subscriptionStates["Deleted"], "unknown": "00000000-0000-0000-0000-0000000000ff"} {
		s := "/subscriptions/" + id
		notFound := want{status: 404, code: "SubscriptionNotFound", about: "subscriptionId", text: "The subscription '" + id + "' could not be found."}
		rows = append(rows,
			row{name + " get", message{target: s + q}, notFound},
			row{name + " groups", message{target: s + "/resourceGroups" + q}, notFound},
			row{name + " put", message{method: "PUT", target: s + "/resourceGroups/states" + q, body: `{"location":"westus"}`}, notFound},
			row{name + " resource", message{target: s + "/resourceGroups/states/providers/Contoso.Compute/virtualMachines/n" + q}, notFound},
			row{name + " list", message{target: s + "/providers/Contoso.Compute/virtualMachines" + q}, notFound},
			row{name + " providers", message{target: s + "/providers" + q}, notFound},
		)
	}
	for _, id := range []string{"00000000000000000000000000000001", "{00000000-0000-0000-0000-000000000001}", "00000000-0000-0000-0000-00000000000",
		"00000000-0000-0000-0000-0000000000011", "00000000-0000-0000-0000-00000000000g", "0", "00000000-0000-0000-0000-000000000001;v=1", "\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660-0000-0000-0000-000000000001"} {
		malformed := want{status: 400, code: "InvalidSubscriptionId", about: "subscriptionId", text: "The provided subscription identifier '" + id + "' is malformed or invalid."}
		escaped := escapeNonASCII(id)
		rows = append(rows,
			row{"malformed get " + id, message{target: "/subscriptions/" + escaped + q}, malformed},
			row{"malformed group " + id, message{target: "/subscriptions/" + escaped + "/resourceGroups/g" + q}, malformed},
			row{"malformed resource " + id, message{method: "PUT", target: "/subscriptions/" + escaped + "/resourceGroups/g/providers/Contoso.Compute/virtualMachines/n" + q,
				body: located("westus")}, malformed},
		)
	}
	w.table(t, rows)

	t.Run("missing registration", func(t *testing.T) {
		// The PastDue subscription was never registered for the namespace.
		s := "/subscriptions/" + subscriptionStates["PastDue"]
		w.must(t, message{method: "PUT", target: s + "/resourceGroups/unregistered" + q, body: `{"location":"westus"}`}, 201)
		w.table(t, []row{
			{"write", message{method: "PUT", target: s + "/resourceGroups/unregistered/providers/Contoso.Compute/virtualMachines/n" + q, body: located("westus")},
				want{status: 409, code: "MissingSubscriptionRegistration",
					text:  "The subscription is not registered to use namespace 'Contoso.Compute'. See https://aka.ms/rps-not-found for how to register subscriptions.",
					about: "Contoso.Compute", check: func(t *testing.T, got reply, _ []received) {
						f := got.failure(t).Error
						if len(f.Details) != 1 || f.Details[0].Code != f.Code || f.Details[0].Target != "Contoso.Compute" || f.Details[0].Message != f.Message {
							t.Errorf("details that a client registers by: %s", got)
						}
					}}},
			{"list", message{target: s + "/providers/Contoso.Compute/virtualMachines" + q}, want{status: 200, check: func(t *testing.T, got reply, x []received) {
				if len(got.body) == 0 {
					t.Error("no body")
				}
				listed(t, got, x)
			}}},
		})
	})
}

func escapeNonASCII(s string) string {
	var b []byte
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x80, c == '{', c == '}':
			const digits = "0123456789ABCDEF"
			b = append(b, '%', digits[c>>4], digits[c&15])
		default:
			b = append(b, c)
		}
	}
	return string(b)
}
