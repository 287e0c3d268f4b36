package batch

import (
	"errors"
	"net/http"
	"testing"

	"portico/config"
	"portico/limits"
)

// A panic beside a request of a batch is an error of the batch.
func TestPanicInABatch(t *testing.T) {
	const most = 1 << 20
	share := limits.NewMemory(most, most, nil).Reservation("", most)
	b := New(Options{
		Config:  &config.Config{Limits: config.Limits{AnswerBody: most / 4}, Batch: config.Batch{AtOnce: 1}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
	})
	s := sender{
		Batches: b, caller: &Caller{}, requests: []Request{{Method: "GET", URL: "/subscriptions?api-version=2021-04-01"}},
		todo: []int{0}, memory: share, keepsAnswers: true, onAnswer: func(int, []byte) error { panic("inner details") },
	}
	var p *limits.Panic
	if err := s.run(t.Context()); !errors.As(err, &p) || p.Value != "inner details" {
		t.Errorf("it ended with %v", err)
	}
	if held := share.Size(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}
