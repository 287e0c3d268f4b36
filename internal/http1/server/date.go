package server

import (
	"net/http"
	"sync/atomic"
	"time"
)

// date caches the value of Date for a second.
type date struct {
	now atomic.Pointer[dateText]
}

type dateText struct {
	second int64
	text   string
}

func (d *date) append(to []byte, now time.Time) []byte {
	known := d.now.Load()
	if second := now.Unix(); known == nil || known.second != second {
		known = &dateText{second, now.UTC().Format(http.TimeFormat)}
		d.now.Store(known)
	}
	return append(to, known.text...)
}
