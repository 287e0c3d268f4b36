package terminal

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// writeYAML writes JSON as YAML, its members in their order. Strings that could be taken
// for something else are quoted, as JSON quotes them: that is YAML, too. The encoder of the
// YAML library would need the same rules: it leaves characters that are not seen, and some
// indicators, without quotes.
func writeYAML(b *bytes.Buffer, document []byte) error {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	return yamlWriter{b, d}.value("", "", "")
}

type yamlWriter struct {
	*bytes.Buffer
	from *json.Decoder
}

// value writes the next value. After what its line holds already comes before, if the value
// fits this line, or else begin, which leads to the place of its first member.
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
		_, err = y.from.Token() // the end of what was opened
	}
	return err
}

// plain are strings that YAML takes for strings without quotes, but for the words that
// some readers take for others.
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

// yamlNumber writes a number with an exponent so that readers of YAML 1.1 take it for one,
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
