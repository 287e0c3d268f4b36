package gateway

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"
	"go.uber.org/zap"

	"portico/arm"
	"portico/inventory"
	"portico/locate"
	"portico/regions"
	"portico/routing"
)

// adminRetirement is what the index has of a region, or has forgotten of it, over
// all subscriptions.
type adminRetirement struct {
	Region     string `json:"region"`
	DryRun     bool   `json:"dryRun,omitempty"`
	Rows       int    `json:"rows"`
	Intents    int    `json:"intents"` // writes of which nobody knows how they ended
	Touched    int    `json:"touched"` // collections that groups are looked at in before they go
	Coverage   int    `json:"coverage"`
	Notices    int    `json:"notices"`
	Strays     int    `json:"strays"`
	Fences     int    `json:"fences"`
	Operations int    `json:"operations"` // polling URLs
	// Moving are IDs that a move has under way. They stay until it ends, or is
	// cancelled.
	Moving int `json:"moving,omitempty"`
	// Groups are those whose delete waits for the region.
	Groups adminRetirementGroups `json:"groups"`
}

type adminRetirementGroups struct {
	Count int      `json:"count"`
	IDs   []string `json:"ids,omitempty"` // the first 100
}

// adminRetire forgets a region that the map no longer has, or with dryRun says
// what there is to forget. Called again it goes on with what is left, which may be
// nothing; so a region of which nobody ever heard has counts of zero.
func (g *Gateway) adminRetire(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var sent struct {
		DryRun bool `json:"dryRun"`
	}
	if err := adminBody(w, r, &sent); err != nil {
		return 0, nil, err
	}
	region := arm.Location(mux.Vars(r)["region"])
	if !arm.ValidLocation(region) {
		return 0, nil, arm.NewError(arm.InvalidRequestContent, "the name of a region has letters and digits alone, 63 at most").About("region")
	}
	if g.hasRegion(region) {
		return 0, nil, arm.NewError(arm.Conflict).Saying("The map has the location '%s': only one that it no longer has, in the regions and in the endpoints of all providers, can be retired.", region).About("region")
	}
	if sent.DryRun {
		found, err := g.store.Retirement(r.Context(), region)
		return http.StatusOK, retirementOf(region, true, found), err
	}
	found, err := g.store.RetireRegion(r.Context(), region)
	var busy *inventory.UnderWayError
	if errors.As(err, &busy) {
		fault := arm.NewError(arm.Conflict).Saying("Calls to the location '%s' may be under way until %s. Reload all gateways, and retire it then.",
			region, busy.Until.UTC().Format(time.RFC3339)).About("region")
		fault.RetryAfter = max(time.Second, min(busy.Until.Sub(g.store.Time()), arm.MaxRetryAfter))
		return 0, nil, fault
	}
	g.audit.Info("region retired", zap.String("client", r.RemoteAddr), zap.String("region", region), zap.Bool("complete", err == nil),
		zap.Int("rows", found.Rows), zap.Int("intents", found.Intents), zap.Int("touched", found.Touched), zap.Int("coverage", found.Coverage),
		zap.Int("notices", found.Notices), zap.Int("strays", found.Strays), zap.Int("fences", found.Fences), zap.Int("operations", found.Operations),
		zap.Int("moving", found.Moving), zap.Int("groups", found.Groups))
	if err != nil {
		return 0, nil, err
	}
	g.runner.Nudge(inventory.GroupDeleteJob)
	g.runner.Nudge(inventory.EraseJob)
	return http.StatusOK, retirementOf(region, false, found), nil
}

func retirementOf(region string, dryRun bool, r inventory.Retirement) adminRetirement {
	shown := adminRetirement{
		Region: region, DryRun: dryRun, Rows: r.Rows, Intents: r.Intents, Touched: r.Touched, Coverage: r.Coverage,
		Notices: r.Notices, Strays: r.Strays, Fences: r.Fences, Operations: r.Operations, Moving: r.Moving, Groups: adminRetirementGroups{Count: r.Groups},
	}
	for _, group := range r.Waiting {
		shown.Groups.IDs = append(shown.Groups.IDs, routing.GroupID(group.Subscription, group.Name))
	}
	return shown
}

// hasRegion tells whether the map has anything to do with a region.
func (g *Gateway) hasRegion(region string) bool {
	_, declared := g.config.Map.Region(region)
	return declared || slices.ContainsFunc(g.config.Map.Endpoints(), func(e *regions.Endpoint) bool { return e.Region == region })
}

// waysOut says what can be done about those of the regions that the map lacks;
// "" where it has them all.
func (g *Gateway) waysOut(waiting []string) string {
	var ways []string
	for _, region := range waiting {
		if !g.hasRegion(region) {
			ways = append(ways, "The map no longer has the location '"+region+"'. "+locate.MissingRegionRemedy(region)+".")
		}
	}
	return strings.Join(ways, " ")
}
