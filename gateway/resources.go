package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory"
)

// resourceBody is a tracked resource as the lists of all types show it: what
// the index keeps, without its properties.
type resourceBody struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Type      string            `json:"type"`
	Location  string            `json:"location"`
	Kind      string            `json:"kind,omitempty"`
	ManagedBy string            `json:"managedBy,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	SKU       json.RawMessage   `json:"sku,omitempty"`
	Plan      json.RawMessage   `json:"plan,omitempty"`
	Identity  json.RawMessage   `json:"identity,omitempty"`
	Zones     json.RawMessage   `json:"zones,omitempty"`

	// On demand, by $expand.
	CreatedTime       string `json:"createdTime,omitempty"`
	ChangedTime       string `json:"changedTime,omitempty"`
	ProvisioningState string `json:"provisioningState,omitempty"`
}

// expansion is what $expand asks for.
type expansion struct{ created, changed, state bool }

func expansionOf(text string) (expansion, error) {
	var e expansion
	for name := range strings.SplitSeq(text, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "":
		case strings.EqualFold(name, "createdTime"):
			e.created = true
		case strings.EqualFold(name, "changedTime"):
			e.changed = true
		case strings.EqualFold(name, "provisioningState"):
			e.state = true
		default:
			return e, arm.NewError(arm.InvalidQueryParameter, "$expand", "it lists createdTime, changedTime and provisioningState").About("$expand")
		}
	}
	return e, nil
}

func resourceOf(row inventory.Resource, e expansion) resourceBody {
	body := resourceBody{
		ID: row.ID, Name: row.Name, Type: row.TypeName, Location: row.Location,
		Kind: row.Details.Kind, ManagedBy: row.Details.ManagedBy, Tags: row.Details.Tags,
		SKU: row.Details.SKU, Plan: row.Details.Plan, Identity: row.Details.Identity, Zones: row.Details.Zones,
	}
	if e.created {
		body.CreatedTime = row.Created.UTC().Format(time.RFC3339Nano)
	}
	if e.changed {
		body.ChangedTime = row.Changed.UTC().Format(time.RFC3339Nano)
	}
	if e.state {
		body.ProvisioningState = shownState(row)
	}
	return body
}

// shownState is the state that the index last saw; none counts as Succeeded.
func shownState(row inventory.Resource) string {
	switch {
	case row.Phase == inventory.Deleting:
		return "Deleting"
	case row.ProvisioningState == "":
		return "Succeeded"
	}
	return row.ProvisioningState
}

// listResources lists the tracked resources of a subscription or a group, of
// all types and regions, from the index.
func (g *Gateway) listResources(w http.ResponseWriter, r *http.Request, x *exchange, c ownCall) error {
	if err := refuseFilter(x.request.Query, "$filter"); err != nil {
		return err
	}
	p, err := pageOf(x.request.Query)
	if err != nil {
		return err
	}
	expand, _ := x.request.Query.Get("$expand")
	e, err := expansionOf(expand)
	if err != nil {
		return err
	}
	rows, err := g.store.Resources(r.Context(), inventory.ResourceQuery{
		Subscription: c.Subscription.ID, Group: x.request.Path.Group(), After: p.after, Limit: p.top + 1, Visible: true,
	})
	if err != nil {
		return err
	}
	l := list{Value: make([]any, 0, len(rows))}
	for _, row := range rows {
		l.Value = append(l.Value, resourceOf(row, e))
	}
	if len(rows) > p.top {
		g.cut(&l, x, p, rows[p.top-1].Key)
	}
	return g.answer(w, x, http.StatusOK, l)
}
