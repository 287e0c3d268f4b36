package function

import (
	"strconv"
	"strings"
	"time"
)

// standardDates maps the letters of .NET's standard formats to custom formats, in the invariant
// culture.
var standardDates = map[byte]string{
	'd': "MM/dd/yyyy",
	'D': "dddd, dd MMMM yyyy",
	'f': "dddd, dd MMMM yyyy HH:mm",
	'F': "dddd, dd MMMM yyyy HH:mm:ss",
	'g': "MM/dd/yyyy HH:mm",
	'G': "MM/dd/yyyy HH:mm:ss",
	'm': "MMMM dd",
	'M': "MMMM dd",
	'o': "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffffK",
	'O': "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffffK",
	'r': "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'",
	'R': "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'",
	's': "yyyy'-'MM'-'dd'T'HH':'mm':'ss",
	't': "HH:mm",
	'T': "HH:mm:ss",
	'u': "yyyy'-'MM'-'dd HH':'mm':'ss'Z'",
	'U': "dddd, dd MMMM yyyy HH:mm:ss",
	'y': "yyyy MMMM",
	'Y': "yyyy MMMM",
}

// formatDate formats a UTC time with one of .NET's formats, standard or custom.
func formatDate(t time.Time, format string) (string, error) {
	if len(format) == 1 {
		custom, ok := standardDates[format[0]]
		if !ok {
			return "", errComposite
		}
		format = custom
	}
	if len(format) == 2 && format[0] == '%' {
		format = format[1:]
	}
	var text []byte
	for i := 0; i < len(format); {
		var n int
		var err error
		if c := format[i]; strings.IndexByte("dfFghHKmMstyz", c) >= 0 {
			n = runLength(format[i:])
			text, err = appendDatePart(text, t, c, n)
		} else {
			text, n, err = appendLiteral(text, format[i:])
		}
		if err != nil {
			return "", err
		}
		i += n
	}
	return string(text), nil
}

// runLength returns how often the first byte is repeated at the start.
func runLength(format string) int {
	n := 1
	for n < len(format) && format[n] == format[0] {
		n++
	}
	return n
}

// appendLiteral appends the literal at the start of a format, and returns its length in the format.
func appendLiteral(to []byte, format string) (text []byte, length int, err error) {
	switch c := format[0]; c {
	case '\'', '"':
		for i := 1; i < len(format); i++ {
			switch {
			case format[i] == c:
				return to, i + 1, nil
			case format[i] == '\\' && i+1 < len(format):
				i++
			}
			to = append(to, format[i])
		}
		return nil, 0, errComposite
	case '\\':
		if len(format) == 1 {
			return nil, 0, errComposite
		}
		return append(to, format[1]), 2, nil
	case '%':
		if len(format) == 1 || format[1] == '%' {
			return nil, 0, errComposite
		}
		return to, 1, nil
	}
	return append(to, format[0]), 1, nil
}

// ticks is the number of .NET's time units in a second.
const ticks = 10_000_000

func appendDatePart(to []byte, t time.Time, c byte, n int) ([]byte, error) {
	switch c {
	case 'd':
		return appendNamed(to, n, t.Day(), t.Weekday().String()), nil
	case 'M':
		return appendNamed(to, n, int(t.Month()), t.Month().String()), nil
	case 'f', 'F':
		return appendFraction(to, t, c, n)
	case 'g':
		return append(to, "A.D."...), nil
	case 'h':
		return appendPadded(to, (t.Hour()+11)%12+1, min(n, 2)), nil
	case 'H':
		return appendPadded(to, t.Hour(), min(n, 2)), nil
	case 'm':
		return appendPadded(to, t.Minute(), min(n, 2)), nil
	case 's':
		return appendPadded(to, t.Second(), min(n, 2)), nil
	case 't':
		return append(to, t.Format("PM")[:min(n, 2)]...), nil
	case 'y':
		if n <= 2 {
			return appendPadded(to, t.Year()%100, n), nil
		}
		return appendPadded(to, t.Year(), n), nil
	case 'K':
		return append(to, strings.Repeat("Z", n)...), nil
	}
	return append(to, [...]string{"+0", "+00", "+00:00"}[min(n, 3)-1]...), nil // z
}

func appendPadded(to []byte, n, digits int) []byte {
	text := strconv.Itoa(n)
	for ; digits > len(text); digits-- {
		to = append(to, '0')
	}
	return append(to, text...)
}

// appendNamed appends a number of one or two digits, or its name, abbreviated to three letters or
// complete.
func appendNamed(to []byte, n, number int, name string) []byte {
	switch {
	case n <= 2:
		return appendPadded(to, number, n)
	case n == 3:
		return append(to, name[:3]...)
	}
	return append(to, name...)
}

func appendFraction(to []byte, t time.Time, c byte, n int) ([]byte, error) {
	if n > 7 {
		return nil, errComposite
	}
	digits := appendPadded(nil, t.Nanosecond()/(int(time.Second)/ticks), 7)[:n]
	if c == 'f' {
		return append(to, digits...), nil
	}
	trimmed := strings.TrimRight(string(digits), "0")
	if trimmed == "" && len(to) > 0 && to[len(to)-1] == '.' {
		return to[:len(to)-1], nil
	}
	return append(to, trimmed...), nil
}

// layouts are the accepted date formats, as layouts of package time. Without a zone, the time is
// UTC.
var layouts = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04:05",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04:05",
	"20060102T150405Z07:00", "20060102T150405Z0700", "20060102T150405",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04Z07:00", "2006-01-02 15:04",
	"2006-01-02", "2006-01-02Z07:00", "20060102",
	"1/2/2006 3:04:05 PM", "1/2/2006 15:04:05", "1/2/2006 15:04", "1/2/2006",
	"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02 January 2006 15:04:05", "Monday, 02 January 2006",
}

// parseDate parses a date and converts it to UTC.
func parseDate(text string) (t time.Time, ok bool) {
	text = strings.TrimSpace(text)
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), inRange(t.UTC())
		}
	}
	return time.Time{}, false
}

// inRange reports whether .NET can represent the time.
func inRange(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

// isoDate formats a date as ARM does by default, with a fraction of a second only if it is not
// zero.
func isoDate(t time.Time) string {
	return t.Truncate(time.Second / ticks).Format("2006-01-02T15:04:05.999999999Z")
}

// parseDuration parses an ISO 8601 duration as ARM does: a year has 365 days, a month 30. Whole
// days are returned separately, because a time.Duration holds at most 292 years.
func parseDuration(text string) (days int, rest time.Duration, ok bool) {
	text, negative := strings.CutPrefix(text, "-")
	text, ok = strings.CutPrefix(text, "P")
	date, clock, timed := strings.Cut(text, "T")
	if !ok || text == "" || (timed && clock == "") {
		return 0, 0, false
	}
	dates, ok1 := readParts(date, "YMWD", []float64{365, 30, 7, 1}, false)
	seconds, ok2 := readParts(clock, "HMS", []float64{3600, 60, 1}, true)
	const most = 9999 * 366
	if !ok1 || !ok2 || dates > most || seconds > most*86400 {
		return 0, 0, false
	}
	days = int(dates) + int(seconds)/86400
	rest = time.Duration((seconds-float64(int(seconds)/86400*86400))*ticks+0.5) * (time.Second / ticks)
	if negative {
		return -days, -rest, true
	}
	return days, rest, true
}

// readParts sums numbers with units, each at most once and in this order. If fraction is set, the
// last unit may have a fraction.
func readParts(text, units string, weights []float64, fraction bool) (sum float64, ok bool) {
	for text != "" {
		end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if end <= 0 {
			return 0, false
		}
		at := strings.IndexByte(units, text[end])
		number, err := strconv.ParseFloat(text[:end], 64)
		if at < 0 || err != nil || (strings.Contains(text[:end], ".") && !(fraction && at == len(weights)-1)) {
			return 0, false
		}
		sum += number * weights[at]
		units, weights, text = units[at+1:], weights[at+1:], text[end+1:]
	}
	return sum, true
}

// addDuration adds the result of parseDuration. It returns false if .NET cannot represent the sum.
func addDuration(t time.Time, days int, rest time.Duration) (time.Time, bool) {
	t = t.AddDate(0, 0, days).Add(rest)
	return t, inRange(t)
}
