package function

import (
	"math"
	"strconv"
	"strings"

	"portico/template/expr"
)

// maxPrecision is the maximum precision of a format. .NET allows more, but no template needs it.
const maxPrecision = 999

// maxQuoted is how many bytes of a format an error quotes.
const maxQuoted = 64

// number is the value that a numeric format writes.
type number struct {
	isFloat bool
	int     int64
	float   float64
}

// formatNumber formats a number as .NET does in its invariant culture.
func formatNumber(n number, format string) (string, error) {
	if n.isFloat && (math.IsNaN(n.float) || math.IsInf(n.float, 0)) {
		return strconv.FormatFloat(n.float, 'g', -1, 64), nil
	}
	if format == "" {
		format = "G"
	}
	kind, precision, standard := standardFormat(format)
	if !standard {
		if strings.Trim(format, "0") != "" {
			return "", expr.Errorf("the number format '%s' is not supported: use B, C, D, E, F, G, N, P, R or X with its digits, such as N2, or zeros alone, such as 000",
				expr.Shorten(format, maxQuoted))
		}
		return n.zeroPadded(len(format)), nil
	}
	if precision > maxPrecision {
		return "", errFormat
	}
	switch kind {
	case 'D', 'd':
		return n.integerDigits(10, precision)
	case 'X', 'x':
		text, err := n.integerDigits(16, precision)
		if kind == 'X' {
			text = strings.ToUpper(text)
		}
		return text, err
	case 'B', 'b':
		return n.integerDigits(2, precision)
	case 'G', 'g':
		return n.general(kind, precision), nil
	case 'R', 'r':
		if n.isFloat {
			return n.general('G', -1), nil
		}
		return "", errFormat
	case 'E', 'e':
		decimals := orDefault(precision, 6)
		d := n.exact().rounded(decimals + 1)
		return d.sign() + d.scientific(kind, decimals, 3), nil
	}
	return formatFixed(n.exact(), kind, orDefault(precision, 2))
}

// standardFormat parses a letter with an optional precision, which is -1 if absent.
func standardFormat(format string) (kind byte, precision int, ok bool) {
	kind = format[0]
	if kind|0x20 < 'a' || kind|0x20 > 'z' {
		return 0, 0, false
	}
	if len(format) == 1 {
		return kind, -1, true
	}
	for _, c := range []byte(format[1:]) {
		if c < '0' || c > '9' {
			return 0, 0, false
		}
		precision = min(precision*10+int(c-'0'), maxPrecision+1)
	}
	return kind, precision, true
}

func orDefault(precision, otherwise int) int {
	if precision < 0 {
		return otherwise
	}
	return precision
}

func (n number) exact() decimal {
	if n.isFloat {
		return decimalOfFloat(n.float, exactDigits)
	}
	return decimalOfInt(n.int)
}

func (d decimal) sign() string {
	if d.negative {
		return "-"
	}
	return ""
}

// integerDigits formats an integer. In bases other than ten, negative numbers are in two's
// complement.
func (n number) integerDigits(base, precision int) (string, error) {
	if n.isFloat {
		return "", errFormat
	}
	text, sign := strconv.FormatUint(uint64(n.int), base), ""
	if base == 10 && n.int < 0 {
		text, sign = strconv.FormatUint(-uint64(n.int), base), "-"
	}
	return sign + strings.Repeat("0", max(0, precision-len(text))) + text, nil
}

// zeroPadded formats the number without decimals and with at least that many digits. Of .NET's
// custom formats, only zeros are supported, because templates use them to number resources.
func (n number) zeroPadded(digits int) string {
	d := n.exact()
	d = d.rounded(d.point)
	text := d.fixed(0, false)
	text = strings.Repeat("0", max(0, digits-len(text))) + text
	if len(d.digits) == 0 {
		return text
	}
	return d.sign() + text
}

// general returns the shorter of the fixed and the scientific form.
func (n number) general(kind byte, precision int) string {
	d := decimalOfInt(n.int)
	fewest := 19
	if n.isFloat {
		d, fewest = decimalOfFloat(n.float, -1), 15
	}
	if precision > 0 {
		fewest = precision
		d = n.exact().rounded(precision)
	}
	if len(d.digits) > 0 && (d.point > fewest || d.point < -3) {
		return d.sign() + d.scientific(kind-'G'+'E', len(d.digits)-1, 2)
	}
	return d.sign() + d.fixed(max(0, len(d.digits)-d.point), false)
}

func formatFixed(d decimal, kind byte, decimals int) (string, error) {
	if kind|0x20 == 'p' && len(d.digits) > 0 {
		d.point += 2
	}
	d = d.rounded(d.point + decimals)
	switch kind {
	case 'F', 'f':
		return d.sign() + d.fixed(decimals, false), nil
	case 'N', 'n':
		return d.sign() + d.fixed(decimals, true), nil
	case 'P', 'p':
		return d.sign() + d.fixed(decimals, true) + " %", nil
	case 'C', 'c':
		text := "¤" + d.fixed(decimals, true)
		if d.negative {
			text = "(" + text + ")"
		}
		return text, nil
	}
	return "", errFormat
}
