package main

import (
	"errors"
	"net"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// However many handshakes fail, the log has a line of them in a minute, and each is
// told of.
func TestFailedHandshakesAreLoggedSparsely(t *testing.T) {
	core, lines := observer.New(zap.InfoLevel)
	failures := failedHandshakes{log: zap.New(core)}
	start := time.Unix(1e9, 0)
	for second := range 121 {
		failures.failed(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, errors.New("EOF"), start.Add(time.Duration(second)*time.Second))
	}
	var reported []int64
	for _, line := range lines.All() {
		reported = append(reported, line.ContextMap()["count"].(int64))
	}
	if len(reported) != 3 || reported[0] != 1 || reported[1] != 60 || reported[2] != 60 {
		t.Errorf("lines tell of %v", reported)
	}
}
