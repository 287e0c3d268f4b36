package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// bound is how long something on a page may take to be seen.
const bound = 20 * time.Second

// newBrowser starts a Chromium that lasts until the test ends.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.Flag("disable-dev-shm-usage", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, end := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(options...))
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("chromium does not start (test/prepare.sh installs it): %v", err)
	}
	return ctx
}

// tab is a tab of a person of its own, with cookies of its own.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string
}

// newTab opens a tab. What its pages do against their policy, and what their scripts do
// not catch, makes harmless fail.
func newTab(t *testing.T, browser context.Context) *tab {
	t.Helper()
	b := &tab{t: t}
	ctx, end := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.hear))
	t.Cleanup(end)
	b.ctx = ctx
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable} {
		if _, err := chromedp.Call(ctx, enable, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `window.violations = []; addEventListener('securitypolicyviolation', (e) => violations.push(e.violatedDirective + ' ' + e.blockedURI));`,
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *tab) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.fault(fmt.Sprintf("%+v", *e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.fault("the console says something")
		}
	case *log.EventEntryAdded:
		if e.Entry.Source != log.EntrySourceNetwork { // answers that are errors are no faults of the page
			b.fault(fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
		}
	}
}

func (b *tab) fault(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, what)
}

// harmless fails the test if a page did what it should not.
func (b *tab) harmless() {
	b.t.Helper()
	if got := b.text(`violations.join('\n')`); got != "" {
		b.t.Errorf("against the policy: %s", got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.faults) > 0 {
		b.t.Errorf("faults of the page: %s", strings.Join(b.faults, "\n"))
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, bound)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// open goes to an address, wherever the tab was.
func (b *tab) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(url))
}

// value evaluates an expression, of a promise what it comes to.
func (b *tab) value(expression string, into any) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, bound)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(async () => JSON.stringify(`+expression+`) ?? 'null')()`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		b.t.Fatalf("%s: %s: %v", expression, text, err)
	}
}

func (b *tab) text(expression string) (text string) {
	b.t.Helper()
	b.value(`String(`+expression+`)`, &text)
	return text
}

// awaits tries something until it is so, for as long as bound: more and more rarely, as
// to look costs the browser as much as to change the page does.
func awaits(try func() bool) bool {
	pause := 20 * time.Millisecond
	for end := time.Now().Add(bound); !try(); pause = min(pause*3/2, 500*time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// sees waits until the page shows all texts.
func (b *tab) sees(texts ...string) {
	b.t.Helper()
	var shown, missing string
	if !awaits(func() bool {
		shown, missing = b.text(`document.body.innerText`), ""
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				missing = text
			}
		}
		return missing == ""
	}) {
		b.t.Fatalf("the page does not show %q:\n%s", missing, shown)
	}
}

// holds waits until an expression is true.
func (b *tab) holds(what, expression string) {
	b.t.Helper()
	if !awaits(func() (is bool) {
		b.value(`Boolean(`+expression+`)`, &is)
		return is
	}) {
		b.t.Fatalf("%s: not within %v:\n%s", what, bound, b.text(`document.body.innerText`))
	}
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.do(chromedp.WaitVisible(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.do(chromedp.WaitVisible(chromedp.CSS(selector)), chromedp.SendKeys(chromedp.CSS(selector), text))
}

// keys presses keys one after the other.
func (b *tab) keys(text string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(text))
}
