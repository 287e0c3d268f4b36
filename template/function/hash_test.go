package function

import "testing"

func TestNamesAreThoseOfARM(t *testing.T) {
	for name, want := range map[string]string{
		"/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/myRg": "js26ofeqkqeve",
		"asd-asdf-asdf": "iizpqit7ih3cc",
	} {
		if got := uniqueName(name); got != want {
			t.Errorf("uniqueString of %q is %s, want %s", name, got, want)
		}
	}
	if got, want := nameGUID("asdf"), "228d27cc-6fdb-5934-b7ac-1efccebade04"; got != want {
		t.Errorf("guid of asdf is %s, want %s", got, want)
	}
}
