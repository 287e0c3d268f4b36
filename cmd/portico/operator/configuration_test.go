package operator

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"portico/gateway/admin/api"
)

func TestConfigurationIsShown(t *testing.T) {
	alone(t)
	all := answers()
	all["GET /admin/configuration"] = api.ConfigurationInUse{Settings: []api.Setting{{Path: "auth.mode", Value: "none"}, {Path: "server.listen", Value: ":8080"}}}
	at := time.Now().Add(-10*time.Minute - time.Second)
	all["GET /admin/configurations"] = api.Page[api.Configuration]{Value: []api.Configuration{
		{Time: at, Outcome: api.ConfigurationRefused, Why: "signal", Faults: []string{"portico.yaml:3: wibble is no setting"}},
		{Generation: 2, Time: at, Outcome: api.ConfigurationTaken, Why: "request", By: "dana", Changes: []api.SettingChange{{Path: "log.level", From: "info", To: "debug"}}, NeedsRestart: []string{"server.listen"}},
		{Generation: 1, Time: at, Outcome: api.ConfigurationTaken, Why: "start"},
	}}
	l := startListener(t, all)
	shows(t, l, "configuration", "SETTING", "VALUE", "auth.mode", "none", "server.listen", ":8080")
	shows(t, l, "configuration history", "GENERATION", "10m ago", "refused", "signal", "wibble is no setting", "2", "taken", "request", "dana", "log.level", "1", "start")
	shows(t, l, "configuration history -o wide", "DIFFERED", "Refused", "wibble", "Generation 2", "log.level: info -> debug", "server.listen stays")
	for line, operation := range map[string]string{"configuration": "GET /admin/configuration", "configuration history": "GET /admin/configurations"} {
		want, _ := json.Marshal(all[operation])
		text, _, err := answer(t, l, line+" -o json")
		var got, wanted any
		if err != nil || json.Unmarshal([]byte(text), &got) != nil || json.Unmarshal(want, &wanted) != nil || fmt.Sprint(got) != fmt.Sprint(wanted) {
			t.Errorf("portico %s -o json: %v\n%s", line, err, text)
		}
	}
}
