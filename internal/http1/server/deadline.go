package server

import "time"

// slack is the tolerated lateness of a socket's deadline. Deadlines move with
// each request, and setting one costs more than reading the clock.
const slack = time.Second

// deadline is one of the socket's two deadlines.
type deadline struct {
	onSocket time.Time // zero: none
}

// past is before any current time.
var past = time.Unix(1, 0)

// extend sets the socket's deadline to the given time, or a little later;
// zero removes it.
func (d *deadline) extend(set func(time.Time) error, at time.Time) {
	if at.IsZero() {
		if !d.onSocket.IsZero() {
			d.exactly(set, at)
		}
		return
	}
	if d.onSocket.IsZero() || d.onSocket.Before(at) || d.onSocket.Sub(at) > slack {
		d.exactly(set, at.Add(slack))
	}
}

func (d *deadline) exactly(set func(time.Time) error, at time.Time) {
	d.onSocket = at
	_ = set(at) // if it fails, the next read or write fails
}
