package access

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Subject is a distinguished name as it stands in a certificate: its parts in their order,
// of each part the attributes, sorted, as their types and values. Nothing is joined or left
// out, so that equal subjects are of equal names.
type Subject [][]string

// attributeTypes are the names of types of attributes, as openssl writes them.
var attributeTypes = map[string]string{
	"CN": "2.5.4.3", "SN": "2.5.4.4", "SERIALNUMBER": "2.5.4.5", "C": "2.5.4.6", "L": "2.5.4.7", "ST": "2.5.4.8", "STREET": "2.5.4.9",
	"O": "2.5.4.10", "OU": "2.5.4.11", "TITLE": "2.5.4.12", "POSTALCODE": "2.5.4.17", "GN": "2.5.4.42",
	"DC": "0.9.2342.19200300.100.1.25", "UID": "0.9.2342.19200300.100.1.1", "EMAILADDRESS": "1.2.840.113549.1.9.1",
}

// ParseSubject reads a subject as RFC 2253 writes it, the last part first, such as
// "CN=ann,O=Contoso". Types are the usual names, in any casing, or numbers with dots.
func ParseSubject(text string) (Subject, error) {
	var subject Subject
	part := []string{}
	for rest, end := text, false; !end; {
		attribute, separator, next, err := readAttribute(rest)
		if err != nil {
			return nil, err
		}
		part = append(part, attribute)
		if rest, end = next, separator == 0; separator != '+' {
			slices.Sort(part)
			subject, part = append(subject, part), []string{}
		}
	}
	slices.Reverse(subject)
	return subject, nil
}

// readAttribute reads one attribute, and what follows it: a comma, a plus, or 0 for the end.
func readAttribute(text string) (attribute string, separator byte, rest string, err error) {
	name, text, found := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	oid := attributeTypes[strings.ToUpper(name)]
	if strings.Contains(name, ".") && strings.Trim(name, "0123456789.") == "" {
		oid = name
	}
	if !found || oid == "" {
		return "", 0, "", fmt.Errorf("%q is no type of an attribute", name)
	}
	var value []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ',', '+':
			return oid + "=" + string(value), c, text[i+1:], nil
		case '\\':
			pair, bad := hex.DecodeString(text[i+1 : min(i+3, len(text))])
			switch {
			case bad == nil && len(pair) == 1:
				value, i = append(value, pair[0]), i+2
			case i+1 < len(text):
				value, i = append(value, text[i+1]), i+1
			default:
				return "", 0, "", fmt.Errorf("the value of %s ends in a backslash", name)
			}
		case '"', ';', '<', '>', '#':
			if c != '#' || i == 0 {
				return "", 0, "", fmt.Errorf("%q in the value of %s has to be written with a backslash", c, name)
			}
			value = append(value, c)
		default:
			value = append(value, c)
		}
	}
	return oid + "=" + string(value), 0, "", nil
}

// subjectOf reads the subject of a certificate from its own bytes. It is nil where a value
// is no text.
func subjectOf(raw []byte) Subject {
	var name pkix.RDNSequence
	if rest, err := asn1.Unmarshal(raw, &name); err != nil || len(rest) > 0 {
		return nil
	}
	subject := make(Subject, 0, len(name))
	for _, part := range name {
		attributes := make([]string, 0, len(part))
		for _, a := range part {
			value, ok := a.Value.(string)
			if !ok {
				return nil
			}
			attributes = append(attributes, a.Type.String()+"="+value)
		}
		slices.Sort(attributes)
		subject = append(subject, attributes)
	}
	return subject
}

// equal reports whether two subjects are the same name. An empty one is nobody's.
func (s Subject) equal(other Subject) bool {
	return len(s) > 0 && slices.EqualFunc(s, other, slices.Equal)
}
