package contoso

import (
	"hash/fnv"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// freeDuration is the duration of free types' operations.
const freeDuration = 20 * time.Millisecond

// lookup returns a type of the catalogue, or a free one if the provider serves any type.
func (p *Provider) lookup(a address) (*resourceType, bool) {
	t, ok := p.catalog.lookup(a.namespace, a.typePath())
	if ok || !p.anyType {
		return t, ok
	}
	t = &resourceType{namespace: a.namespace, path: a.typePath(), free: true}
	if a.extends || a.group == "" && a.isInstance() {
		t.kind = extension
	}
	return t, true
}

// namespace returns a namespace in its own casing.
func (p *Provider) namespace(name string) (string, error) {
	known, err := p.catalog.namespace(name)
	if err != nil && p.anyType {
		return name, nil
	}
	return known, err
}

// writeStyle is how writes of a free type are carried out: the modes of PUT
// and DELETE, and the statuses of a creating and of a replacing PUT.
type writeStyle struct {
	put, remove       string
	created, replaced int
}

// writeStyles are typical of public providers.
var writeStyles = [...]writeStyle{
	{modeSynchronous, modeSynchronous, http.StatusCreated, http.StatusOK},
	{modeState, modeLocation, http.StatusCreated, http.StatusOK},
	{modeAzureAsync, modeAzureAsync, http.StatusCreated, http.StatusOK},
	{modeAccepted, modeLocation, http.StatusOK, http.StatusOK},
	{modeSynchronous, modeAzureAsyncOnly, http.StatusOK, http.StatusOK},
	{modeAcceptedAsync, modeAzureAsync, http.StatusOK, http.StatusOK},
	{modeSynchronous, modeSynchronous, http.StatusCreated, http.StatusCreated},
	{modeAcceptedStatus, modeAzureAsyncOnly, http.StatusOK, http.StatusOK},
}

// writeStyle derives the type's way from its name, so that each type keeps
// one, and all occur.
func (t *resourceType) writeStyle() writeStyle {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(fold(t.name()))) // a hash takes everything
	return writeStyles[sum.Sum32()%uint32(len(writeStyles))]
}

func (w writeStyle) status(current *resource) int {
	if current == nil {
		return w.created
	}
	return w.replaced
}

// usual returns the order of a call, or a free type's own way if the headers give none.
func (t *resourceType) usual(c *call) order {
	o := c.order
	if !t.free || o.mode != modeSynchronous {
		return o
	}
	switch o.duration = freeDuration; c.method {
	case http.MethodPut:
		o.mode = t.writeStyle().put
	case http.MethodDelete:
		o.mode = t.writeStyle().remove
	}
	return o
}

// assign adds members that no client sends, and writes the ID and the
// location as many providers do.
func (r *resource) assign() {
	own := encode(uuid.NewSHA1(uuid.NameSpaceURL, []byte(r.key())))
	r.ID, r.Location = strings.Replace(r.ID, "/resourceGroups/", "/resourcegroups/", 1), location(r.Location)
	for _, m := range []member{{"resourceGuid", own}, {"principalId", own}, {"endpoint", encode("https://" + fold(r.Name) + ".contoso.example/")}} {
		if _, sent := r.Properties.present(m.key); !sent {
			r.Properties = r.Properties.with(m.key, m.value)
		}
	}
	if identity, err := r.Members.object("identity"); err == nil && len(identity) > 0 {
		r.Members = r.Members.with("identity", identity.with("principalId", own).with("tenantId", encode(uuid.Nil)).bytes())
	}
}

// listAnything answers an action with every member that callers of actions
// named list… look for.
func listAnything(r *resource) result {
	secret := "secret of " + fold(r.Name)
	return result{Status: http.StatusOK, Body: encode(map[string]any{
		"keys": []accessKey{{"key1", secret}, {"key2", secret}}, "primaryKey": secret, "connectionString": secret, "value": []string{},
	})}
}
