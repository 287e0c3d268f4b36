package browser

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"portico/test/harness"
)

// TestConsoleChangesThings goes through what an operator changes in the console, by keys
// alone: each change is counted or tried dry first, and can be left.
func TestConsoleChangesThings(t *testing.T) {
	t.Parallel()
	const gone = "southindia"
	ada := harness.Token{Raw: "ada's", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000005ad", Name: "Ada"}
	south := harness.StartContoso(t, gone, harness.ContosoOptions{})
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Tokens: []harness.Token{ada}, Regions: []string{gone}, Endpoints: map[string]string{gone: south.URL},
		Extra: "index: {endpointAbsence: 1s, sendWithin: 30s, lateWriteWindow: 1m, callMargin: 500ms, pollFloor: 50ms, askTimeout: 30s}\njobs: {lease: 2s}\n",
	}})
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", "Contoso.Compute/virtualMachines/south", `{"location":"`+gone+`"}`)
	slow := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/slow")
	w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: slow + "?api-version=" + harness.Version, Body: `{"location":"westus"}`, Header: harness.Header("X-Contoso-Async", "accepted", "X-Contoso-Duration", "1h"),
	}).Want(t, 201, 202)
	b := newTab(t, newBrowser(t))
	t.Run("who can do this here", func(t *testing.T) { b.within(t, func() { testWho(b, w, ada) }) })
	t.Run("give up", func(t *testing.T) { b.within(t, func() { testGiveUp(b, w, slow) }) })
	t.Run("retire", func(t *testing.T) { b.within(t, func() { testRetire(b, w, gone) }) })
}

// reach goes to a control by the tab key.
func (b *tab) reach(id string) {
	b.t.Helper()
	for range 80 {
		b.keys("\t")
		if b.text(`document.activeElement.id`) == id {
			if b.text(`getComputedStyle(document.activeElement).outlineStyle`) == "none" {
				b.t.Errorf("the focus on %s is not seen", id)
			}
			return
		}
	}
	b.t.Fatalf("no tab leads to %s:\n%s", id, b.text(`document.body.innerText`))
}

// fits wants the page, as it is, to fit every width and to be legible in both schemes.
func (b *tab) fits() {
	b.t.Helper()
	for _, dark := range []bool{false, true} {
		b.scheme(dark)
		for _, width := range []int{360, 940, 1440, 2560} {
			b.do(chromedp.EmulateViewport(int64(width), 900))
			if out := b.text(wide); out != "" {
				b.t.Errorf("at %d px, dark %t, these reach out of the page: %s", width, dark, out)
			}
		}
		var low []string
		if b.value(lowContrast, &low); len(low) > 0 {
			b.t.Errorf("dark %t: %q", dark, low)
		}
	}
	b.scheme(false)
	b.do(chromedp.EmulateViewport(1440, 900))
}

// Who can do an action here has names, and whose right it is.
func testWho(b *tab, w *harness.World, ada harness.Token) {
	const person = "00000000-0000-0000-0000-0000000000f1"
	w.Portico.Do(b.t, harness.Request{
		Method: http.MethodPut, Path: w.SubscriptionPath() + "/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-0000000000c1?api-version=2022-04-01",
		Body: `{"properties":{"roleDefinitionId":"` + w.SubscriptionPath() + `/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7","principalId":"` + person + `","principalType":"User"}}`,
	}).Want(b.t, 201)
	ask := func(action, principal string) {
		b.open(w.Portico.AdminURL + "/#/access?scope=" + w.GroupPath("rg"))
		b.sees("Assignments that apply here", person, "Reader")
		b.reach("scope")
		b.reach("action")
		b.keys(action)
		b.reach("principal")
		b.keys(principal + "\r")
	}
	// Names are written every few seconds.
	harness.Await(b.t, bound, "the name of the caller", func() bool {
		who := w.Portico.Admin(b.t, harness.Request{Method: http.MethodPost, Path: "/admin/roles/who", Body: `{"action":"*","scope":"` + w.GroupPath("rg") + `"}`, Header: harness.Header("Content-Type", "application/json")})
		return strings.Contains(string(who.Body), ada.Name)
	})
	ask("Contoso.Compute/virtualMachines/write", "")
	b.sees("Who may do this here", "Ada", ada.ObjectID, "Owner", "the configuration")
	b.holds("a reader is not among them", `!document.getElementById('answer').textContent.includes('`+person+`')`)
	ask("Contoso.Compute/virtualMachines/read", "")
	b.sees("3 assignments allow", "Ada", person, "Reader")
	b.fits()
	ask("Contoso.Compute/virtualMachines/write", person)
	b.sees("not allowed", "Roles that would allow it")
	ask("Contoso.Compute/virtualMachines/read", person)
	b.holds("the verdict", `document.querySelector('.verdict.good')?.textContent.includes('Reader')`)
}

// Giving up is refused before anything is asked where it cannot be. Where it can, the
// console says what it would do, and does nothing before somebody agrees and says why.
func testGiveUp(b *tab, w *harness.World, followed string) {
	b.open(w.Portico.AdminURL + "/#/resource?id=" + followed)
	b.sees("Waits for")
	b.reach("giveUp")
	b.keys("\r")
	b.holds("the refusal is said", `document.getElementById('status').textContent.includes('followed')`)
	b.holds("nothing is asked", `!document.querySelector('dialog')`)

	const fresh = "00000000-0000-0000-0000-0000000000d1"
	misbehave(b.t, w, "PUT", fresh, "throttle=3600", -1) // during an attempt, giving up is refused: one attempt, and none for an hour
	w.Portico.Admin(b.t, harness.Request{Method: http.MethodPut, Path: "/admin/subscriptions/" + fresh, Body: `{"tenantId":"` + harness.TenantID + `"}`}).Want(b.t, 201)
	var job string
	harness.Await(b.t, bound, "a notice that is not delivered", func() bool {
		for _, j := range w.Portico.Admin(b.t, harness.Request{Path: "/admin/jobs?kind=notice"}).Want(b.t, 200).Values(b.t) {
			if j["state"] == "Waiting" && j["outcome"] != nil && j["owner"] == nil && strings.Contains(j["subject"].(string), " westus ") {
				job = j["id"].(string)
			}
		}
		return job != ""
	})
	b.open(w.Portico.AdminURL + "/#/job?id=" + job)
	b.sees("notice")
	b.reach("giveUp")
	b.keys("\r")
	b.sees("Give it up now, as if its time limit had passed?", "What it would do", "The endpoint is not notified of this.", "Reason (for the audit log)")
	b.fits()
	b.keys("\x1b")
	b.holds("the question has gone", `!document.querySelector('dialog')`)
	b.holds("and the focus is where it was", `document.activeElement.id === 'giveUp'`)
	b.text(`(() => { const ask = fetch; window.fetch = async (...of) => { const a = await ask(...of); return of[0].startsWith('/admin/jobs/') ? Response.json({...await a.json(), steps: {done: 1, of: 7}}) : a; }; })()`)
	b.sees("1 of 7")
	b.holds("and stays there when the page shows more", `document.activeElement.id === 'giveUp'`)
	b.keys("\r")
	b.holds("the question is there again", `document.activeElement.id === 'reason'`)
	b.keys("\r")
	b.holds("a reason is wanted", `document.querySelector('dialog[open] #reason:invalid')`)
	state := func() any {
		return w.Portico.Admin(b.t, harness.Request{Path: "/admin/jobs/" + job}).Want(b.t, 200).JSON(b.t)["state"]
	}
	if is := state(); is == "Failed" || is == "Done" {
		b.t.Errorf("it was done without an answer: %v", is)
	}
	b.keys("the provider is gone\r")
	b.holds("what came of it is said", `!document.querySelector('dialog') && document.getElementById('status').textContent.includes('not notified of this')`)
	harness.Await(b.t, bound, "the end of the job", func() bool { return state() == "Failed" })
	harness.Await(b.t, bound, "the audit log to have the reason", func() bool { return strings.Contains(w.Portico.Log(), "the provider is gone") })
}

// A region that the map has no more is counted, asked about, and forgotten.
func testRetire(b *tab, w *harness.World, gone string) {
	config := w.Config
	config.Regions, config.Endpoints = nil, maps.Clone(config.Endpoints)
	delete(config.Endpoints, gone)
	w.Portico.Write(b.t, w.Portico.Text(b.t, config))
	w.Portico.Admin(b.t, harness.Request{Method: http.MethodPost, Path: "/admin/reload"}).Want(b.t, 200)
	south := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/south")
	known := func() bool {
		a := w.Portico.Admin(b.t, harness.Request{Path: "/admin/resources?subscription=" + harness.SubscriptionID}).Want(b.t, 200)
		return strings.Contains(string(a.Body), south)
	}
	b.open(w.Portico.AdminURL + "/#/region?name=" + gone)
	b.sees("not in the map")
	b.reach("dryRun")
	b.keys("\r")
	b.sees("was counted", "Forget all of this")
	b.holds("one resource", `document.querySelector('#retirement [data-key=Resources] dd').textContent === '1'`)
	b.fits()
	b.reach("retire")
	b.keys("\r")
	b.sees("Retire southindia and forget everything counted here?")
	b.fits()
	b.keys("\x1b")
	b.holds("the question has gone", `!document.querySelector('dialog')`)
	if !known() {
		b.t.Error("it was done without an answer")
	}
	b.keys("\r")
	b.sees("forget everything counted here?")
	b.holds("a second stroke of the same key would leave it", `document.activeElement.id === 'leave'`)
	b.reach("agree")
	b.keys("\r")
	b.sees("Region southindia was retired.", "All of this was forgotten.")
	if known() {
		b.t.Error("the index still has its resource")
	}
}
