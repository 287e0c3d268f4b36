package main

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// However much net/http has to say, some lines in a minute are logged; what is left
// out is counted.
func TestServerLogIsBounded(t *testing.T) {
	core, logged := observer.New(zap.InfoLevel)
	now := time.Unix(1000, 0)
	s := &serverLog{log: zap.New(core), now: func() time.Time { return now }}
	write := func(lines int) {
		for i := range lines {
			fmt.Fprintf(s, "line %d\n", i)
		}
	}
	write(serverLinesPerMinute + 7)
	if n := logged.Len(); n != serverLinesPerMinute {
		t.Errorf("%d lines in the first minute", n)
	}
	if first := logged.TakeAll()[0].Message; first != "line 0" {
		t.Errorf("the first is %q", first)
	}
	now = now.Add(time.Minute)
	write(1)
	reported := logged.TakeAll()
	if len(reported) != 2 || reported[0].ContextMap()["omitted"] != int64(7) || reported[1].Message != "line 0" {
		t.Errorf("after the first minute: %v", reported)
	}
	now = now.Add(time.Minute)
	write(1)
	if n := logged.Len(); n != 1 {
		t.Errorf("%d lines after a minute of which nothing was left out", n)
	}
}
