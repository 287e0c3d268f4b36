package config

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"portico/arm"
)

// maxDuration bounds every time in a configuration, so that sums of a few of
// them cannot overflow.
const maxDuration = 366 * 24 * time.Hour

func durationRule(noun, allowed string, legal func(time.Duration) bool) rule[time.Duration] {
	return rule[time.Duration]{
		shape: durationShape(legal(0)),
		parse: func(text string) (time.Duration, bool) {
			d, err := time.ParseDuration(text)
			return d, err == nil && d >= 0 && d <= maxDuration && legal(d)
		},
		noun:    noun,
		allowed: allowed,
	}
}

// positive is a time that cannot sensibly be none.
func positive() rule[time.Duration] {
	return durationRule("positive duration", "above 0s and at most 8784h, such as 500ms, 5s or 1h30m",
		func(d time.Duration) bool { return d > 0 })
}

// orZero is a time that may be none.
func orZero() rule[time.Duration] {
	return durationRule("duration", "0s to 8784h, such as 500ms, 5s or 1h30m",
		func(time.Duration) bool { return true })
}

// seconds is a time that goes out as a number of seconds.
func seconds() rule[time.Duration] {
	return durationRule("duration in whole seconds", "0s to 8784h in whole seconds, such as 10s or 10m",
		func(d time.Duration) bool { return d%time.Second == 0 })
}

// size is a number of bytes.
func size() rule[int64] {
	units := []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"", 1}}
	return rule[int64]{
		parse: func(text string) (int64, bool) {
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
		noun:    "positive size",
		allowed: "1 to 1024GiB: bytes, or a whole number with KiB, MiB or GiB, such as 4MiB",
		shape:   sizeShape(),
	}
}

// count is a number of things.
func count() rule[int] { return countTo(math.MaxInt32) }

// countTo is a number of things of which there cannot be more than most.
func countTo(most int) rule[int] {
	return rule[int]{
		parse: func(text string) (int, bool) {
			n, err := strconv.ParseUint(text, 10, 31)
			return int(n), err == nil && n > 0 && int(n) <= most
		},
		noun:    "positive number",
		allowed: fmt.Sprintf("1 to %d", most),
		shape:   between("integer", 1, float64(most)).matching(digits).matching(notZero),
	}
}

// amount is a number that may be none.
func amount() rule[int64] {
	return rule[int64]{
		parse: func(text string) (int64, bool) {
			n, err := strconv.ParseUint(text, 10, 63)
			return int64(n), err == nil
		},
		noun:    "whole number",
		allowed: "0 or more",
	}
}

// several is a number of things of which one will not do.
func several() rule[int] {
	return rule[int]{
		parse: func(text string) (int, bool) {
			n, err := strconv.ParseUint(text, 10, 31)
			return int(n), err == nil && n > 1
		},
		noun:    "number of at least 2",
		allowed: fmt.Sprintf("2 to %d", math.MaxInt32),
		shape:   between("integer", 2, math.MaxInt32).matching(digits).matching(notZero),
	}
}

func truth() rule[bool] {
	return rule[bool]{
		parse: func(text string) (bool, bool) {
			return text == "true", text == "true" || text == "false"
		},
		noun:    "truth value",
		allowed: "true, false",
		shape:   shapeOf(true),
	}
}

// enum is one of several words.
func enum[E fmt.Stringer](values []E) rule[E] {
	return rule[E]{
		parse: func(text string) (v E, ok bool) {
			for _, v := range values {
				if v.String() == text {
					return v, true
				}
			}
			return v, false
		},
		noun:    "legal value",
		allowed: choice(values),
		shape:   oneWord(values),
	}
}

type word string

func (w word) String() string { return string(w) }

// oneOf is enum for plain words.
func oneOf(words ...word) rule[string] {
	e := enum(words)
	return rule[string]{
		parse: func(text string) (string, bool) {
			w, ok := e.parse(text)
			return string(w), ok
		},
		noun:    e.noun,
		allowed: e.allowed,
		shape:   e.shape,
	}
}

// guid reads into lower case.
func guid() rule[string] {
	return rule[string]{
		parse: func(text string) (string, bool) {
			return strings.ToLower(text), arm.ValidGUID(text)
		},
		noun:    "GUID",
		allowed: "a GUID such as 00000000-0000-0000-0000-000000000001",
		shape:   matching("^" + guidPattern + "$"),
	}
}

// tenantWord is a tenant as clients' metadata may name it.
func tenantWord() rule[string] {
	g := guid()
	return rule[string]{
		parse: func(text string) (string, bool) {
			if text == "common" || text == "organizations" {
				return text, true
			}
			return g.parse(text)
		},
		noun:    "tenant",
		allowed: "a GUID, common, organizations",
		shape:   matching("^(common|organizations|" + guidPattern + ")$"),
	}
}

// hash is a SHA-256. It is not quoted: a token itself may stand there by
// mistake.
func hash() rule[string] {
	return rule[string]{
		parse: func(text string) (string, bool) {
			return text, len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
		},
		noun:    "SHA-256",
		allowed: "the SHA-256 of the token's bytes: 64 hexadecimal digits in lower case",
		secret:  true,
		shape:   matching("^[0-9a-f]{64}$"),
	}
}

func key32() rule[[32]byte] {
	return rule[[32]byte]{
		parse: func(text string) (key [32]byte, ok bool) {
			raw, err := base64.StdEncoding.Strict().DecodeString(text)
			if err != nil || len(raw) != len(key) {
				return key, false
			}
			return [32]byte(raw), true
		},
		noun:    "key",
		allowed: "base64 of 32 random bytes",
		secret:  true,
		shape:   matching("^[0-9A-Za-z+/]{43}=$"),
	}
}

// plainText is a name for people.
func plainText() rule[string] {
	return rule[string]{
		parse: func(text string) (string, bool) {
			return text, text != "" && len(text) <= 256 && strings.IndexFunc(text, unicode.IsControl) < 0 &&
				strings.TrimSpace(text) == text
		},
		noun:    "text",
		allowed: "1 to 256 bytes without control characters or surrounding white space",
		shape:   matching(`^\S(.*\S)?$`).atMost(256),
	}
}

// name is plainText whose form is judged, and told, elsewhere.
func name(form string) rule[string] {
	want := plainText()
	want.allowed = form
	return want
}

// identifier is a name for machines.
func identifier() rule[string] {
	const legal = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	return rule[string]{
		parse: func(text string) (string, bool) {
			return text, text != "" && len(text) <= 64 && strings.Trim(text, legal) == ""
		},
		noun:    "identifier",
		allowed: "1 to 64 ASCII letters, digits, -, _ and .",
		shape:   matching("^[0-9A-Za-z._-]{1,64}$"),
	}
}

// dnsLabel is a part of a host name.
func dnsLabel() rule[string] {
	return rule[string]{
		parse: func(text string) (string, bool) {
			return text, text != "" && len(text) <= 63 && text[0] != '-' && text[len(text)-1] != '-' &&
				strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
		},
		noun:    "part of a host name",
		allowed: "1 to 63 lower-case letters, digits and hyphens",
		shape:   matching("^[0-9a-z]([0-9a-z-]{0,61}[0-9a-z])?$"),
	}
}

// degrees is a latitude or longitude, kept as it was written.
func degrees(limit float64) rule[string] {
	return rule[string]{
		parse: func(text string) (string, bool) {
			n, err := strconv.ParseFloat(text, 64)
			return text, err == nil && math.Abs(n) <= limit
		},
		noun:    "number of degrees",
		allowed: fmt.Sprintf("-%g to %g, such as 37.783", limit, limit),
		shape:   between("number", -limit, limit),
	}
}

// featureName is a feature of one provider.
func featureName() rule[string] {
	return rule[string]{
		parse:   func(text string) (string, bool) { return text, arm.ValidFeatureName(text) },
		noun:    "name of a feature",
		allowed: "letters, digits, full stops, hyphens and underscores, at most 128",
	}
}

// fullFeatureName is a feature with its namespace.
func fullFeatureName() rule[string] {
	return rule[string]{
		parse: func(text string) (string, bool) {
			_, _, ok := arm.CutFeature(text)
			return text, ok
		},
		noun:    "full name of a feature",
		allowed: "a namespace and the name of a feature, such as Contoso.Compute/bigMachines",
	}
}
