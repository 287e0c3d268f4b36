package inventory

import (
	"bytes"
	"encoding/json"
	"testing"

	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
)

func TestStartedWritesAreWrittenAsByEncodingJSON(t *testing.T) {
	cause := events.Cause{ObjectID: "o", Name: `"né" <x>`, URI: "/subscriptions/s", Application: true}
	all := []unreportedWrite{
		{Intent: engine.NewID(), Kind: index.Delete, Type: "contoso.compute/virtualmachines", Cause: cause},
		{Intent: [16]byte{0, 255, 7}, Why: &writeFailure{Code: "Conflict", Message: "a\nb"}},
	}
	for n := 1; n <= len(all); n++ {
		want, err := json.Marshal(all[:n])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := appendUnreported(nil, all[:n]); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v\n got %s\nwant %s", err, got, want)
		}
	}
}
