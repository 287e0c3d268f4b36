package admin

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/gateway/observe"
	"portico/inventory"
	"portico/regions"
)

// longestDrain bounds a drain, as it hides the problems of its place.
const longestDrain = 7 * 24 * time.Hour

// orderDrain returns the handler of orders that end a drain or, otherwise, begin or change one.
func (l *listener) orderDrain(ends bool) handler {
	return func(w http.ResponseWriter, r *http.Request) (int, any, error) {
		var o api.DrainOrder
		err := readBody(w, r, &o)
		if err == nil {
			err = l.Store.Drains.Refresh(r.Context())
		}
		place := arm.Location(o.Region) + strings.ToLower(strings.TrimSuffix(o.Address, "/")) // the map has no place with both
		if err == nil {
			err = l.checkDrain(&o, place, ends)
		}
		if err != nil {
			return 0, nil, err
		}
		drain := l.drainOf(place)
		if ends {
			err = l.Store.Drains.End(r.Context(), place)
		} else {
			err = l.Store.Drains.Put(r.Context(), inventory.Drain{Place: place, Reason: o.Reason, By: observe.TokenName(r.Context()), Until: o.Until})
			drain = l.drainOf(place)
		}
		l.Audit.Event("drain", zap.String("client", r.RemoteAddr), zap.String("target", place), zap.Bool("ends", ends), zap.String("reason", o.Reason),
			zap.Time("until", o.Until), zap.Bool("done", err == nil))
		return http.StatusOK, drain, err
	}
}

func (l *listener) checkDrain(o *api.DrainOrder, place string, ends bool) error {
	var known []string
	for _, region := range regionsOf(l.Config.Map) {
		known = append(known, region.Name)
	}
	for _, e := range l.Config.Map.Endpoints() {
		for _, address := range e.URLs {
			known = append(known, address.String())
		}
	}
	left := o.Until.Sub(l.Store.Now())
	switch {
	case !slices.Contains(known, place):
		return arm.NewError(arm.ResourceNotFound, "", "").WithMessage("The map has no '%s'. It has %s.", place, strings.Join(known, ", "))
	case ends && !l.Store.Drains.Is(place):
		return arm.NewError(arm.ResourceNotFound, "", "").WithMessage("'%s' is not out for maintenance.", place)
	case ends:
		return nil
	case strings.TrimSpace(o.Reason) == "":
		return arm.NewError(arm.InvalidRequestContent, "a drain requires a reason").WithTarget("reason")
	case left <= 0 || left > longestDrain:
		return arm.NewError(arm.InvalidRequestContent, "until must be a time within the next seven days").WithTarget("until")
	case slices.ContainsFunc(l.Config.Map.Endpoints(), func(e *regions.Endpoint) bool { return e.String() == place }):
		return arm.NewError(arm.Conflict).WithMessage("'%s' is the only address of an endpoint: drain its region.", place).WithTarget("address")
	}
	return checkReason(o.Reason)
}

// drainOf returns the present drain of a place, or nil.
func (l *listener) drainOf(place string) *api.Drain {
	d, drained := l.Store.Drains.At(place)
	if !drained {
		return nil
	}
	return &api.Drain{Reason: d.Reason, By: d.By, Since: d.Since.UTC(), Until: d.Until.UTC()}
}
