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
	longestFeed = 10 * time.Minute // the reader then opens another stream
	feedWrite   = 10 * time.Second // for one message
	feedSign    = 15 * time.Second // between keep-alive messages
)

// streamChanges answers readers that accept server-sent events: one message per event, with
// the event's token as its id.
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

// stream streams changes. It returns an error only before the answer has started.
func (l *listener) stream(w http.ResponseWriter, r *http.Request) error {
	wanted, err := l.feedQuery(r)
	if err != nil {
		return err
	}
	leave, err := l.waiting.add(r)
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
	for l.stillAuthorized(r) && s.send(read) && !l.Draining() && (read.more || timing.Sleep(ctx, feedInterval) == nil) {
		wanted.after, wanted.withoutToken = read.last, false
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
	at   int64     // the number in the last id sent
	sign time.Time // when the last message was sent
}

// send sends events and keep-alive messages. These have an id too, so that a reader whose
// filter matches few events can resume from there.
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

// write sends a message and reports whether the reader took it within feedWrite.
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
