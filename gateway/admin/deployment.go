package admin

import (
	"errors"
	"net/http"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/jobs"
)

// mostSteps bounds the steps shown of a deployment: twice the resources of one template.
const mostSteps = 1600

func (l *listener) showDeployment(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	j, err := l.namedJob(r)
	if err != nil {
		return 0, nil, err
	}
	found, err := jobs.Breakdown{}, jobs.ErrNoBreakdown
	if kind := l.Jobs.Describe(j.Kind); kind.Breakdown != nil {
		found, err = kind.Breakdown(r.Context(), j)
	}
	if errors.Is(err, jobs.ErrNoBreakdown) {
		return 0, nil, arm.NewError(arm.Conflict).WithMessage("The job '%s' has no deployment, or a later deployment has replaced it.", mux.Vars(r)["id"])
	}
	if err != nil {
		return 0, nil, err
	}
	answer := api.Deployment{
		ID: found.ID, State: found.State, Mode: found.Mode, CorrelationID: found.CorrelationID, Error: errorText(found.Fault), Steps: []api.DeploymentStep{},
	}
	if len(found.Steps) > mostSteps {
		found.Steps, answer.Further = found.Steps[:mostSteps], true
	}
	for _, s := range found.Steps {
		answer.Steps = append(answer.Steps, api.DeploymentStep{
			ID: s.ID, Type: s.Type, State: s.State, Removes: s.Removes, Within: s.Within, DependsOn: s.DependsOn,
			Began: timeOf(s.Began), Ended: timeOf(s.Ended), Status: s.Status, Why: errorText(s.Fault), WaitsFor: s.WaitsFor,
		})
	}
	return http.StatusOK, answer, nil
}

// errorText returns an error in one line, or "" for nil.
func errorText(fault *arm.Error) string {
	if fault == nil {
		return ""
	}
	return fault.Error()
}
