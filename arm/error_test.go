package arm

import (
	"strings"
	"testing"
)

// An error is not many times as long as what it refuses: it cuts long texts wherever
// they appear.
func TestErrorsShowLongTextsCut(t *testing.T) {
	long := strings.Repeat("é<", 1<<20)
	for _, e := range []*Error{
		NewError(InvalidRequestContent, long), NewError(Conflict).WithTarget(long), NewError(Conflict).WithMessage("%s", long), NewError(Conflict).Shown(long, long),
	} {
		if n := len(e.Body()); n > 64<<10 || !strings.Contains(string(e.Body()), "…") {
			t.Errorf("%d bytes: %.100s", n, e.Body())
		}
	}
	if e := NewError(Conflict).Shown("Code", "a\xff"); e.Code != "Code" || e.Message != "a\uFFFD" {
		t.Errorf("%+v", e)
	}
}
