package terminal

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// writeYAML writes JSON as YAML, its members in their order. Strings that could be taken
// for something else are quoted, as JSON quotes them: that is YAML, too.
func writeYAML(b *bytes.Buffer, document []byte) error {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	y := yamlWriter{b, d}
	token, err := d.Token()
	if err != nil {
		return err
	}
	if opens(token) && d.More() {
		return y.children(token, "", false)
	}
	b.WriteString(y.scalar(token))
	b.WriteByte('\n')
	return y.close(token)
}

type yamlWriter struct {
	*bytes.Buffer
	from *json.Decoder
}

func opens(token json.Token) bool { return token == json.Delim('{') || token == json.Delim('[') }

// children writes the members or elements of what was opened. The first one stands on the
// line that is already begun where it is the child of a list.
func (y yamlWriter) children(opened json.Token, indent string, started bool) error {
	for y.from.More() {
		if !started {
			y.WriteString(indent)
		}
		started = false
		sign := "-"
		if opened == json.Delim('{') {
			key, err := y.from.Token()
			if err != nil {
				return err
			}
			sign = y.scalar(key) + ":"
		}
		y.WriteString(sign)
		value, err := y.from.Token()
		if err != nil {
			return err
		}
		switch {
		case !opens(value):
			y.WriteString(" " + y.scalar(value) + "\n")
		case !y.from.More():
			y.WriteString(" " + y.scalar(value) + "\n")
			err = y.close(value)
		case sign == "-":
			y.WriteByte(' ')
			err = y.children(value, indent+"  ", true)
		default:
			y.WriteByte('\n')
			err = y.children(value, indent+"  ", false)
		}
		if err != nil {
			return err
		}
	}
	return y.close(opened)
}

// close reads the end of what was opened.
func (y yamlWriter) close(opened json.Token) error {
	if !opens(opened) {
		return nil
	}
	_, err := y.from.Token()
	return err
}

// plain are strings that YAML takes for strings without quotes, but for the words that
// some readers take for others.
var (
	plain    = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*$`)
	reserved = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
)

func (y yamlWriter) scalar(token json.Token) string {
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
