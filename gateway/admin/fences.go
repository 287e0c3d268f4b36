package admin

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/inventory/index"
)

func (l *listener) fenceRoutes() []route {
	return []route{{http.MethodGet, "/admin/fences", l.listFences}}
}

// fencesPerPage is how many fences one page lists.
const fencesPerPage = 100

// fence is a fence as operators see it.
type fence struct {
	ID           string    `json:"id"` // of the resource
	Subscription string    `json:"subscription"`
	Region       string    `json:"region"`
	Kind         string    `json:"kind"` // of the write without an answer
	Reason       string    `json:"reason"`
	Since        time.Time `json:"since"`
	Until        time.Time `json:"until"`
}

// fenceReason says why a fence stands.
func fenceReason(f inventory.Fence) string {
	switch {
	case f.Own:
		return "A write landed after its resource group was deleted; it is being deleted."
	case f.Kind == index.Put:
		return "A PUT got no answer before its resource group was deleted. What it makes will be deleted."
	}
	return "A " + f.Kind.String() + " got no answer before its resource group was deleted. Until it can no longer take effect, no resource is made under this ID."
}

// listFences lists the fences of all subscriptions, behind ?after=.
func (l *listener) listFences(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	after, err := parseFenceName(r.URL.Query().Get("after"))
	if err != nil {
		return 0, nil, err
	}
	fences, err := l.Store.AllFences(r.Context(), after, fencesPerPage+1)
	if err != nil {
		return 0, nil, err
	}
	page := exchange.List{Value: make([]any, 0, len(fences))}
	for i, f := range fences {
		if i == fencesPerPage {
			page.NextLink = nextPage("/admin/fences", url.Values{}, fenceName(fences[i-1]))
			break
		}
		page.Value = append(page.Value, fence{
			ID: f.ID, Subscription: f.Subscription, Region: f.Region, Kind: f.Kind.String(), Reason: fenceReason(f), Since: f.Since, Until: f.Until,
		})
	}
	return http.StatusOK, page, nil
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
	return f, arm.NewError(arm.InvalidQueryParameter, "after", "it is what the nextLink of a page says").About("after")
}
