package operator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
	"portico/gateway/admin/client"
)

// groupDeletion is the kind of a job that deletes a group.
const groupDeletion = "group-delete"

// showJob shows a job; to people, of a deletion that is under way, also what is left.
func (a *asking) showJob(ctx context.Context, c *client.Client, path string, to io.Writer) error {
	return send(ctx, a, c, to, client.Request{Method: http.MethodGet, Path: path}, func(to io.Writer, j api.Job) error {
		if err := a.writeJob(to, j); err != nil || j.Kind != groupDeletion || ended(j) {
			return err
		}
		return a.writeDeletion(ctx, c, path, to, j)
	})
}

// writeDeletion writes until when a deletion tries, and what it still has to delete.
func (a *asking) writeDeletion(ctx context.Context, c *client.Client, path string, to io.Writer, j api.Job) error {
	left, err := client.Get[api.DeletionMembers](ctx, c, path+"/members", nil)
	if err != nil {
		return err
	}
	settings, err := client.Get[api.ConfigurationInUse](ctx, c, configurationPath, nil)
	if err != nil {
		return err
	}
	if limit, known := durationOf(settings, "groupDelete.limit"); known {
		fmt.Fprintf(to, "\nIt tries until %s: %s after it was ordered (groupDelete.limit).\n", j.Created.Add(limit).UTC().Format(time.RFC3339), limit)
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

// durationOf is the value of a setting that is a duration.
func durationOf(all api.ConfigurationInUse, path string) (time.Duration, bool) {
	n := slices.IndexFunc(all.Settings, func(s api.Setting) bool { return s.Path == path })
	if n < 0 {
		return 0, false
	}
	d, err := time.ParseDuration(all.Settings[n].Value)
	return d, err == nil
}

func memberColumns(group string) []terminal.Column[api.DeletionMember] {
	// All are in the group, but those that a refusal names may lie elsewhere.
	short := func(id string) string {
		if len(id) > len(group) && strings.EqualFold(id[:len(group)], group) {
			return strings.TrimPrefix(id[len(group):], "/providers/")
		}
		return id
	}
	return []terminal.Column[api.DeletionMember]{
		{Title: "RESOURCE", Cell: func(m api.DeletionMember) string { return short(m.ID) }, Least: 20, Cut: terminal.CutStart},
		{Title: "STATE", Cell: func(m api.DeletionMember) string { return m.State }, Style: func(m api.DeletionMember) terminal.Style { return memberStyle(m.State) }},
		{Title: "TRIES", Cell: func(m api.DeletionMember) string { return fmt.Sprint(m.Tries) }, Right: true},
		{Title: "NEXT", Time: func(m api.DeletionMember) time.Time { return instant(m.Due) }},
		{Title: "REASON", Cell: func(m api.DeletionMember) string { return m.Why }, Least: 20},
		{Title: "REGION", Cell: func(m api.DeletionMember) string { return m.Region }, Drop: 2},
		{Title: "WAITS FOR", Cell: func(m api.DeletionMember) string {
			var names []string
			for _, id := range m.WaitsFor {
				names = append(names, short(id))
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
