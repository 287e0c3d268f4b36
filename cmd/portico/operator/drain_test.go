package operator

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"portico/gateway/admin/api"
)

func TestTimesAhead(t *testing.T) {
	now := time.Date(2026, 2, 28, 22, 30, 15, 0, time.UTC)
	for text, want := range map[string]string{
		"2h": "2026-03-01T00:30:15Z", "23:05": "2026-02-28T23:05:00Z", "06:00": "2026-03-01T06:00:00Z", "22:30": "2026-03-01T22:30:00Z",
		"2026-03-02T06:00:00+02:00": "2026-03-02T04:00:00Z", "": "", "6": "", "24:00": "", "tomorrow": "", "2026-03-02": "",
	} {
		at, err := timeAhead(text, now)
		if err == nil != (want != "") || err == nil && at.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v; want %s", text, at, err, want)
		}
	}
}

// The commands order what their arguments say, and show the answer.
func TestDrainByCommand(t *testing.T) {
	alone(t)
	all := answers()
	drain := api.Drain{Reason: "rack move", By: "ops", Until: time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)}
	all["POST /admin/drains"], all["POST /admin/drains/end"] = drain, drain
	l := startListener(t, all)
	for _, c := range []struct {
		line, said string
		want       api.DrainOrder
	}{
		{"regions drain eastus --reason move --until 2026-03-01T06:00:00Z", "eastus is draining until 2026-03-01 06:00 (rack move)", api.DrainOrder{Region: "eastus", Reason: "move", Until: drain.Until}},
		{"regions undrain https://10.0.0.5:8443", "https://10.0.0.5:8443 is no longer draining until", api.DrainOrder{Address: "https://10.0.0.5:8443"}},
		{"regions undrain eastus -o json", `"reason"`, api.DrainOrder{Region: "eastus"}},
	} {
		said, _, err := answer(t, l, c.line)
		var sent api.DrainOrder
		_ = json.Unmarshal([]byte(l.sentText()), &sent) // what cannot be read is another order
		if err != nil || !strings.Contains(said, c.said) || sent != c.want {
			t.Errorf("%s: %q, %v, sent %+v", c.line, said, err, sent)
		}
	}
	for _, line := range []string{"regions drain eastus --until 2h", "regions drain eastus --reason move", "regions drain --reason move --until 2h", "regions drain eastus --reason move --until soon"} {
		if _, _, err := answer(t, l, line); err == nil {
			t.Errorf("%s was ordered", line)
		}
	}
}
