package browser

import (
	"portico/test/harness"
)

// The box in the head goes to the thing, or lists what fits.
func testSearch(b *tab, at string, w *harness.World, correlation string) {
	find := func(what string) {
		b.t.Helper()
		b.open(at)
		b.sees("Problems")
		b.keys("/")
		b.holds("the box has the focus", `document.activeElement.id === 'search'`)
		b.text(`document.getElementById('search').value = ''`) // the driver types the stroke as well
		b.keys(what + "\r")
	}
	down := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/down")
	find(down)
	b.sees("down is in eastus", "Known, the newest first", "answered 503")
	b.click("main a[href^='#/resource']")
	b.sees("Index row", down)
	find("down")
	b.sees("Index row", down)
	b.holds("a name goes to the only one", `document.querySelector('h1').textContent === 'down'`)
	b.text(`history.back()`)
	b.sees("Problems") // and not the search again
	find("vm-")
	b.sees("things", "/vm-0", "/vm-1")
	find("rg")
	b.sees("/resourceGroups/rg")
	find("doomed")
	b.sees("job group-delete", "/resourceGroups/doomed")
	job := deletion(b.t, w)
	find(job)
	b.sees("doomed waits since", "The group is being deleted", "portico unstick "+job+" --ask", "resourceGroups/delete Accepted")
	b.click("main a[href^='#/job']")
	b.sees("group-delete doomed")
	find("East")
	b.sees("eastus", "region")
	find(harness.SubscriptionID)
	b.sees("Subscription " + harness.SubscriptionID)
	find(correlation)
	b.sees("Why: "+correlation, "GET answered 503", "/virtualMachines/down")
	b.holds("it is one page alone", `location.hash.startsWith('#/why?of=')`)
	b.click("main a[href^='#/errors']")
	b.sees("20 answers")
	find("nothing-is-called-so")
	b.sees("Nothing found")
}

// A resource's page has all that is known of it, and leads on.
func testResource(b *tab, at string, w *harness.World, first string) {
	b.open(at + "/#/resource?id=" + first)
	b.sees("Waits for", "Latest events", "vm-0")
	b.holds("the job that it waits for", `document.querySelector('.problems a[href^="#/job?id="]')`)
	b.click("#ask")
	b.sees("Pending work", "Ask the provider now", "What it would do")
	b.keys("\x1b")
	b.holds("the question has gone", `!document.querySelector('dialog')`)
	b.click("main a[href^='#/changes']")
	b.sees("Changes of vm-0", "virtualMachines/write", "Succeeded")
	b.holds("those of this resource alone", `[...document.querySelectorAll('#changes td[data-label="Resource"]')].every((c) => c.querySelector('a').title === '`+first+`')`)
	b.text(`history.back()`)
	b.sees("Latest events")
	b.click("main a[href^='#/access']")
	b.sees("Assignments that apply here")
	b.holds("the place is filled in", `document.getElementById('scope').value === '`+first+`'`)
	b.fill("#action", "Contoso.Compute/virtualMachines/write")
	b.keys("\r")
	b.sees("Who may do this here", "roles are not enforced")
	b.open(at + "/#/resource?id=" + w.SubscriptionPath())
	b.sees("Subscription", "Enabled")
	b.click("main a[href^='#/resources']")
	b.sees("Resources of", "/virtualMachines/down", "eastus")
	b.fill("#region", "westus")
	b.keys("\r")
	b.holds("one region alone", `location.hash.includes('region=westus') && !document.querySelector('#rows').textContent.includes('/virtualMachines/down')`)
}
