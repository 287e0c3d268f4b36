package http1

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Where many requests are at work, a connection lets others go on before it reads its next
// one. Each client gets its own answers all the same.
func TestCrowd(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(10 * time.Millisecond)
		}
		_, _ = io.WriteString(w, r.URL.RawQuery)
	})
	ended := make(chan struct{})
	var clients sync.WaitGroup
	for i := range 4 * crowd * 2 {
		c := s.dial(t)
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-ended:
					return
				default:
				}
				path := "/"
				if n%2 == 0 {
					path = "/slow"
				}
				content := fmt.Sprintf("%d-%d", i, n)
				if _, err := fmt.Fprintf(c, "GET %s?%s HTTP/1.1\r\nHost: a\r\n\r\n", path, content); err != nil {
					t.Error(err)
					return
				}
				answer, err := http.ReadResponse(c.read, nil)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(answer.Body)
				_ = answer.Body.Close() // read to its end, or failed
				if err != nil || string(got) != content {
					t.Errorf("got %q, %v, want %q", got, err, content)
					return
				}
			}
		})
	}
	await(t, "a crowd", func() bool { return s.watch.crowded.Load() })
	time.Sleep(200 * time.Millisecond) // the clients go on meanwhile
	close(ended)
	clients.Wait()
	await(t, "the crowd's end", func() bool { return !s.watch.crowded.Load() })
}
