package admin

import (
	"errors"
	"net/http"
	"time"

	"github.com/gorilla/mux"
	"go.uber.org/zap"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/routing"
)

// retireRegion forgets the records of a region that the map no longer has. With dryRun it
// only counts them, even if the map still has the region. Another call continues an
// interrupted one; an unknown region has counts of zero.
func (l *listener) retireRegion(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var sent api.Retire
	if err := readBody(w, r, &sent); err != nil {
		return 0, nil, err
	}
	region := arm.Location(mux.Vars(r)["region"])
	if !arm.ValidLocation(region) {
		return 0, nil, arm.NewError(arm.InvalidRequestContent, "the name of a region has at most 63 letters and digits").WithTarget("region")
	}
	inMap := l.Config.Map.HasRegion(region)
	if sent.DryRun {
		found, err := l.Store.Retirement(r.Context(), region)
		shown := retirementOf(region, true, found)
		shown.InMap = inMap
		return http.StatusOK, shown, err
	}
	if inMap {
		return 0, nil, arm.NewError(arm.Conflict).WithMessage("The location '%s' is still in the map. Remove it from the regions and from the "+
			"endpoints of all providers before you retire it.", region).WithTarget("region")
	}
	found, err := l.Store.RetireRegion(r.Context(), region)
	if busy, ok := errors.AsType[*inventory.CallsUnderWayError](err); ok {
		fault := arm.NewError(arm.Conflict).WithMessage("Calls to the location '%s' may be in progress until %s. Reload all gateways, and retire it "+
			"after that.",
			region, busy.Until.UTC().Format(time.RFC3339)).WithTarget("region")
		fault.RetryAfter = max(time.Second, min(busy.Until.Sub(l.Store.Now()), arm.MaxRetryAfter))
		return 0, nil, fault
	}
	l.Audit.Event("region retired", zap.String("client", r.RemoteAddr), zap.String("region", region), zap.Bool("complete", err == nil),
		zap.Int("rows", found.Rows), zap.Int("intents", found.Intents), zap.Int("writtenRegions", found.WrittenRegions), zap.Int("coverage", found.Coverage),
		zap.Int("notices", found.Notices), zap.Int("strays", found.Strays), zap.Int("fences", found.Fences), zap.Int("operations", found.Operations),
		zap.Int("moving", found.Moving), zap.Int("groups", found.Groups))
	if err != nil {
		return 0, nil, err
	}
	l.Jobs.Nudge(inventory.GroupDeleteJob)
	l.Jobs.Nudge(inventory.EraseJob)
	return http.StatusOK, retirementOf(region, false, found), nil
}

func retirementOf(region string, dryRun bool, r inventory.Retirement) api.Retirement {
	shown := api.Retirement{
		Region: region, DryRun: dryRun, Rows: r.Rows, Intents: r.Intents, WrittenRegions: r.WrittenRegions, Coverage: r.Coverage,
		Notices: r.Notices, Strays: r.Strays, Fences: r.Fences, Operations: r.Operations, Moving: r.Moving, Groups: api.WaitingGroups{Count: r.Groups},
	}
	for _, group := range r.Waiting {
		shown.Groups.IDs = append(shown.Groups.IDs, routing.GroupID(group.Subscription, group.Name))
	}
	return shown
}
