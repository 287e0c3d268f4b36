package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"portico/test/harness"
)

// failures are how many calls of the provider in eastus fail.
const failures = 20

// TestConsole goes through the pages as an operator on a bad night does: each shows what
// the admin API says.
func TestConsole(t *testing.T) {
	t.Parallel()
	m := newMailbox(t)
	w := newWorld(t, harness.Config{Server: withToken(), EastUS: hostile, Extra: m.sink("audit")})
	at := w.Portico.AdminURL
	b := newTab(t, newBrowser(t))
	const lost = "00000000-0000-0000-0000-00000000feed"
	first := spoil(t, w)

	if !t.Run("sign in", func(t *testing.T) { b.within(t, func() { testSignIn(b, at) }) }) {
		return
	}
	t.Run("overview", func(t *testing.T) { b.within(t, func() { testOverview(b, w, lost) }) })
	t.Run("charts", func(t *testing.T) { b.within(t, func() { testCharts(b, at) }) })
	t.Run("errors", func(t *testing.T) { b.within(t, func() { testErrors(b, at, w, lost) }) })
	t.Run("addresses", func(t *testing.T) { b.within(t, func() { testAddresses(b, at, lost) }) })
	t.Run("refresh", func(t *testing.T) { b.within(t, func() { testRefresh(b, at, w) }) })
	t.Run("group deletion", func(t *testing.T) { b.within(t, func() { testDeletion(b, at, w, first) }) })
	t.Run("deployment", func(t *testing.T) { b.within(t, func() { testDeployment(b, at, w) }) })
	t.Run("search", func(t *testing.T) { b.within(t, func() { testSearch(b, at, w, lost) }) })
	t.Run("resource", func(t *testing.T) { b.within(t, func() { testResource(b, at, w, first) }) })
	t.Run("changes", func(t *testing.T) { b.within(t, func() { testChanges(b, at, w) }) })
	t.Run("index", func(t *testing.T) { b.within(t, func() { testIndex(b, at, w) }) })
	t.Run("explain", func(t *testing.T) { b.within(t, func() { testExplain(b, at, w) }) })
	t.Run("sinks", func(t *testing.T) { b.within(t, func() { testSinks(b, at, w, m) }) })
	t.Run("configuration", func(t *testing.T) { b.within(t, func() { testConfiguration(b, at, w) }) })
	t.Run("region down", func(t *testing.T) { b.within(t, func() { testRegionDown(b, at, w) }) })
	t.Run("region not listed", func(t *testing.T) { b.within(t, func() { testUnlisted(b, at, w) }) })
	t.Run("head", func(t *testing.T) { b.within(t, func() { testHead(b, at) }) })
	t.Run("looks", func(t *testing.T) { b.within(t, func() { testLooks(b, at, w) }) })
	t.Run("print", func(t *testing.T) { b.within(t, func() { testPrint(b, at) }) })
	t.Run("keys", func(t *testing.T) { b.within(t, func() { testKeys(b, at) }) })
	t.Run("cancel a job", func(t *testing.T) { b.within(t, func() { testCancel(b, at, w) }) })
	t.Run("sign out", func(t *testing.T) { b.within(t, func() { testSignOut(b, at, w) }) })
}

// spoil has a group that cannot be deleted and a resource that does not answer, and returns
// the ID of the member that the others wait for.
func spoil(t *testing.T, w *harness.World) (first string) {
	t.Helper()
	w.PutGroup(t, "doomed")
	for i, region := range []string{"westus", "westus", "eastus"} {
		w.PutResource(t, "doomed", fmt.Sprintf("Contoso.Compute/virtualMachines/vm-%d", i), fmt.Sprintf(`{"location":%q}`, region))
	}
	first = w.ResourcePath("doomed", "Contoso.Compute/virtualMachines/vm-0")
	misbehave(t, w, "DELETE", "/vm-0", "status=503", -1)
	misbehave(t, w, "DELETE", "/vm-1", "refuse-until="+first, -1)
	misbehave(t, w, "GET", "/down", "status=503", failures)
	w.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: w.GroupPath("doomed") + "?api-version=2021-04-01"}).Want(t, 202)
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", "Contoso.Compute/virtualMachines/down", `{"location":"eastus"}`)
	return first
}

// within makes a subtest's failures its own, and wants its pages to be harmless.
func (b *tab) within(t *testing.T, test func()) {
	outer := b.t
	b.t = t
	defer func() { b.t = outer }()
	test()
	if got := b.text(`window.harmed`); got != "undefined" {
		t.Error("a text of a client became markup")
	}
	if n := b.text(`document.querySelectorAll('img[src=x], b').length`); n != "0" {
		t.Error("a text of a client became an element")
	}
	b.harmless()
}

// token is never anywhere that a script or another page could find it.
func testSignIn(b *tab, at string) {
	b.open(at)
	b.fill("#token", "guessed")
	b.keys("\r")
	b.sees("This token is not valid.")
	b.fill("#token", operator.Raw)
	b.keys("\r")
	b.sees("Problems")
	b.click("#moreOf")
	b.sees("Sign out", "Operator")
	kept := b.text(`document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + location.href + document.documentElement.outerHTML`)
	if strings.Contains(kept, operator.Raw) || strings.Contains(kept, operator.SHA256()) || b.text(`document.cookie`) != "" {
		b.t.Errorf("a script can see the session: %s", kept)
	}
}

func testOverview(b *tab, w *harness.World, correlation string) {
	b.open(w.Portico.AdminURL)
	b.sees("West US", hostile, "North Europe", "Contoso.Compute")
	b.holds("each provider has a state in each region", `[...document.querySelectorAll('#matrix tbody tr')].every((r) => r.cells.length === document.querySelectorAll('#matrix thead th').length + 1) && document.querySelectorAll('#matrix [data-state=up]').length >= 3`)
	// What comes now is seen as it happens.
	for range failures {
		a := w.Portico.Do(b.t, harness.Request{
			Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/down") + "?api-version=" + harness.Version, Header: harness.Header("x-ms-correlation-request-id", correlation),
		})
		a.Want(b.t, 503)
	}
	b.holds("failures are told", `parseFloat(/failed ([\d.]+)/.exec(document.querySelector('#all-errors output')?.textContent)?.[1]) > 0`)
	b.holds("and drawn", `/[1-9]/.test(document.querySelector('#all-errors polyline.second').getAttribute('points').split(' ').map((p) => 100 - p.split(',')[1]).join(' '))`)
	b.holds("a region leads to its page", `document.querySelector('[data-region=eastus] a').hash === '#/region?name=eastus'`)
	b.click("[data-region=eastus] a")
	b.sees("Region eastus", w.Contoso("eastus").URL, "circuit closed", "Endpoints")
	b.holds("its failures are drawn", `document.querySelector('#region-errors polyline.second').getAttribute('points').split(' ').some((p) => parseFloat(p.split(',')[1]) < 100)`)
	b.holds("which has charts of its own", `document.querySelectorAll('#page-region .large polyline[points*=","]').length >= 5`)
	b.click("#dryRun")
	b.sees("was counted", "Resources", "The region is still in the map")
	b.holds("nothing of a region of the map can be forgotten", `!document.getElementById('retire')`)
}

// errorsOf is the group of answers with a status and a code in a region.
func errorsOf(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('.groups details')].find((d) => d.querySelector('summary').textContent.includes(%q))`, text)
}

func testErrors(b *tab, at string, w *harness.World, correlation string) {
	path := w.SubscriptionPath() + "/resourceGroups/%3Cimg%20src%3Dx%20onerror%3D%22window.harmed%3D1%22%3E%3Cb%3Ebold"
	w.Portico.Do(b.t, harness.Request{Path: path + "?api-version=2021-04-01&secret=hunter2"}).Want(b.t, 400, 404)
	b.open(at + "/#/errors")
	b.sees("503", "provider", "eastus")
	b.holds("those that are alike are one group", errorsOf("provider")+fmt.Sprintf(`.querySelector('.count').textContent === '%d'`, failures))
	b.holds("it is closed", `!document.querySelector('.groups details[open]')`)
	b.text(errorsOf("provider") + `.querySelector('summary').click()`)
	b.sees(correlation, "/virtualMachines/down")
	b.holds("who is to blame", errorsOf("provider")+`.querySelector('td[data-label=Blame]').textContent === 'provider'`)
	b.text(`document.querySelectorAll('.groups details').forEach((d) => { d.open = true; })`)
	b.holds("the hostile path", `[...document.querySelectorAll('#errors .text')].some((e) => e.textContent.includes('onerror'))`)
	b.fill("#filter", correlation)
	b.holds("only that one", `!document.body.innerText.includes('onerror') && document.body.innerText.includes('`+correlation+`')`)
	if strings.Contains(b.text(`document.body.innerText`), "hunter2") {
		b.t.Error("the value of a query is shown")
	}
	b.open(at + "/#/errors")
	b.sees("503")
	for _, key := range []string{"code", "blame", "subscription", "caller"} {
		b.click("#by-" + key)
	}
	b.holds("a group for each region", `location.hash.startsWith('#/errors?by=region') && (() => { const of = [...document.querySelectorAll('.groups summary')].map((s) => s.querySelector('.by.region').textContent); return of.length > 1 && new Set(of).size === of.length; })()`)
}

// The graph shows who waits for whom, and the table the same in words.
func testDeletion(b *tab, at string, w *harness.World, first string) {
	b.open(at + "/#/job?id=" + deletion(b.t, w))
	b.holds("the one that was refused", `document.querySelector('.graph g.refused title')?.textContent.includes('vm-1')`)
	b.holds("and what it waits for", `document.querySelectorAll('.graph path.edge').length === 1`)
	b.sees("group-delete doomed", first, "refused", "1 of 3 deleted")
	b.holds("the words of the refusal", `[...document.querySelectorAll('td[data-label="Waits for"]')].some((c) => c.textContent.includes('/vm-0'))`)
	b.holds("each member leads to its page", `[...document.querySelectorAll('td[data-label="Resource"] a')].some((a) => a.hash.startsWith('#/resource?id='))`)
	b.holds("its last steps", `[...document.querySelectorAll('.timeline li')].some((s) => s.querySelector('time') && s.textContent.includes('1 of 3 resources are deleted.'))`)
	b.click("#ask")
	b.sees("It will do the same as it would then", "Next attempt", "What it would do")
	b.keys("\x1b") // nothing is done by mistake
	b.holds("the question has gone", `!document.querySelector('dialog')`)
	if strings.Contains(w.Portico.Log(), `"msg":"unstick"`) {
		b.t.Error("it was done without an answer")
	}
	b.click("#ask")
	b.click("#agree")
	b.holds("what came of it is said", `document.getElementById('status').textContent !== ''`)
}

// deletion is the job that deletes a group.
func deletion(t *testing.T, w *harness.World) string {
	t.Helper()
	for _, j := range admin(t, w, http.MethodGet, "/admin/jobs?kind=group-delete", "").Values(t) {
		return j["id"].(string)
	}
	t.Fatal("no group is being deleted")
	return ""
}

func testChanges(b *tab, at string, w *harness.World) {
	b.open(at + "/#/changes")
	b.sees("live", "down", "resourceGroups/delete", "virtualMachines/write") // what was before
	w.PutResource(b.t, "rg", "Contoso.Compute/virtualMachines/fresh", `{"location":"westus"}`)
	fresh := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/fresh")
	b.sees("fresh", "virtualMachines/write", "Succeeded")
	b.holds("the whole ID is in the title and to copy", fmt.Sprintf(`(() => { const c = [...document.querySelectorAll('#changes td[data-label="Resource"]')].find((c) => c.textContent === 'fresh'); return c.querySelector('a').title === %[1]q && c.querySelector('.copy').getAttribute('aria-label') === 'Copy ' + %[1]q; })()`, fresh))
	b.do(chromedp.EmulateViewport(1400, 900))
	b.holds("a row takes one line", `[...document.querySelectorAll('#changes tbody tr')].every((r) => r.getBoundingClientRect().height < 40)`)
	// The address holds the filters.
	b.fill("#type", "resourceGroups/write")
	b.holds("one type", `location.hash.includes('type=resourceGroups%2Fwrite') && [...document.querySelectorAll('#changes td[data-label="What"]')].every((c) => c.textContent === 'resourceGroups/write')`)
	b.holds("the types are suggested", `[...document.querySelectorAll('#type-all option')].some((o) => o.value === 'Contoso.Compute/virtualMachines/write')`)
	b.open(at + "/#/changes?text=fresh&from=2000-01-01T00:00")
	b.holds("what was sent is seen", `document.getElementById('from')?.value === '2000-01-01T00:00' && [...document.querySelectorAll('#changes tbody tr')].length > 0 && [...document.querySelectorAll('#changes td[data-label="Resource"]')].every((c) => c.textContent === 'fresh')`)
	b.open(at + "/#/changes?until=2000-01-01T00:00")
	b.sees("No changes match.")
}

func testIndex(b *tab, at string, w *harness.World) {
	a := admin(b.t, w, http.MethodPost, "/admin/sweeps", `{"dryRun":true}`).Want(b.t, 202)
	harness.Await(b.t, bound, "the end of the sweep", func() bool {
		return admin(b.t, w, http.MethodGet, a.Header.Get("Location"), "").JSON(b.t)["state"] == "Done"
	})
	doubts := admin(b.t, w, http.MethodGet, "/admin/doubts", "").Values(b.t)
	if len(doubts) == 0 {
		b.t.Error("the index is sure of everything: there is nothing to show")
	}
	b.open(at + "/#/index")
	b.sees("everything, dry run", "complete", fmt.Sprintf("%d resources", len(doubts)), "Strays", "Fences")
	b.sees(doubts[0]["id"].(string))
}

// The verdict comes first; each of its reasons is there.
func testExplain(b *tab, at string, w *harness.World) {
	locked := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/down")
	lock := w.GroupPath("rg") + "/providers/Microsoft.Authorization/locks/keep?api-version=2020-05-01"
	w.Portico.Do(b.t, harness.Request{Method: http.MethodPut, Path: lock, Body: fmt.Sprintf(`{"properties":{"level":"CanNotDelete","notes":%q}}`, hostile)}).Want(b.t, 201)
	b.explain(at, http.MethodDelete, locked+"?api-version="+harness.Version)
	b.sees("refused", "409 ScopeLocked", "roles are not enforced", "classification", "keep", "CanNotDelete", hostile, "eastus", "the index row says so")
	b.holds("the row, and the last events", `['Index row', 'Latest events'].every((c) => [...document.querySelectorAll('caption')].some((e) => e.textContent === c))`)
	b.holds("the verdict first", `document.getElementById('answer').firstElementChild.matches('.verdict.bad')`)
	w.Portico.Do(b.t, harness.Request{Method: http.MethodDelete, Path: lock}).Want(b.t, 200)

	b.explain(at, "", locked)
	b.sees("goes to Contoso.Compute in eastus", "Would call", w.Contoso("eastus").URL, "closed", "up")
	b.click("#headers-0 summary")
	b.sees("X-Ms-Correlation-Request-Id", "different for each request")

	b.explain(at, "", w.SubscriptionPath()+"/resourceGroups/"+strings.ReplaceAll(hostile, " ", "/"))
	b.sees("refused: ", "onerror")
	// What asks providers is no mere reading.
	const asked = `"resource":"/admin/explain","status":200,"outcome":"answered"`
	askedIn := func() (lines []string) {
		for line := range strings.Lines(w.Portico.Log()) {
			if strings.Contains(line, asked) && !strings.Contains(line, `"msg":"admin read"`) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	if lines := askedIn(); len(lines) > 0 {
		b.t.Errorf("providers were asked: %q", lines)
	}
	b.open(at + "/#/explain?method=PUT")
	b.fill("#path", w.ResourcePath("rg", "Contoso.Compute/virtualMachines/other")+"?api-version="+harness.Version)
	b.fill("#content", `{"location":"northeurope"}`)
	b.click("form button:not([type])")
	b.sees("goes to Contoso.Compute in northeurope", "Preflight of the body", "the map has no document of this api-version (spec)", "it does not "+
		"validate plans (capabilities: preflight)")
	b.holds("the address has no body", `location.hash.includes('path=') && !location.hash.includes('northeurope')`)
	b.open(at + "/#/explain")
	b.sees("Asked last", "PUT "+w.ResourcePath("rg", "Contoso.Compute/virtualMachines/other"), "Examples")
	b.fill("#path", locked)
	b.click("#ask")
	b.keys("\r")
	b.holds("an answer", `document.querySelector('#answer .verdict.good')`)
	if len(askedIn()) != 1 {
		b.t.Error("the form does not say that providers are to be asked")
	}
}

// The form says as whom a request would be made, and of which tenant.
func TestExplainAs(t *testing.T) {
	t.Parallel()
	const somebody, tenant = "00000000-0000-0000-0000-0000000005aa", "00000000-0000-0000-0000-0000000005bb"
	w := newWorld(t, harness.Config{Tokens: []harness.Token{{Raw: "t", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000005cc", Name: "Owner"}}})
	b := newTab(t, newBrowser(t))
	b.explain(w.Portico.AdminURL, "", w.SubscriptionPath())
	b.sees("answered by Portico: 200", "roles are not checked")
	b.fill("#principal", somebody)
	b.keys("\r")
	b.sees("refused: 404 SubscriptionNotFound", "Caller "+somebody, "roles are enforced")
	b.fill("#tenant", tenant)
	b.keys("\r")
	b.sees("Caller " + somebody + " of tenant " + tenant)

	// Who signs in by a token. It is neither kept nor shown.
	const secret = "a-token-that-nobody-knows"
	b.explain(w.Portico.AdminURL, http.MethodGet, w.SubscriptionPath()+"?api-version=2022-12-01")
	b.fill("#bearer", secret)
	b.keys("\r")
	b.sees("refused: 401 InvalidAuthenticationToken", "Authentication", "auth.tokens", "Bearer authorization_uri=")
	b.holds("the token is gone", `document.getElementById('bearer').value === '' && document.getElementById('bearer').type === 'password'`)
	b.holds("and not kept", `!(document.documentElement.outerHTML + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + location.href).includes('`+secret+`')`)
	b.fill("#bearer", "t")
	b.keys("\r")
	b.sees("answered by Portico: 200", "Caller 00000000-0000-0000-0000-0000000005cc of tenant")
	if strings.Contains(w.Portico.Logs(), secret) {
		t.Error("a token is in the log")
	}
	b.harmless()
}

// explain fills in the form and sends it.
func (b *tab) explain(at, method, path string) {
	b.t.Helper()
	b.open(at + "/#/explain?method=" + method)
	b.fill("#path", path)
	b.keys("\r")
	b.holds("an answer", `document.querySelector('#answer *')`)
}

// A region that is taken away is a problem, with what to do next, as soon as it is known.
func testRegionDown(b *tab, at string, w *harness.World) {
	b.open(at)
	const cell = `document.querySelector('[data-at="Contoso.Compute northeurope"]')`
	b.holds("the region is well", cell+`?.dataset.state === 'up'`)
	b.text(`window.stays = true`)
	w.Contoso("northeurope").Stop(b.t)
	b.sees(lostRegion, "critical", "portico regions")
	b.holds("its cell says so, with the reason", cell+`.dataset.state === 'down' && `+cell+`.textContent === 'down' && `+cell+`.querySelector('a').title.includes('connection refused')`)
	b.holds("which the cell says", `document.querySelector('#regions [data-state=down] a').title.includes('connection refused')`)
	b.holds("it leads to the provider in the region", cell+`.querySelector('a').hash === '#/region?name=northeurope&provider=Contoso.Compute'`)
	b.click(".problems li.bad a.what")
	b.sees("Region northeurope", "connection refused")
	b.text(`history.back()`)
	b.sees("Problems", lostRegion)
	if b.text(`window.stays`) != "true" {
		b.t.Error("the page was loaded anew")
	}
}

// A subscription is taken over while that region is away.
func testUnlisted(b *tab, at string, w *harness.World) {
	const taken = "00000000-0000-0000-0000-0000000001ff"
	admin(b.t, w, http.MethodPut, "/admin/subscriptions/"+taken, fmt.Sprintf(`{"tenantId":%q,"displayName":%q,"covered":false}`, harness.TenantID, hostile)).Want(b.t, 201)
	b.open(at)
	b.sees("New resources in "+hostile+" cannot be created: northeurope has not been listed yet", "portico doubts")
	b.holds("it comes first, or behind its cause", `[...document.querySelectorAll('.problems li')].findIndex((p) => p.textContent.includes('cannot be created')) === [...document.querySelectorAll('.problems li')].findIndex((p) => p.textContent.includes('No endpoint in northeurope')) + 1`)
	b.click(".problems li.caused a.what")
	b.sees("Regions not yet listed", taken, "It did not answer the latest call", "its job")
	b.holds("of this region alone", `document.querySelectorAll('#unlisted tbody tr').length === 1`)
	b.holds("the index is not called sure", `!document.body.textContent.includes('resources are verified')`)
	b.click("#unlisted tbody td:last-child a")
	b.sees("waits for regions", "northeurope", "Lists are missing of")
	b.holds("its bar is not full", `(([done, of]) => done > 0 && done < of)(document.querySelector('progress').getAttribute('aria-label').split(' of ').map(Number))`)
}

// lostRegion is what is said of a region that was taken away.
const lostRegion = "No endpoint in northeurope can be reached: all calls there are refused."

// Both a change and a fault show with what the file says, and no secret with them.
func testConfiguration(b *tab, at string, w *harness.World) {
	b.open(at + "/#/configuration")
	b.sees("Generation 1", "the start", "server.publicURL", "REDACTED")
	b.holds("what differs from its default comes first", `(() => { const rows = [...document.querySelectorAll('#settings tbody tr')].map((r) => [r.dataset.key, r.lastElementChild.textContent]); const same = rows.map(([, d]) => d === 'the same'); return rows.some(([k, d]) => k === 'jobs.lease' && d === '10s') && same.indexOf(true) > 0 && same.lastIndexOf(false) < same.indexOf(true); })()`)
	text := w.Portico.Text(b.t, w.Config)
	w.Portico.Write(b.t, strings.Replace(text, "jobs: {lease: 2s}", "jobs: {lease: 2s}\nlog: {slow: 7s}", 1))
	b.click("#reload")
	b.sees("Generation 2", "the admin listener, Operator", "log.slow", "+ 7s")
	w.Portico.Write(b.t, text+"\n"+`'`+hostile+`': 1`+"\n")
	b.click("#reload")
	b.sees("Refused", "unknown key", "onerror")
	w.Portico.Write(b.t, text)
	b.click("#reload")
	b.sees("Generation 3", "− 7s")
	if shown := b.text(`document.body.innerText`); strings.Contains(shown, operator.SHA256()) {
		b.t.Error("a hash is shown")
	}
}

func testCancel(b *tab, at string, w *harness.World) {
	id := deletion(b.t, w)
	b.open(at + "/#/jobs?kind=group-delete")
	b.sees("doomed", "1 of 3", "Waiting")
	b.click("#jobs td a")
	button := `#cancel-` + id
	b.sees("group-delete", "doomed", "1 of 3", "Waiting")
	b.holds("its button", fmt.Sprintf(`document.getElementById(%q)`, button[1:]))
	press := fmt.Sprintf(`document.getElementById(%q).focus()`, button[1:])
	b.text(press)
	b.keys("\r")
	b.sees("Cancel the job group-delete of doomed?")
	b.keys("\x1b") // nothing is done by mistake
	b.holds("the question has gone", `!document.querySelector('dialog')`)
	b.text(press)
	b.keys("\r")
	b.click("#agree")
	b.sees("The job is being cancelled.")
	b.holds("the job says so", `/^Cancell(ing|ed)$/.test(document.querySelector('[data-key=State] dd').textContent)`)
	b.holds("and its button has gone", `!document.querySelector('[id^=cancel-]')`)
	b.holds("in words", `/This deletion (is being|was) cancelled/.test(document.body.innerText)`)
	b.holds("and neither waits nor claims that nothing is left", `!/waits for regions|Nothing is left/.test(document.body.innerText)`)
	if state := admin(b.t, w, http.MethodGet, "/admin/jobs/"+id, "").JSON(b.t)["state"]; state != "Cancelling" && state != "Cancelled" {
		b.t.Errorf("the job is %v", state)
	}
	if !strings.Contains(w.Portico.Log(), `"resource":"/admin/jobs/`+id+`/cancel","status":202,"outcome":"answered","name":"Operator"`) {
		b.t.Error("the audit log does not tell who cancelled it")
	}
}

// The session ends with signing out, and with its token.
func testSignOut(b *tab, at string, w *harness.World) {
	b.open(at)
	b.sees("Problems")
	b.click("#moreOf")
	b.click("#signOut")
	b.sees("You are signed out.")
	b.holds("what was asked is not kept", `sessionStorage.length === 0`)
	b.open(at + "/#/jobs")
	b.fill("#token", operator.Raw)
	b.keys("\r")
	b.sees("Filter", "Kind")
	other := harness.Token{Raw: "another"}
	config := w.Config
	config.Server = strings.ReplaceAll(config.Server, operator.SHA256(), other.SHA256())
	w.Portico.Write(b.t, w.Portico.Text(b.t, config))
	w.Portico.SendHangup(b.t)
	b.sees("The session has ended. Sign in again.", "Admin token")
}

// A page of another origin gets nothing and changes nothing, whether the browser takes it
// for the same site (another port) or not, with a session and without.
func TestForeignPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.Config{Server: withToken()})
	browser := newBrowser(t)
	b := newTab(t, browser)
	b.open(w.Portico.AdminURL)
	b.fill("#token", operator.Raw)
	b.keys("\r")
	b.sees("No known problems")
	b.harmless()
	attack(t, b, w)
	free := newWorld(t, harness.Config{})
	c := newTab(t, browser)
	c.open(free.Portico.AdminURL)
	c.sees("No known problems", "North Europe")
	if c.text(`document.getElementById('signOut').hidden`) != "true" {
		t.Error("there is nothing to sign out of")
	}
	c.harmless()
	attack(t, c, free)
	c.open(free.Portico.AdminURL + "/#/configuration") // the page itself may
	c.click("#reload")
	c.sees("Generation 2")
}

func attack(t *testing.T, b *tab, w *harness.World) {
	t.Helper()
	evil := foreignPage(t)
	for _, from := range []string{evil, strings.Replace(evil, "127.0.0.1", "localhost", 1)} {
		b.open(from)
		for _, attempt := range []string{
			`fetch(%q, {method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"dryRun":true}'})`,
			`fetch(%q, {method: 'POST', credentials: 'include', headers: {'X-Portico-Console': 'person', 'Content-Type': 'application/json'}, body: '{"dryRun":true}'})`,
			`fetch(%q, {method: 'GET', credentials: 'include'}).then((r) => r.text())`,
			`new Promise((done, gone) => { const s = document.createElement('script'); s.onload = () => done('loaded'); s.onerror = gone; s.src = %q; document.body.append(s); })`,
		} {
			got := b.text(`await ` + fmt.Sprintf(attempt, w.Portico.AdminURL+"/admin/sweeps") + `.then((r) => r.status ?? r, () => 'refused')`)
			if got != "refused" && got != "0" { // of an opaque answer
				t.Errorf("from %s: %s: %s", from, attempt, got)
			}
		}
		b.text(fmt.Sprintf(`(() => { const f = document.createElement('form'); f.method = 'post'; f.action = %q; f.target = 'frame'; const i = document.createElement('iframe'); i.name = 'frame'; i.onload = () => { window.sent = (window.sent ?? 0) + 1; }; document.body.append(i, f); f.submit(); })()`, w.Portico.AdminURL+"/admin/sweeps"))
		b.holds("the form was answered", `window.sent >= 1`)
		b.text(fmt.Sprintf(`(() => { const i = document.createElement('iframe'); i.id = 'framed'; i.src = %q; document.body.append(i); })()`, w.Portico.AdminURL+"/"))
	}
	for _, job := range admin(t, w, http.MethodGet, "/admin/jobs?kind=sweep", "").Values(t) {
		if job["subject"] != "everything, on schedule" {
			t.Errorf("a foreign page ordered a sweep: %v", job)
		}
	}
}
