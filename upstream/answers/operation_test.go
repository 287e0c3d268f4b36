package answers

import "testing"

func TestStates(t *testing.T) {
	for text, want := range map[string]bool{
		`{"status":"Running"}`: false, `{"status":"Succeeded"}`: true, `{"status":"FAILED"}`: true, `{"status":"Canceled"}`: true, `{"status":"Cancelled"}`: true,
		`{"properties":{"provisioningState":"Creating"}}`: false, `{"properties":{"provisioningState":"Succeeded"}}`: true,
		`{"status":"InProgress","properties":{"provisioningState":"Succeeded"}}`: false,
		`{}`: true, ``: true, `[]`: true, `{"status":7}`: true,
	} {
		if got := Terminal(State([]byte(text))); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
