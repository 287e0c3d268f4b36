package contoso

import (
	"cmp"
	"net/http"
	"portico/provider/contoso/fault"
	"slices"
	"strings"
	"time"
)

// Modes of carrying out a write, by the header x-contoso-async.
const (
	modeSynchronous    = ""
	modeState          = "state"            // PUT: 201 or 200, provisioningState shows the end
	modeAzureAsync     = "azure-async"      // the same with Azure-AsyncOperation; else 202 with both headers
	modeAccepted       = "accepted"         // PUT: 202 with Location
	modeAcceptedAsync  = "accepted-async"   // PUT: 202 with both headers
	modeAcceptedStatus = "accepted-status"  // PUT: 202 with Azure-AsyncOperation
	modeLocation       = "location"         // 202 with Location
	modeAzureAsyncOnly = "azure-async-only" // 202 with Azure-AsyncOperation
	modeNoURL          = "no-url"           // 202 without either
)

// Places of polling URLs, by the header x-contoso-operation-path.
const (
	placeLocations = "locations"
	placeProvider  = "provider"
	placeResource  = "resource"
)

const (
	defaultDuration = 200 * time.Millisecond
	endless         = 100 * 365 * 24 * time.Hour
)

// order holds the client's wishes for a write.
type order struct {
	mode       string
	duration   time.Duration
	outcome    string
	retryAfter string
	place      string
}

func readOrder(method string, h http.Header, f fault.Fault) (order, error) {
	o := order{duration: defaultDuration, outcome: stateSucceeded, place: placeLocations, retryAfter: h.Get("x-contoso-retry-after")}
	modes := []string{modeLocation, modeAzureAsync, modeAzureAsyncOnly, modeNoURL}
	switch method {
	case http.MethodPut:
		modes = []string{modeState, modeAzureAsync, modeAccepted, modeAcceptedAsync, modeAcceptedStatus}
	case http.MethodPatch, http.MethodDelete, http.MethodPost:
	default:
		return o, nil
	}
	fallback := modeSynchronous
	if f.Name == fault.ForeignLocation || f.Name == fault.OwnLocation {
		fallback = modeLocation
		if method == http.MethodPut {
			fallback = modeAccepted
		}
	}
	if f.Name == fault.Moved {
		fallback = f.Mode
	}
	outcome := stateSucceeded
	refused := f.Name == fault.Refuse && f.Mode != ""
	if f.Name == fault.AsyncFails || refused {
		outcome = stateFailed
	}
	if f.Name == fault.AsyncEndless {
		o.duration = endless
	}
	if f.Name == fault.Async || f.Name == fault.AsyncFails || f.Name == fault.AsyncEndless || refused {
		if !slices.Contains(modes, f.Mode) {
			return o, badHeader("x-contoso-fault", "async= with a mode of the method")
		}
		fallback, o.retryAfter, o.duration = f.Mode, cmp.Or(o.retryAfter, f.RetryAfter), cmp.Or(f.Duration, o.duration)
	}
	var err error
	if o.mode, err = choice(h, "x-contoso-async", fallback, modes...); err != nil {
		return o, err
	}
	if o.outcome, err = choice(h, "x-contoso-outcome", outcome, stateSucceeded, stateFailed, stateCanceled, stateCancelled); err != nil {
		return o, err
	}
	if o.place, err = choice(h, "x-contoso-operation-path", placeLocations, placeLocations, placeProvider, placeResource); err != nil {
		return o, err
	}
	if v := h.Get("x-contoso-duration"); v != "" {
		if o.duration, err = time.ParseDuration(v); err != nil || o.duration < 0 {
			return o, badHeader("x-contoso-duration", "a Go duration from 0s")
		}
	}
	return o, nil
}

func choice(h http.Header, name, fallback string, allowed ...string) (string, error) {
	v := h.Get(name)
	if v == "" {
		return fallback, nil
	}
	if !slices.Contains(allowed, v) {
		return "", badHeader(name, strings.Join(allowed, ", "))
	}
	return v, nil
}

// links reports which polling headers the first answer has. Only a PUT that
// shows its state has no Location.
func (o order) links(method string) (location, status bool) {
	switch o.mode {
	case modeAccepted, modeLocation:
		return true, false
	case modeAcceptedAsync:
		return true, true
	case modeAzureAsync:
		return method != http.MethodPut, true
	case modeAzureAsyncOnly, modeAcceptedStatus:
		return false, true
	}
	return false, false
}

// accepted reports whether the first answer is a 202 without a body.
func (o order) accepted(method string) bool {
	return method != http.MethodPut || o.mode == modeAccepted || o.mode == modeAcceptedAsync || o.mode == modeAcceptedStatus
}
