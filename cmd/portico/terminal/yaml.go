package terminal

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// writeYAML writes JSON as YAML, with the members in order. Strings that could be read as
// something else are quoted as in JSON, which is valid YAML. The encoder of the YAML
// library would need the same rules: it leaves invisible characters, and some indicators,
// unquoted.
func writeYAML(b *bytes.Buffer, document []byte) error {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	return yamlWriter{b, d}.value("", "", "")
}

type yamlWriter struct {
	*bytes.Buffer
	from *json.Decoder
}

// value writes the next value. If it fits the current line, before precedes it; otherwise
// begin leads to the place of its first member.
func (y yamlWriter) value(before, begin, indent string) error {
	token, err := y.from.Token()
	if err != nil {
		return err
	}
	opened, isOpen := token.(json.Delim)
	if isOpen && y.from.More() {
		y.WriteString(begin)
	} else {
		y.WriteString(before + yamlScalar(token) + "\n")
	}
	for first := true; isOpen && y.from.More(); first = false {
		if !first {
			y.WriteString(indent)
		}
		sign, begin := "-", " "
		if opened == '{' {
			key, err := y.from.Token()
			if err != nil {
				return err
			}
			sign, begin = yamlScalar(key)+":", "\n  "+indent
		}
		y.WriteString(sign)
		if err := y.value(" ", begin, indent+"  "); err != nil {
			return err
		}
	}
	if isOpen {
		_, err = y.from.Token() // the end of the object or list
	}
	return err
}

// plain matches strings that need no quotes in YAML, except for the reserved words that
// some readers take for other values.
var (
	plain    = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*$`)
	reserved = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
)

func yamlScalar(token json.Token) string {
	switch value := token.(type) {
	case json.Delim:
		if value == '{' {
			return "{}"
		}
		return "[]"
	case json.Number:
		return yamlNumber(value.String())
	case string:
		if plain.MatchString(value) && !slices.Contains(reserved, strings.ToLower(value)) {
			return value
		}
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(token) // it came from JSON
	return strings.TrimRight(text.String(), "\n")
}

// yamlNumber writes a number with an exponent so that readers of YAML 1.1 recognize it,
// too: with a point, and with a sign.
func yamlNumber(text string) string {
	mantissa, exponent, has := strings.Cut(strings.ToLower(text), "e")
	if !has {
		return text
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if !strings.ContainsAny(exponent, "+-") {
		exponent = "+" + exponent
	}
	return mantissa + "e" + exponent
}
