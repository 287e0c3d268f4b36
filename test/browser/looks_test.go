package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"portico/test/harness"
)

// pages are all pages, in their order, with a text that shows once they have their data.
var pages = [][2]string{
	{"overview", lostRegion}, {"errors", "answers"}, {"changes", "live"}, {"jobs", "group-delete"}, {"resources", "Tenant"}, {"explain", "Explain"},
	{"access", "Show"}, {"index", "Strays"}, {"configuration", "Generation 1"}, {"sinks", "Dead letters"},
}

// lowContrast lists visible texts whose contrast with what lies behind them is below 4.5,
// by the formulas of WCAG 2.
const lowContrast = `(() => {
  const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d', {willReadFrequently: true});
  const drawn = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const known = {};
  const rgba = (colour) => known[colour] ??= drawn(colour);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255, 255]; };
  const low = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !e.checkVisibility({visibilityProperty: true}) || e.closest('noscript, script, svg title, :disabled')) continue;
    const svg = e.closest('svg');
    const front = rgba(svg ? getComputedStyle(e).fill : getComputedStyle(e).color);
    const box = svg && e.parentElement.querySelector('rect');
    const back = box ? rgba(getComputedStyle(box).fill) : behind(svg ?? e);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) low.push(ratio.toFixed(2) + ': ' + walk.currentNode.textContent.trim().slice(0, 40));
  }
  return low;
})()`

// scheme has the system prefer the light or the dark, and nothing that moves.
func (b *tab) scheme(dark bool) {
	b.t.Helper()
	value := "light"
	if dark {
		value = "dark"
	}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		b.t.Fatal(err)
	}
}

// Every page fits a telephone, and is to be read in the light and in the dark.
func testLooks(b *tab, at string, w *harness.World) {
	for _, width := range []int64{360, 1280} {
		b.do(chromedp.EmulateViewport(width, 800))
		for _, p := range append(pages, [][2]string{{"region?name=eastus", "Endpoints"}, {"job?id=" + deletion(b.t, w), "Dependencies"}, {"job?id=" + deploymentJob(b.t, w), "Steps"}, {"resource?id=" + w.GroupPath("rg"), "Latest events"}, {"search?q=vm-", "Which"}, {"why?of=" + deletion(b.t, w), "Known, the newest first"}}...) {
			b.open(at + "/#/" + p[0])
			b.sees(p[1])
			b.text(`document.querySelectorAll('main details').forEach((d) => { d.open = true; })`)
			if p[0] == "explain" {
				b.explain(at, "", w.ResourcePath("rg", "Contoso.Compute/virtualMachines/down"))
				b.click("#headers-0 summary")
			}
			if over := b.text(`document.documentElement.scrollWidth - document.documentElement.clientWidth`); over != "0" {
				b.t.Errorf("%s is wider than %d pixels by %s: %s", p[0], width, over, b.text(wide))
			}
			for _, dark := range []bool{false, true} {
				b.scheme(dark)
				want := map[bool]string{false: "rgb(255, 255, 255)", true: "rgb(13, 17, 23)"}[dark]
				if back := b.text(`getComputedStyle(document.documentElement).backgroundColor`); back != want {
					b.t.Errorf("%s, dark %v: it lies on %s", p[0], dark, back)
				}
				var low []string
				if b.value(lowContrast, &low); len(low) > 0 {
					b.t.Errorf("%s at %d pixels, dark %v: %q", p[0], width, dark, low)
				}
			}
			if moving := b.text(moving); moving != "0" {
				b.t.Errorf("%s: %s elements move although no one wants them to", p[0], moving)
			}
		}
	}
	b.scheme(false)
}

// What can only be operated is not printed; nothing that is told is left out.
func testPrint(b *tab, at string) {
	b.open(at)
	b.sees(lostRegion)
	media := func(name string) {
		if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: name}); err != nil {
			b.t.Fatal(err)
		}
	}
	media("print")
	b.holds("the head is not printed", `!document.querySelector('header').checkVisibility() && [...document.querySelectorAll('button, form')].every((e) => !e.checkVisibility())`)
	b.holds("what is told is", `document.querySelector('.problems li').checkVisibility() && document.querySelector('.plot svg').checkVisibility()`)
	var low []string
	if b.value(lowContrast, &low); len(low) > 0 {
		b.t.Errorf("printed: %q", low)
	}
	media("")
}

// moving counts what moves.
const moving = `[...document.querySelectorAll('*')].filter((e) => parseFloat(getComputedStyle(e).transitionDuration) > 0 || getComputedStyle(e).animationName !== 'none').length`

// wide names what reaches out of the page.
const wide = `[...document.querySelectorAll('main *, header *')].filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !e.closest('.graph, [popover]')).slice(0, 5).map((e) => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40)).join('; ')`

// Everything can be done by keys alone, and the focus is always seen.
func testKeys(b *tab, at string) {
	b.do(chromedp.EmulateViewport(1440, 900))
	b.open(at)
	b.sees("Problems", lostRegion)
	b.keys("\t")
	b.holds("the first stop is the way past the navigation", `document.activeElement.id === 'skip' && document.activeElement.getBoundingClientRect().left >= 0`)
	b.keys("\r")
	b.holds("it leads to the content", `document.activeElement.id === 'main'`)
	b.keys("4")
	b.holds("a figure opens a page", `location.hash === '#/jobs' && document.activeElement.id === 'main' && document.title.startsWith('Jobs')`)
	b.keys("f")
	b.holds("f leads to the first field", `document.activeElement.id === 'kind'`)
	b.text(`document.activeElement.blur()`)
	b.keys("/")
	b.holds("a stroke leads to the search", `document.activeElement.id === 'search'`)
	b.text(`document.activeElement.blur()`)
	b.keys("?")
	b.holds("the keys are listed", `document.querySelector('dialog#keys[open]')?.innerText.includes('go to a page, in the order of the menu')`)
	b.keys("\x1b")
	b.holds("and closed", `!document.getElementById('keys')`)
	b.keys("t")
	b.holds("t makes it light", `document.documentElement.dataset.theme === 'light' && document.getElementById('status').textContent.includes('Light')`)
	b.keys("t")
	b.holds("and dark", `document.documentElement.dataset.theme === 'dark' && getComputedStyle(document.documentElement).backgroundColor === 'rgb(13, 17, 23)'`)
	b.keys("t")
	b.holds("and as the system has it", `!document.documentElement.dataset.theme`)
	// Tab goes through the whole navigation in its order, with the focus to be seen.
	b.open(at + "/#/explain")
	b.sees("without sending it")
	var stops []string
	for range 20 {
		b.keys("\t")
		stops = append(stops, b.text(`document.activeElement.dataset.page ?? document.activeElement.id`))
		if outline := b.text(`getComputedStyle(document.activeElement).outlineStyle`); outline == "none" {
			b.t.Errorf("the focus on %s is not seen", stops[len(stops)-1])
		}
	}
	want := "skip home search overview errors changes jobs resources explain access index configuration sinks moreOf method path principal tenant bearer ask"
	if got := strings.Join(stops, " "); !strings.HasPrefix(got, want) {
		b.t.Errorf("the stops are %s", got)
	}
	if unnamed := b.text(`[...document.querySelectorAll('input, select, textarea, button, a, summary, [tabindex="0"]')].filter((e) => !(e.labels?.length || e.textContent.trim() || e.getAttribute('aria-label'))).length`); unnamed != "0" {
		b.t.Errorf("%s controls have no name", unnamed)
	}
}

// TestPictures makes the pictures of docs/operations.md.
func TestPictures(t *testing.T) {
	if !*write {
		t.Skip("without -write")
	}
	w := newWorld(t, harness.Config{Server: withToken()})
	spoil(t, w)
	b := newTab(t, newBrowser(t))
	b.do(chromedp.EmulateViewport(1220, 850))
	b.open(w.Portico.AdminURL)
	b.fill("#token", operator.Raw)
	b.keys("\r")
	b.sees("Problems")
	for i := range 90 { // something to draw
		if i == 45 {
			w.Contoso("northeurope").Stop(t)
		}
		name := []string{"down", "fresh", "nothing"}[i%3]
		w.Portico.Do(t, harness.Request{Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/"+name) + "?api-version=" + harness.Version})
		time.Sleep(time.Duration(100+60*(i%7)) * time.Millisecond)
	}
	b.picture(w.Portico.AdminURL+"/#/overview", "console-overview.png", false, lostRegion)
	b.picture(w.Portico.AdminURL+"/#/job?id="+deletion(t, w), "console-deletion.png", true, "deleted,")
	b.picture(w.Portico.AdminURL+"/#/errors", "console-errors.png", false, "answers")
	b.harmless()
}

// picture writes the picture of a page that shows a text.
func (b *tab) picture(url, file string, dark bool, text string) {
	b.t.Helper()
	b.scheme(dark)
	b.open(url)
	b.sees(text)
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if len(picture) > 170<<10 {
		b.t.Errorf("%s has %d bytes", file, len(picture))
	}
	if err := os.WriteFile(filepath.Join("..", "..", "docs", "pictures", file), picture, 0o644); err != nil { //nolint:gosec // a picture of the documentation
		b.t.Fatal(err)
	}
}
