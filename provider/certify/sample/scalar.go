package sample

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"portico/internal/schema"
)

// scalars returns distinct values that fit a schema of strings, numbers or booleans.
func scalars(s *schema.Schema, at member, hints []any) ([]any, error) {
	candidates := append(slices.Clone(hints), variations(s, hints)...)
	enum, _ := s.Keywords["enum"].([]any)
	candidates = append(candidates, enum...)
	if v, given := s.Keywords["const"]; given {
		candidates = append(candidates, v)
	}
	switch kind := s.Kind(); kind {
	case "boolean":
		candidates = append(candidates, false, true)
	case "integer", "number":
		candidates = append(candidates, numbers(s)...)
	case "string":
		candidates = append(candidates, plainTexts(s)...)
	case "":
		candidates = append(candidates, map[string]any{})
	default:
		return nil, noValue(at, "the type %q is not known", kind)
	}
	var fitting []any
	for _, v := range candidates {
		if s.Admits(v) && !slices.ContainsFunc(fitting, func(other any) bool { return equal(v, other) }) {
			fitting = append(fitting, v)
		}
	}
	if len(fitting) > 0 {
		return fitting, nil
	}
	format, _ := s.Keywords["format"].(string)
	pattern, _ := s.Keywords["pattern"].(string)
	switch {
	case format == "arm-id":
		return nil, noValue(at, "it is the ID of another resource: give the body in the samples")
	case pattern != "":
		return nil, noValue(at, "no value was found for the pattern %q: give the body in the samples", pattern)
	}
	return nil, noValue(at, "no value was found within the bounds of its schema: give the body in the samples")
}

// variations returns values that differ little from the hints: a value close
// to a hint is probably valid too.
func variations(s *schema.Schema, hints []any) []any {
	var all []any
	_, _, step := s.Bounds()
	for _, hint := range hints {
		switch v := hint.(type) {
		case float64:
			all = append(all, v+step, v-step)
		case string:
			if s.Keywords["format"] == nil && v != "" {
				_, last := utf8.DecodeLastRuneInString(v)
				all = append(all, v+"2", v[:len(v)-last]+"2")
			}
		}
	}
	return all
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// numbers returns candidates, the simplest first.
func numbers(s *schema.Schema) []any {
	least, greatest, step := s.Bounds()
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

// formats has two values for each known format of strings.
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

// longestText bounds the minLength that is honoured.
const longestText = 64 << 10

// plainTexts returns candidates, the simplest first.
func plainTexts(s *schema.Schema) []any {
	format, _ := s.Keywords["format"].(string)
	if values, known := formats[format]; known {
		return values
	}
	candidates := []any{"sample", "sample2", "Sample-1", "Sample-2", "a", "b"}
	least := int(schema.Number(s.Keywords["minLength"], 0))
	if least <= longestText {
		for _, letter := range []string{"a", "b", "0", "1"} {
			candidates = append(candidates, strings.Repeat(letter, least))
		}
	}
	if pattern, ok := s.Keywords["pattern"].(string); ok && pattern != "" {
		for _, text := range matching(pattern, least) {
			candidates = append(candidates, text)
		}
	}
	return candidates
}
