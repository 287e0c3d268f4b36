package engine

import (
	"crypto/rand"
	"math"
	"strconv"
	"strings"
	"time"
)

// dialect is what engines differ in: how arguments are written, whether rows are
// locked one by one, and whose time counts. Their sessions differ in how a
// transaction begins, and how it commits without waiting for the disk.
type dialect struct {
	// numbered: arguments are $1, $2 and so on instead of ?.
	numbered bool
	// locksRows: FOR UPDATE is known; without it the engine has one writer.
	locksRows bool
	// now is the store's time.
	now func() time.Time
}

// ForUpdate ends a query that locks the rows which it finds.
const ForUpdate = " FOR UPDATE"

// text is a statement as the engine wants it. A question mark in it always stands
// for an argument.
func (d dialect) text(statement string) string {
	if !d.locksRows {
		statement = strings.ReplaceAll(statement, ForUpdate, "")
	}
	if !d.numbered {
		return statement
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(statement, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		statement = after
	}
}

// arguments are those of a statement as every engine takes them. NUL, and what
// is not UTF-8, is replaced by U+FFFD: names never contain it, and of what
// clients and providers say beside names no more than that is lost.
func arguments(args []any) []any {
	for i, a := range args {
		if text, ok := a.(string); ok {
			if plain := plain(text); plain != text {
				args[i] = plain
			}
		}
	}
	return args
}

func plain(text string) string {
	const replacement = "\uFFFD"
	return strings.ReplaceAll(strings.ToValidUTF8(text, replacement), "\x00", replacement)
}

// Micros and Moment turn times into what is stored and back.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Moment is the time that was stored.
func Moment(stored int64) time.Time { return time.UnixMicro(stored).UTC() }

// Flag is a bool as it is stored.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// AtMost is a limit as it is stored: none for 0.
func AtMost(limit int) int64 {
	if limit <= 0 {
		return math.MaxInt64
	}
	return int64(limit)
}

// NewID makes a random identity of what is stored.
func NewID() (id [16]byte) {
	rand.Read(id[:]) // never fails
	return id
}
