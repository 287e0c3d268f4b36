package function

import "strings"

// picture is what a section of a custom numeric format asks for.
type picture struct {
	digits     int // placeholders
	point      int // placeholders before the decimal point
	first      int // the digits before the point that are written even where they are zeros
	last       int // likewise behind the point, negative
	grouped    bool
	scientific bool
	shift      int // powers of ten by which the number is shown larger
}

// readPicture scans a section up to its end.
func readPicture(section string) picture {
	p := picture{point: -1}
	firstZero, lastZero, comma, commas := -1, 0, -1, 0
	scanSection(section, func(c byte, rest string) int {
		switch c {
		case '#':
			p.digits++
		case '0':
			if firstZero < 0 {
				firstZero = p.digits
			}
			p.digits++
			lastZero = p.digits
		case '.':
			if p.point < 0 {
				p.point = p.digits
			}
		case ',':
			if p.digits > 0 && p.point < 0 {
				if comma == p.digits {
					commas++
					break
				}
				p.grouped = p.grouped || comma >= 0
				comma, commas = p.digits, 1
			}
		case '%':
			p.shift += 2
		case permille:
			p.shift += 3
		case 'E', 'e':
			if _, zeros := exponentPicture(rest); zeros > 0 {
				p.scientific = true
				sign, _ := exponentPicture(rest)
				return sign + zeros
			}
		}
		return 0
	})
	if p.point < 0 {
		p.point = p.digits
	}
	if comma >= 0 {
		if comma == p.point {
			p.shift -= 3 * commas
		} else {
			p.grouped = true
		}
	}
	if firstZero >= 0 {
		p.first = max(0, p.point-firstZero)
	}
	p.last = min(0, p.point-lastZero)
	return p
}

// permille stands for the sign of thousandths, which is not one byte.
const permille = 0

// scanSection calls see for what is not literal; see says how many further bytes it took.
func scanSection(section string, see func(c byte, rest string) int) {
	for i := 0; i < len(section); i++ {
		switch c := section[i]; {
		case c == '\\':
			i++
		case c == '\'' || c == '"':
			i += literalEnd(section[i:])
		case strings.HasPrefix(section[i:], "‰"):
			i += len("‰") - 1
			see(permille, "")
		default:
			i += see(c, section[i+1:])
		}
	}
}

// literalEnd is where the literal ends that begins at the quote at 0.
func literalEnd(text string) int {
	if end := strings.IndexByte(text[1:], text[0]); end >= 0 {
		return end + 1
	}
	return len(text) - 1
}

// exponentPicture is how many bytes behind an E are a sign, and how many zeros follow.
func exponentPicture(rest string) (sign, zeros int) {
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		sign = 1
	}
	for sign+zeros < len(rest) && rest[sign+zeros] == '0' {
		zeros++
	}
	return sign, zeros
}

// sections splits a format at its semicolons.
func sections(format string) []string {
	var all []string
	from := 0
	for i := 0; i < len(format); i++ {
		switch format[i] {
		case '\\':
			i++
		case '\'', '"':
			i += literalEnd(format[i:])
		case ';':
			all = append(all, format[from:i])
			from = i + 1
		}
	}
	return append(all, format[min(from, len(format)):])
}

// formatCustom writes a number by a format such as "#,##0.00;(#,##0.00);none".
func formatCustom(d decimal, format string) string {
	all := sections(format)
	pick := func(at int) int {
		if at < len(all) && all[at] != "" {
			return at
		}
		return 0
	}
	at := 0
	switch {
	case len(d.digits) == 0:
		at = pick(2)
	case d.negative:
		at = pick(1)
	}
	p := readPicture(all[at])
	d = p.adjust(d)
	if len(d.digits) == 0 && at != pick(2) {
		at = pick(2)
		p = readPicture(all[at])
	}
	text := p.write(d, all[at])
	if d.negative && at == 0 && len(d.digits) > 0 {
		return "-" + text
	}
	return text
}

// adjust is the number as the section shows it.
func (p picture) adjust(d decimal) decimal {
	if len(d.digits) == 0 {
		return d
	}
	d.point += p.shift
	if p.scientific {
		return d.rounded(p.digits)
	}
	return d.rounded(d.point + p.digits - p.point)
}

// writer writes a number's digits into the placeholders of a section.
type writer struct {
	picture
	d       decimal
	text    []byte
	next    int  // the digit that is written next
	place   int  // the digits before the point that are still to come; negative behind it
	before  int  // digits before the first placeholder; negative: placeholders before the first digit
	pointed bool // the decimal point is written
}

func (p picture) write(d decimal, section string) string {
	w := &writer{picture: p, d: d, place: p.point}
	if !p.scientific {
		w.place = max(d.point, p.point)
		w.before = d.point - p.point
	}
	w.section(section)
	return string(w.text)
}

func (w *writer) section(section string) {
	for i := 0; i < len(section); i++ {
		c := section[i]
		switch c {
		case '#', '0':
			w.leading()
			w.placeholder()
		case '.':
			w.leading()
			w.decimalPoint()
		case ',':
		case '\\':
			if i++; i < len(section) {
				w.text = append(w.text, section[i])
			}
		case '\'', '"':
			end := literalEnd(section[i:])
			w.text = append(w.text, strings.TrimSuffix(section[i+1:i+end+1], string(c))...)
			i += end
		case 'E', 'e':
			sign, zeros := exponentPicture(section[i+1:])
			if w.scientific && zeros > 0 {
				w.exponent(c, section[i+1] == '+', min(zeros, 10))
			} else {
				w.text = append(w.text, section[i:i+1+sign+zeros]...)
			}
			i += sign + zeros
		default:
			w.text = append(w.text, c)
		}
	}
}

// leading writes the digits for which there are no placeholders.
func (w *writer) leading() {
	for ; w.before > 0; w.before-- {
		w.digit('0')
	}
}

func (w *writer) placeholder() {
	if w.before < 0 {
		w.before++
		if w.place <= w.first {
			w.put('0')
		}
		w.place--
		return
	}
	if w.next < len(w.d.digits) || w.place > w.last {
		w.digit('0')
		return
	}
	w.place--
}

// digit writes the next digit, or another where there is none.
func (w *writer) digit(otherwise byte) {
	c := otherwise
	if w.next < len(w.d.digits) {
		c = w.d.digits[w.next]
		w.next++
	}
	w.put(c)
	w.place--
}

func (w *writer) put(c byte) {
	w.text = append(w.text, c)
	if w.grouped && w.place > 1 && (w.place-1)%3 == 0 {
		w.text = append(w.text, ',')
	}
}

func (w *writer) decimalPoint() {
	if w.place != 0 || w.pointed {
		return
	}
	if w.last < 0 || (w.point < w.digits && w.next < len(w.d.digits)) {
		w.text = append(w.text, '.')
		w.pointed = true
	}
}

func (w *writer) exponent(e byte, plus bool, zeros int) {
	exponent := 0
	if len(w.d.digits) > 0 {
		exponent = w.d.point - w.point
	}
	w.text = append(append(w.text, e), exponentText(exponent, zeros, plus)...)
	w.scientific = false // a second one is literal
}
