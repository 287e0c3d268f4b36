package inventory

import (
	"strconv"
	"strings"
	"time"
)

// dialect is what engines differ in: how arguments are written, whether rows are
// locked one by one, and whose time counts. How a transaction begins, and how it
// commits without waiting for the disk, is their session's; there is nothing
// else. SQL texts are written with ? for arguments and FOR UPDATE where a row has
// to be locked; text adapts them.
type dialect struct {
	// numbered: arguments are $1, $2 and so on instead of ?.
	numbered bool
	// locksRows: FOR UPDATE is known; without it the engine has one writer.
	locksRows bool
	// now is the store's time.
	now func() time.Time
}

const lockSuffix = " FOR UPDATE"

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
