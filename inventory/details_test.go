package inventory

import "testing"

// What a resource says of its state counts whatever is wrong with its other
// members: taken for terminal, a resource that is being made would not be
// followed, and one that is being deleted would be called alive.
func TestStateIsReadBesideWhatIsNoDetail(t *testing.T) {
	for text, want := range map[string]struct {
		state   string
		details bool
	}{
		`{"kind":"k","properties":{"provisioningState":"Creating"}}`:                  {"Creating", true},
		`{"kind":5,"properties":{"provisioningState":"Creating"}}`:                    {"Creating", false},
		`{"properties":{"provisioningState":"Deleting"},"tags":{"a":1}}`:              {"Deleting", false},
		`{"tags":["a"],"managedBy":{},"properties":{"provisioningState":"Updating"}}`: {"Updating", false},
		`{"properties":{"provisioningState":7}}`:                                      {"", false},
		`{"properties":[]}`:                                                           {"", false},
		`{"properties":null,"tags":null}`:                                             {"", true},
		`{"properties":{"provisioningState":"Creating"}`:                              {"", false},
		`"Creating"`: {"", false},
		``:           {"", false},
	} {
		state, details := ReadDetails([]byte(text))
		if state != want.state || (details != nil) != want.details {
			t.Errorf("%s: %q, %v", text, state, details)
		}
		if o := ReadObservation([]byte(text)); !o.Found || o.ProvisioningState != want.state {
			t.Errorf("%s: %+v", text, o)
		}
	}
}
