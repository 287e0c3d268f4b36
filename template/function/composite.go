package function

import "strings"

// formatFault is an error about a format, in .NET's words.
type formatFault string

func (f formatFault) Error() string { return string(f) }

const (
	errCompositeIndex formatFault = "Index (zero based) must be greater than or equal to zero and less than the size of the argument list."
	errComposite      formatFault = "Input string was not in a correct format."
	errFormat         formatFault = "Format specifier was invalid."
)

// maxWidth is .NET's limit for an item's width.
const maxWidth = 1_000_000

// item is a parsed {index,width:format}.
type item struct {
	index  int
	width  int // negative: align left
	format string
}

// formatComposite expands the items of a format, using write. It calls charge before it writes,
// with the number of bytes.
func formatComposite(format string, items int, charge func(bytes int) error, write func(at int, format string) (string, error)) (string, error) {
	var text strings.Builder
	add := func(s string, padLeft, padRight int) error {
		if err := charge(padLeft + len(s) + padRight); err != nil {
			return err
		}
		text.WriteString(strings.Repeat(" ", padLeft) + s + strings.Repeat(" ", padRight))
		return nil
	}
	for format != "" {
		at := strings.IndexAny(format, "{}")
		if at < 0 {
			at = len(format)
		}
		if err := add(format[:at], 0, 0); err != nil {
			return "", err
		}
		format = format[at:]
		if format == "" {
			break
		}
		if len(format) > 1 && format[1] == format[0] {
			text.WriteByte(format[0])
			format = format[2:]
			continue
		}
		it, length, err := readItem(format)
		if err != nil {
			return "", err
		}
		if it.index >= items {
			return "", errCompositeIndex
		}
		format = format[length:]
		s, err := write(it.index, it.format)
		if err != nil {
			return "", err
		}
		missing := max(0, max(it.width, -it.width)-utf16Length(s))
		left := missing
		if it.width < 0 {
			left = 0
		}
		if err := add(s, left, missing-left); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}

// readItem parses the item at the start of text and returns its length.
func readItem(text string) (it item, length int, err error) {
	end := strings.IndexByte(text, '}')
	if text[0] != '{' || end < 0 || strings.IndexByte(text[1:end], '{') >= 0 {
		return item{}, 0, errComposite
	}
	inner, format, _ := strings.Cut(text[1:end], ":")
	index, width, aligned := strings.Cut(inner, ",")
	it.format = format
	if it.index, err = readNumber(strings.TrimRight(index, " ")); err != nil {
		return item{}, 0, err
	}
	if aligned {
		width = strings.Trim(width, " ")
		digits, left := strings.CutPrefix(width, "-")
		if it.width, err = readNumber(digits); err != nil {
			return item{}, 0, err
		}
		if left {
			it.width = -it.width
		}
	}
	return it, end + 1, nil
}

func readNumber(digits string) (int, error) {
	n := 0
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, errComposite
		}
		if n = n*10 + int(c-'0'); n >= maxWidth {
			return 0, errComposite
		}
	}
	if digits == "" {
		return 0, errComposite
	}
	return n, nil
}
