package memory

import (
	"sync"
	"testing"
	"time"
)

// What is kept is bounded by its size: older values make room, a value larger than all
// that may be is not kept, and one that is replaced counts once.
func TestSizesAreBounded(t *testing.T) {
	now := time.Now()
	table, err := newLRUTable[int](tableBounds{Entries: 1 << 20, TTL: time.Hour, Started: now, Bytes: shards * 100})
	if err != nil {
		t.Fatal(err)
	}
	keys := newHashes()
	sum := func() (all int64) {
		for i := range table.shards {
			s := &table.shards[i]
			var held int64
			for _, e := range s.Values() {
				held += e.size
			}
			if held != s.bytes.Load() || held > 100 {
				t.Errorf("%d bytes are held, %d counted", held, s.bytes.Load())
			}
			all += held
		}
		return all
	}
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for i := range 2000 {
				at := keys.KeyOf(string(rune(i % 300)))
				table.KeepSized(at, i, 1+(i+worker)%50, now)
				if i%7 == 0 {
					table.Forget(at)
				}
			}
		})
	}
	wait.Wait()
	if n := sum(); n < shards*20 {
		t.Errorf("only %d bytes are held", n)
	}
	at := keys.KeyOf("large")
	table.KeepSized(at, 1, 100, now)
	if table.Get(at, now) == nil {
		t.Error("what just fits is not kept")
	}
	table.KeepSized(at, 2, 101, now)
	if table.Get(at, now) != nil {
		t.Error("what is too large is kept, or what was before it")
	}
	sum()
}
