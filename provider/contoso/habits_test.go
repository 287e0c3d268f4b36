package contoso

import (
	"strings"
	"testing"
)

// What a client sends comes back by the provider's habits, and sent again it comes back the
// same.
func TestHabits(t *testing.T) {
	const sent = `{"size":"Big","adminPassword":"p","disks":[{"lun":1,"enabled":false},{"lun":2}],"zones":["A","b",3],"none":null}`
	for _, c := range []struct {
		habits string
		want   string
	}{
		{"", `"properties":{"provisioningState":"Succeeded",` + sent[1:]},
		{AddDefaults, `"disks":[{"lun":1,"enabled":false},{"lun":2,"enabled":true}],"zones":["A","b",3],"none":null,"enabled":true}`},
		{ReorderArrays, `"disks":[{"lun":2},{"lun":1,"enabled":false}],"zones":[3,"b","A"],"none":null}`},
		{ChangeCasing, `"size":"big","adminPassword":"p"`},
		{HideProperties, `"properties":{"provisioningState":"Succeeded","size":"Big","disks"`},
		{AddDefaults + "," + ReorderArrays + "," + ChangeCasing + "," + HideProperties,
			`"size":"big","disks":[{"lun":2,"enabled":true},{"lun":1,"enabled":false}],"zones":[3,"b","a"],"none":null,"enabled":true}`},
	} {
		s := newSite(t, "westus")
		var err error
		if s.habits, err = newHabits(strings.FieldsFunc(c.habits, func(r rune) bool { return r == ',' })); err != nil {
			t.Fatal(err)
		}
		for _, answer := range []reply{
			s.do(201, "PUT", vm+version, `{"location":"westus","properties":`+sent+`}`), s.get(vm + version),
			s.do(200, "PUT", vm+version, `{"location":"westus","properties":`+sent+`}`), s.do(200, "PATCH", vm+version, `{"tags":{}}`),
		} {
			if !strings.Contains(answer.body, c.want) {
				t.Errorf("%q: %s", c.habits, answer.body)
			}
		}
	}
}

func TestUnknownHabitsAreRefused(t *testing.T) {
	_, err := New(Options{Region: "westus", Habits: []string{ChangeCasing, "kindness"}})
	if err == nil || !strings.Contains(err.Error(), "kindness") || !strings.Contains(err.Error(), HideProperties) {
		t.Errorf("%v", err)
	}
}
