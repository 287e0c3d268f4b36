package server

import "time"

// slack is how much later than wanted a deadline of the socket may be. Deadlines move
// on with each request, and to set one costs more than to read the clock.
const slack = time.Second

// deadline is one of the socket's two deadlines.
type deadline struct {
	onSocket time.Time // zero: none
}

// past is before all times.
var past = time.Unix(1, 0)

// until sees to it that the socket's deadline is at the given time, or a little later;
// zero: that there is none.
func (d *deadline) until(set func(time.Time) error, at time.Time) {
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
	_ = set(at) // a connection that refuses it fails at the next read or write
}
