package headers

import "net/http"

// Lines sets headers of one message. Their values lie in one array: a message costs
// one allocation, not one for each header. The zero Lines with a Header is ready for
// use. Once a header was set, the Lines must not be used for another message.
type Lines struct {
	Header http.Header

	values [stamps]string
	set    int
}

// stamps is the room for the headers that the gateway adds to a message.
const stamps = 16

// Set sets a header, whose name must be canonical, to one value.
func (l *Lines) Set(name, value string) {
	if l.set == len(l.values) {
		l.Header[name] = []string{value}
		return
	}
	l.values[l.set] = value
	l.Header[name] = l.values[l.set : l.set+1 : l.set+1]
	l.set++
}
