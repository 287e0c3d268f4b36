package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// What a burst of connections took is given back once they rest, though they stay open: of
// each is left what it needs to go on, and not what its answer took.
func TestMemoryOfABurstIsGivenBack(t *testing.T) {
	t.Parallel()
	const connections, ofEach = 4000, 10 << 10
	w := harness.NewWorld(t, harness.WorldOptions{})
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", machines+"vm", `{"location":"westus"}`)
	path := w.ResourcePath("rg", machines+"vm") + machineVersion
	w.Portico.Do(t, harness.Request{Path: path}).Want(t, 200)
	before := memoryFromSystem(t, w.Portico)
	address := strings.TrimPrefix(w.Portico.URL, "http://")
	open, slots := make([]net.Conn, connections), make(chan struct{}, 200)
	defer func() {
		for _, c := range open {
			if c != nil {
				_ = c.Close()
			}
		}
	}()
	var all sync.WaitGroup
	for i := range open {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			open[i] = c
			if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, address); err != nil {
				t.Error(err)
				return
			}
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("%v, %v", answer, err)
				return
			}
			_, err = io.Copy(io.Discard, answer.Body)
			if err = errors.Join(err, answer.Body.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	peak := memoryFromSystem(t, w.Portico) // where the burst took long, some was given back by now
	harness.Await(t, 100*time.Second, fmt.Sprintf("less than %d KiB more for each of %d connections than before; at first it was %d KiB", ofEach>>10, connections, (peak-before)/connections>>10), func() bool {
		time.Sleep(2 * time.Second) // to be asked all the time is no rest
		return memoryFromSystem(t, w.Portico) < before+connections*ofEach
	})
}

// memoryFromSystem is how much memory the runtime of a gateway has from the system. What the
// race detector takes for each byte of it, and never gives back, does not count.
func memoryFromSystem(t *testing.T, p *harness.Portico) int {
	t.Helper()
	return int(p.Metric(t, "go_memstats_sys_bytes") - p.Metric(t, "go_memstats_heap_released_bytes"))
}
