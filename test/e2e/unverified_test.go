package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// unverifiedSettings keep a write without an answer open just long enough to be
// read on a busy machine.
const unverifiedSettings = `
index: {sendWithin: 5s, lateWriteWindow: 10s, callMargin: 1s, pollFloor: 50ms, askTimeout: 10s}
upstream: {callTimeout: 5s}
jobs: {lease: 2s}
`

// unverified is a resource of unverified state, as operators see it.
type unverified struct {
	ID, Region, Phase string
	Flags             []string
	Why               []reason
	Until             *time.Time
}

type reason struct {
	Reason, Message, Kind, Region, LastOutcome string
	Since                                      time.Time
	Until                                      *time.Time
}

// unverifiedResources reads all of them, page by page.
func unverifiedResources(t *testing.T, p *harness.Portico) (all []unverified) {
	t.Helper()
	for path := "/admin/doubts?limit=1"; path != ""; {
		var page struct {
			Value    []unverified
			NextLink string
		}
		harness.OK(t, json.Unmarshal(p.Admin(t, harness.Request{Path: path}).Want(t, 200).Body, &page))
		all, path = append(all, page.Value...), page.NextLink
	}
	return all
}

// Operators see which resources are unverified, why, and until when. A verified
// resource is not listed any more.
func TestUnverifiedResourcesAreShown(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: unverifiedSettings}})
	w.PutGroup(t, "doubts")
	create(t, w.Portico, w.ResourcePath("doubts", "Contoso.Compute/virtualMachines/sure"), "eastus")
	// The provider says that it failed, and nothing of it is there.
	unsure := w.ResourcePath("doubts", "Contoso.Compute/virtualMachines/unsure")
	started := time.Now().Add(-time.Minute) // the store's clock is this machine's
	w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: unsure + "?api-version=" + harness.Version, Body: body("eastus"),
		Header: harness.Header("x-contoso-fault", "status=500"),
	}).Want(t, 500)

	shown := eventually(t, "the provider's being asked", func() ([]unverified, bool) {
		all := unverifiedResources(t, w.Portico)
		probed := func(why reason) bool { return why.LastOutcome != "" }
		return all, len(all) != 1 || slices.ContainsFunc(all[0].Why, probed)
	})
	if len(shown) != 1 || !strings.EqualFold(shown[0].ID, unsure) || shown[0].Region != "eastus" || shown[0].Phase != "Pending" ||
		!slices.Contains(shown[0].Flags, "verify") || shown[0].Until == nil {
		t.Fatalf("%+v", shown)
	}
	until := *shown[0].Until
	reasons := map[string]bool{}
	for _, why := range shown[0].Why {
		reasons[why.Reason] = true
		if why.Message == "" || why.Since.Before(started) {
			t.Errorf("%+v", why)
		}
		switch why.Reason {
		case "writeWithoutAnswer":
			if why.Kind != "PUT" || why.Region != "eastus" || why.Until == nil || !why.Until.Equal(until) || !until.After(why.Since) {
				t.Errorf("%+v, until %v", why, until)
			}
		case "verificationPending":
			if !strings.Contains(why.LastOutcome, "a write that could overturn it") {
				t.Errorf("%+v", why)
			}
		}
	}
	if len(reasons) != 2 || !reasons["writeWithoutAnswer"] || !reasons["verificationPending"] {
		t.Errorf("%+v", shown)
	}

	eventually(t, "the end of the doubt", func() (all []unverified, none bool) {
		all = unverifiedResources(t, w.Portico)
		return all, len(all) == 0
	})
	w.Portico.Do(t, harness.Request{Path: unsure + "?api-version=" + harness.Version}).Want(t, 404)
	if time.Now().Before(until) {
		t.Errorf("it was settled before %v, while the PUT could still be applied", until)
	}
}
