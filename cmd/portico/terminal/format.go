package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
)

// Format is the form of a command's output.
type Format string

// The forms. JSON and YAML show the service's answer, member by member.
const (
	TableFormat Format = "table"
	WideFormat  Format = "wide"
	JSON        Format = "json"
	YAML        Format = "yaml"
)

// Formats returns the names of all forms.
func Formats() []string {
	return []string{string(TableFormat), string(WideFormat), string(JSON), string(YAML)}
}

// String implements pflag.Value.
func (f *Format) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *Format) Set(text string) error {
	if slices.Contains(Formats(), text) {
		*f = Format(text)
		return nil
	}
	return fmt.Errorf("want one of %s", strings.Join(Formats(), ", "))
}

// Type implements pflag.Value.
func (f *Format) Type() string { return strings.Join(Formats(), "|") }

// Flag adds the flag -o to a command.
func (f *Format) Flag(c *cobra.Command, usage string) {
	c.Flags().VarP(f, "output", "o", usage)
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(Formats(), cobra.ShellCompDirectiveNoFileComp)) // fails only for an undefined flag
}

// Write writes a command's answer for programs, or calls text to write it for people.
func (f Format) Write(w io.Writer, answer any, text func() error) error {
	if !f.ForPrograms() {
		return text()
	}
	document, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return f.WriteDocument(w, document)
}

// ForPrograms reports whether programs read it.
func (f Format) ForPrograms() bool { return f == JSON || f == YAML }

// WriteDocument writes JSON unchanged except for indentation, or as YAML.
func (f Format) WriteDocument(w io.Writer, document []byte) error {
	return f.write(w, document, "", func(b *bytes.Buffer) error { return json.Indent(b, document, "", "  ") })
}

// WriteLine writes JSON in one line, or as a document of its own in YAML.
func (f Format) WriteLine(w io.Writer, document []byte) error {
	return f.write(w, document, "---\n", func(b *bytes.Buffer) error { return json.Compact(b, document) })
}

func (f Format) write(w io.Writer, document []byte, beginYAML string, asJSON func(*bytes.Buffer) error) (err error) {
	var b bytes.Buffer
	if f == YAML {
		b.WriteString(beginYAML)
		err = writeYAML(&b, document)
	} else {
		err = asJSON(&b)
		b.WriteByte('\n')
	}
	if err == nil {
		_, err = io.WriteString(w, f.escapeUnseen(b.String()))
	}
	return err
}

// WriteList writes a list as the document {"value": […]}, element by element as they
// arrive: it may be long. It returns the first error of elements. next returns the member
// "next" at the end, a token; nil: there is none.
func (f Format) WriteList(w io.Writer, elements iter.Seq2[json.RawMessage, error], next func() string) error {
	begin, between, end, none, member, last := "{\n  \"value\": [\n    ", ",\n    ", "\n  ]", "{\n  \"value\": []", ",\n  \"next\": %q", "\n}\n"
	if f == YAML {
		begin, between, end, none, member, last = "value:\n", "", "", "value: []\n", "next: %q\n", ""
	}
	before := begin
	for element, err := range elements {
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if f == YAML {
			err = writeYAML(&b, slices.Concat([]byte("["), element, []byte("]")))
		} else {
			err = json.Indent(&b, element, "    ", "  ")
		}
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, before+f.escapeUnseen(b.String())); err != nil {
			return err
		}
		before = between
	}
	if before == begin {
		end = none
	}
	if next != nil {
		end += fmt.Sprintf(member, next())
	}
	_, err := io.WriteString(w, end+last)
	return err
}

// escapeUnseen replaces invisible characters of strings by their escapes. In YAML strings
// with such characters are quoted.
func (f Format) escapeUnseen(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n', unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case f == YAML:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}
