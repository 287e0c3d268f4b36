package gateway

import (
	"reflect"
	"slices"
	"testing"

	"portico/gateway/explain"
)

// What records shares nothing with the service but what is read, or rolled back: a port that is
// added is not the service's unless this says so.
func TestRecordingPorts(t *testing.T) {
	s := newSite(t, setup{sections: "throttle: {enabled: true}"})
	allowed := []string{"index", "scopes", "intents", "around"}
	service := reflect.ValueOf(s.gateway.ports)
	recording := reflect.ValueOf(s.gateway.recording(explain.NewCalls(s.gateway.upstream), false, false))
	for i := range service.NumField() {
		name := service.Type().Field(i).Name
		if a, b := service.Field(i), recording.Field(i); !slices.Contains(allowed, name) && !b.IsZero() && (a.Kind() == reflect.Func || a.Equal(b)) {
			t.Errorf("the port %s is that of the service", name)
		}
	}
}
