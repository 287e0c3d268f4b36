package contoso

import (
	"encoding/json"
	"io"
	"net/http"
	"portico/provider/contoso/fault"
	"strings"
)

const adminPath = "/contoso"

func isAdmin(r *http.Request) bool {
	return r.URL.Path == adminPath || strings.HasPrefix(r.URL.Path, adminPath+"/")
}

// admin serves contoso's own administration. It is not part of the contract,
// and no front door passes requests on to it.
func (p *Provider) admin(w http.ResponseWriter, r *http.Request) {
	a, err := p.administer(r)
	if err != nil {
		a = failed(err)
	}
	a.send(w)
}

func (p *Provider) administer(r *http.Request) (answer, error) {
	switch r.Method + " " + strings.TrimPrefix(r.URL.Path, adminPath) {
	case "POST /faults":
		return p.addFault(r)
	case "GET /faults":
		return jsonAnswer(http.StatusOK, map[string]any{"value": p.faults.All()}), nil
	case "DELETE /faults":
		p.faults.Clear()
		return emptyAnswer(http.StatusNoContent), nil
	case "GET /requests":
		return jsonAnswer(http.StatusOK, map[string]any{"value": p.requests.all()}), nil
	case "DELETE /requests":
		p.requests.clear()
		return emptyAnswer(http.StatusNoContent), nil
	case "GET /subscriptions":
		return p.transact(func(x *tx) (answer, error) {
			return jsonAnswer(http.StatusOK, map[string]any{"value": x.subscriptions}), nil
		})
	case "GET /resources":
		return p.transact(func(x *tx) (answer, error) {
			ids := []string{}
			for _, k := range x.keys {
				ids = append(ids, x.resource(k).ID)
			}
			return jsonAnswer(http.StatusOK, map[string]any{"value": ids}), nil
		})
	}
	return answer{}, notFound("NotFound", "There is nothing at this path.")
}

func (p *Provider) addFault(r *http.Request) (answer, error) {
	rule := fault.Rule{Count: 1}
	d := json.NewDecoder(io.LimitReader(r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(&rule); err != nil {
		return answer{}, invalidContent("The request content must be an object with method, pathContains, fault and count.")
	}
	if _, ok := fault.Parse(rule.Fault); !ok {
		return answer{}, badFault()
	}
	if rule.Fault == "" || rule.Count == 0 {
		return answer{}, invalidContent("A fault must be named, and its count must not be 0; a negative one has no end.")
	}
	p.faults.Add(rule)
	return jsonAnswer(http.StatusCreated, rule), nil
}
