package server

import (
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

// wanting is a listener that lacks something before each of its errors is used up.
type wanting struct {
	net.Listener
	lacks []error
}

func (w *wanting) Accept() (net.Conn, error) {
	if len(w.lacks) == 0 {
		return nil, net.ErrClosed
	}
	err := w.lacks[0]
	w.lacks = w.lacks[1:]
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
}

// A listener that lacks files is asked again, in growing pauses, and one that has ended is
// not.
func TestAcceptsAgainAfterALack(t *testing.T) {
	t.Parallel()
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var said lines
	s := New(Options{Handler: http.NotFoundHandler(), ErrorLog: log.New(&said, "", 0)})
	if err := s.Serve(&wanting{inner, []error{syscall.EMFILE, syscall.ENFILE, syscall.EMFILE}}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it ended by %v", err)
	}
	if text := said.String(); strings.Count(text, "retrying in") != 3 || !strings.Contains(text, "too many open files; retrying in 5ms") || !strings.Contains(text, "retrying in 20ms") {
		t.Errorf("the log says %s", text)
	}
}
