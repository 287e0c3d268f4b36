package browser

import (
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A chart has axes; the values at a time are to be had by the pointer and by keys.
func testCharts(b *tab, at string) {
	b.do(chromedp.EmulateViewport(1280, 800))
	b.open(at)
	b.holds("the scale of values begins at zero", `(() => { const y = [...document.querySelectorAll('#all-requests .y span')].map((s) => parseFloat(s.textContent)); return y.length === 3 && y[0] > y[1] && y[1] > 0 && y[2] === 0; })()`)
	b.holds("the scale of times is in UTC", `(() => { const x = [...document.querySelectorAll('#all-requests .x span')].map((s) => s.textContent); return x.length === 4 && x.every((t) => /^\d\d:\d\dZ?$/.test(t)) && x[3].endsWith('Z') && x[3].slice(0, 4) >= new Date(Date.now() - 120000).toISOString().slice(11, 15); })()`)
	b.holds("what is now", `document.querySelector('#all-requests output').textContent.startsWith('now all ')`)
	b.holds("however long the values are, the charts of a row lie side by side", `(() => { for (const o of document.querySelectorAll('.charts output')) o.append(' and 123,456 more'.repeat(9)); const tops = new Set([...document.querySelectorAll('.charts .plot')].map((p) => p.getBoundingClientRect().top)); return tops.size === 1 && document.documentElement.scrollWidth === innerWidth; })()`)
	point := func(kind string) {
		b.text(`(() => { const s = document.getElementById('all-requests-plot'), r = s.getBoundingClientRect(); s.dispatchEvent(new PointerEvent('` + kind + `', {clientX: r.right, clientY: r.top + 5, bubbles: true})); })()`)
	}
	point("pointermove")
	b.holds("what was at the time under the pointer", `/^\d\d:\d\d:\d\dZ all [\d.,]+$/.test(document.querySelector('#all-requests output').textContent.trim()) && document.querySelector('#all-requests .cursor')`)
	point("pointerleave")
	b.holds("and now again", `document.querySelector('#all-requests output').textContent.startsWith('now all ') && !document.querySelector('#all-requests .cursor')`)

	b.text(`document.getElementById('all-errors-plot').focus()`)
	b.keys(kb.ArrowLeft)
	b.holds("a key goes back in time", `document.activeElement.id === 'all-errors-plot' && Number(document.activeElement.getAttribute('aria-valuenow')) < Number(document.activeElement.getAttribute('aria-valuemax')) && document.querySelector('#all-errors .cursor')`)
	b.holds("a screen reader is told when and what", `/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ: failed [\d.,]+, refused [\d.,]+$/.test(document.activeElement.getAttribute('aria-valuetext'))`)
	// The next interval comes; the time that is looked at stays.
	looked := b.text(`document.activeElement.getAttribute('aria-valuetext')`)
	count := b.text(`document.activeElement.getAttribute('aria-valuemax')`)
	b.holds("another interval", `Number(document.getElementById('all-errors-plot').getAttribute('aria-valuemax')) > `+count)
	b.holds("the focus and what is looked at stay", `document.activeElement.id === 'all-errors-plot' && document.activeElement.getAttribute('aria-valuetext') === '`+looked+`'`)
}
