package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
)

func TestHead(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.at("westus").requests()
	if got := s.ok(204, "HEAD", strings.ToUpper(m)+api, ""); got.text != "" {
		t.Errorf("%q", got.text)
	}
	got := s.ok(404, "HEAD", machinePath("g", "n")+api, "")
	if got.header.Get("X-Ms-Failure-Cause") != "gateway" {
		t.Errorf("%v", got.header)
	}
	if requests := s.at("westus").requests(); len(requests) != 0 {
		t.Errorf("what the index knows was asked for: %v", requests)
	}
	// A row in doubt is asked for, with the verb that every provider has.
	s.want(500, "ContosoFault", "PUT", m+api, westus, "x-contoso-fault", "status=500")
	s.at("westus").requests()
	s.ok(204, "HEAD", m+api, "")
	if requests := s.at("westus").requests(); len(requests) != 1 || requests[0].Method != "GET" {
		t.Errorf("%v", requests)
	}
	if row, _ := s.row(m); !firm(row) {
		t.Errorf("%+v", row)
	}
	// What it says when it says neither passes, without a body.
	s.want(500, "ContosoFault", "PUT", m+api, westus, "x-contoso-fault", "status=500")
	got = s.ok(503, "HEAD", m+api, "", "x-contoso-fault", "status=503")
	if got.header.Get("X-Ms-Failure-Cause") != "service" || got.text != "" {
		t.Errorf("%v %q", got.header, got.text)
	}
	s.at("westus").do("DELETE", m+api, "", 200)
	s.expireOpenWrites()
	s.ok(404, "HEAD", m+api, "")
	if _, there := s.row(m); there {
		t.Error("the row stays")
	}
}

// A redirect leads a HEAD to the front door as it does any other request.
func TestHeadRedirected(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	r := s.machine("g", "m", "westus") + "/runCommands/r"
	s.at("westus").fault("GET", "runCommands", "redirect")
	client := *s.server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := client.Do(request(t, s.server, "HEAD", r+api, "", "Host", "portico.example"))
	must(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != 307 || answer.Header.Get("Location") != "http://portico.example"+r+api {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
}

func TestHeadOfWhatHasNoRow(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	s.group("g")
	s.ok(200, "POST", register, "")
	m := s.machine("g", "m", "eastus")
	for _, path := range []string{m + "/runCommands/r", m + "/providers/Contoso.Insight/diagnosticSettings/d"} {
		s.ok(404, "HEAD", path+api, "")
		s.ok(201, "PUT", path+api, `{"properties":{}}`)
		s.at("eastus").requests()
		s.ok(204, "HEAD", path+api, "")
		if requests := s.at("eastus").requests(); len(requests) != 1 || requests[0].Method != "GET" {
			t.Errorf("%v", requests)
		}
		if _, there := s.row(path); there {
			t.Errorf("%s has a row", path)
		}
		s.ok(200, "GET", path+api, "")
		s.ok(200, "DELETE", path+api, "")
	}
	// A global extension lies at the global endpoint, whatever it extends.
	for _, path := range []string{groupPath("g") + "/providers/Contoso.Insight/annotations/a", m + "/providers/Contoso.Insight/annotations/a"} {
		s.ok(201, "PUT", path+api, `{"properties":{}}`)
		s.ok(204, "HEAD", path+api, "")
		if held := s.at("global").holds(); len(held) == 0 {
			t.Errorf("%s is not at the global endpoint", path)
		}
		s.ok(200, "DELETE", path+api, "")
	}
	s.at("eastus").server.Close()
	s.ok(502, "HEAD", m+"/runCommands/r"+api, "")
}

// A provider's own word that a resource is gone settles the index before the
// client has it (also where the client asks with a GET of its own).
func TestReadOfWhatIsGone(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	disk := m + "/disks/d"
	s.ok(201, "PUT", disk+api, `{}`)
	s.ok(200, "GET", m+api, "") // cached from here on
	s.at("westus").do("DELETE", m+api, "", 200)
	got := s.want(404, "ResourceNotFound", "GET", m+api, "")
	if got.header.Get("X-Ms-Failure-Cause") != "service" {
		t.Errorf("%v", got.header)
	}
	if _, there := s.row(m); there {
		t.Error("the row stays")
	}
	if row, there := s.row(disk); !there || !row.Verify {
		t.Errorf("the child: %v %+v", there, row)
	}
	if got := s.want(404, "ResourceNotFound", "GET", m+api, ""); got.header.Get("X-Ms-Failure-Cause") != "gateway" {
		t.Errorf("the index still routes: %v", got.header)
	}
}

func TestReadSettlesWhatIsInDoubt(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := machinePath("g", "m")
	s.want(502, "BadGatewayConnection", "PUT", m+api, `{"location":"westus","tags":{"a":"b"}}`, "x-contoso-fault", "reset-after")
	if got := s.names(inSubscription + "/resources" + own); got != "" {
		t.Errorf("an unseen create is shown: %s", got)
	}
	s.want(500, "ContosoFault", "GET", m+api, "", "x-contoso-fault", "status=500")
	if row, _ := s.row(m); firm(row) {
		t.Errorf("an error settled the row: %+v", row)
	}
	s.ok(200, "GET", m+api, "")
	if row, _ := s.row(m); !firm(row) || row.Details.Tags["a"] != "b" {
		t.Errorf("%+v", row)
	}
	if got := s.names(inSubscription + "/resources" + own); got != "m" {
		t.Errorf("%s", got)
	}
}

func TestReadWhoseAnswerIsTooLarge(t *testing.T) {
	s := newSite(t, setup{limits: "answerBody: 4KiB"})
	s.group("g")
	m := machinePath("g", "m")
	s.want(502, "BadGatewayConnection", "PUT", m+api, westus, "x-contoso-fault", "reset-after")
	s.want(500, "ResponseTooLarge", "GET", m+api, "", "x-contoso-fault", "big-chunked=8192") // held, as it may settle the row
	s.ok(500, "HEAD", m+api, "", "x-contoso-fault", "big-chunked=8192")
	s.want(500, "ResponseTooLarge", "PATCH", m+api, `{}`, "x-contoso-fault", "big-chunked=8192")
	s.ok(200, "GET", m+api, "")
	if got := s.want(500, "ResponseTooLarge", "GET", m+api, "", "x-contoso-fault", "big=8192"); !strings.Contains(got.text, "4096 bytes") {
		t.Errorf("%s", got.text)
	}
	s.want(500, "ResponseTooLarge", "GET", m+api, "", "x-contoso-fault", "big-chunked=8192")
}

// Of an answer without a length, that has begun to go out, the rest is cut off, and
// the message never shortened to a success.
func TestReadWhoseAnswerGrowsTooLarge(t *testing.T) {
	const most = 64 << 10 // more than is read before the status goes out
	s := newSite(t, setup{limits: fmt.Sprintf("answerBody: %d", most)})
	s.group("g")
	m := s.machine("g", "m", "westus")
	answer, err := s.server.Client().Do(request(t, s.server, "GET", m+api, "", "Host", "portico.example", "Accept-Encoding", "identity", "x-contoso-fault", fmt.Sprintf("big-chunked=%d", 2*most)))
	must(t, err)
	defer answer.Body.Close()
	if n, err := http.MaxBytesReader(nil, answer.Body, 1<<20).Read(make([]byte, 1)); n != 1 || err != nil {
		t.Fatalf("%d %v", n, err)
	}
	if text, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("a shortened answer: %d %d bytes", answer.StatusCode, len(text))
	}
}

// replica is a second gateway over the same store, in front of the same
// providers, so that the first one's cache falls behind.
func replica(t *testing.T, s *site) *site {
	return newSite(t, setup{path: s.path, beside: s})
}

func TestStaleCache(t *testing.T) {
	s := newSite(t, setup{})
	other := replica(t, s)
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.ok(200, "GET", m+api, "")
	other.ok(200, "DELETE", m+api, "")
	other.ok(201, "PUT", m+api, `{"location":"eastus","tags":{"in":"eastus"}}`)
	if got := s.ok(200, "GET", m+api, ""); !strings.Contains(got.text, `"in":"eastus"`) {
		t.Errorf("%s", got.text)
	}
	if !strings.Contains(s.log.String(), `"region":"eastus"`) {
		t.Error("the log does not name the region that served")
	}
	s.at("westus").requests()
	s.ok(200, "GET", m+api, "")
	if requests := s.at("westus").requests(); len(requests) != 0 {
		t.Errorf("the cache was not corrected: %v", requests)
	}

	// Writes do not go by the cache.
	other.ok(200, "DELETE", m+api, "")
	other.ok(201, "PUT", m+api, westus)
	s.ok(200, "PATCH", m+api, `{"tags":{"in":"westus"}}`)
	s.ok(200, "POST", m+"/start"+api, "")
	s.ok(200, "GET", m+api, "")

	other.ok(200, "DELETE", m+api, "")
	if got := s.want(404, "ResourceNotFound", "GET", m+api, ""); got.header.Get("X-Ms-Failure-Cause") != "gateway" {
		t.Errorf("%v", got.header)
	}
	if got := s.want(404, "ResourceNotFound", "GET", m+api, ""); got.header.Get("X-Ms-Failure-Cause") != "gateway" {
		t.Errorf("%v", got.header)
	}
}

// What a read finds elsewhere settles the row that is there.
func TestStaleCacheAndDoubt(t *testing.T) {
	s := newSite(t, setup{})
	other := replica(t, s)
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.ok(200, "GET", m+api, "")
	other.ok(200, "DELETE", m+api, "")
	other.want(502, "BadGatewayConnection", "PUT", m+api, eastus, "x-contoso-fault", "reset-after")
	s.ok(200, "GET", m+api, "")
	if row, _ := s.row(m); !firm(row) || row.Region != "eastus" {
		t.Errorf("%+v", row)
	}
	// And where that left the map, it is not called absent.
	s.expireOpenWrites()
	s.ok(200, "GET", m+api, "")
	other.ok(200, "DELETE", m+api, "")
	if _, err := other.store.Begin(t.Context(), inventory.Write{
		Kind: index.Put, Subscription: subscription, Group: "g", Key: m, ID: m, Type: "Contoso.Compute/virtualMachines",
		TypeName: "Contoso.Compute/virtualMachines", Region: "northpole", Location: "northpole", APIVersion: "2024-01-01",
	}); err != nil {
		t.Fatal(err)
	}
	s.want(503, "NoRegisteredProviderFound", "GET", m+api, "")
}

// A region that left the map while the index names it is an outage.
func TestRowInARegionThatLeftTheMap(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := machinePath("g", "m")
	ticket, err := s.store.Begin(t.Context(), inventory.Write{
		Kind: index.Put, Subscription: subscription, Group: "g", Key: m, ID: m, Type: "Contoso.Compute/virtualMachines",
		TypeName: "Contoso.Compute/virtualMachines", Region: "northpole", Location: "northpole", APIVersion: "2024-01-01",
	})
	must(t, err)
	s.want(503, "NoRegisteredProviderFound", "GET", m+api, "")
	if _, err := s.store.Settle(t.Context(), ticket, inventory.WriteResult{Outcome: index.Succeeded}); err != nil {
		t.Fatal(err)
	}
	s.want(503, "NoRegisteredProviderFound", "DELETE", m+api, "")
	s.want(503, "NoRegisteredProviderFound", "GET", inSubscription+"/providers/Contoso.Compute/virtualMachines"+api, "")
	// It cannot be asked for, so its group waits for the region, and says so.
	s.work()
	accepted := s.ok(202, "DELETE", groupPath("g")+own, "")
	s.within("the status", func() bool {
		now := decode[operationStatus](t, s.ok(200, "GET", s.statusOf(accepted), ""))
		return slices.Equal(now.WaitingFor, []string{"northpole"}) && strings.Contains(now.Message, "portico retire northpole")
	})
	s.clock.advance(2 * hour)
	got := s.endAsTimePasses(time.Second, accepted)
	fault := decode[deletionFault](t, got)
	if got.status != 409 || got.code != "ResourceGroupDeletionTimeout" || len(fault.Error.Details) != 1 || fault.Error.Details[0].Target != m {
		t.Errorf("%d %s", got.status, got.text)
	}
}
