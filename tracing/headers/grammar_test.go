package headers

import "testing"

// Every byte at every place of a word, beside bytes that borrow and carry, is judged as
// it is judged alone.
func TestWordsAreJudgedAsTheirBytes(t *testing.T) {
	visible := func(b byte) bool { return b > ' ' && b != 0x7f }
	value := func(b byte) bool { return b >= ' ' && b != 0x7f || b == '\t' }
	for _, beside := range []byte{0, '\t', ' ', '!', 'x', 0x7e, 0x7f, 0x80, 0x9f, 0xa0, 0xff} {
		for at := range 6*wordSize + 3 {
			text := make([]byte, 6*wordSize+3)
			for i := range text {
				text[i] = beside
			}
			for b := range 256 {
				text[at] = byte(b)
				if got, want := IsFieldValue(text), value(byte(b)) && value(beside); got != want {
					t.Fatalf("IsFieldValue(%q) is %v", text, got)
				}
				if got, want := IsFieldValue(string(text)), value(byte(b)) && value(beside); got != want {
					t.Fatalf("IsFieldValue(%q) of a string is %v", text, got)
				}
				if got, want := IsVisible(string(text)), visible(byte(b)) && visible(beside); got != want {
					t.Fatalf("IsVisible(%q) is %v", text, got)
				}
			}
		}
	}
}
