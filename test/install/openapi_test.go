package install

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"portico/test/harness"
)

// described is a running gateway's own description of its admin listener, read by a library
// that others use.
type described struct {
	portico  *harness.Portico
	document *openapi3.T
	router   routers.Router
	answered map[string]bool // operations that were answered well, by their ids
}

func describedBy(t *testing.T, p *harness.Portico) *described {
	t.Helper()
	text := p.Admin(t, harness.Request{Path: "/admin/openapi.json"}).Want(t, 200).Body
	document, err := openapi3.NewLoader().LoadFromData(text)
	harness.OK(t, err)
	if err := document.Validate(t.Context()); err != nil {
		t.Fatalf("it is no valid OpenAPI: %v", err)
	}
	document.Servers = nil // of whatever address
	for _, schema := range document.Components.Schemas {
		if len(schema.Value.Properties) > 0 { // answers have no member that is not described
			no := false
			schema.Value.AdditionalProperties = openapi3.AdditionalProperties{Has: &no}
		}
	}
	router, err := gorillamux.NewRouter(document)
	harness.OK(t, err)
	return &described{p, document, router, map[string]bool{}}
}

// ask sends a request, which has to be as it is described, and holds the answer to its
// description.
func (d *described) ask(t *testing.T, status int, method, target, body string) []byte {
	t.Helper()
	got := d.portico.Admin(t, harness.Request{Method: method, Path: target, Body: body}).Want(t, status)
	if err := d.check(t.Context(), method, target, body, got.Status, got.Header, got.Body); err != nil {
		t.Errorf("%s %s: %v\n%s", method, target, err, got.Body)
	}
	return got.Body
}

func (d *described) check(ctx context.Context, method, target, body string, status int, header http.Header, answer []byte) error {
	request := httptest.NewRequestWithContext(ctx, method, d.portico.AdminURL+target, strings.NewReader(body))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	route, variables, err := d.router.FindRoute(request)
	if err != nil {
		return err
	}
	input := &openapi3filter.RequestValidationInput{
		Request: request, PathParams: variables, Route: route,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if status < 300 { // a wrong one may be refused
		if err := openapi3filter.ValidateRequest(ctx, input); err != nil {
			return err
		}
		d.answered[route.Operation.OperationID] = true
	}
	return openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: status, Header: header, Body: io.NopCloser(bytes.NewReader(answer)), Options: input.Options,
	})
}

// refusing is a receiver of events that refuses those of one machine.
func refusing(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if content, _ := io.ReadAll(r.Body); strings.Contains(string(content), "virtualMachines/vm\"") {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// Every operation is answered as the document says, by a gateway that has something to tell.
func TestAdminAnswersAsItIsDescribed(t *testing.T) {
	receiver := refusing(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Extra: "events: {sinks: [{name: h, url: \"" + receiver.URL + "\", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, from: earliest}]}\nindex: {pollFloor: 100ms}\n",
	}})
	p := w.Portico
	d := describedBy(t, p)
	w.PutGroup(t, "rg")
	w.PutGroup(t, "gone")
	vm := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	w.PutResource(t, "rg", "Contoso.Compute/virtualMachines/vm", `{"location":"westus"}`)
	w.PutResource(t, "rg", "Contoso.Compute/virtualMachines/doubtful", `{"location":"westus"}`)
	write := func(method, path, body string, header ...string) {
		t.Helper()
		p.Do(t, harness.Request{Method: method, Path: path, Body: body, Header: harness.Header(header...)})
	}
	version, own := "?api-version="+harness.Version, "?api-version=2022-12-01"
	write("PUT", vm+"/providers/Microsoft.Authorization/locks/l"+own, `{"properties":{"level":"CanNotDelete","notes":"mine"}}`)
	write("PUT", w.SubscriptionPath()+"/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-0000000000c1"+own,
		`{"properties":{"roleDefinitionId":"`+w.SubscriptionPath()+`/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7","principalId":"00000000-0000-0000-0000-0000000000f1","principalType":"User"}}`)
	write("PATCH", w.ResourcePath("rg", "Contoso.Compute/virtualMachines/doubtful")+version, `{"tags":{"a":"b"}}`, "X-Contoso-Fault", "status=500")
	write("PUT", w.ResourcePath("rg", "Contoso.Compute/virtualMachines/slow")+version, `{"location":"westus"}`, "X-Contoso-Async", "accepted", "X-Contoso-Duration", "1h")
	w.PutResource(t, "gone", "Contoso.Compute/virtualMachines/late", `{"location":"westus"}`)
	write("DELETE", w.ResourcePath("gone", "Contoso.Compute/virtualMachines/late")+version, "", "X-Contoso-Fault", "reset-after")
	write("DELETE", w.GroupPath("gone")+own, "")

	write("PUT", w.GroupPath("rg")+"/providers/Microsoft.Resources/deployments/d"+own, `{"properties":{"mode":"Incremental","template":{
		"$schema":"https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#","contentVersion":"1.0.0.0","resources":[
		{"type":"Contoso.Compute/virtualMachines","apiVersion":"`+harness.Version+`","name":"deployed","location":"westus"}]}}}`)

	fresh, of := "00000000-0000-0000-0000-0000000000d1", "?subscription="+w.SubscriptionID
	d.ask(t, 201, "PUT", "/admin/subscriptions/"+fresh, `{"tenantId":"`+harness.TenantID+`"}`)
	d.ask(t, 200, "PUT", "/admin/subscriptions/"+fresh, `{"tenantId":"`+harness.TenantID+`","state":"Warned","registeredFeatures":["Contoso.Compute/f"]}`)
	d.ask(t, 200, "GET", "/admin/subscriptions?limit=1", "")
	d.ask(t, 200, "GET", "/admin/subscriptions/"+fresh, "")
	d.ask(t, 404, "GET", "/admin/subscriptions/00000000-0000-0000-0000-0000000000d2", "")
	d.ask(t, 400, "PUT", "/admin/subscriptions/"+fresh, `{}`)
	for _, target := range []string{
		"/admin/status", "/admin/regions", "/admin/regions?limit=1", "/admin/providers", "/admin/resources" + of, "/admin/resources" + of + "&limit=1",
		"/admin/resource?id=" + url.QueryEscape(vm), "/admin/resource?id=" + url.QueryEscape(w.GroupPath("gone")), "/admin/resource?id=" + url.QueryEscape(w.ResourcePath("rg", "Contoso.Compute/virtualMachines/doubtful")),
		"/admin/resource?id=" + url.QueryEscape(w.ResourcePath("gone", "Contoso.Compute/virtualMachines/late")),
		"/admin/jobs", "/admin/jobKinds", "/admin/jobs?kind=follow&limit=1", "/admin/doubts", "/admin/doubts" + of + "&limit=1", "/admin/fences", "/admin/locks" + of, "/admin/locks" + of + "&scope=" + url.QueryEscape(vm),
		"/admin/roles" + of, "/admin/deleteOrder" + of, "/admin/changes", "/admin/changes?limit=1&wait=1s&type=x", "/admin/changes?last=1", "/admin/changes?resource=" + url.QueryEscape(vm) + "&limit=1", "/admin/sinks", "/admin/sinks/h", "/admin/openapi.json",
		"/admin/traffic", "/admin/errors", "/admin/errors?limit=1", "/admin/errors?each=true", "/admin/configuration", "/admin/configurations", "/admin/strays",
	} {
		d.ask(t, 200, "GET", target, "")
	}
	for _, target := range []string{"/admin/resources?subscription=x", "/admin/resource?id=x", "/admin/locks?subscription=", "/admin/jobs?limit=0", "/admin/changes?after=x"} {
		d.ask(t, 400, "GET", target, "")
	}
	deletions := harness.Answer{Body: d.ask(t, 200, "GET", "/admin/jobs?kind=group-delete", "")}.Values(t)
	d.ask(t, 200, "GET", "/admin/jobs/"+deletions[0]["id"].(string)+"/members", "")
	deployed := harness.Answer{Body: d.ask(t, 200, "GET", "/admin/jobs?kind=deployment", "")}.Values(t)
	d.ask(t, 200, "GET", "/admin/jobs/"+deployed[0]["id"].(string)+"/deployment", "")
	for _, question := range []string{
		`{"path":"` + vm + `"}`, `{"method":"DELETE","path":"` + vm + version + `","principal":"00000000-0000-0000-0000-0000000000f1"}`,
		`{"method":"GET","path":"` + w.SubscriptionPath() + `/providers/Contoso.Compute/virtualMachines` + version + `"}`, `{"method":"GET","path":"/nonsense"}`,
	} {
		status := 200
		if strings.Contains(question, "principal") { // no one signs in here
			status = 400
		}
		d.ask(t, status, "POST", "/admin/explain", question)
	}
	d.ask(t, 200, "POST", "/admin/unstick", `{"id":"`+vm+`","step":"ask","dryRun":true}`)
	d.ask(t, 200, "POST", "/admin/unstick", `{"id":"`+vm+`","step":"ask"}`)
	d.ask(t, 400, "POST", "/admin/unstick", `{"id":"`+vm+`","step":"forget"}`)
	ordered := d.ask(t, 202, "POST", "/admin/sweeps", `{"dryRun":true}`)
	job := harness.Answer{Body: ordered}.JSON(t)["id"].(string)
	d.ask(t, 202, "POST", "/admin/jobs/"+d.waiting(t)+"/cancel", "")
	harness.Await(t, bound, "the end of the sweep", func() bool {
		return harness.Answer{Body: d.ask(t, 200, "GET", "/admin/jobs/"+job, "")}.JSON(t)["state"] == "Done"
	})
	d.ask(t, 409, "POST", "/admin/jobs/"+job+"/cancel", "")
	d.ask(t, 200, "POST", "/admin/regions/nowhere/retire", `{"dryRun":true}`)
	d.ask(t, 409, "POST", "/admin/regions/westus/retire", "")
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	d.ask(t, 404, "POST", "/admin/drains", `{"region":"nowhere","reason":"rack move","until":"`+until+`"}`)
	d.ask(t, 404, "POST", "/admin/drains", `{"region":"eastus","address":"https://a","reason":"rack move","until":"`+until+`"}`)
	d.ask(t, 400, "POST", "/admin/drains", `{"region":"eastus","until":"`+until+`"}`)
	d.ask(t, 400, "POST", "/admin/drains", `{"region":"eastus","reason":"rack move"}`)
	d.ask(t, 200, "POST", "/admin/drains", `{"region":"eastus","reason":"rack move","until":"`+until+`"}`)
	d.ask(t, 200, "GET", "/admin/regions", "")
	d.ask(t, 200, "GET", "/admin/status", "")
	d.ask(t, 200, "POST", "/admin/drains/end", `{"region":"eastus"}`)
	d.ask(t, 404, "POST", "/admin/drains/end", `{"region":"eastus"}`)
	check := `{"principalId":"00000000-0000-0000-0000-0000000000f1","tenantId":"` + harness.TenantID + `","action":"Contoso.Compute/virtualMachines/%s","scope":"` + vm + `"}`
	for _, action := range []string{"read", "write"} {
		d.ask(t, 200, "POST", "/admin/roles/check", fmt.Sprintf(check, action))
	}
	d.ask(t, 200, "POST", "/admin/roles/who", `{"action":"Contoso.Compute/virtualMachines/write","scope":"`+vm+`"}`)
	d.ask(t, 200, "POST", "/admin/reload", "")
	d.ask(t, 200, "POST", "/admin/sinks/h/test", "")
	var dead []map[string]any
	harness.Await(t, bound, "dead letters", func() bool {
		w.PutGroup(t, fmt.Sprint("taken", len(w.Portico.Logs()))) // a sink that takes nothing at all is away
		dead = harness.Answer{Body: d.ask(t, 200, "GET", "/admin/sinks/h/dead?limit=1", "")}.Values(t)
		return len(dead) > 0
	})
	d.ask(t, 200, "DELETE", "/admin/sinks/h/dead/"+dead[0]["id"].(string), "")
	d.ask(t, 202, "POST", "/admin/sinks/h/dead/replay", `{"ids":[]}`)
	d.ask(t, 200, "GET", "/admin/sinks/h/retrying?limit=1", "")
	d.ask(t, 200, "POST", "/admin/unstick", `{"sink":"h","step":"ask"}`)
	d.ask(t, 404, "GET", "/admin/sinks/none", "")
	for _, of := range []string{vm, w.GroupPath("gone"), job, w.ResourcePath("rg", "Contoso.Compute/virtualMachines/doubtful")} {
		d.ask(t, 200, "GET", "/admin/why?of="+url.QueryEscape(of), "")
	}
	d.ask(t, 400, "GET", "/admin/why?of=x", "")
	d.ask(t, 404, "GET", "/admin/why?of="+url.QueryEscape(w.GroupPath("nowhere")), "")

	for path, item := range d.document.Paths.Map() {
		for method, o := range item.Operations() {
			if !d.answered[o.OperationID] {
				t.Errorf("%s %s was never answered", method, path)
			}
		}
	}
	d.notices(t, vm)
}

// waiting is a job that can be cancelled.
func (d *described) waiting(t *testing.T) string {
	t.Helper()
	return harness.Answer{Body: d.ask(t, 202, "POST", "/admin/sweeps", `{}`)}.JSON(t)["id"].(string)
}

// notices holds the check to what it has to find: members that are not described, that
// lack, and that are of another type.
func (d *described) notices(t *testing.T, id string) {
	t.Helper()
	target := "/admin/resource?id=" + url.QueryEscape(id)
	good := d.ask(t, 200, "GET", target, "")
	for broken, by := range map[string][2]string{
		"a member more": {`"locks":`, `"surprise":1,"locks":`}, "a member less": {`"locks":`, `"lock":`}, "a deep member less": {`"level":`, `"love":`},
		"no list": {`"fences":[]`, `"fences":null`}, "a number": {`"phase":"Live"`, `"phase":1`}, "no time": {`"time":"2`, `"time":"x`},
	} {
		text := strings.Replace(string(good), by[0], by[1], 1)
		if text == string(good) {
			t.Errorf("%s: there is no %s in %s", broken, by[0], good)
		}
		if d.check(t.Context(), "GET", target, "", 200, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, []byte(text)) == nil {
			t.Errorf("%s is not noticed", broken)
		}
	}
}
