package sdk

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/monitor/armmonitor"

	"portico/test/harness"
)

// logOf reads the activity log of a caller by a filter, to its end.
func logOf(t *testing.T, w *harness.World, token harness.Token, filter, selected string) (all []*armmonitor.EventData) {
	t.Helper()
	client, err := armmonitor.NewActivityLogsClient(w.SubscriptionID, staticToken(token.Raw), optionsFor(w))
	harness.OK(t, err)
	options := &armmonitor.ActivityLogsClientListOptions{}
	if selected != "" {
		options.Select = to.Ptr(selected)
	}
	for pager := client.NewListPager(filter, options); pager.More(); {
		page, err := pager.NextPage(t.Context())
		harness.OK(t, err)
		all = append(all, page.Value...)
	}
	return all
}

// The activity log as the SDK reads it: who did what, what was refused and why, by each
// filter that it documents.
func TestActivityLog(t *testing.T) {
	t.Parallel()
	owns, visits := newRoles(t)
	started := time.Now().UTC().Add(-time.Minute)
	since := fmt.Sprintf("eventTimestamp ge '%s' and eventTimestamp le '%s'", started.Format(time.RFC3339Nano), started.Add(time.Hour).Format(time.RFC3339Nano))
	w := owns.World
	as := func(token harness.Token, method, path, body string, header ...string) harness.Answer {
		t.Helper()
		return w.Portico.Do(t, harness.Request{Method: method, Path: path + "?api-version=" + harness.Version, Body: body, Header: harness.Header(append(header, "Authorization", "Bearer "+token.Raw)...)})
	}
	const correlation = "00000000-0000-0000-0000-0000000000c9"
	as(owner, http.MethodPut, w.GroupPath("rg"), `{"location":"westus"}`).Want(t, 201)
	as(owner, http.MethodPut, w.GroupPath("other"), `{"location":"westus"}`).Want(t, 201)
	vm := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	as(owner, http.MethodPut, vm, `{"location":"eastus"}`, "x-ms-correlation-request-id", correlation, "x-ms-client-request-id", "my-own").Want(t, 201)
	owns.assign(t, w.GroupPath("rg"), guid(0x51), readerRole, guest.ObjectID)
	as(guest, http.MethodDelete, vm, "").WantError(t, 403, "AuthorizationFailed")
	as(owner, http.MethodPut, vm, `{"location":"westus"}`).WantError(t, 409, "InvalidResourceLocation")
	as(owner, http.MethodPost, vm+"/start", "").Want(t, 200)

	ofVM := logOf(t, w, owner, since+" and resourceUri eq '"+vm+"'", "")
	var told []string
	for _, e := range ofVM {
		told = append(told, strings.Join([]string{*e.Caller, *e.OperationName.Value, *e.Status.Value, *e.SubStatus.Value, string(*e.Level)}, " "))
	}
	want := []string{
		owner.Name + " Contoso.Compute/virtualMachines/start/action Succeeded OK Informational",
		owner.Name + " Contoso.Compute/virtualMachines/write Failed Conflict Error",
		guest.Name + " Contoso.Compute/virtualMachines/delete Failed Forbidden Error",
		owner.Name + " Contoso.Compute/virtualMachines/write Succeeded Created Informational",
	}
	if !slices.Equal(told, want) {
		t.Fatalf("the log says\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	e := ofVM[3]
	if *e.CorrelationID != correlation || *e.HTTPRequest.ClientRequestID != "my-own" || *e.HTTPRequest.Method != "PUT" || *e.HTTPRequest.URI != vm || *e.ResourceGroupName != "rg" ||
		*e.HTTPRequest.ClientIPAddress != "127.0.0.1" ||
		*e.ResourceProviderName.Value != "Contoso.Compute" || *e.ResourceType.Value != "Contoso.Compute/virtualMachines" || *e.ResourceID != vm || *e.Authorization.Action != *e.OperationName.Value ||
		*e.Authorization.Scope != vm || *e.SubscriptionID != w.SubscriptionID || *e.TenantID != harness.TenantID || *e.OperationID == "" || *e.EventDataID == "" || !strings.HasPrefix(*e.ID, vm+"/events/") ||
		e.EventTimestamp.Before(started) || *e.Category.Value != "Administrative" || *e.Claims["http://schemas.microsoft.com/identity/claims/objectidentifier"] != owner.ObjectID {
		t.Errorf("%+v", *e)
	}
	if message := *ofVM[2].Properties["statusMessage"]; !strings.Contains(message, `"code":"AuthorizationFailed"`) || !strings.Contains(message, guest.ObjectID) {
		t.Errorf("the refusal says %q", message)
	}
	for filter, n := range map[string]int{
		" and correlationId eq '" + correlation + "'": 1,
		" and caller eq '" + guest.Name + "'":         1,
	} {
		if got := logOf(t, w, owner, since+filter, ""); len(got) != n {
			t.Errorf("%s: %d events, want %d", filter, len(got), n)
		}
	}
	for _, e := range logOf(t, w, owner, since, "caller,status,eventTimestamp") {
		if e.Status == nil || e.EventTimestamp == nil || e.ResourceID != nil || e.Properties != nil {
			t.Errorf("selected: %+v", *e)
		}
	}
	// Who may read one group alone sees its events alone.
	for _, e := range logOf(t, visits.World, guest, since, "") {
		if *e.ResourceGroupName != "rg" {
			t.Errorf("the guest sees an event of %s", *e.ResourceID)
		}
	}
	categories, err := armmonitor.NewEventCategoriesClient(staticToken(guest.Raw), optionsFor(w))
	harness.OK(t, err)
	page, err := categories.NewListPager(nil).NextPage(t.Context())
	if err != nil || len(page.Value) != 1 || *page.Value[0].Value != "Administrative" {
		t.Errorf("%+v %v", page, err)
	}
}
