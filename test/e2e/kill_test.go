package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// A PUT that was answered is known after a crash, however soon it comes.
func TestKillAfterEachPut(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	w.PutGroup(t, "rg")
	placed := map[string]string{}
	for i, region := range slices.Repeat(harness.RegionNames(), 3) {
		name := fmt.Sprintf("Contoso.Compute/virtualMachines/vm%d", i)
		w.PutResource(t, "rg", name, body(region))
		w.Portico.Kill(t)
		placed[w.ResourcePath("rg", name)] = region
		w.Portico.Restart(t)
		wantPlaced(t, w, placed)
	}
	wantRoutedWrites(t, w, placed)
}

type placement struct{ id, region string }

// write puts one resource after the other, round the regions, and reports each
// that is acknowledged, until a call fails.
func write(ctx context.Context, w *harness.World, group string, writer int, acknowledged chan<- placement) {
	regions := harness.RegionNames()
	for i := range 1000 {
		region := regions[(writer+i)%len(regions)]
		id := w.ResourcePath(group, fmt.Sprintf("Contoso.Compute/virtualMachines/vm-%d-%d", writer, i))
		a, err := w.Portico.Try(ctx, harness.Request{
			Method: http.MethodPut,
			Path:   id + "?api-version=" + harness.Version,
			Body:   body(region),
		})
		if err != nil || a.Status != http.StatusCreated {
			return
		}
		select {
		case acknowledged <- placement{id, region}:
		case <-ctx.Done():
			return
		}
	}
}

// wantPlaced reads each resource through Portico: the answer names the region
// of the provider that gave it.
func wantPlaced(t *testing.T, w *harness.World, placed map[string]string) {
	t.Helper()
	for id, region := range placed {
		got := w.Portico.Do(t, harness.Request{Path: id + "?api-version=" + harness.Version}).Want(t, 200).JSON(t)
		if got["location"] != region {
			t.Errorf("GET %s came from %v, want %s", id, got["location"], region)
		}
	}
}

// wantRoutedWrites proves by the providers' own lists that each resource lies
// in its region alone, and that writes still go there.
func wantRoutedWrites(t *testing.T, w *harness.World, placed map[string]string) {
	t.Helper()
	for id := range placed {
		w.Portico.Do(t, harness.Request{
			Method: http.MethodPut,
			Path:   id + "/disks/data?api-version=" + harness.Version,
			Body:   `{"properties":{"sizeGB":1}}`,
		}).Want(t, 201)
	}
	for _, region := range append(harness.RegionNames(), "global") {
		held := w.Contoso(region).Resources(t)
		for id, home := range placed {
			for _, id := range []string{id, id + "/disks/data"} {
				if got, want := slices.Contains(held, strings.ToLower(id)), region == home; got != want {
					t.Errorf("%s holds %s: %v, want %v", region, id, got, want)
				}
			}
		}
	}
	for id, home := range placed {
		other := harness.RegionNames()[0]
		if other == home {
			other = harness.RegionNames()[1]
		}
		w.Portico.Do(t, harness.Request{
			Method: http.MethodPut,
			Path:   id + "?api-version=" + harness.Version,
			Body:   body(other),
		}).WantError(t, 409, "InvalidResourceLocation")
	}
}

func body(region string) string {
	return fmt.Sprintf(`{"location":%q,"properties":{"size":"small"}}`, region)
}
