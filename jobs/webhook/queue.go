package webhook

import (
	"container/heap"
	"time"

	"portico/events"
	"portico/internal/timing"
	"portico/inventory/eventlog"
)

// item is an event on its way.
type item struct {
	number   int64
	sub, key string
	event    *events.Event // nil: it is only in the event log
	attempts int           // that failed
	since    time.Time     // of the first of them
	due      time.Time     // for the next one
	status   int
	failure  string
	reason   string // why an operator gave it up
	alone    bool   // it is sent without others
	kept     bool   // it was left behind the cursor, and has a row
	stored   bool   // that row is stored
	done     bool
	line     *line
}

// row returns the item as the store keeps it.
func (i *item) row(state eventlog.SinkEventState) eventlog.SinkEvent {
	return eventlog.SinkEvent{
		Subscription: i.sub, Number: i.number, Key: i.key, State: state,
		Attempts: int64(i.attempts), Since: i.since, Due: i.due, Status: i.status, Failure: i.failure, Reason: i.reason,
	}
}

// line are the items of one resource, in their order. The first few are being sent, and
// the others wait for them.
type line struct {
	name    string
	items   []*item
	sending int
	place   int // in queue.ready; -1: not there
}

func (l *line) head() *item { return l.items[0] }

// queue holds the items on their way to a sink: the window of items after the cursor, and
// those that were left behind.
type queue struct {
	read     int64 // up to this number the event log was read
	window   []*item
	mostKept int
	kept     int
	lines    map[string]*line
	ready    byDue // lines without an item under way

	// The changes that the next save records.
	changed map[*item]eventlog.SinkEventState
	settled []eventlog.SinkEvent
}

func newQueue(cursor int64, mostKept int) *queue {
	return &queue{read: cursor, mostKept: mostKept, lines: map[string]*line{}, changed: map[*item]eventlog.SinkEventState{}}
}

// add appends an event that was read. If an earlier event of its line was left behind,
// so is this one.
func (q *queue) add(e *events.Event) {
	i := &item{number: e.Number, sub: e.Subscription, key: e.Key, event: e}
	l := q.line(i)
	behind := len(l.items) > 0 && l.items[len(l.items)-1].kept
	l.items = append(l.items, i)
	if !behind || !q.keepItem(i) {
		q.window = append(q.window, i)
	}
	q.schedule(l)
}

// restore puts an item back that has a row, at the place of its number.
func (q *queue) restore(e eventlog.SinkEvent) {
	i := &item{
		number: e.Number, sub: e.Subscription, key: e.Key, attempts: int(e.Attempts), since: e.Since, due: e.Due, status: e.Status, failure: e.Failure,
		alone: true, kept: true, stored: true,
	}
	l := q.line(i)
	at := len(l.items)
	for at > l.sending && l.items[at-1].number > i.number {
		at--
	}
	l.items = append(l.items[:at], append([]*item{i}, l.items[at:]...)...)
	q.kept++
	q.schedule(l)
}

// replay restores an item that was given up.
func (q *queue) replay(e eventlog.SinkEvent) {
	q.restore(e)
	for _, i := range q.lines[lineName(e.Subscription, e.Key)].items {
		if i.number == e.Number {
			q.changed[i] = eventlog.SinkRetrying
		}
	}
}

func lineName(sub, key string) string { return sub + "\x00" + key }

func (q *queue) line(i *item) *line {
	name := lineName(i.sub, i.key)
	l := q.lines[name]
	if l == nil {
		l = &line{name: name, place: -1}
		q.lines[name] = l
	}
	i.line = l
	return l
}

// schedule queues a line for the time when its first item is due.
func (q *queue) schedule(l *line) {
	switch {
	case l.sending > 0:
	case len(l.items) == 0:
		delete(q.lines, l.name)
	case l.place < 0:
		heap.Push(&q.ready, l)
	default:
		heap.Fix(&q.ready, l.place)
	}
}

// keepItem leaves an item behind the cursor, if there is room. It reports whether the item is.
func (q *queue) keepItem(i *item) bool {
	if i.kept || q.kept >= q.mostKept {
		return i.kept
	}
	i.kept, i.event = true, nil
	q.kept++
	q.changed[i] = eventlog.SinkRetrying
	return true
}

// keepLine leaves the items of a line behind the cursor, while there is room.
func (q *queue) keepLine(l *line) {
	for _, i := range l.items {
		if !q.keepItem(i) {
			return
		}
	}
}

// takeDue returns at most limit items that are due, to be sent in one message. Items of one line
// follow one another; an item that failed before is sent alone.
func (q *queue) takeDue(now time.Time, limit int) (taken []*item) {
	for len(taken) < limit && len(q.ready) > 0 {
		l := q.ready[0]
		if l.head().due.After(now) || len(taken) > 0 && l.head().alone {
			break
		}
		heap.Pop(&q.ready)
		for _, i := range l.items {
			if len(taken) == limit || l.sending > 0 && (i.alone || i.due.After(now)) {
				break
			}
			taken = append(taken, i)
			l.sending++
			if i.alone {
				return taken
			}
		}
	}
	return taken
}

// due returns when the next line is due; false if none waits.
func (q *queue) due() (time.Time, bool) {
	if len(q.ready) == 0 {
		return time.Time{}, false
	}
	return q.ready[0].head().due, true
}

// drop removes an item that was sent: it is settled.
func (q *queue) drop(i *item) {
	if i.stored {
		q.settled = append(q.settled, i.row(0))
	}
	q.remove(i)
}

// giveUp removes an item that was sent, and records it as a dead letter.
func (q *queue) giveUp(i *item) {
	q.remove(i)
	q.changed[i] = eventlog.SinkDead
}

// giveUpIdle gives an item up whose line has nothing under way.
func (q *queue) giveUpIdle(i *item) {
	heap.Remove(&q.ready, i.line.place)
	q.giveUp(i)
	q.schedule(i.line)
}

// find returns the item with a number, or nil.
func (q *queue) find(number int64) *item {
	for _, l := range q.lines {
		for _, i := range l.items {
			if i.number == number {
				return i
			}
		}
	}
	return nil
}

// trigger makes every line due that has nothing under way.
func (q *queue) trigger(now time.Time) {
	for _, l := range q.ready {
		l.head().due = timing.Earlier(l.head().due, now)
	}
	heap.Init(&q.ready)
}

func (q *queue) remove(i *item) {
	i.done = true
	delete(q.changed, i)
	if i.kept {
		q.kept--
	}
	for at, other := range i.line.items {
		if other == i {
			i.line.items = append(i.line.items[:at], i.line.items[at+1:]...)
			break
		}
	}
}

// endSending ends the sending of items, including items that were dropped or given up.
func (q *queue) endSending(items []*item) {
	for _, i := range items {
		i.line.sending = 0
	}
	for _, i := range items {
		q.schedule(i.line)
	}
}

// onSaved marks the changes as recorded.
func (q *queue) onSaved() {
	for i := range q.changed {
		i.stored = true
	}
	clear(q.changed)
	q.settled = q.settled[:0]
}

// cursor returns a number: all events up to it were taken, or left behind.
func (q *queue) cursor() int64 {
	for len(q.window) > 0 && (q.window[0].done || q.window[0].kept) {
		q.window[0] = nil
		q.window = q.window[1:]
	}
	if len(q.window) > 0 {
		return q.window[0].number - 1
	}
	return q.read
}

// byDue orders lines by when their first items are due, implementing heap.Interface.
type byDue []*line

func (b byDue) Len() int { return len(b) }

func (b byDue) Less(x, y int) bool {
	one, other := b[x].head(), b[y].head()
	if !one.due.Equal(other.due) {
		return one.due.Before(other.due)
	}
	return one.number < other.number
}

func (b byDue) Swap(x, y int) {
	b[x], b[y] = b[y], b[x]
	b[x].place, b[y].place = x, y
}

// Push implements [heap.Interface].
func (b *byDue) Push(l any) {
	l.(*line).place = len(*b)
	*b = append(*b, l.(*line))
}

// Pop implements [heap.Interface].
func (b *byDue) Pop() any {
	last := (*b)[len(*b)-1]
	last.place = -1
	*b = (*b)[:len(*b)-1]
	return last
}
