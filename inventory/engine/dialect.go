package engine

import (
	"crypto/rand"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// dialect holds the differences between the engines' SQL and clocks. Their sessions also
// differ in how a transaction begins, and how it commits without waiting for the disk.
type dialect struct {
	// numbered: placeholders are $1, $2 and so on instead of ?.
	numbered bool
	// locksRows: the engine supports FOR UPDATE. Otherwise it has one writer.
	locksRows bool
	// now returns the store's time.
	now func() time.Time
}

// ForUpdate is the last part of a query that locks the rows it finds.
const ForUpdate = " FOR UPDATE"

// translate returns a statement in the engine's dialect. Every question mark in it must be
// a placeholder.
func (d dialect) translate(statement string) string {
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

// texts caches translated statements. Sessions and readers share them.
type texts struct {
	dialect dialect
	known   sync.Map // by statement
}

func (t *texts) get(statement string) string {
	if text, known := t.known.Load(statement); known {
		return text.(string)
	}
	text := t.dialect.translate(statement)
	t.known.Store(statement, text)
	return text
}

// arguments makes the arguments of a statement acceptable to every engine, in place:
// U+FFFD replaces NUL and invalid UTF-8. Names never contain these; other texts of clients
// and providers lose nothing else.
func arguments(args []any) []any {
	for i, a := range args {
		if text, ok := a.(string); ok {
			if plain := validText(text); plain != text {
				args[i] = plain
			}
		}
	}
	return args
}

func validText(text string) string {
	const replacement = "\uFFFD"
	return strings.ReplaceAll(strings.ToValidUTF8(text, replacement), "\x00", replacement)
}

// Micros converts a time to its stored form. Moment converts it back.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// TimeOf returns the time that Micros stored.
func TimeOf(stored int64) time.Time { return time.UnixMicro(stored).UTC() }

// Flag converts a bool to its stored form.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// LimitArg returns the argument of a LIMIT; 0 means no limit.
func LimitArg(limit int) int64 {
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
