package contoso

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// preflightVersion is the api-version of preflights.
const preflightVersion = "2020-10-01"

// tooSlow is longer than a front door waits for a preflight.
const tooSlow = 6 * time.Second

// isPreflight reports whether a call is a preflight of planned resources.
func isPreflight(c *call) bool {
	return c.method == http.MethodPost && same(c.address.typePath(), "deployments/preflight") && len(c.address.names) == 1 && !c.address.extends
}

// preflight reports whether the PUTs of planned resources would be accepted
// now. It changes nothing.
func (p *Provider) preflight(c *call) (answer, error) {
	if given := c.query["api-version"]; len(given) != 1 || given[0] != preflightVersion {
		return answer{}, badRequest("InvalidApiVersionParameter", "The api-version of a preflight is '%s'.", preflightVersion)
	}
	var plan struct {
		Resources []json.RawMessage `json:"resources"`
	}
	if err := json.Unmarshal(c.body, &plan); err != nil || len(plan.Resources) == 0 {
		return answer{}, invalidContent("The member 'resources' must be an array of resources.")
	}
	if p.breaks[preflightSlow] {
		select {
		case <-time.After(tooSlow):
		case <-p.closing:
		}
	}
	if p.breaks[preflightFirstAlone] {
		plan.Resources = plan.Resources[:1]
	}
	return p.transact(func(x *tx) (answer, error) {
		var refused []errorDetail
		for _, text := range plan.Resources {
			id, err := p.judgePlanned(c, x, text)
			var f *failure
			switch {
			case err == nil:
			case !errors.As(err, &f):
				return answer{}, err
			case f.code == "InvalidResourceType" && x.breaks[preflightUnknown500]:
				return answer{}, errBroken
			case f.code == "LocationNotAvailableForResourceType" && x.breaks[preflightAcceptsAll]:
			case f.code != parentNotFound: // the parent may be created first
				refused = append(refused, errorDetail{Code: f.code, Message: f.message, Target: id, Details: f.details})
			}
		}
		a := verdict(refused)
		if len(refused) > 0 && x.breaks[preflightAnswers400] {
			a.status = http.StatusBadRequest
		}
		return a, nil
	})
}

func verdict(refused []errorDetail) answer {
	type said struct {
		Status string       `json:"status"`
		Error  *errorDetail `json:"error,omitempty"`
	}
	switch len(refused) {
	case 0:
		return jsonAnswer(http.StatusOK, said{Status: stateSucceeded})
	case 1:
		return jsonAnswer(http.StatusOK, said{stateFailed, &refused[0]})
	}
	return jsonAnswer(http.StatusOK,
		said{stateFailed, &errorDetail{Code: "MultipleErrorsOccurred", Message: "Several resources would be refused. See details.", Details: refused}})
}

// judgePlanned checks a planned resource like its PUT.
func (p *Provider) judgePlanned(c *call, x *tx, text json.RawMessage) (id string, err error) {
	var planned struct{ Name, Type, APIVersion string }
	var body object
	if json.Unmarshal(text, &planned) != nil || json.Unmarshal(text, &body) != nil {
		return "", invalidContent("A resource must be an object with the members name, type and apiVersion.")
	}
	id = "/" + strings.Join(c.address.scope, "/") + "/providers/" + c.address.namespace
	namespace, typePath, _ := strings.Cut(planned.Type, "/")
	types, names := strings.Split(typePath, "/"), strings.Split(planned.Name, "/")
	if !same(namespace, c.address.namespace) || len(types) != len(names) {
		return id, badRequest("InvalidResourceType", "The resource '%s' of the type '%s' is none of '%s'.", planned.Name, planned.Type, c.address.namespace)
	}
	path := id
	for i := range types {
		id += "/" + types[i] + "/" + names[i]
		path += "/" + url.PathEscape(types[i]) + "/" + url.PathEscape(names[i])
	}
	put := &call{method: http.MethodPut, header: http.Header{}, query: url.Values{"api-version": {planned.APIVersion}}, breaks: c.breaks}
	if put.address, err = parseAddress(path); err != nil {
		return id, err
	}
	if err := p.checkVersion(put); err != nil {
		return id, err
	}
	t, err := p.served(put.address)
	if err != nil {
		return id, err
	}
	current := x.resourceAt(put.address)
	w, err := p.evaluatePut(put, x, t, wanted{body: body.without("apiVersion", "name", "type")}, current)
	switch {
	case err != nil:
	case current != nil && x.breaks[preflightRefusesAll]:
		err = fail(http.StatusConflict, "ResourceAlreadyExists", "The resource '%s' already exists.", current.ID)
	case current == nil && x.breaks[preflightCreates]:
		x.put(w.next.inState(stateSucceeded, ""))
	}
	return id, err
}
