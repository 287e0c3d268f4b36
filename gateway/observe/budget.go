package observe

import (
	"sync"
	"time"
)

// refusalsPerMinute is how many refusals of one caller make events in a minute, on each
// replica: more than a person or a deployment meets, and for a caller that does nothing
// else some 90 MB a day.
const refusalsPerMinute = 60

// mostCallers bounds the callers that are counted apart in one minute. Further ones share
// what one may have.
const mostCallers = 10_000

// budget counts the refusals of callers, minute by minute.
type budget struct {
	most int

	mu           sync.Mutex
	minute       int64
	counts, last map[string]*count
}

// count is what one caller was refused in one minute.
type count struct{ recorded, omitted int }

func newBudget(most int) *budget {
	return &budget{most: most, counts: map[string]*count{}, last: map[string]*count{}}
}

// take reports whether a refusal of a caller makes an event. omitted is how many made none
// in the minute before, for the first event after it.
func (b *budget) take(caller string, now time.Time) (ok bool, omitted int) {
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
	if c.recorded >= b.most {
		c.omitted++
		return false, 0
	}
	c.recorded++
	if before := b.last[caller]; before != nil {
		omitted, before.omitted = before.omitted, 0
	}
	return true, omitted
}
