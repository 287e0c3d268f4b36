package main

import (
	"bytes"
	"io"
	"log"
	"sync"
	"time"

	"go.uber.org/zap"

	"portico/cmd/portico/terminal"
	"portico/config"
	"portico/internal/logs"
)

// newLog returns the log of a process on its standard error.
func newLog(format, level string, stderr io.Writer) (*zap.Logger, error) {
	return logs.New(level, stderr, format == config.LogText || format == config.LogAuto && terminal.On(stderr).IsTerminal())
}

// serverLinesPerMinute bounds what net/http logs by itself: strangers cause such lines,
// one for each connection that breaks its protocol.
const serverLinesPerMinute = 60

// serverLog writes the lines of an [http.Server] to the log, a bounded number a minute;
// it counts the others, and reports their number with the next minute's first line.
type serverLog struct {
	log *zap.Logger
	now func() time.Time

	mu              sync.Mutex
	minute          time.Time // when the current one began
	passed, omitted int
}

// newServerLog returns a logger for [http.Server.ErrorLog].
func newServerLog(to *zap.Logger) *log.Logger {
	return log.New(&serverLog{log: to, now: time.Now}, "", 0)
}

// Write implements [io.Writer] for a [log.Logger], which writes a line at a time.
func (s *serverLog) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); now.Sub(s.minute) >= time.Minute {
		if s.omitted > 0 {
			s.log.Info("the HTTP server's log was shortened", zap.Int("omitted", s.omitted))
		}
		s.minute, s.passed, s.omitted = now, 0, 0
	}
	if s.passed == serverLinesPerMinute {
		s.omitted++
		return len(line), nil
	}
	s.passed++
	s.log.Info(string(bytes.TrimSpace(line)))
	return len(line), nil
}
