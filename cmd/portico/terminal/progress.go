package terminal

import (
	"fmt"
	"strings"
	"time"
)

// Progress shows the progress of long work: on a terminal a bar with rate and time left,
// elsewhere a line now and then.
type Progress struct {
	Name    string
	screen  *Screen
	now     func() time.Time
	samples []sample
	shown   time.Time
	last    string
	open    bool // the cursor is after the bar
}

// sample is how much was done at a time.
type sample struct {
	at   time.Time
	done int
}

// Bounds of the samples of a rate, and of how often it is shown.
const (
	rateTime   = 30 * time.Second
	mostSample = 64
	barPace    = 100 * time.Millisecond
	linePace   = time.Second
	barWidth   = 24
)

// NewProgress returns the progress of work with a name, on a screen.
func NewProgress(s *Screen, name string) *Progress {
	return &Progress{Name: name, screen: s, now: time.Now}
}

// Set records that done of so many parts are done. With 0 parts it shows nothing, because
// their number is not known yet.
func (p *Progress) Set(done, of int, note string) {
	if of <= 0 {
		return
	}
	now := p.now()
	p.sample(now, done)
	pace := linePace
	if p.screen.isTerminal {
		pace = barPace
	}
	state := fmt.Sprint(done, of, note)
	if done < of && !p.shown.IsZero() && now.Sub(p.shown) < pace || state == p.last && (!p.screen.isTerminal || done == of) {
		return
	}
	p.shown, p.last = now, state
	if !p.screen.isTerminal {
		line := fmt.Sprintf("%s: %d of %d", p.Name, done, of)
		if note != "" {
			line += ", " + note
		}
		fmt.Fprintln(p.screen, line)
		return
	}
	most, _ := p.screen.size()
	fmt.Fprint(p.screen, "\r", shorten(Clean(p.bar(now, done, of, note)), max(most-1, 0), CutEnd), "\x1b[K")
	p.open = true
}

// End ends the line of a bar.
func (p *Progress) End() {
	if p.open {
		fmt.Fprintln(p.screen)
		p.open = false
	}
}

func (p *Progress) bar(now time.Time, done, of int, note string) string {
	full := min(max(done, 0), of) * barWidth / of
	text := fmt.Sprintf("%s [%s%s] %d of %d", p.Name, strings.Repeat("#", full), strings.Repeat("-", barWidth-full), done, of)
	if rate := p.rate(now); rate > 0 {
		text += fmt.Sprintf(", %.1f/s", rate)
		if done < of {
			text += ", " + Duration(time.Duration(float64(of-done)/rate*float64(time.Second))) + " left"
		}
	}
	if note != "" {
		text += ", " + note
	}
	return text
}

// sample records how much was done, and drops old samples.
func (p *Progress) sample(now time.Time, done int) {
	if n := len(p.samples); n > 1 && now.Sub(p.samples[n-1].at) < rateTime/mostSample {
		p.samples[n-1].done = done
		return
	}
	p.samples = append(p.samples, sample{now, done})
	for len(p.samples) > 2 && now.Sub(p.samples[0].at) > rateTime {
		p.samples = p.samples[1:]
	}
}

// rate returns the recent number of parts per second.
func (p *Progress) rate(now time.Time) float64 {
	first := p.samples[0]
	passed := now.Sub(first.at).Seconds()
	if passed < 1 {
		return 0
	}
	return float64(p.samples[len(p.samples)-1].done-first.done) / passed
}
