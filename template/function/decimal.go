package function

import (
	"math"
	"strconv"
	"strings"
)

// decimal is the number 0.d1d2d3… times ten to the power of point. Zero has no digits.
type decimal struct {
	negative bool
	digits   []byte // '0' to '9', neither starting nor ending with '0'
	point    int
}

func decimalOfInt(n int64) decimal {
	text := strconv.FormatInt(n, 10)
	d := decimal{negative: n < 0, digits: []byte(strings.TrimPrefix(text, "-"))}
	d.point = len(d.digits)
	return d.trimmed()
}

// decimalOfFloat rounds a float to one plus that many significant digits, or to the fewest that
// parse to the same float if significant is -1.
func decimalOfFloat(f float64, significant int) decimal {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(math.Abs(f), 'e', significant, 64), "e")
	point, _ := strconv.Atoi(exponent)
	d := decimal{negative: math.Signbit(f), digits: []byte(strings.Replace(mantissa, ".", "", 1)), point: point + 1}
	return d.trimmed()
}

// exactDigits is a number of digits that is enough for every float's exact value.
const exactDigits = 767

func (d decimal) trimmed() decimal {
	for len(d.digits) > 0 && d.digits[len(d.digits)-1] == '0' {
		d.digits = d.digits[:len(d.digits)-1]
	}
	for len(d.digits) > 0 && d.digits[0] == '0' {
		d.digits = d.digits[1:]
		d.point--
	}
	if len(d.digits) == 0 {
		d.point = 0
	}
	return d
}

// rounded rounds to keep digits, halves away from zero.
func (d decimal) rounded(keep int) decimal {
	if keep < 0 || keep >= len(d.digits) {
		if keep < 0 {
			d.digits, d.point = nil, 0
		}
		return d
	}
	up := d.digits[keep] >= '5'
	d.digits = append([]byte(nil), d.digits[:keep]...)
	if !up {
		return d.trimmed()
	}
	for i := keep - 1; i >= 0; i-- {
		if d.digits[i] != '9' {
			d.digits[i]++
			return d.trimmed()
		}
		d.digits[i] = '0'
	}
	d.digits = append([]byte{'1'}, d.digits...)
	d.point++
	return d.trimmed()
}

// digit returns the digit at a place after the point: 0 is the first, -1 the units.
func (d decimal) digit(place int) byte {
	if at := d.point + place; at >= 0 && at < len(d.digits) {
		return d.digits[at]
	}
	return '0'
}

// fixed formats the number, already rounded to that many decimals, without a sign.
// grouped separates thousands by commas.
func (d decimal) fixed(decimals int, grouped bool) string {
	whole := max(d.point, 1)
	text := make([]byte, 0, whole+whole/3+1+decimals)
	for i := whole; i > 0; i-- {
		text = append(text, d.digit(-i))
		if grouped && i > 1 && i%3 == 1 {
			text = append(text, ',')
		}
	}
	if decimals == 0 {
		return string(text)
	}
	text = append(text, '.')
	for i := range decimals {
		text = append(text, d.digit(i))
	}
	return string(text)
}

// scientific formats the number, already rounded to that many decimals, without a sign and
// with an exponent of at least exponentDigits digits.
func (d decimal) scientific(e byte, decimals, exponentDigits int) string {
	exponent := 0
	if len(d.digits) > 0 {
		exponent = d.point - 1
	}
	d.point = min(1, len(d.digits))
	return d.fixed(decimals, false) + string(e) + exponentText(exponent, exponentDigits)
}

func exponentText(exponent, digits int) string {
	text, sign := strconv.Itoa(exponent), "+"
	if exponent < 0 {
		text, sign = text[1:], "-"
	}
	return sign + strings.Repeat("0", max(0, digits-len(text))) + text
}
