package health

import "time"

// window counts the calls of the last while, in two halves: the one that is
// being filled and the one before.
type window struct {
	began       time.Duration // of the half at hand
	now, before half
}

type half struct {
	calls, errors int
	answers       int
	took          time.Duration // all answers together
}

// turn moves on to the half of now.
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

// errorRatio is the share of the calls that came to nothing.
func (w *window) errorRatio() float64 {
	return float64(w.now.errors+w.before.errors) / float64(max(1, w.calls()))
}

// mean is how long answers took; ok is false where fewer than enough came.
func (w *window) mean(enough int) (mean time.Duration, ok bool) {
	answers := w.now.answers + w.before.answers
	if answers < max(1, enough) {
		return 0, false
	}
	return (w.now.took + w.before.took) / time.Duration(answers), true
}
