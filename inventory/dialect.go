package inventory

import (
	"strconv"
	"strings"
	"time"
)

// dialect is all that engines may differ in. SQL texts are written with ? for
// arguments and FOR UPDATE where a row has to be locked; text adapts them.
type dialect struct {
	// numbered: arguments are $1, $2 and so on instead of ?.
	numbered bool
	// begin starts a transaction that writes.
	begin string
	// locksRows: FOR UPDATE is known; without it the engine has one writer.
	locksRows bool
	// flushed and unflushed are run before a transaction: its commit waits for
	// the disk, or need only be visible.
	flushed, unflushed string
	// now is the store's time.
	now func() time.Time
}

const lockSuffix = " FOR UPDATE"

func sqliteDialect(now func() time.Time) dialect {
	return dialect{
		begin: "BEGIN IMMEDIATE",
		// In WAL mode NORMAL leaves the flush to the next FULL commit or
		// checkpoint: a power cut may lose the last commits, never their order.
		flushed:   "PRAGMA synchronous = FULL",
		unflushed: "PRAGMA synchronous = NORMAL",
		now:       now,
	}
}

// text is a statement as the engine wants it. No text of this package holds a
// question mark but for an argument.
func (d dialect) text(statement string) string {
	if !d.locksRows {
		statement = strings.ReplaceAll(statement, lockSuffix, "")
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

// micros and moment turn times into what is stored and back.
func micros(t time.Time) int64 { return t.UnixMicro() }

func moment(stored int64) time.Time { return time.UnixMicro(stored).UTC() }

// flag is a bool as it is stored.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
