package browser

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"portico/provider/certify/contract"
	"portico/provider/certify/report"
)

// reportOf writes the report of a run whose provider answers with hostile texts, and
// returns the page's address.
func reportOf(t *testing.T) string {
	t.Helper()
	began := time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)
	long := strings.Repeat("averylongnamewithoutanyspace", 10)
	r := report.Run{
		Suite: "1.0", Contract: contract.Edition, Began: began, Took: time.Minute,
		Target:  report.Target{Endpoints: map[string]string{"westus": "https://" + long + ".example"}, Types: []string{"Acme.Stuff/widgets", "Acme.Stuff/" + hostile}},
		Claimed: []string{"core", "tracked", "tags", "asynchronous"}, Left: []string{"/subscriptions/s/resourceGroups/" + long},
	}
	exchange := &contract.Exchange{
		Method: "PUT", URL: "https://west.example/" + long, RequestHeader: http.Header{"X-Long": {long}}, RequestBody: `{"a":"` + long + `"}`,
		Status: 500, Header: http.Header{"X-Odd": {hostile}}, Body: hostile + strings.Repeat(hostile, 500), BodyNote: "the first 65536 of 70000 bytes",
		Curl: "curl -i 'https://west.example/" + long + "'",
	}
	for i, c := range contract.All() {
		result := contract.Result{
			Case: c.ID, Profile: c.Profile, Type: "Acme.Stuff/widgets", Section: c.Section, Guideline: c.Guideline, Rule: c.Rule, Through: c.Through,
			Outcome: contract.Kept, Began: began, Took: time.Duration(i) * time.Millisecond,
		}
		switch {
		case !slices.Contains(r.Claimed, string(c.Profile)):
			result.Outcome, result.Why = contract.LeftOut, fmt.Sprintf("the profile %s is not claimed", c.Profile)
		case c.ID == "put/creates-with-201":
			result.Outcome, result.Faults = contract.Broken, []contract.Fault{{Expected: "201", Got: hostile + long, Exchange: exchange}, {Expected: hostile, Got: "nothing"}}
		case c.Profile == contract.Asynchronous:
			result.Outcome, result.Why, result.Faults = contract.Unreached, "what the case needs first was not to be had", []contract.Fault{{Expected: "a", Got: "b"}}
		case c.Profile == contract.Tags:
			result.Outcome, result.Why = contract.LeftOut, "the description gives no means to try it"
		}
		r.Results = append(r.Results, result)
	}
	dir := t.TempDir()
	if err := report.Write(dir, r); err != nil {
		t.Fatal(err)
	}
	return "file://" + filepath.Join(dir, report.HTMLFile)
}

// TestReport reads the report of a certification as a manager and as a developer do.
func TestReport(t *testing.T) {
	t.Parallel()
	at := reportOf(t)
	b := newTab(t, newBrowser(t))
	t.Run("glance", func(t *testing.T) { b.within(t, func() { testReportGlance(b, at) }) })
	t.Run("looks", func(t *testing.T) { b.within(t, func() { testReportLooks(b, at) }) })
	t.Run("filter", func(t *testing.T) { b.within(t, func() { testReportFilter(b, at) }) })
	t.Run("keys", func(t *testing.T) { b.within(t, func() { testReportKeys(b, at) }) })
	t.Run("print", func(t *testing.T) { b.within(t, func() { testReportPrint(b, at) }) })
	t.Run("without script", func(t *testing.T) { b.within(t, func() { testReportWithoutScript(b, at) }) })
}

func testReportGlance(b *tab, at string) {
	b.do(chromedp.EmulateViewport(1280, 800))
	b.open(at)
	b.sees("Certification of Acme.Stuff", "Not kept: core", "✗ broken", "! unreached", "✓ kept", "23 November 2026", contract.Edition, "Expected", "500 Internal Server Error", hostile)
	b.holds("the verdicts are seen without scrolling", `[...document.querySelectorAll('.headline, .profiles .badge')].every((e) => e.getBoundingClientRect().bottom <= innerHeight)`)
	for what, wrong := range map[string]string{
		"ids that are given twice":              `(() => { const ids = [...document.querySelectorAll('[id]')].map((e) => e.id); return ids.filter((id, i) => ids.indexOf(id) !== i); })()`,
		"links within the page that lead to no": `[...document.querySelectorAll('a[href^="#"]')].filter((a) => !document.getElementById(decodeURIComponent(a.hash.slice(1)))).map((a) => a.href)`,
		"headings that skip a level":            `[...document.querySelectorAll('h1,h2,h3,h4')].filter((h, i, all) => i > 0 && h.tagName[1] - all[i - 1].tagName[1] > 1).map((h) => h.textContent)`,
		"controls without a name":               `[...document.querySelectorAll('input, select, button, a, summary')].filter((e) => !(e.labels?.length || e.textContent.trim())).map((e) => e.outerHTML)`,
		"what is loaded":                        `performance.getEntriesByType('resource').map((e) => e.name)`,
		"sections without a name":               `[...document.querySelectorAll('[aria-labelledby]')].filter((e) => !document.getElementById(e.getAttribute('aria-labelledby'))).map((e) => e.outerHTML)`,
	} {
		var found []string
		if b.value(wrong, &found); len(found) > 0 {
			b.t.Errorf("%s: %q", what, found)
		}
	}
	if n := b.text(`document.querySelectorAll('h1').length + '/' + document.documentElement.lang`); n != "1/en" {
		b.t.Errorf("h1 and language: %s", n)
	}
	b.open(at + "#get/head@Acme.Stuff/widgets")
	b.holds("a link to a trial opens it", `document.getElementById('get/head@Acme.Stuff/widgets').open`)
}

func testReportLooks(b *tab, at string) {
	for _, width := range []int64{360, 1280} {
		b.do(chromedp.EmulateViewport(width, 800))
		b.open(at)
		b.sees("Not kept: core")
		b.text(`document.querySelectorAll('details').forEach((d) => { d.open = true; })`)
		if over := b.text(`document.documentElement.scrollWidth - document.documentElement.clientWidth`); over != "0" {
			b.t.Errorf("it is wider than %d pixels by %s: %s", width, over, b.text(wide))
		}
		for _, dark := range []bool{false, true} {
			b.scheme(dark)
			want := map[bool]string{false: "rgb(255, 255, 255)", true: "rgb(13, 17, 23)"}[dark]
			if back := b.text(`getComputedStyle(document.documentElement).backgroundColor`); back != want {
				b.t.Errorf("dark %v: it lies on %s", dark, back)
			}
			var low []string
			if b.value(lowContrast, &low); len(low) > 0 {
				b.t.Errorf("at %d pixels, dark %v: %q", width, dark, low)
			}
		}
	}
	b.scheme(false)
}

// visibleTrials counts the trials that the filter leaves.
const visibleTrials = `[...document.querySelectorAll('[data-trial]')].filter((e) => !e.hidden).length`

func testReportFilter(b *tab, at string) {
	b.open(at)
	b.fill("#words", "rpc-put-v1-11 creates")
	b.holds("one trial is left", visibleTrials+` === 1 && document.getElementById('shown').textContent.startsWith('1 of ')`)
	b.text(`document.getElementById('words').value = ''`)
	b.text(`(() => { document.getElementById('profile').value = 'asynchronous'; document.getElementById('profile').dispatchEvent(new Event('input', {bubbles: true})); })()`)
	b.holds("a profile's trials are left", visibleTrials+` > 1 && [...document.querySelectorAll('[data-trial]')].every((e) => e.hidden === (e.dataset.profile !== 'asynchronous'))`)
	b.text(`(() => { document.getElementById('profile').value = ''; })()`)
	b.fill("#words", "etag/is-weak")
	b.holds("what was left out is shown where it is found", visibleTrials+` === 1 && document.querySelector('li[data-trial]:not([hidden])').checkVisibility()`)
	b.open(at)
	b.click("pre.curl + button")
	b.holds("the line is copied or selected", `document.getElementById('shown').textContent !== ''`)
}

func testReportKeys(b *tab, at string) {
	b.open(at)
	b.keys("\t")
	b.holds("the first stop is the way to the findings", `document.activeElement.id === 'skip' && document.activeElement.getBoundingClientRect().left >= 0`)
	b.keys("\r")
	b.holds("it leads there", `document.activeElement.id === 'main' || location.hash === '#main'`)
	var stops []string
	for range 12 {
		b.keys("\t")
		stops = append(stops, b.text(`document.activeElement.id || document.activeElement.tagName.toLowerCase()`))
		if outline := b.text(`getComputedStyle(document.activeElement).outlineStyle`); outline == "none" {
			b.t.Errorf("the focus on %s is not seen", stops[len(stops)-1])
		}
	}
	if got := strings.Join(stops, " "); !strings.HasPrefix(got, "words profile summary a a pre pre pre button") {
		b.t.Errorf("the stops are %s", got)
	}
	b.open(at)
	b.text(`document.querySelector('details:not([open]) > summary').focus()`)
	b.keys("\r")
	b.holds("a key opens a trial", `document.activeElement.parentElement.open`)
}

func testReportPrint(b *tab, at string) {
	b.open(at)
	media := func(name string) {
		if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: name}); err != nil {
			b.t.Fatal(err)
		}
	}
	media("print")
	b.holds("what is to be operated is not printed", `!document.querySelector('form').checkVisibility() && !document.querySelector('button').checkVisibility()`)
	b.holds("what is broken is printed whole", `[...document.querySelectorAll('details:has(.broken) pre')].every((p) => p.checkVisibility() && p.scrollHeight <= p.clientHeight + 1)`)
	var low []string
	if b.value(lowContrast, &low); len(low) > 0 {
		b.t.Errorf("printed: %q", low)
	}
	media("")
}

func testReportWithoutScript(b *tab, at string) {
	set := func(disabled bool) {
		if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: disabled}); err != nil {
			b.t.Fatal(err)
		}
	}
	set(true)
	b.open(at)
	set(false)
	b.sees("Not kept: core", "Expected", "Repeat the request", "curl -i")
	b.holds("what needs the script is not there", `document.querySelector('form').hidden && !document.querySelector('button')`)
}
