package browser

import (
	"fmt"
	"net/http"

	"portico/test/harness"
)

// What is seen is in the address: a copied one shows the same, and Back goes back.
func testAddresses(b *tab, at, correlation string) {
	b.open(at + "/#/jobs")
	b.sees("group-delete")
	b.open(at + "/#/errors")
	b.sees("503")
	b.fill("#filter", correlation)
	b.click("#failed")
	b.holds("the address holds the filters", `location.hash === '#/errors?text=`+correlation+`&failed=1'`)
	copied := b.text(`location.href`)
	b.open(copied)
	b.sees("20 answers")
	b.holds("the same is shown", `document.getElementById('filter').value === '`+correlation+`' && document.getElementById('failed').checked`)
	b.text(`document.querySelectorAll('.groups details').forEach((d) => { d.open = true; })`)
	b.click("#errors td a[href*='virtualMachines']")
	b.sees("Index row", "Latest errors")
	b.holds("it is the page of the resource", `document.querySelector('h1').textContent === 'down' && document.title.startsWith('down')`)
	b.text(`history.back()`)
	b.sees("20 answers")
	b.holds("with its filters", `document.getElementById('filter').value === '`+correlation+`'`)

	// Times are in UTC, with the local time and the age.
	b.holds("times are in UTC", `[...document.querySelectorAll('main time')].every((t) => /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ /.test(t.textContent) && t.title.includes('local time') && new Date(t.dateTime).toISOString().slice(0, 10) === t.textContent.slice(0, 10))`)
	b.holds("nothing is told as AM or PM", `!/\d [AP]M\b/.test(document.body.innerText)`)
}

// While a page refreshes, what is open stays open, and the focus and a selection stay.
func testRefresh(b *tab, at string, w *harness.World) {
	missing := func() {
		w.Portico.Do(b.t, harness.Request{Method: http.MethodGet, Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/missing") + "?api-version=" + harness.Version}).Want(b.t, 404)
	}
	missing()
	b.open(at + "/#/errors")
	group := errorsOf("404")
	b.holds("the group", group)
	before := b.text(group + `.querySelector('.count').textContent`)
	b.text(fmt.Sprintf(`(() => { window.opened = %s; opened.querySelector('summary').click(); opened.querySelector('summary').focus(); })()`, group))
	b.holds("it is open", `opened.open && opened.querySelector('td code')`)
	b.text(`(() => { window.marked = opened.querySelector('tbody tr:last-child td code'); getSelection().selectAllChildren(marked); })()`)
	chosen := b.text(`getSelection().toString()`)
	missing()
	b.holds("the page has refreshed", fmt.Sprintf(`Number(%s.querySelector('.count').textContent) > %s`, group, before))
	b.holds("it is the same group, and still open", fmt.Sprintf(`opened.isConnected && opened.open && opened === %s && opened.querySelectorAll('tbody tr').length > %s`, group, before))
	b.holds("the focus stays", `document.activeElement === opened.querySelector('summary')`)
	b.holds("the selection stays", fmt.Sprintf(`getSelection().toString() === %q && marked.isConnected`, chosen))
}
