package pemfile

import (
	"bytes"
	"crypto/x509/pkix"
	"encoding/asn1"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

func subject(t *testing.T, text string) Subject {
	t.Helper()
	s, err := ParseSubject(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// A subject is a certificate's as openssl writes it, and no one else's: not of one with its
// attributes in another order, twice, or in one part.
func TestSubjectsAsTheyStand(t *testing.T) {
	part := func(named ...any) (part pkix.RelativeDistinguishedNameSET) {
		for i := 0; i < len(named); i += 2 {
			var oid asn1.ObjectIdentifier
			for number := range strings.SplitSeq(attributeTypes[named[i].(string)], ".") {
				n, err := strconv.Atoi(number)
				if err != nil {
					t.Fatal(err)
				}
				oid = append(oid, n)
			}
			part = append(part, pkix.AttributeTypeAndValue{Type: oid, Value: named[i+1]})
		}
		return part
	}
	certificate := func(name ...pkix.RelativeDistinguishedNameSET) Subject {
		raw, err := asn1.Marshal(pkix.RDNSequence(name))
		if err != nil {
			t.Fatal(err)
		}
		return SubjectOf(raw)
	}
	encoded := func(tag int, content string) asn1.RawValue { return asn1.RawValue{Tag: tag, Bytes: []byte(content)} }
	wide := func(text string) string {
		var b bytes.Buffer
		for _, unit := range utf16.Encode([]rune(text)) {
			b.Write([]byte{byte(unit >> 8), byte(unit)})
		}
		return b.String()
	}
	ann := certificate(part("O", "Contoso"), part("CN", "ann"))
	for name, attack := range map[string]Subject{
		"an earlier name":   certificate(part("O", "Contoso"), part("CN", "eve"), part("CN", "ann")),
		"one part":          certificate(part("CN", "ann", "O", "Contoso")),
		"another order":     certificate(part("CN", "ann"), part("O", "Contoso")),
		"a comma in a name": certificate(part("CN", "ann,O=Contoso")),
		"another type":      certificate(part("O", "Contoso"), part("OU", "ann")),
		"no text":           certificate(part("O", "Contoso"), part("CN", encoded(asn1.TagBitString, "\x00ann"))),
		"an invisible end":  certificate(part("O", "Contoso"), part("CN", "ann\x00")),
		"a space":           certificate(part("O", "Contoso"), part("CN", " ann")),
		"nothing":           certificate(),
	} {
		if subject(t, "CN=ann,O=Contoso").Equal(attack) {
			t.Errorf("%s: %q is ann", name, attack)
		}
	}
	jerome := certificate(part("DC", "com"), part("DC", "contoso"), part("CN", "Jérôme"))
	for text, want := range map[string]Subject{
		"CN=ann,O=Contoso":                      ann,
		"cn=ann, o=Contoso":                     ann,
		"CN = ann , O = Contoso ":               ann,
		"2.5.4.3=ann,O=Contoso":                 ann,
		"CN=#0c03616e6e,O=#1307436F6E746F736F ": ann, // as UTF-8, and printable
		"O=Contoso+CN=ann":                      certificate(part("CN", "ann", "O", "Contoso")),
		`CN=ann\,O=Contoso`:                     certificate(part("CN", "ann,O=Contoso")),
		`CN=\ ann\ ,OU=\#1\;\"\<x\>\+a#b\\`:     certificate(part("OU", `#1;"<x>+a#b\`), part("CN", " ann ")),
		`CN=J\C3\A9r\C3\B4me,DC=contoso,DC=com`: jerome,
		`CN=Jérôme,DC=contoso,DC=com`:           jerome,
		`CN=a\0Ab`:                              certificate(part("CN", "a\nb")),
		// As openssl writes them, and as Go writes an attribute that it has no name for.
		"emailAddress=ann@contoso.example,CN=ann":                                              certificate(part("CN", "ann"), part("EMAILADDRESS", encoded(asn1.TagIA5String, "ann@contoso.example"))),
		"1.2.840.113549.1.9.1=#0c13616e6e40636f6e746f736f2e6578616d706c65,CN=ann":              certificate(part("CN", "ann"), part("EMAILADDRESS", encoded(asn1.TagIA5String, "ann@contoso.example"))),
		`description=d,organizationIdentifier=VAT,serialNumber=12,businessCategory=x,street=s`: certificate(part("STREET", "s"), part("BUSINESSCATEGORY", "x"), part("SERIALNUMBER", "12"), part("ORGANIZATIONIDENTIFIER", "VAT"), part("DESCRIPTION", "d")),
	} {
		if !subject(t, text).Equal(want) {
			t.Errorf("%s is not %q", text, want)
		}
	}
	// A text is the same in whatever encoding it stands.
	for tag, content := range map[int]string{asn1.TagUTF8String: "Jérôme", asn1.TagT61String: "J\xe9r\xf4me", asn1.TagBMPString: wide("Jérôme")} {
		if got := certificate(part("DC", encoded(asn1.TagIA5String, "com")), part("DC", "contoso"), part("CN", encoded(tag, content))); !got.Equal(jerome) {
			t.Errorf("encoded by %d: %q", tag, got)
		}
	}
	for _, bad := range []string{"", "ann", "CN=ann,", "XY=ann", `CN=ann\`, "CN=<ann>", "CN=ann,,O=Contoso", "CN=#ann", "CN=#0303006162", "CN=#0c03616e6e00", "CN=ann;O=Contoso"} {
		if s, err := ParseSubject(bad); err == nil {
			t.Errorf("%q is %q", bad, s)
		}
	}
}
