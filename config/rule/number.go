package rule

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxDuration limits every duration in a configuration, so that sums of a few cannot overflow.
const maxDuration = 366 * 24 * time.Hour

func durationRule(noun, allowed string, legal func(time.Duration) bool) Rule[time.Duration] {
	return Rule[time.Duration]{
		Schema: durationSchema(legal(0)),
		Parse: func(text string) (time.Duration, bool) {
			d, err := time.ParseDuration(text)
			return d, err == nil && d >= 0 && d <= maxDuration && legal(d)
		},
		Shown:   true,
		Noun:    noun,
		Allowed: allowed,
	}
}

// Duration accepts a duration, which may be zero.
func Duration() Rule[time.Duration] {
	return durationRule("duration", "0s to 8784h, such as 500ms, 5s or 1h30m",
		func(time.Duration) bool { return true })
}

// PositiveDuration accepts a duration above zero.
func PositiveDuration() Rule[time.Duration] {
	return durationRule("positive duration", "above 0s and at most 8784h, such as 500ms, 5s or 1h30m",
		func(d time.Duration) bool { return d > 0 })
}

// PositiveDurationTo accepts a duration above zero, up to most.
func PositiveDurationTo(most time.Duration) Rule[time.Duration] {
	return durationRule("positive duration of at most "+most.String(), "above 0s and at most "+most.String()+", such as 500ms or 10s",
		func(d time.Duration) bool { return d > 0 && d <= most })
}

// DurationTo accepts a duration up to most, which may be zero.
func DurationTo(most time.Duration) Rule[time.Duration] {
	return durationRule("duration of at most "+most.String(), "0s to "+most.String()+", such as 500ms or 10s",
		func(d time.Duration) bool { return d <= most })
}

// WholeSeconds accepts a duration in whole seconds.
func WholeSeconds() Rule[time.Duration] {
	return durationRule("duration in whole seconds", "0s to 8784h in whole seconds, such as 10s or 10m",
		func(d time.Duration) bool { return d%time.Second == 0 })
}

// Size accepts a number of bytes.
func Size() Rule[int64] {
	units := []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"", 1}}
	return Rule[int64]{
		Parse: func(text string) (int64, bool) {
			for _, unit := range units {
				digits, found := strings.CutSuffix(text, unit.suffix)
				if !found {
					continue
				}
				n, err := strconv.ParseUint(digits, 10, 63)
				return int64(n) * unit.bytes, err == nil && n > 0 && int64(n) <= (1<<40)/unit.bytes
			}
			return 0, false
		},
		Shown:   true,
		Noun:    "positive size",
		Allowed: "1 to 1024GiB: bytes, or a whole number with KiB, MiB or GiB, such as 4MiB",
		Schema:  numberSchema("integer", 1, 1<<40).matching(`^[0-9]+(KiB|MiB|GiB)?$`).matching(notZero),
	}
}

// Count accepts a whole number of at least one.
func Count() Rule[int] { return countBetween(1, math.MaxInt32, "whole number") }

// CountTo accepts a whole number from one to most.
func CountTo(most int) Rule[int] { return countBetween(1, most, "whole number") }

// AtLeastTwo accepts a whole number of at least two.
func AtLeastTwo() Rule[int] { return countBetween(2, math.MaxInt32, "number of at least 2") }

// CountOrZero accepts a whole number, which may be zero.
func CountOrZero() Rule[int] {
	r := countBetween(0, math.MaxInt32, "whole number")
	r.Schema = Schema{Type: "integer"}
	return r
}

func countBetween(least, most int, noun string) Rule[int] {
	return Rule[int]{
		Parse: func(text string) (int, bool) {
			n, err := strconv.ParseUint(text, 10, 31)
			return int(n), err == nil && int(n) >= least && int(n) <= most
		},
		Shown:   true,
		Noun:    noun,
		Allowed: fmt.Sprintf("%d to %d", least, most),
		Schema:  numberSchema("integer", float64(least), float64(most)).matching(digits).matching(notZero),
	}
}

// Amount accepts any whole number that is not negative.
func Amount() Rule[int64] {
	return Rule[int64]{
		Parse: func(text string) (int64, bool) {
			n, err := strconv.ParseUint(text, 10, 63)
			return int64(n), err == nil
		},
		Shown:   true,
		Noun:    "whole number",
		Allowed: "0 or more",
		Schema:  Schema{Type: "integer"},
	}
}

// Percentage accepts a percentage, which becomes a number from 0 to 1.
func Percentage() Rule[float64] {
	r := percentageFrom(0)
	r.Noun, r.Allowed = "percentage", "0% to 100%, in whole numbers"
	return r
}

// PositivePercentage accepts a percentage above zero.
func PositivePercentage() Rule[float64] {
	r := percentageFrom(1)
	r.Noun, r.Allowed = "percentage above 0%", "1% to 100%, in whole numbers"
	r.Schema = matching(`^[0-9]+%$`).matching(notZero)
	return r
}

func percentageFrom(least uint64) Rule[float64] {
	return Rule[float64]{Shown: true, Parse: func(text string) (float64, bool) {
		digits, found := strings.CutSuffix(text, "%")
		n, err := strconv.ParseUint(digits, 10, 8)
		return float64(n) / 100, found && err == nil && n >= least && n <= 100
	}}
}

// Degrees accepts a latitude or longitude and keeps its text.
func Degrees(limit float64) Rule[string] {
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			n, err := strconv.ParseFloat(text, 64)
			return text, err == nil && math.Abs(n) <= limit
		},
		Shown:   true,
		Noun:    "number of degrees",
		Allowed: fmt.Sprintf("-%g to %g, such as 37.783", limit, limit),
		Schema:  numberSchema("number", -limit, limit),
	}
}

// Part is a fraction, written as a number from 0 to 1.
type Part float64

// Fraction accepts a number from 0 to 1.
func Fraction() Rule[Part] {
	return Rule[Part]{
		Parse: func(text string) (Part, bool) {
			n, err := strconv.ParseFloat(text, 64)
			return Part(n), err == nil && n >= 0 && n <= 1
		},
		Shown:   true,
		Noun:    "fraction",
		Allowed: "0 to 1, such as 0.01",
		Schema:  numberSchema("number", 0, 1),
	}
}
