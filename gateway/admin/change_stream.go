package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"portico/internal/timing"
)

// Times of a stream of changes.
const (
	longestFeed = 10 * time.Minute // its reader goes on by another
	feedWrite   = 10 * time.Second // for a reader to take an event
	feedSign    = 15 * time.Second // between signs of life
)

// streamChanges answers a reader that accepts server-sent events: one message for each
// event, whose id is the token behind it.
func (l *listener) streamChanges(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/admin/changes" || !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			next.ServeHTTP(w, r)
			return
		}
		if err := l.stream(w, r); err != nil {
			l.refuse(w, r, err)
		}
	})
}

// stream streams changes. The error is for a reader who gets no stream: what is wrong is
// found out before the answer begins.
func (l *listener) stream(w http.ResponseWriter, r *http.Request) error {
	wanted, err := l.feedQuery(r)
	if err != nil {
		return err
	}
	leave, err := l.waiting.take(r)
	if err != nil {
		return err
	}
	defer leave()
	wanted.limit = readAtOnce
	ctx, cancel := context.WithTimeout(r.Context(), longestFeed)
	defer cancel()
	read, err := l.readFeed(ctx, wanted)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	s := feedStream{listener: l, w: w, out: http.NewResponseController(w), at: wanted.after}
	for l.stays(r) && s.send(read) && !l.Draining() && (read.more || timing.Sleep(ctx, feedInterval) == nil) {
		wanted.after, wanted.anywhere = read.last, false
		if read, err = l.readFeed(ctx, wanted); err != nil {
			return nil // the reader's next request reports the gap
		}
	}
	return nil
}

// feedStream is a stream to one reader.
type feedStream struct {
	*listener
	w    http.ResponseWriter
	out  *http.ResponseController
	at   int64     // where the reader knows to be
	sign time.Time // when the last message was sent
}

// send sends what was read, and signs of life: they have an id, too, so that a reader
// that has been told nothing yet, or wants little, goes on from there.
func (s *feedStream) send(read feedPart) bool {
	for _, t := range read.events {
		if !s.write(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", s.feedToken(t.number), t.typ, t.text)) {
			return false
		}
		s.at = t.number
	}
	if s.at != read.last && read.more || time.Since(s.sign) >= feedSign {
		s.at = read.last
		return s.write(fmt.Sprintf(": still here\nid: %s\n\n", s.feedToken(read.last)))
	}
	return true
}

// write sends a message, for which the reader has a bounded time.
func (s *feedStream) write(message string) bool {
	if s.out.SetWriteDeadline(time.Now().Add(feedWrite)) != nil {
		return false
	}
	if _, err := s.w.Write([]byte(message)); err != nil {
		return false
	}
	s.sign = time.Now()
	return s.out.Flush() == nil
}
