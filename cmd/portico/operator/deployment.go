package operator

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

// writeDeployment writes the progress of a deployment and its steps, and what to do about
// it.
func (a *serviceCommand) writeDeployment(ctx context.Context, c *api.Client, path string, to io.Writer, j api.Job) error {
	d, err := api.Get[api.Deployment](ctx, c, path+"/deployment", nil)
	if err != nil {
		return err
	}
	if j.Until != nil {
		fmt.Fprintf(to, "\nIt has time until %s: %s after its PUT (%s).\n", j.Until.UTC().Format(time.RFC3339), j.Until.Sub(j.Created), j.Limit)
	}
	if d.Error != "" {
		fmt.Fprintf(to, "\nIt has failed: %s\n", terminal.Clean(d.Error))
	}
	heading := fmt.Sprintf("Its steps, %d:", len(d.Steps))
	if d.Further {
		heading = fmt.Sprintf("Its steps, the first %d:", len(d.Steps))
	}
	if err := section(a, to, "No step is known.", heading, stepColumns(d.ID), d.Steps); err != nil {
		return err
	}
	if next := nextOf(d); next != "" {
		_, err = fmt.Fprintln(to, "\n"+next)
	}
	return err
}

// nextOf returns what to do next about a deployment; empty: nothing.
func nextOf(d api.Deployment) string {
	switch d.State {
	case "Running":
		return "portico jobs watch waits for its end. After portico jobs cancel it sends nothing more; what was sent continues."
	case "Failed":
		return "Once the cause is repaired, repeat the PUT of the deployment: it sends what is missing, and again what it has created."
	}
	return ""
}

func stepColumns(deployment string) []terminal.Column[api.DeploymentStep] {
	scope, _, _ := strings.Cut(deployment, "/providers/")
	short := func(id string) string {
		if len(id) > len(scope) && strings.EqualFold(id[:len(scope)], scope) {
			return strings.TrimPrefix(id[len(scope):], "/providers/")
		}
		return id
	}
	return []terminal.Column[api.DeploymentStep]{
		{Title: "RESOURCE", Cell: func(s api.DeploymentStep) string { return short(s.ID) }, Least: 20, Cut: terminal.CutStart},
		{Title: "STATE", Cell: func(s api.DeploymentStep) string { return s.State },
			Style: func(s api.DeploymentStep) terminal.Style { return styleOf(s.State) }},
		{Title: "DOES", Cell: func(s api.DeploymentStep) string {
			if s.Removes {
				return "DELETE"
			}
			return "PUT"
		}, Drop: 3},
		{Title: "BEGAN", Time: func(s api.DeploymentStep) time.Time { return instant(s.Began) }},
		{Title: "TOOK", Cell: tookOf, Right: true, Drop: 4},
		{Title: "ERROR", Cell: func(s api.DeploymentStep) string { return strings.TrimSpace(s.WaitsFor + " " + s.Why) }, Least: 20},
		{Title: "DEPENDS ON", Cell: func(s api.DeploymentStep) string {
			var names []string
			for _, id := range s.DependsOn {
				names = append(names, short(id))
			}
			return strings.Join(names, ", ")
		}, Least: 16, Cut: terminal.CutStart, Drop: 1},
		{Title: "STATUS", Cell: func(s api.DeploymentStep) string { return s.Status }, Drop: 2},
		{Title: "ID", Cell: func(s api.DeploymentStep) string { return s.ID }, Wide: true},
	}
}

func tookOf(s api.DeploymentStep) string {
	if s.Began == nil || s.Ended == nil {
		return ""
	}
	return s.Ended.Sub(*s.Began).Round(100 * time.Millisecond).String()
}
