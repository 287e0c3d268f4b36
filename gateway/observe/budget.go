package observe

import (
	"sync"
	"time"
)

// refusalsPerMinute bounds the events for refusals of one caller per minute and replica. It is
// more than a person or a deployment causes, and at most some 90 MB a day for one caller.
const refusalsPerMinute = 60

// mostCallers bounds the callers that are counted separately in a minute. Further callers share
// one count.
const mostCallers = 10_000

// budget counts the refusals of callers, minute by minute.
type budget struct {
	perMinute int

	mu           sync.Mutex
	minute       int64
	counts, last map[string]*count
}

// count counts the refusals of one caller in one minute.
type count struct{ recorded, omitted int }

func newBudget(perMinute int) *budget {
	return &budget{perMinute: perMinute, counts: map[string]*count{}, last: map[string]*count{}}
}

// countRefusal counts a refusal and reports whether an event is recorded for it. For the first
// event of a minute, omitted is the number of refusals without an event in the minute before.
func (b *budget) countRefusal(caller string, now time.Time) (ok bool, omitted int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if minute := now.Unix() / 60; minute != b.minute {
		b.minute, b.last, b.counts = minute, b.counts, map[string]*count{}
	}
	c := b.counts[caller]
	if c == nil {
		if len(b.counts) >= mostCallers {
			caller = ""
		}
		if c = b.counts[caller]; c == nil {
			c = &count{}
			b.counts[caller] = c
		}
	}
	if c.recorded >= b.perMinute {
		c.omitted++
		return false, 0
	}
	c.recorded++
	if before := b.last[caller]; before != nil {
		omitted, before.omitted = before.omitted, 0
	}
	return true, omitted
}
