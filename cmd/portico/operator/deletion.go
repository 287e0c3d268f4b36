package operator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

// showJob shows a job; to people also what is left of it, part by part, and its last
// steps if history is set.
func (a *serviceCommand) showJob(ctx context.Context, c *api.Client, path string, to io.Writer, history bool) error {
	return send(ctx, a, c, to, api.Request{Method: http.MethodGet, Path: path}, func(to io.Writer, j api.Job) error {
		err := a.writeJob(to, j)
		if err == nil && j.Parts && !ended(j) {
			err = a.writeDeletion(ctx, c, path, to, j)
		}
		if err == nil && j.Deployment {
			err = a.writeDeployment(ctx, c, path, to, j)
		}
		if err == nil && history {
			err = a.writeHistory(to, j.History)
		}
		return err
	})
}

// writeDeletion writes the deadline of a deletion, and what it still has to delete.
func (a *serviceCommand) writeDeletion(ctx context.Context, c *api.Client, path string, to io.Writer, j api.Job) error {
	left, err := api.Get[api.DeletionMembers](ctx, c, path+"/members", nil)
	if err != nil {
		return err
	}
	switch {
	case j.State == jobCancelling:
		fmt.Fprintln(to, "\nIt is being canceled: it sends nothing more, and ends when the calls under way have ended.")
	case j.Until != nil:
		fmt.Fprintf(to, "\nIt tries until %s: %s after it was ordered (%s).\n", j.Until.UTC().Format(time.RFC3339), j.Until.Sub(j.Created), j.Limit)
	}
	none := ""
	if len(left.Members) == 0 {
		none = "No resource is left to delete."
	}
	heading := fmt.Sprintf("Left to delete, %d:", len(left.Members))
	if left.Further {
		heading = fmt.Sprintf("Left to delete, the first %d:", len(left.Members))
	}
	return section(a, to, none, heading, memberColumns(left.Group), left.Members)
}

func memberColumns(group string) []terminal.Column[api.DeletionMember] {
	// All are in the group, except that a refusal may name others.
	short := func(id string) string {
		if len(id) > len(group) && strings.EqualFold(id[:len(group)], group) {
			return strings.TrimPrefix(id[len(group):], "/providers/")
		}
		return id
	}
	return []terminal.Column[api.DeletionMember]{
		{Title: "RESOURCE", Cell: func(m api.DeletionMember) string { return short(m.ID) }, Least: 20, Cut: terminal.CutStart},
		{Title: "STATE", Cell: func(m api.DeletionMember) string { return m.State },
			Style: func(m api.DeletionMember) terminal.Style { return memberStyle(m.State) }},
		{Title: "TRIES", Cell: func(m api.DeletionMember) string { return fmt.Sprint(m.Tries) }, Right: true},
		{Title: "SINCE", Time: func(m api.DeletionMember) time.Time { return instant(m.Since) }, Drop: 3},
		{Title: "NEXT", Time: func(m api.DeletionMember) time.Time { return instant(m.Due) }},
		{Title: "REASON", Cell: func(m api.DeletionMember) string { return m.Why }, Least: 20},
		{Title: "REGION", Cell: func(m api.DeletionMember) string { return m.Region }, Drop: 2},
		{Title: "WAITS FOR", Cell: func(m api.DeletionMember) string {
			var names []string
			for _, id := range m.WaitsFor {
				names = append(names, short(id))
			}
			if m.OwnWrite != "" {
				names = append(names, "its own "+m.OwnWrite)
			}
			return strings.Join(names, ", ")
		}, Least: 16, Cut: terminal.CutStart, Drop: 1},
		{Title: "ID", Cell: func(m api.DeletionMember) string { return m.ID }, Wide: true},
	}
}

func memberStyle(state string) terminal.Style {
	if state == api.MemberRefused {
		return terminal.Red
	}
	return terminal.Plain
}
