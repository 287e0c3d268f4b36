package contoso

import (
	"encoding/binary"
	"net/http"
	"unicode/utf16"

	"portico/provider/contoso/fault"
)

// page returns the answer with a page of HTML as its body.
func (a answer) page() answer {
	a.header = a.header.Clone()
	a.header.Set("Content-Type", "text/html; charset=utf-8")
	a.body = []byte("<!DOCTYPE html>\n<html><body><h1>Welcome to Contoso</h1></body></html>\n")
	return a
}

// unreadable returns a success with another text as its body. Any other
// answer stays as it is.
func (a answer) unreadable(text string) answer {
	if a.status < http.StatusOK || a.status >= http.StatusMultipleChoices || !bodyAllowed(a.status) {
		return a
	}
	switch text {
	case fault.TextPage:
		return a.page()
	case fault.TextEmpty:
		a.body = nil
	case fault.TextNull:
		a.body = []byte("null")
	case fault.TextList:
		a.body = []byte("[]")
	case fault.TextObject:
		a.body = []byte("{}")
	case fault.TextHalf:
		a.body = a.body[:len(a.body)/2]
	case fault.TextUTF16:
		a.body = asUTF16(a.body)
	}
	return a
}

// asUTF16 encodes a text like some services' files: little-endian, after a
// byte order mark.
func asUTF16(text []byte) []byte {
	encoded := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(string(text))) {
		encoded = binary.LittleEndian.AppendUint16(encoded, unit)
	}
	return encoded
}
