package admin

import (
	"errors"
	"net/http"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/jobs"
)

// mostSteps bounds what is shown of a deployment: what one template may make, and as much again.
const mostSteps = 1600

// showDeployment shows the deployment of a job.
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
		return 0, nil, arm.NewError(arm.Conflict).Saying("The job '%s' has no deployment, or another has taken its place.", mux.Vars(r)["id"])
	}
	if err != nil {
		return 0, nil, err
	}
	answer := api.Deployment{
		ID: found.ID, State: found.State, Mode: found.Mode, CorrelationID: found.CorrelationID, Error: wordsOf(found.Fault), Steps: []api.DeploymentStep{},
	}
	if len(found.Steps) > mostSteps {
		found.Steps, answer.Further = found.Steps[:mostSteps], true
	}
	for _, s := range found.Steps {
		answer.Steps = append(answer.Steps, api.DeploymentStep{
			ID: s.ID, Type: s.Type, State: s.State, Removes: s.Removes, Within: s.Within, DependsOn: s.DependsOn,
			Began: timeOf(s.Began), Ended: timeOf(s.Ended), Status: s.Status, Why: wordsOf(s.Fault), WaitsFor: s.WaitsFor,
		})
	}
	return http.StatusOK, answer, nil
}

// wordsOf is an error in one line; "" for none.
func wordsOf(fault *arm.Error) string {
	if fault == nil {
		return ""
	}
	return fault.Error()
}
