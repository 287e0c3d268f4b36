package index

// readings lets a client read through either replica: HEAD by the store, GET by
// what the replica remembers. One at a time is enough to see one come before
// another.
func (m *model) readings(w *world) {
	if w.read.on {
		m.goOn(w)
		return
	}
	if m.lists {
		after := *w
		after.beginRead(reading{head: true})
		m.reported(after, w.now.row && w.now.phase != Pending, "a list of the index is read")
		return
	}
	for replica := range uint8(2) {
		m.head(w, replica)
		m.locate(w, replica)
	}
}

// head answers by the store where that is certain, else by the provider.
func (m *model) head(w *world, replica uint8) {
	after := *w
	after.beginRead(reading{head: true, region: w.now.region, replica: replica})
	switch {
	case !w.now.row:
		m.reported(after, false, "HEAD finds no row, 404")
	case !w.doubtful(m):
		m.reported(after, true, "HEAD finds a row that is Live, 204")
	default:
		m.take(after, "HEAD finds a row in doubt", -1, false)
	}
}

// locate begins a GET, by the cache or, when that has nothing or what it has is
// too old, by the store.
func (m *model) locate(w *world, replica uint8) {
	if known := w.cache[replica]; known > 0 {
		after := *w
		after.beginRead(reading{region: known - 1, cached: true, replica: replica})
		m.take(after, "GET goes where the cache says", -1, false)
	}
	after := *w
	after.beginRead(reading{region: w.now.region, replica: replica})
	if !w.now.row {
		m.reported(after, false, "GET finds no row, 404")
		return
	}
	after.cache[replica] = w.now.region + 1
	m.take(after, "GET goes where the store says", -1, false)
}

// reported ends a read with its answer.
func (m *model) reported(w world, present bool, text string) {
	w.endRead(present, w.read.region)
	m.take(w, text, -1, true)
}

// goOn takes the read under way to the provider and, after a 404 from where the
// cache said, to the store and maybe to another provider.
func (m *model) goOn(w *world) {
	r := &w.read
	after := *w
	if r.again {
		m.secondLook(w)
		return
	}
	found, _ := w.provider[r.region].shown()
	switch {
	case found:
		m.reported(after, true, "the read finds the resource, 200")
	case r.cached && !m.off.secondLook:
		after.read.again = true
		m.take(after, "the read gets 404 from where the cache said", -1, true)
	default:
		m.reported(after, false, "the read finds nothing, 404")
	}
}

func (m *model) secondLook(w *world) {
	after := *w
	r := &after.read
	r.again, r.cached = false, false
	switch {
	case !w.now.row:
		after.cache[r.replica] = 0
		m.reported(after, false, "the store has no row either, 404")
	case w.now.region == w.read.region:
		m.reported(after, false, "the store says the same, 404")
	default:
		r.region = w.now.region
		after.cache[r.replica] = w.now.region + 1
		m.take(after, "the store says otherwise", -1, true)
	}
}
