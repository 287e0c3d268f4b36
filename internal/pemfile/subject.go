package pemfile

import (
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Subject is a distinguished name in a certificate's order: for each part the
// sorted attributes, as type and value. Nothing is joined or left out, so
// that only equal names have equal subjects.
type Subject [][]string

// attributeTypes maps openssl's names of attribute types to the types.
var attributeTypes = map[string]string{
	"CN": "2.5.4.3", "SN": "2.5.4.4", "SERIALNUMBER": "2.5.4.5", "C": "2.5.4.6", "L": "2.5.4.7", "ST": "2.5.4.8", "STREET": "2.5.4.9",
	"O": "2.5.4.10", "OU": "2.5.4.11", "TITLE": "2.5.4.12", "DESCRIPTION": "2.5.4.13", "BUSINESSCATEGORY": "2.5.4.15", "POSTALCODE": "2.5.4.17",
	"NAME": "2.5.4.41", "GN": "2.5.4.42", "INITIALS": "2.5.4.43", "GENERATIONQUALIFIER": "2.5.4.44", "DNQUALIFIER": "2.5.4.46",
	"PSEUDONYM": "2.5.4.65", "ROLE": "2.5.4.72", "ORGANIZATIONIDENTIFIER": "2.5.4.97",
	"DC": "0.9.2342.19200300.100.1.25", "UID": "0.9.2342.19200300.100.1.1", "EMAILADDRESS": "1.2.840.113549.1.9.1",
	"JURISDICTIONL": "1.3.6.1.4.1.311.60.2.1.1", "JURISDICTIONST": "1.3.6.1.4.1.311.60.2.1.2", "JURISDICTIONC": "1.3.6.1.4.1.311.60.2.1.3",
}

// ParseSubject parses a subject in the form of RFC 2253, the last part first,
// such as "CN=ann,O=Contoso". Types are the usual names, in any casing, or
// numbers with dots; a value may be a "#" with its encoding in hexadecimal.
// Spaces around a value are ignored.
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

// readAttribute reads one attribute and the separator after it: a comma, a
// plus, or 0 for the end.
func readAttribute(text string) (attribute string, separator byte, rest string, err error) {
	name, text, found := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	oid := attributeTypes[strings.ToUpper(name)]
	if strings.Contains(name, ".") && strings.Trim(name, "0123456789.") == "" {
		oid = name
	}
	if !found || oid == "" {
		return "", 0, "", fmt.Errorf("%q is not an attribute type", name)
	}
	value, separator, rest, err := readValue(text)
	if err != nil {
		return "", 0, "", fmt.Errorf("the value of %s %w", name, err)
	}
	return oid + "=" + value, separator, rest, nil
}

// readValue reads a value and the separator after it, like readAttribute.
func readValue(text string) (value string, separator byte, rest string, err error) {
	text = strings.TrimLeft(text, " ")
	var read []byte
	end, last := 0, len(text) // end of the last byte that counts; end of the value
	for i := 0; i < last; i++ {
		c := text[i]
		switch {
		case c == ',' || c == '+':
			separator, rest, last = c, text[i+1:], i
			continue
		case strings.IndexByte(`";<>`, c) >= 0:
			return "", 0, "", fmt.Errorf("has a %q without the backslash that it needs", c)
		case c == '\\':
			pair, bad := hex.DecodeString(text[i+1 : min(i+3, len(text))])
			switch {
			case bad == nil && len(pair) == 1:
				c, i = pair[0], i+2
			case i+1 < len(text):
				c, i = text[i+1], i+1
			default:
				return "", 0, "", errors.New("ends in a backslash")
			}
		case c == ' ':
			read = append(read, c)
			continue // it counts only before other characters
		}
		read = append(read, c)
		end = len(read)
	}
	if encoded, is := strings.CutPrefix(text[:last], "#"); is {
		value, err = readEncoded(strings.TrimRight(encoded, " "))
		return value, separator, rest, err
	}
	return string(read[:end]), separator, rest, nil
}

// readEncoded reads a value in the form of its hexadecimal encoding.
func readEncoded(text string) (string, error) {
	var raw asn1.RawValue
	der, err := hex.DecodeString(text)
	if err == nil {
		var behind []byte
		if behind, err = asn1.Unmarshal(der, &raw); err == nil && len(behind) == 0 {
			if value, ok := textOf(raw); ok {
				return value, nil
			}
		}
	}
	return "", errors.New("begins with # but is not an encoded text in hexadecimal; write \\# for a plain #")
}

// textOf returns the text of a value, and false if it is not text.
func textOf(raw asn1.RawValue) (text string, ok bool) {
	if raw.Class == asn1.ClassUniversal && raw.Tag == asn1.TagT61String { // most writers use it for Latin-1
		letters := make([]rune, len(raw.Bytes))
		for i, c := range raw.Bytes {
			letters[i] = rune(c)
		}
		return string(letters), true
	}
	var value any
	if _, err := asn1.Unmarshal(raw.FullBytes, &value); err != nil {
		return "", false
	}
	text, ok = value.(string)
	return text, ok
}

// nameSET is a part of a name; package asn1 recognizes the type SET by this suffix.
type nameSET []struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// SubjectOf reads the subject of a certificate from its raw bytes. It returns
// nil if a value is not text.
func SubjectOf(raw []byte) Subject {
	var name []nameSET
	if rest, err := asn1.Unmarshal(raw, &name); err != nil || len(rest) > 0 {
		return nil
	}
	subject := make(Subject, 0, len(name))
	for _, part := range name {
		attributes := make([]string, 0, len(part))
		for _, a := range part {
			value, ok := textOf(a.Value)
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

// Equal reports whether two subjects are the same name. An empty one equals none.
func (s Subject) Equal(other Subject) bool {
	return len(s) > 0 && slices.EqualFunc(s, other, slices.Equal)
}
