// Package secret finds the secrets of a deployment, and hides them: in the values that are
// stored and shown, and where providers may repeat them, in their errors and in the resources
// that they return.
package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"portico/template/expr"
)

// Mask stands for a secret, as in ARM.
const Mask = "*******"

// shortest is the least number of bytes of a secret that is hidden inside of words. A shorter
// one is hidden only as a word of its own: inside of words its masks would make a text
// unreadable, and show what the secret is.
const shortest = 4

// Secrets are the texts that are hidden. The zero value hides nothing.
type Secrets struct {
	anywhere *strings.Replacer // nil: none
	words    []string
	unknown  bool // some texts are secrets, and which is not known: only the codes of errors are shown
}

// Unknown returns the Secrets for texts that held secrets which are no longer known. It hides
// whole texts.
func Unknown() Secrets { return Secrets{unknown: true} }

// mostBytes bounds the secrets that are searched for, each in some 14 forms.
const mostBytes = 1 << 20

// In returns the secrets in values.
func In(values ...expr.Value) Secrets { return Of(Texts(values...)) }

// Texts returns the texts and numbers in values that are marked as secrets, each once.
func Texts(values ...expr.Value) (texts []string) {
	for _, v := range values {
		texts = appendTexts(texts, v)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// Size returns the total number of bytes of texts.
func Size(texts []string) (n int) {
	for _, t := range texts {
		n += len(t)
	}
	return n
}

// Of returns the secrets with the given texts, or Unknown if these have too many bytes.
func Of(texts []string) Secrets {
	slices.Sort(texts)
	if texts = slices.Compact(texts); Size(texts) > mostBytes {
		return Unknown()
	}
	var forms []string
	for _, t := range texts {
		forms = appendForms(forms, t)
	}
	slices.SortFunc(forms, func(a, b string) int { // longer ones first, as others may be parts of them
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	forms = slices.Compact(forms)
	var s Secrets
	var pairs []string
	for _, form := range forms {
		if len(form) < shortest {
			s.words = append(s.words, form)
			continue
		}
		pairs = append(pairs, form, Mask)
	}
	if pairs != nil {
		s.anywhere = strings.NewReplacer(pairs...)
	}
	return s
}

func appendTexts(to []string, v expr.Value) []string {
	switch {
	case !v.Secure():
	case v.Is(expr.Pending):
		expr.Invocations(v, func(of *expr.Invocation) {
			for _, arg := range of.Args {
				if known, is := arg.(*expr.Literal); is && known.Value.Known() { // else its own calls follow
					to = appendTexts(to, known.Value)
				}
			}
		})
	case v.Is(expr.Array):
		for i := range v.Len() {
			to = appendTexts(to, v.Element(i))
		}
	case v.Is(expr.Object):
		for _, m := range v.Members() {
			part, _ := v.Member(m.Name) // unlike m.Value, marked as a secret if v is
			to = appendTexts(to, part)
		}
	case v.Is(expr.String) && v.Text() != "":
		to = append(to, v.Text())
	case v.Is(expr.Number):
		to = append(to, v.JSON())
	}
	return to
}

// appendForms appends the forms that a text may have inside another one: as it is, in JSON, in
// JSON within JSON, in a URL, and in base64 with other bytes around it.
func appendForms(to []string, text string) []string {
	quoted, forHTML := inJSON(text, false), inJSON(text, true)
	to = append(to, text, quoted, forHTML, inJSON(quoted, false), inJSON(forHTML, false),
		url.QueryEscape(text), url.PathEscape(text), lowerEscapes(url.QueryEscape(text)), lowerEscapes(url.PathEscape(text)))
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			// Its first and last digits depend on the bytes around it, which are unknown.
			digits := encoding.EncodeToString(append(make([]byte, before), text...))
			if form := digits[(before*8+5)/6 : (before+len(text))*8/6]; form != "" {
				to = append(to, form)
			}
		}
	}
	return to
}

// inJSON returns a text as JSON, without the quotes.
func inJSON(text string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(text) != nil { // never of a text
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// lowerEscapes returns the text of a URL with lower-case digits in its escapes, as some clients
// write it.
func lowerEscapes(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

// Text returns a text with its secrets hidden.
func (s Secrets) Text(text string) string {
	if s.unknown {
		return Mask
	}
	if s.anywhere != nil {
		text = s.anywhere.Replace(text)
	}
	for _, word := range s.words {
		text = replaceWord(text, word)
	}
	return text
}

// replaceWord masks a word unless a letter or a digit adjoins it.
func replaceWord(text, word string) string {
	var b strings.Builder
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			b.WriteString(text[from:])
			return b.String()
		}
		start, end := from+at, from+at+len(word)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		b.WriteString(text[from:start])
		if inWord(before) || inWord(after) {
			b.WriteString(word)
		} else {
			b.WriteString(Mask)
		}
		from = end
	}
}

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// Value returns a value with the secrets hidden in its texts, numbers and names of members.
func (s Secrets) Value(v expr.Value) expr.Value {
	switch {
	case s.unknown:
		return expr.StringOf(Mask)
	case s.anywhere == nil && s.words == nil:
		return v
	}
	return Replace(v, func(v expr.Value) (expr.Value, bool) {
		switch {
		case v.Is(expr.String):
			return expr.StringOf(s.Text(v.Text())), true
		case v.Is(expr.Number) && s.anywhere != nil && s.anywhere.Replace(v.JSON()) != v.JSON():
			return expr.StringOf(Mask), true
		case v.Is(expr.Object):
			var members []expr.Member
			for _, m := range v.Members() {
				part, _ := v.Member(m.Name)
				members = append(members, expr.Member{Name: s.Text(m.Name), Value: s.Value(part)})
			}
			return expr.ObjectOf(members...), true
		}
		return v, false
	})
}

// Replace replaces the parts of a value, outermost first. If by has no replacement for a part,
// the parts of that part are replaced.
func Replace(v expr.Value, by func(expr.Value) (replacement expr.Value, is bool)) expr.Value {
	if r, is := by(v); is {
		return r
	}
	switch v.Kind() {
	case expr.Array:
		elements := make([]expr.Value, 0, v.Len())
		for i := range v.Len() {
			elements = append(elements, Replace(v.Element(i), by)) // the element is marked as a secret if v is
		}
		return expr.ArrayOf(elements...)
	case expr.Object:
		members := make([]expr.Member, 0, v.Len())
		for _, m := range v.Members() {
			part, _ := v.Member(m.Name)
			members = append(members, expr.Member{Name: m.Name, Value: Replace(part, by)})
		}
		return expr.ObjectOf(members...)
	}
	return v
}
