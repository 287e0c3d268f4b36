package contoso

import (
	"net/http"
	"slices"
	"strings"
)

// mayDelete refuses to delete a resource that has nested ones if the
// deletionPolicy of its type is refuse (addendum, Designing Resources: the
// policy decides whether tracked ones are deleted with their parent).
func (t *tx) mayDelete(kind *resourceType, r *resource) error {
	if !kind.refuse || t.breaks[refuseIgnored] {
		return nil
	}
	var ids []string
	for _, k := range t.keysBelow(r.key()+"/", "") {
		if nested := t.resource(k); nested != nil && strings.HasPrefix(nested.Type, kind.name()+"/") {
			ids = append(ids, "'"+nested.ID+"'")
		}
	}
	if len(ids) == 0 {
		return nil
	}
	const named = 10
	rest := ""
	if len(ids) > named {
		ids, rest = slices.Clip(ids[:named]), " and others"
	}
	return fail(http.StatusConflict, "NestedResourcesExist",
		"The resource '%s' cannot be deleted while it has nested resources. Delete these first: %s%s.", r.ID, strings.Join(ids, ", "), rest)
}

// dropResource removes a resource with everything below it.
func (t *tx) dropResource(key string) {
	if t.breaks[childrenSurvive] {
		t.cancel(func(o *operation) bool { return o.Kind != deleteOperation && o.Key == key })
		t.setResource(key, nil)
		return
	}
	t.endUnshown(key)
	t.removeTree(key)
}
