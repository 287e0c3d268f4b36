package deployments

import (
	"net/http"

	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/jobs/deploy"
	"portico/template"
	"portico/template/document"
	"portico/template/expr"
)

// templateHash answers with the hash of a template. Clients compare it with the hash in
// the records of deployments to find out whether the template was deployed.
func (Deployments) templateHash(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, req route.Request) error {
	d, faults := document.Read(req.Content, document.Relaxed, template.Code)
	if len(faults) > 0 {
		return deploy.Refusal(faults)
	}
	if !d.Root.Is(expr.Object) {
		return refusalAt(d.Root, "a template is an object, and this is %s", d.Root.Value.Kind())
	}
	return x.Answer(w, http.StatusOK, map[string]string{"minifiedTemplate": d.Root.Value.JSON(), "templateHash": d.Root.Hash()})
}
