package storetest

import (
	"context"
	"sync"
	"testing"
	"time"
)

// A secret is made once, by whichever caller is first, and survives the store's
// processes.
func testSecrets(t *testing.T, database Database) {
	open := database(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	options := Options(NewClock())
	store, err := open(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	const askers = 8
	var keys [askers][32]byte
	var wait sync.WaitGroup
	for i := range askers {
		wait.Go(func() {
			var err error
			if keys[i], err = store.Secrets.Named(ctx, "tokens"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, key := range keys {
		if key != keys[0] || key == ([32]byte{}) {
			t.Errorf("%x and %x", key, keys[0])
		}
	}
	if other, err := store.Secrets.Named(ctx, "other"); err != nil || other == keys[0] {
		t.Errorf("%x, %v", other, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if store, err = open(ctx, options); err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if again, err := store.Secrets.Named(ctx, "tokens"); err != nil || again != keys[0] {
		t.Errorf("%x, then %x, %v", keys[0], again, err)
	}
}
