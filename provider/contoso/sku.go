package contoso

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// sku is an element of the list of an existing resource's valid SKUs
// (addendum, Enumerating SKUs for an existing resource).
type sku struct {
	ResourceType string      `json:"resourceType"`
	Sku          skuName     `json:"sku"`
	Capacity     skuCapacity `json:"capacity"`
}

type skuName struct {
	Name   string `json:"name"`
	Tier   string `json:"tier"`
	Family string `json:"family"`
}

type skuCapacity struct {
	Minimum   int64  `json:"minimum"`
	Maximum   int64  `json:"maximum"`
	Default   int64  `json:"default"`
	ScaleType string `json:"scaleType"`
}

func machineSkus() []sku {
	const machines = computeNamespace + "/virtualMachines"
	return []sku{
		{machines, skuName{"F0", "Free", "general"}, skuCapacity{1, 1, 1, "none"}},
		{machines, skuName{"S1", "Standard", "general"}, skuCapacity{1, 10, 1, "manual"}},
		{machines, skuName{"P3", "Premium", "general"}, skuCapacity{0, 100, 2, "automatic"}},
		{machines, skuName{"D1", "Standard", "dense"}, skuCapacity{1, 4, 1, "manual"}},
		{machines, skuName{"D2", "Premium", "dense"}, skuCapacity{1, 8, 1, "manual"}},
	}
}

func (t *resourceType) sku(name string) (sku, bool) {
	i := slices.IndexFunc(t.skus, func(s sku) bool { return same(s.Sku.Name, name) })
	if i < 0 {
		return sku{}, false
	}
	return t.skus[i], true
}

// skuOf returns the catalogue's entry for a resource's SKU, and false for a
// resource without one.
func (t *resourceType) skuOf(r *resource) (sku, bool) {
	if r == nil {
		return sku{}, false
	}
	given, err := r.Members.object("sku")
	if err != nil {
		return sku{}, false
	}
	name, err := given.text("name")
	if err != nil {
		return sku{}, false
	}
	return t.sku(name)
}

// checkSku checks a resource's SKU if its type has a catalogue of them: a
// resource can only change within its family.
func (t *resourceType) checkSku(next, current *resource) error {
	given, sent := next.Members.present("sku")
	if !sent || len(t.skus) == 0 {
		return nil
	}
	var requested struct {
		Name, Tier string
		Capacity   *int64
	}
	if json.Unmarshal(given, &requested) != nil {
		return invalidContent("The members 'sku.name' and 'sku.tier' must be strings and 'sku.capacity' an integer.")
	}
	s, known := t.sku(requested.Name)
	if !known {
		var names []string
		for _, s := range t.skus {
			names = append(names, s.Sku.Name)
		}
		return badRequest("InvalidSku", "The SKU '%s' is not known for the resource type '%s'. Use one of '%s'.", requested.Name, t.name(),
			strings.Join(names, ","))
	}
	if requested.Tier != "" && !same(requested.Tier, s.Sku.Tier) {
		return badRequest("InvalidSku", "The SKU '%s' is of the tier '%s', not '%s'.", s.Sku.Name, s.Sku.Tier, requested.Tier)
	}
	if n := requested.Capacity; n != nil && (*n < s.Capacity.Minimum || *n > s.Capacity.Maximum) {
		return badRequest("InvalidSkuCapacity", "The capacity of the SKU '%s' must be from %d to %d.", s.Sku.Name, s.Capacity.Minimum, s.Capacity.Maximum)
	}
	if now, has := t.skuOf(current); has && now.Sku.Family != s.Sku.Family {
		return badRequest("SkuChangeNotAllowed", "A resource with the SKU '%s' cannot change to '%s'. Its /skus lists those that it can change to.",
			now.Sku.Name, s.Sku.Name)
	}
	return nil
}

// mergeSku merges a PATCH's SKU into the resource's. Another name is another
// SKU, so that the old tier, size and capacity do not apply.
func mergeSku(old, patch object) object {
	now, err := old.text("name")
	name, bad := patch.text("name")
	if err != nil || bad != nil || name == "" || same(now, name) {
		return old.merge(patch)
	}
	return object{}.merge(patch)
}

// listSkus returns the SKUs that an existing resource can change to: the
// others of its family, or any if it has none yet.
func (p *Provider) listSkus(host address) (answer, error) {
	t, err := p.served(host)
	if err != nil {
		return answer{}, err
	}
	return p.transact(func(x *tx) (answer, error) {
		r, err := x.findResource(host, t)
		if err != nil {
			return answer{}, err
		}
		now, has := t.skuOf(r)
		value := []sku{}
		for _, s := range t.skus {
			if !has || s.Sku.Family == now.Sku.Family && s.Sku.Name != now.Sku.Name {
				value = append(value, s)
			}
		}
		if len(value) == 0 && x.breaks[skusMissing404] {
			return answer{}, notFound("SkusNotFound", "The resource '%s' has no SKUs.", r.ID)
		}
		return jsonAnswer(http.StatusOK, map[string]any{"value": value}), nil
	})
}
