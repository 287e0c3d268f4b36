package admin

import (
	"encoding/hex"
	"net/http"
	"strings"

	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/inventory/index"
)

// fenceReason returns the text for operators of why a fence exists.
func fenceReason(f inventory.Fence) string {
	switch {
	case f.Own:
		return "A write landed after its resource group was deleted; it is being deleted."
	case f.Kind == index.Put:
		return "A PUT got no answer before its resource group was deleted. If it creates a resource, that will be deleted."
	}
	return "A " + f.Kind.String() +
		" got no answer before its resource group was deleted. No resource can be created with this ID until the write can no longer take effect."
}

// listFences lists the fences of all subscriptions, at most ?limit= after ?after=.
func (l *listener) listFences(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	limit, err := pageSize(query)
	if err != nil {
		return 0, nil, err
	}
	after, err := parseFenceName(query.Get("after"))
	if err != nil {
		return 0, nil, err
	}
	fences, err := l.Store.Fences.All(r.Context(), after, limit+1)
	return http.StatusOK, pageOf("/admin/fences", query, fences, limit, fenceOf, fenceName), err
}

func fenceOf(f inventory.Fence) api.Fence {
	return api.Fence{
		ID: f.ID, Subscription: f.Subscription, Region: f.Region, Kind: f.Kind.String(), Reason: fenceReason(f), Since: f.Since, Until: f.Until,
	}
}

func fenceName(f inventory.Fence) string {
	return f.Subscription + " " + hex.EncodeToString(f.Intent[:]) + " " + f.Key
}

func parseFenceName(name string) (f inventory.Fence, err error) {
	if name == "" {
		return f, nil
	}
	parts := strings.SplitN(name, " ", 3)
	if len(parts) == 3 {
		var id []byte
		if id, err = hex.DecodeString(parts[1]); err == nil && len(id) == len(f.Intent) {
			f.Subscription, f.Key = parts[0], parts[2]
			copy(f.Intent[:], id)
			return f, nil
		}
	}
	return f, invalidPosition()
}
