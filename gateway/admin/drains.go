package admin

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"portico/arm"
	"portico/config/rule"
	"portico/gateway/admin/api"
	"portico/gateway/observe"
	"portico/inventory"
	"portico/regions"
)

// longestDrain bounds a drain, as it hides the problems of its place.
const longestDrain = 7 * 24 * time.Hour

// orderDrain returns the handler of orders that begin, change or end a drain.
func (l *listener) orderDrain(ends bool) handler {
	return func(w http.ResponseWriter, r *http.Request) (int, any, error) {
		var o api.DrainOrder
		if err := cmp.Or(readBody(w, r, &o), checkReason(o.Reason)); err != nil {
			return 0, nil, err
		}
		place, err := l.placeOf(&o)
		if err == nil && !ends {
			err = l.checkDrain(&o, place)
		}
		drain := l.drainOf(place)
		if err == nil && ends && drain == nil {
			err = arm.NewError(arm.ResourceNotFound, "", "").WithMessage("'%s' is not out for maintenance.", place)
		}
		if err != nil {
			return 0, nil, err
		}
		name := observe.TokenName(r.Context())
		if ends {
			err = l.Store.Drains.End(r.Context(), place)
		} else {
			err = l.Store.Drains.Put(r.Context(), inventory.Drain{Place: place, Reason: o.Reason, By: name, Until: o.Until})
			drain = l.drainOf(place)
		}
		l.Audit.Event("drain", zap.String("client", r.RemoteAddr), zap.String("name", name), zap.String("target", place), zap.Bool("ends", ends),
			zap.String("reason", o.Reason), zap.Time("until", o.Until), zap.Bool("done", err == nil))
		return http.StatusOK, drain, err
	}
}

// placeOf returns the name of an order's region, or its address, as the map has it.
func (l *listener) placeOf(o *api.DrainOrder) (place string, err error) {
	var known []string
	switch {
	case (o.Region == "") == (o.Address == ""):
		return "", arm.NewError(arm.InvalidRequestContent, "exactly one of region and address is required")
	case o.Region != "":
		place = arm.Location(o.Region)
		for _, region := range regionsOf(l.Config.Map) {
			known = append(known, region.Name)
		}
	default:
		if u, wrong := rule.ParseAddress(o.Address); wrong == "" {
			place = u.String()
		}
		for _, e := range l.Config.Map.Endpoints() {
			known = append(known, strings.Split(e.String(), ",")...)
		}
	}
	if !slices.Contains(known, place) {
		slices.Sort(known)
		err = arm.NewError(arm.ResourceNotFound, "", "").WithMessage("The map has no '%s'. It has %s.", o.Region+o.Address, strings.Join(slices.Compact(known), ", "))
	}
	return place, err
}

func (l *listener) checkDrain(o *api.DrainOrder, place string) error {
	left := o.Until.Sub(l.Store.Now())
	switch {
	case strings.TrimSpace(o.Reason) == "":
		return arm.NewError(arm.InvalidRequestContent, "a drain requires a reason").WithTarget("reason")
	case left <= 0 || left > longestDrain:
		return arm.NewError(arm.InvalidRequestContent, "until must be a time within the next seven days").WithTarget("until")
	case slices.ContainsFunc(l.Config.Map.Endpoints(), func(e *regions.Endpoint) bool { return e.String() == place }):
		return arm.NewError(arm.Conflict).WithMessage("'%s' is the only address of an endpoint: drain its region.", place).WithTarget("address")
	}
	return nil
}

// drainOf returns the present drain of a place, or nil.
func (l *listener) drainOf(place string) *api.Drain {
	d, drained := l.Store.Drains.At(place)
	if !drained {
		return nil
	}
	return &api.Drain{Reason: d.Reason, By: d.By, Since: d.Since.UTC(), Until: d.Until.UTC()}
}
