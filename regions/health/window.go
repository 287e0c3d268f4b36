package health

import "time"

// window counts the calls of a sliding window in two halves, the current and the
// previous one.
type window struct {
	began       time.Duration // of the current half
	now, before half
}

type half struct {
	calls, errors int
	answers       int
	took          time.Duration // in total
}

// rotate starts a new half if the current one is over.
func (w *window) rotate(length, now time.Duration) {
	switch passed := now - w.began; {
	case passed < length/2:
		return
	case passed < length:
		w.before = w.now
	default:
		w.before = half{}
	}
	w.now, w.began = half{}, now
}

func (w *window) calls() int { return w.now.calls + w.before.calls }

// errorRatio returns the share of calls that failed or got a 5xx.
func (w *window) errorRatio() float64 {
	return float64(w.now.errors+w.before.errors) / float64(max(1, w.calls()))
}

// mean returns the mean latency; ok is false if there were fewer answers than
// enough.
func (w *window) mean(enough int) (mean time.Duration, ok bool) {
	answers := w.now.answers + w.before.answers
	if answers < max(1, enough) {
		return 0, false
	}
	return (w.now.took + w.before.took) / time.Duration(answers), true
}
