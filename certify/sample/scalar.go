package sample

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// scalars are values that fit a schema of strings, numbers or booleans, each once.
func (s *schema) scalars(at member, hints []any) ([]any, error) {
	candidates := append(slices.Clone(hints), s.variations(hints)...)
	enum, _ := s.keywords["enum"].([]any)
	candidates = append(candidates, enum...)
	if v, given := s.keywords["const"]; given {
		candidates = append(candidates, v)
	}
	switch kind := s.kind(); kind {
	case "boolean":
		candidates = append(candidates, false, true)
	case "integer", "number":
		candidates = append(candidates, s.numbers()...)
	case "string":
		candidates = append(candidates, s.strings()...)
	case "":
		candidates = append(candidates, map[string]any{})
	default:
		return nil, noValue(at, "the type %q is not known", kind)
	}
	var fitting []any
	for _, v := range candidates {
		if s.admits(v) && !slices.ContainsFunc(fitting, func(other any) bool { return equal(v, other) }) {
			fitting = append(fitting, v)
		}
	}
	if len(fitting) > 0 {
		return fitting, nil
	}
	format, _ := s.keywords["format"].(string)
	pattern, _ := s.keywords["pattern"].(string)
	switch {
	case format == "arm-id":
		return nil, noValue(at, "it is the ID of another resource: give the body in the samples")
	case pattern != "":
		return nil, noValue(at, "no value is found for the pattern %q: give the body in the samples", pattern)
	}
	return nil, noValue(at, "no value is found within the bounds of its schema: give the body in the samples")
}

// variations returns values that differ little from the hints: a close neighbour of a
// hinted value is most likely valid too.
func (s *schema) variations(hints []any) []any {
	var all []any
	_, _, step := s.bounds()
	for _, hint := range hints {
		switch v := hint.(type) {
		case float64:
			all = append(all, v+step, v-step)
		case string:
			if s.keywords["format"] == nil && v != "" {
				_, last := utf8.DecodeLastRuneInString(v)
				all = append(all, v+"2", v[:len(v)-last]+"2")
			}
		}
	}
	return all
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// admits reports whether a scalar fits the schema.
func (s *schema) admits(v any) bool {
	if v == nil {
		return false
	}
	if enum, ok := s.keywords["enum"].([]any); ok && len(enum) > 0 && !slices.ContainsFunc(enum, func(other any) bool { return equal(v, other) }) {
		return false
	}
	if only, given := s.keywords["const"]; given && !equal(v, only) {
		return false
	}
	switch s.kind() {
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "integer":
		n, ok := v.(float64)
		return ok && n == math.Trunc(n) && s.admitsNumber(n)
	case "number":
		n, ok := v.(float64)
		return ok && s.admitsNumber(n)
	case "string":
		text, ok := v.(string)
		return ok && s.admitsString(text)
	}
	return true
}

// number is a keyword's value, or what counts where it is not given.
func number(v any, otherwise float64) float64 {
	if n, ok := v.(float64); ok {
		return n
	}
	return otherwise
}

// bounds are the least and the greatest number, and the distance between two.
func (s *schema) bounds() (least, greatest, step float64) {
	least, greatest = number(s.keywords["minimum"], math.Inf(-1)), number(s.keywords["maximum"], math.Inf(1))
	step = number(s.keywords["multipleOf"], 1)
	// As a number it is a bound of its own (3.1), as true it says so of the other.
	if n, ok := s.keywords["exclusiveMinimum"].(float64); ok {
		least = math.Max(least, n)
	}
	if n, ok := s.keywords["exclusiveMaximum"].(float64); ok {
		greatest = math.Min(greatest, n)
	}
	return least, greatest, step
}

func (s *schema) admitsNumber(n float64) bool {
	least, greatest, _ := s.bounds()
	if n < least || n > greatest {
		return false
	}
	for keyword, bound := range map[string]float64{"exclusiveMinimum": least, "exclusiveMaximum": greatest} {
		if given := s.keywords[keyword]; n == bound && given != nil && (given == true || given == n) {
			return false
		}
	}
	if m := number(s.keywords["multipleOf"], 0); m > 0 {
		if q := n / m; math.Abs(q-math.Round(q)) > 1e-9 {
			return false
		}
	}
	return true
}

// numbers are candidates, the simplest first.
func (s *schema) numbers() []any {
	least, greatest, step := s.bounds()
	from := step
	if least > step || greatest < step {
		from = math.Ceil(least/step) * step
		if math.IsInf(from, 0) {
			from = math.Floor(greatest/step)*step - step
		}
	}
	from += 0 // a zero has no sign
	candidates := []any{from, from + step, from + 2*step, 0.0}
	for _, bound := range []float64{least, greatest} {
		if !math.IsInf(bound, 0) {
			candidates = append(candidates, bound)
		}
	}
	if !math.IsInf(least, 0) && !math.IsInf(greatest, 0) {
		candidates = append(candidates, least+(greatest-least)/2, least+(greatest-least)/4)
	}
	return candidates
}

func (s *schema) admitsString(text string) bool {
	length := float64(utf8.RuneCountInString(text))
	if length < number(s.keywords["minLength"], 0) || length > number(s.keywords["maxLength"], math.Inf(1)) {
		return false
	}
	if pattern, ok := s.keywords["pattern"].(string); ok && pattern != "" {
		compiled, err := regexp.Compile(pattern)
		return err == nil && compiled.MatchString(text)
	}
	return true
}

// formats are two values for each known format of strings.
var formats = map[string][]any{
	"uuid":              {"00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"},
	"guid":              {"00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"},
	"date":              {"2026-01-01", "2026-01-02"},
	"date-time":         {"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
	"date-time-rfc1123": {"Thu, 01 Jan 2026 00:00:00 GMT", "Fri, 02 Jan 2026 00:00:00 GMT"},
	"time":              {"00:00:00Z", "01:00:00Z"},
	"duration":          {"PT1H", "PT2H"},
	"duration-constant": {"01:00:00", "02:00:00"},
	"uri":               {"https://example.com/a", "https://example.com/b"},
	"url":               {"https://example.com/a", "https://example.com/b"},
	"uri-reference":     {"/a", "/b"},
	"email":             {"a@example.com", "b@example.com"},
	"hostname":          {"a.example.com", "b.example.com"},
	"ip":                {"192.0.2.1", "192.0.2.2"},
	"ipv4":              {"192.0.2.1", "192.0.2.2"},
	"ipv6":              {"2001:db8::1", "2001:db8::2"},
	"cidr":              {"192.0.2.0/24", "198.51.100.0/24"},
	"byte":              {"c2FtcGxl", "c2FtcGxlMg=="},
	"base64":            {"c2FtcGxl", "c2FtcGxlMg=="},
	"base64url":         {"c2FtcGxl", "c2FtcGxlMg"},
	"password":          {"Sample-Passw0rd-1", "Sample-Passw0rd-2"},
	"char":              {"a", "b"},
	"arm-id":            {},
}

// longestText bounds what minLength may ask for.
const longestText = 64 << 10

// strings are candidates, the simplest first.
func (s *schema) strings() []any {
	format, _ := s.keywords["format"].(string)
	if values, known := formats[format]; known {
		return values
	}
	candidates := []any{"sample", "sample2", "Sample-1", "Sample-2", "a", "b"}
	least := int(number(s.keywords["minLength"], 0))
	if least <= longestText {
		for _, letter := range []string{"a", "b", "0", "1"} {
			candidates = append(candidates, strings.Repeat(letter, least))
		}
	}
	if pattern, ok := s.keywords["pattern"].(string); ok && pattern != "" {
		for _, text := range matching(pattern, least) {
			candidates = append(candidates, text)
		}
	}
	return candidates
}
