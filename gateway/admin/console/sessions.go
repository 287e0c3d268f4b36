package console

import (
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

// Bounds of sessions.
const (
	longest  = 8 * time.Hour
	idle     = time.Hour // without an action of the user
	mostEach = 16        // sessions of one token; the next one ends the least recently used
)

// Sessions are the console sessions of this gateway. They are kept in memory only, so a
// restart ends them. It is safe for concurrent use.
type Sessions struct {
	now func() time.Time

	mu  sync.Mutex
	all map[[sha256.Size]byte]*session // by the hash of their ids
}

type session struct {
	token         string // its hash, as the configuration has it
	started, used time.Time
}

func (s *session) ended(now time.Time) bool {
	return now.Sub(s.started) >= longest || now.Sub(s.used) >= idle
}

// NewSessions returns an empty set of sessions, with now as its clock.
func NewSessions(now func() time.Time) *Sessions {
	return &Sessions{now: now, all: map[[sha256.Size]byte]*session{}}
}

// Begin starts a session for the token with the given hash and returns the session's id.
func (s *Sessions) Begin(token string) (id string) {
	id = rand.Text()
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetEnded(now)
	s.makeRoom(token)
	s.all[sha256.Sum256([]byte(id))] = &session{token, now, now}
	return id
}

func (s *Sessions) forgetEnded(now time.Time) {
	for key, one := range s.all {
		if one.ended(now) {
			delete(s.all, key)
		}
	}
}

// makeRoom ends the least recently used sessions of a token, so that it may have one more.
func (s *Sessions) makeRoom(token string) {
	var own [][sha256.Size]byte
	for key, one := range s.all {
		if one.token == token {
			own = append(own, key)
		}
	}
	slices.SortFunc(own, func(a, b [sha256.Size]byte) int { return s.all[b].used.Compare(s.all[a].used) })
	for _, key := range own[min(len(own), mostEach-1):] {
		delete(s.all, key)
	}
}

// Token returns the hash of the token that a session was started with; ok is false if there is
// no such session. If person is set, the session's idle time starts again.
func (s *Sessions) Token(id string, person bool) (token string, ok bool) {
	key, now := sha256.Sum256([]byte(id)), s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[key]
	if one == nil {
		return "", false
	}
	if one.ended(now) {
		delete(s.all, key)
		return "", false
	}
	if person {
		one.used = now
	}
	return one.token, true
}

// End ends a session.
func (s *Sessions) End(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sha256.Sum256([]byte(id)))
}
