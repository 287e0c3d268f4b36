package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/filter"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/jsonscan"
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
// all types and regions, from the index. It shows a row that a DELETE may have
// ended but that nobody has asked for since: unlike a HEAD by id, it promises
// what the index believes, not what stands. What was never seen it lacks, until
// a sweep or a request finds it.
func (g *Gateway) listResources(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	p, err := g.pageOf(x.Request)
	if err != nil {
		return err
	}
	wanted, err := filterOf(x.Request.Query)
	if err != nil {
		return err
	}
	expand, _ := x.Request.Query.Get("$expand")
	e, err := expansionOf(expand)
	if err != nil {
		return err
	}
	query, none := narrowed(wanted, inventory.ResourceQuery{Subscription: c.Subscription.ID, Group: x.Request.Path.Group(), Visible: true})
	if none {
		return x.Answer(w, http.StatusOK, exchange.List{Value: []any{}})
	}
	rows, rest, err := source[inventory.Resource]{
		read: func(after string, limit int) ([]inventory.Resource, error) {
			query.After, query.Limit = after, limit
			return g.store.Resources(r.Context(), query)
		},
		key:  func(row inventory.Resource) string { return row.Key },
		keep: func(row inventory.Resource) bool { return wanted.Match(resourceItem{&row}) },
	}.cut(p)
	if err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, listOf(g, x, rows, rest, func(row inventory.Resource) any {
		body := resourceOf(row, e)
		if wanted.AsksForTags() {
			body.Tags = nil
		}
		return body
	}))
}

// narrowed has the store look only where matches can be. none tells that there
// can be no match at all.
func narrowed(wanted filter.Filter, query inventory.ResourceQuery) (_ inventory.ResourceQuery, none bool) {
	for field, member := range map[filter.Field]*string{
		filter.ResourceGroup: &query.Group, filter.ResourceType: &query.Type, filter.Name: &query.Name,
		filter.Location: &query.Location, filter.TagName: &query.Tag,
	} {
		text, needed := wanted.Needs(field)
		switch {
		case !needed:
		case text == "" || *member != "" && arm.Fold(*member) != text:
			none = true
		default:
			*member = text
		}
	}
	return query, none
}

// resourceItem is a resource as a filter looks at it.
type resourceItem struct{ row *inventory.Resource }

func (i resourceItem) Tags() map[string]string { return i.row.Details.Tags }

func (i resourceItem) Value(f filter.Field) string {
	switch f {
	case filter.Location:
		return i.row.Location
	case filter.ResourceType:
		return i.row.TypeName
	case filter.Name:
		return i.row.Name
	case filter.ResourceGroup:
		return i.row.Group
	case filter.Identity:
		return memberOf(i.row.Details.Identity, "type")
	case filter.IdentityPrincipalID:
		return memberOf(i.row.Details.Identity, "principalId")
	case filter.PlanName:
		return memberOf(i.row.Details.Plan, "name")
	case filter.PlanPublisher:
		return memberOf(i.row.Details.Plan, "publisher")
	case filter.PlanProduct:
		return memberOf(i.row.Details.Plan, "product")
	case filter.PlanVersion:
		return memberOf(i.row.Details.Plan, "version")
	case filter.PlanPromotionCode:
		return memberOf(i.row.Details.Plan, "promotionCode")
	case filter.TagName, filter.TagValue:
	}
	return ""
}

// memberOf returns the text of an object's member, "" where it has none.
func memberOf(object json.RawMessage, name string) (text string) {
	if jsonscan.Null(object) {
		return ""
	}
	_ = jsonscan.Object(object, func(m jsonscan.Member) error {
		if string(m.Key) == name {
			text, _ = jsonscan.Text(m.Value)
		}
		return nil
	})
	return text
}
