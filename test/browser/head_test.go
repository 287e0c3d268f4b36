package browser

import (
	"strconv"

	"github.com/chromedp/chromedp"
)

// The head takes one line at any width, the page is never wider than the window, and every
// page of the menu is to be had.
func testHead(b *tab, at string) {
	for _, width := range []int64{320, 360, 600, 768, 940, 1100, 1216, 1280, 1440, 2560} {
		b.do(chromedp.EmulateViewport(width, 740))
		b.open(at)
		b.sees("Problems", lostRegion)
		if high, err := strconv.ParseFloat(b.text(`document.querySelector('header').getBoundingClientRect().height`), 64); err != nil || high > 56 {
			b.t.Errorf("at %d pixels the head takes %v (%v)", width, high, err)
		}
		const inside = `[...document.querySelectorAll('header > *')].filter((e) => e.checkVisibility()).every((e) => { const r = e.getBoundingClientRect(); return r.top >= 0 && r.bottom <= 56 && r.left >= 0 && r.right <= innerWidth + .5; })`
		b.holds("all of the head lies in its line", inside)
		if over := b.text(`document.documentElement.scrollWidth - document.documentElement.clientWidth`); over != "0" {
			b.t.Errorf("it is wider than %d pixels by %s: %s", width, over, b.text(wide))
		}
		if b.text(`document.getElementById('menuOf').checkVisibility()`) == "true" {
			b.click("#menuOf")
		}
		b.holds("the pages are to be had", `[...document.querySelectorAll('#pages a')].length === 10 && [...document.querySelectorAll('#pages a')].every((a) => { const r = a.getBoundingClientRect(); return a.checkVisibility() && r.left >= 0 && r.right <= innerWidth && r.bottom <= innerHeight; })`)
		b.click(`#pages a[data-page="sinks"]`)
		b.sees("Dead letters")
		b.holds("the menu is closed again", `!document.querySelector('#menu:popover-open')`)
	}
	b.do(chromedp.EmulateViewport(1280, 800))
}
