package gateway

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
)

// fencesPerPage is how many fences one page lists.
const fencesPerPage = 100

// adminFence is a fence as operators see it.
type adminFence struct {
	ID           string    `json:"id"` // of the resource
	Subscription string    `json:"subscription"`
	Region       string    `json:"region"`
	Kind         string    `json:"kind"` // of the write without an answer
	Reason       string    `json:"reason"`
	Since        time.Time `json:"since"`
	Until        time.Time `json:"until"`
}

// reasonOf says why a fence stands.
func reasonOf(f inventory.Fence) string {
	switch {
	case f.Own:
		return "A write landed after its resource group was deleted; it is being deleted."
	case f.Kind == inventory.Put:
		return "A PUT got no answer before its resource group was deleted. What it makes will be deleted."
	}
	return "A " + f.Kind.String() + " got no answer before its resource group was deleted. Until it can no longer take effect, no resource is made under this ID."
}

// adminFences lists the fences of all subscriptions, behind ?after=.
func (g *Gateway) adminFences(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	after, err := parseFence(r.URL.Query().Get("after"))
	if err != nil {
		return 0, nil, err
	}
	fences, err := g.store.AllFences(r.Context(), after, fencesPerPage+1)
	if err != nil {
		return 0, nil, err
	}
	page := exchange.List{Value: make([]any, 0, len(fences))}
	for i, f := range fences {
		if i == fencesPerPage {
			page.NextLink = (&url.URL{Path: "/admin/fences", RawQuery: url.Values{"after": {nameOfFence(fences[i-1])}}.Encode()}).String()
			break
		}
		page.Value = append(page.Value, adminFence{
			ID: f.ID, Subscription: f.Subscription, Region: f.Region, Kind: f.Kind.String(), Reason: reasonOf(f), Since: f.Since, Until: f.Until,
		})
	}
	return http.StatusOK, page, nil
}

func nameOfFence(f inventory.Fence) string {
	return f.Subscription + " " + hex.EncodeToString(f.Intent[:]) + " " + f.Key
}

func parseFence(name string) (f inventory.Fence, err error) {
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
	return f, arm.NewError(arm.InvalidQueryParameter, "after", "it is what the nextLink of a page says").About("after")
}
