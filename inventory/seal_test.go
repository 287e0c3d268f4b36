package inventory

import (
	"context"
	"errors"
	"testing"
	"time"
)

// While one caller waits for the key, another one that has no time does not wait
// for it too.
func TestTheKeyIsWaitedForAsLongAsOneHasTime(t *testing.T) {
	s := openTest(t, testOptions(t))
	release, queued := blocked(t, s)
	patient := make(chan error, 1)
	go func() {
		_, err := s.sealed(context.Background(), []byte("place"), []byte("text"))
		patient <- err
	}()
	queued(1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	hasty := make(chan error, 1)
	go func() {
		_, err := s.sealed(ctx, []byte("place"), []byte("text"))
		hasty <- err
	}()
	select {
	case err := <-hasty:
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("without a key: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("it waits although its time is over")
	}
	release()
	if err := <-patient; err != nil {
		t.Error(err)
	}
}
