package engine

import (
	"crypto/rand"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// dialect holds the differences between engines: the form of arguments, whether rows
// are locked one by one, and whose clock counts. Their sessions differ in how a
// transaction begins, and how it commits without waiting for the disk.
type dialect struct {
	// numbered: arguments are $1, $2 and so on instead of ?.
	numbered bool
	// locksRows: FOR UPDATE is known; without it the engine has one writer.
	locksRows bool
	// now is the store's time.
	now func() time.Time
}

// ForUpdate ends a query that locks the rows it finds.
const ForUpdate = " FOR UPDATE"

// text is a statement in the engine's form. Every question mark in it is an argument.
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

// texts caches statements in the engine's form. Sessions and readers share them.
type texts struct {
	dialect dialect
	known   sync.Map // by statement
}

func (t *texts) of(statement string) string {
	if text, known := t.known.Load(statement); known {
		return text.(string)
	}
	text := t.dialect.text(statement)
	t.known.Store(statement, text)
	return text
}

// arguments returns the arguments of a statement in a form that every engine accepts.
// U+FFFD replaces NUL and invalid UTF-8: names never contain them, and other texts of
// clients and providers lose nothing else.
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

// Micros converts a time to the stored form, Moment converts it back.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Moment returns the stored time.
func Moment(stored int64) time.Time { return time.UnixMicro(stored).UTC() }

// Flag is the stored form of a bool.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// AtMost is the stored form of a limit: none for 0.
func AtMost(limit int) int64 {
	if limit <= 0 {
		return math.MaxInt64
	}
	return int64(limit)
}

// NewID returns a random id for a stored object.
func NewID() (id [16]byte) {
	rand.Read(id[:]) // never fails
	return id
}
