package deployments

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/jobs/deploy"
)

// stateFilter reads $filter of the list, which can only be a state.
func stateFilter(x *exchange.Exchange) (string, error) {
	text, given := x.Request.Query.Get("$filter")
	if !given || text == "" {
		return "", nil
	}
	words := strings.Fields(text)
	if len(words) == 3 && strings.EqualFold(words[0], "provisioningState") && strings.EqualFold(words[1], "eq") {
		if state := strings.Trim(words[2], "'"); len(state) == len(words[2])-2 {
			return state, nil
		}
	}
	return "", arm.NewError(arm.InvalidQueryParameter, "$filter", "it can only be provisioningState eq '…'").WithTarget("$filter")
}

// operationsOf returns the operations so far of the deployment that a request names.
func (d Deployments) operationsOf(ctx context.Context, r *http.Request, x *exchange.Exchange) ([]deploy.Operation, error) {
	found, record, err := d.findDeployment(r, x)
	if err != nil {
		return nil, err
	}
	return deploy.Operations(ctx, d.Store.Deployments, nameOf(x), found, record)
}

func (d Deployments) operations(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, _ route.Request) error {
	page, err := d.Lists.Read(x)
	if err != nil {
		return err
	}
	all, err := d.operationsOf(r.Context(), r, x)
	if err != nil {
		return err
	}
	source := route.ListSource[deploy.Operation]{
		Read: func(after string, limit int) ([]deploy.Operation, error) {
			from := slices.IndexFunc(all, func(o deploy.Operation) bool { return o.OperationID == after }) + 1
			return all[from:min(len(all), from+limit)], nil
		},
		Key:  func(o deploy.Operation) string { return o.OperationID },
		Show: func(o deploy.Operation) any { return o },
	}
	return source.Answer(w, x, d.Lists, page)
}

func (d Deployments) operation(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, _ route.Request) error {
	all, err := d.operationsOf(r.Context(), r, x)
	if err != nil {
		return err
	}
	id := x.Request.Path.Segment(x.Request.Path.Len() - 1)
	for _, o := range all {
		if strings.EqualFold(o.OperationID, id) {
			return x.Answer(w, http.StatusOK, o)
		}
	}
	return arm.NewError(arm.DeploymentOperationNotFound, id)
}
