package client

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"
)

// systemReads is how many system calls that read this process has made.
func systemReads(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip(err)
	}
	_, after, _ := bytes.Cut(text, []byte("syscr: "))
	if _, err := fmt.Sscan(string(after), &n); err != nil {
		t.Skip(err)
	}
	return n
}

// slowly answers requests whose one read is the only one that it makes for each, some
// time after they have come.
func slowly(_ int64, conn net.Conn, _ *requests) {
	tcp, _ := conn.(*net.TCPConn)
	file, err := tcp.File() // a copy of the socket that waits in its reads
	if err != nil {
		return
	}
	defer file.Close()
	fd := int(file.Fd())
	in, answer := make([]byte, 64<<10), []byte(typicalAnswer)
	for {
		if n, err := syscall.Read(fd, in); n <= 0 || err != nil {
			return
		}
		pause := syscall.NsecToTimespec(int64(time.Millisecond))
		_ = syscall.Nanosleep(&pause, nil) // a timer of the runtime would read as well
		if _, err := syscall.Write(fd, answer); err != nil {
			return
		}
	}
}

// A read on a used connection looks at it, and reads the answer: two system calls. What
// follows the look need not be looked for again before it is waited for.
func TestSystemCallsOfARead(t *testing.T) {
	c := newPeer(t, slowly).client(t)
	request := Request{Method: http.MethodGet, Path: "/subscriptions/0", Query: "api-version=1", Header: typicalRequest()}
	into := make([]byte, 4<<10)
	call := func() {
		response, err := c.Do(t.Context(), &request)
		drain(t, response, err, into)
	}
	call()
	const calls = 200
	before := systemReads(t)
	for range calls {
		call()
	}
	got := float64(systemReads(t)-before) / calls
	t.Logf("%v system calls that read, with the peer's", got)
	if got > 3.5 {
		t.Errorf("%v system calls that read for a call, its peer's one included, want 3", got)
	}
}
