package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"portico/gateway/admin/console"
	"portico/test/harness"
)

// Pictures are compared by the colours of their cells. Another Chromium, other hinting or a
// similar font moves little ink from one cell to the next, or all below a line by its height,
// where that takes another word. A layout that breaks moves much, and further.
const (
	cellSize     = 20    // pixels, nearly a line
	mostApart    = 16.0  // of a cell's colour, of 255: more, and the cell counts as another
	mostOthers   = 0.015 // the part of the cells that may be others
	mostMeanDiff = 1.2
)

// fixedNow is the time on the pages.
const fixedNow = "2026-01-02T12:00:00Z"

// fixedConsole serves the console with a state that never changes.
func fixedConsole(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "fixed.json"))
	harness.OK(t, err)
	var answers map[string]json.RawMessage
	harness.OK(t, json.Unmarshal(text, &answers))
	files := console.Files()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		switch {
		case r.URL.Path == "/admin/traffic":
			answer, known = fixedTraffic(r), true
		case r.URL.Path == "/admin/changes" && r.Header.Get("Accept") == "text/event-stream":
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		case r.URL.Path == "/admin/changes" && r.URL.Query().Has("after"):
			answer = json.RawMessage(`{"value":[],"next":"end"}`)
		}
		if !known {
			files.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections) // the stream never ends
	return server.URL
}

// fixedTraffic has one wave of requests in every range.
func fixedTraffic(r *http.Request) json.RawMessage {
	end, _ := time.Parse(time.RFC3339, fixedNow)
	step := 5 * time.Second
	if span, err := time.ParseDuration(r.URL.Query().Get("range")); err == nil {
		step = span / 180
	}
	var intervals []map[string]any
	for i := range 180 {
		wave := 1 + math.Sin(float64(i)/20)
		flow := map[string]any{"requests": int(400 * wave), "failures": int(40 * wave), "refusals": 10, "mean": 0.02 * wave, "p95": 0.08 * wave}
		interval := map[string]any{"time": end.Add(time.Duration(i-179) * step), "seconds": step.Seconds(), "inFlight": 3, "regions": []any{}}
		maps.Copy(interval, flow)
		flow["region"] = "eastus"
		interval["regions"] = []any{flow}
		intervals = append(intervals, interval)
	}
	if r.URL.Query().Get("after") != "" {
		intervals = []map[string]any{}
	}
	text, _ := json.Marshal(map[string]any{"seconds": step.Seconds(), "intervals": intervals})
	return text
}

// fixedClock has pages that think it is fixedNow.
func (b *tab) fixedClock() {
	b.t.Helper()
	script := fmt.Sprintf(`{ const Real = Date, now = Real.parse(%q); window.Date = class extends Real { constructor(...of) { super(...(of.length ? of : [now])); } static now() { return now; } }; }`, fixedNow)
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		b.t.Fatal(err)
	}
}

// The main pages look as they did, on a wide and on a narrow screen, in the light and in the
// dark. -update renews the pictures.
func TestLayout(t *testing.T) {
	t.Parallel()
	at := fixedConsole(t)
	b := newTab(t, newBrowser(t))
	b.fixedClock()
	for _, p := range [][3]string{
		{"overview", "overview?range=1h", "Requests per second"}, {"errors", "errors", "404 ResourceGroupNotFound"}, {"changes", "changes", "resourceGroups/delete"}, {"jobs", "jobs", "2 in progress"},
		{"region", "region?name=eastus&provider=Contoso.Compute&range=6h", "b.east.example"}, {"resources", "resources", "Production"},
		{"explain", "explain", "Examples"}, {"access", "access", "Examples"}, {"configuration", "configuration", "log.slow"}, {"unknown", "nonsense", "no page"},
	} {
		for _, width := range []int64{1400, 390} {
			b.do(chromedp.EmulateViewport(width, 1000))
			for _, scheme := range []string{"light", "dark"} {
				b.scheme(scheme == "dark")
				b.open(at + "/#/" + p[1])
				b.sees(p[2])
				b.holds("the page is complete", `document.readyState === 'complete' && !document.querySelector('main [role=alert]').textContent`)
				if out := b.text(`document.documentElement.scrollWidth - document.documentElement.clientWidth`); out != "0" {
					t.Errorf("%s is wider than %d pixels by %s: %s", p[0], width, out, b.text(wide))
				}
				b.looksAs(fmt.Sprintf("%s-%d-%s.png", p[0], width, scheme))
			}
		}
	}
	b.harmless()
}

// looksAs compares what is seen with a picture. It looks again for some time, as charts may
// still be drawn.
func (b *tab) looksAs(name string) {
	b.t.Helper()
	file := filepath.Join("testdata", "looks", name)
	var seen []byte
	shoot := func() *image.RGBA {
		picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		harness.OK(b.t, err)
		seen = picture
		shown, err := png.Decode(bytes.NewReader(picture))
		harness.OK(b.t, err)
		return cells(shown)
	}
	if *update {
		last := shoot()
		awaits(func() bool {
			before := last
			last = shoot()
			return bytes.Equal(before.Pix, last.Pix)
		})
		var text bytes.Buffer
		harness.OK(b.t, png.Encode(&text, last))
		harness.OK(b.t, os.WriteFile(file, text.Bytes(), 0o644)) //nolint:gosec // a picture of the tests
		return
	}
	text, err := os.ReadFile(file)
	harness.OK(b.t, err)
	want, err := png.Decode(bytes.NewReader(text))
	harness.OK(b.t, err)
	var mean, others float64
	if !awaits(func() bool {
		mean, others = apart(shoot(), want)
		return mean <= mostMeanDiff && others <= mostOthers
	}) {
		whole := filepath.Join(os.TempDir(), name)
		harness.OK(b.t, os.WriteFile(whole, seen, 0o600))
		b.t.Errorf("%s looks different: colours differ by %.1f of 255 on average, and %.1f %% of the cells are others; see %s, and renew it with -update if it is right", name, mean, 100*others, whole)
	} else if testing.Verbose() {
		b.t.Logf("%s: %.2f, %.2f %%", name, mean, 100*others)
	}
}

// cells has one pixel for each cell of a picture, with its mean colour.
func cells(of image.Image) *image.RGBA {
	size := of.Bounds().Size()
	small := image.NewRGBA(image.Rect(0, 0, size.X/cellSize, size.Y/cellSize))
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			var sum [3]uint32
			for i := range cellSize * cellSize {
				r, g, b, _ := of.At(x*cellSize+i%cellSize, y*cellSize+i/cellSize).RGBA()
				sum[0], sum[1], sum[2] = sum[0]+r>>8, sum[1]+g>>8, sum[2]+b>>8
			}
			const n = cellSize * cellSize
			small.SetRGBA(x, y, color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255})
		}
	}
	return small
}

// apart returns by how much the cells of two pictures differ on average, and the part of them
// that differ much. A cell is compared with those in its place and up to two lines above and
// below, and counts by the one that is most like it.
func apart(a *image.RGBA, b image.Image) (mean, others float64) {
	if a.Rect.Size() != b.Bounds().Size() {
		return 255, 1
	}
	count := float64(a.Rect.Dx() * a.Rect.Dy())
	for y := range a.Rect.Dy() {
		for x := range a.Rect.Dx() {
			least := 255.0
			for near := max(y-2, 0); near <= min(y+2, a.Rect.Dy()-1); near++ {
				is, want := a.RGBAAt(x, y), color.RGBAModel.Convert(b.At(x, near)).(color.RGBA)
				least = min(least, (math.Abs(float64(is.R)-float64(want.R))+math.Abs(float64(is.G)-float64(want.G))+math.Abs(float64(is.B)-float64(want.B)))/3)
			}
			mean += least / count
			if least > mostApart {
				others += 1 / count
			}
		}
	}
	return mean, others
}

// Each cell says how a provider is in a region, in words, and leads there; a row of changes or
// jobs stands below the one that it belongs to.
func TestFixedState(t *testing.T) {
	t.Parallel()
	at := fixedConsole(t)
	b := newTab(t, newBrowser(t))
	b.fixedClock()
	b.do(chromedp.EmulateViewport(1400, 900))
	b.open(at)
	for cell, want := range map[string][2]string{
		"Contoso.Compute eastus": {"slow", "take much longer"}, "Contoso.Storage eastus": {"up", ""}, "Contoso.Compute northeurope": {"down", "connection refused"},
		"Contoso.Compute southindia": {"draining", "drained by Ada: a new rack"}, "Contoso.Storage westus": {"draining", "drained by Bo: new disks"}, "Contoso.Compute westus": {"up", ""},
	} {
		b.holds(cell, fmt.Sprintf(`(() => { const c = document.querySelector('[data-at=%q] a'); return c?.textContent === %q && c.title.includes(%q); })()`, cell, want[0], want[1]))
	}
	b.holds("what is not served has no state", `[...document.querySelectorAll('#matrix tr[data-key="Contoso.Storage"] td')].filter((c) => c.textContent === '–').length === 1`)
	b.click(`[data-at="Contoso.Compute southindia"] a`)
	b.sees("Region southindia", "Endpoints of Contoso.Compute", "by Ada: a new rack", "https://c.india.example")
	b.holds("of this provider alone", `!document.body.innerText.includes('s.india.example')`)
	b.click("#page-region a[href='#/region?name=southindia']")
	b.sees("https://s.india.example")

	// A problem says what is affected and what to do; what it causes stands below it.
	b.open(at)
	b.sees("Contoso.Compute in northeurope: https://c.europe.example", "Next: ask europe@contoso.example", "Because of northeurope", "out for maintenance until", "planned")
	b.holds("below it, and indented", `(([cause, caused]) => caused.matches('.caused') && caused.textContent.includes('cannot be created') && caused.getBoundingClientRect().left > cause.getBoundingClientRect().left)(document.querySelectorAll('.problems li'))`)

	b.open(at + "/#/errors?blame=caller")
	b.sees("5 answers")
	b.holds("of the caller alone", `[...document.querySelectorAll('.groups .by.blame')].map((e) => e.textContent).join() === 'caller'`)
	b.text(`document.querySelector('.groups summary').click()`)
	b.holds("the message takes one line, and is whole in the title", `(({title, textContent, offsetHeight, offsetWidth, scrollWidth}) => title === textContent && offsetHeight < 30 && scrollWidth > offsetWidth)(document.querySelector('.groups td .line'))`)
	b.do(chromedp.SetValue(chromedp.CSS("#blame"), "provider"))
	b.text(`document.getElementById('blame').dispatchEvent(new Event('input'))`)
	b.sees("81 answers")
	b.holds("the address has it", `location.hash === '#/errors?blame=provider'`)

	b.open(at + "/#/changes")
	b.holds("children follow their parent", `[...document.querySelectorAll('#changes tbody tr')].map((r) => (r.classList.contains('child') ? '-' : '') + r.dataset.key).join(' ') === '6 -5 4 -3 -2 1'`)
	b.sees("Failed 409")
	b.open(at + "/#/jobs")
	b.holds("those of jobs too", `[...document.querySelectorAll('#jobs tbody tr')].map((r) => (r.classList.contains('child') ? '-' : '') + r.dataset.key).join(' ') === 's.1 -s.2 s.3'`)
	b.open(at + "/#/job?id=s.2")
	b.sees("× 12 since 2026-01-02 11:40:00Z")
	b.open(at + "/#/nonsense")
	b.sees("No such page", "#/nonsense")
	b.click("main a")
	b.sees("Overview", "Problems")
	b.harmless()
}
