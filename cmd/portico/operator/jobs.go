package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
	"portico/internal/timing"
)

func jobsCommand(p Program) *cobra.Command {
	return withList(&cobra.Command{
		Use:   "jobs",
		Short: "Show, watch and cancel durable work, such as deletions of groups",
		Long: `Show, watch and cancel durable work, such as deletions of groups.

Name a job by its ID, or by the end of its ID, which the table of portico jobs list shows.`,
	}, jobsListCommand(p), jobsShowCommand(p), jobsWatchCommand(p), jobsCancelCommand(p))
}

func jobsListCommand(p Program) *cobra.Command {
	l := listing[api.Job, api.Job]{
		path: "/admin/jobs", none: "There is no such job.", rows: same[api.Job],
		params: []param{{
			name: "kind", flag: "kind", usage: "only jobs of this `KIND`, such as group-delete; the shell completes it", complete: completeJobKinds,
		}, {
			name: "state", flag: "state", usage: "only jobs in this `STATE`: open, running, waiting, cancelling, ended, done, failed or cancelled",
		}},
		columns: []terminal.Column[api.Job]{
			{Title: "JOB", Cell: func(j api.Job) string { return shortName(j.ID) }},
			{Title: "KIND", Cell: func(j api.Job) string { return j.Kind }},
			{Title: "STATE", Cell: func(j api.Job) string { return j.State }, Style: func(j api.Job) terminal.Style { return styleOf(j.State) }},
			{Title: "SUBJECT", Cell: func(j api.Job) string { return j.Subject }, Least: 16, Cut: terminal.CutStart},
			{Title: "PROGRESS", Cell: stepsOf, Least: 8, Drop: 1},
			{Title: "CREATED", Time: func(j api.Job) time.Time { return j.Created }, Drop: 2},
			{Title: "CHANGED", Time: func(j api.Job) time.Time { return j.Changed }, Drop: 4},
			{Title: "DUE", Time: func(j api.Job) time.Time { return instant(j.Due) }, Drop: 3},
			{Title: "TRIES", Cell: func(j api.Job) string { return fmt.Sprint(j.Attempts) }, Right: true, Drop: 5},
			{Title: "OWNER", Cell: func(j api.Job) string { return j.Owner }, Drop: 6},
			{Title: "ID", Cell: func(j api.Job) string { return j.ID }, Wide: true},
		},
	}
	return l.command(p, "list", "List durable jobs", `List the durable jobs of all subscriptions: the open ones, the oldest first, and then those
that have ended, which are kept for a while, the newest first.`)
}

// shortLength is how much of a job's ID a table shows.
const shortLength = 12

func shortName(id string) string { return id[max(0, len(id)-shortLength):] }

// Bounds of the search for a job by the end of its ID.
const (
	leastOfName = 4
	mostJobs    = 20_000
)

// jobPath returns the path of a job, given its ID or the end of it.
func (a *serviceCommand) jobPath(ctx context.Context, c *api.Client, name string) (string, error) {
	id, err := a.jobID(ctx, c, name)
	return jobsPath + "/" + url.PathEscape(id), err
}

const jobsPath = "/admin/jobs"

// jobID returns the ID of a job, given the ID or the end of it.
func (a *serviceCommand) jobID(ctx context.Context, c *api.Client, name string) (string, error) {
	if strings.ContainsAny(name, ".-/") { // not in the end of an ID
		return name, nil
	}
	if len(name) < leastOfName {
		return "", fmt.Errorf("%q is too short for the end of a job's ID: portico jobs list shows them", name)
	}
	all, _, err := api.ReadList[api.Job](ctx, c, jobsPath, url.Values{"limit": {fmt.Sprint(largestPage)}}, mostJobs)
	if err != nil {
		return "", err
	}
	found := ""
	for _, j := range all {
		switch {
		case !strings.HasSuffix(strings.ToLower(j.ID), strings.ToLower(name)):
		case found != "":
			return "", fmt.Errorf("several jobs' IDs end in %q: give the whole ID, which portico jobs list -o wide shows", name)
		default:
			found = j.ID
		}
	}
	if found == "" {
		return "", fmt.Errorf("no job's ID ends in %q: portico jobs list shows the jobs", name)
	}
	return found, nil
}

func jobCommand(p Program, use, short, long string, run func(a *serviceCommand, ctx context.Context, name string) error) (*cobra.Command, *serviceCommand) {
	a := newServiceCommand(p)
	a.missing = "portico jobs list shows the jobs"
	c := &cobra.Command{
		Use: use, Short: short, Long: long + "\n\n" + findingService, Args: cobra.ExactArgs(1), ValidArgsFunction: onlyFirst(completeJobs),
		RunE: func(c *cobra.Command, args []string) error { return run(a, c.Context(), args[0]) },
	}
	a.Flags(c)
	return c, a
}

// onJob connects to the service, finds a job, and calls do with its path.
func (a *serviceCommand) onJob(ctx context.Context, name string, do func(c *api.Client, path string) error) error {
	return a.withClient(func(c *api.Client) error {
		path, err := a.jobPath(ctx, c, name)
		if err != nil {
			return err
		}
		return do(c, path)
	})
}

func jobsShowCommand(p Program) *cobra.Command {
	history := false
	c, a := jobCommand(p, "show JOB", "Show a job", `Show a job and its progress. For a group's deletion under way: its deadline, and the
resources that are left, each with its state, the reason, the number of failures in a row,
and the time of the next attempt. For a deployment: its steps, each with its state, times,
error and dependencies. JSON and YAML have only the job, with its latest steps.`, func(a *serviceCommand, ctx context.Context, name string) error {
		return a.show(ctx, func(ctx context.Context, c *api.Client, to io.Writer) error {
			path, err := a.jobPath(ctx, c, name)
			if err != nil {
				return err
			}
			return a.showJob(ctx, c, path, to, history)
		})
	})
	a.watchFlag(c)
	c.Flags().BoolVar(&history, "history", false, "also show its latest steps, at most 50; equal ones in a row are one, with their number and the first time")
	return c
}

func (a *serviceCommand) writeHistory(to io.Writer, steps []api.JobStep) error {
	return section(a, to, "No step is recorded yet.", "Latest steps, the newest first:", []terminal.Column[api.JobStep]{
		{Title: "TIME", Time: func(s api.JobStep) time.Time { return s.At }},
		{Title: "TIMES", Cell: func(s api.JobStep) string { return fmt.Sprint(max(1, s.Times)) }, Right: true},
		{Title: "SINCE", Time: func(s api.JobStep) time.Time { return s.Since }},
		{Title: "OUTCOME", Cell: func(s api.JobStep) string { return s.Outcome }},
		{Title: "REPLICA", Cell: func(s api.JobStep) string { return s.Replica }, Least: 8, Drop: 1},
		{Title: "DID", Cell: func(s api.JobStep) string { return s.Did }, Least: 24},
	}, steps)
}

func jobsWatchCommand(p Program) *cobra.Command {
	c, _ := jobCommand(p, "watch JOB", "Wait for the end of a job, and show its progress",
		`Wait for the end of a job, and show its progress.

Exit status 0: it is done. 1: it failed, was cancelled, or Ctrl-C came before its end.`,
		func(a *serviceCommand, ctx context.Context, name string) error {
			return a.onJob(ctx, name, func(c *api.Client, path string) error {
				answer, job, err := a.follow(ctx, c, path, nil)
				if err != nil {
					return err
				}
				if err := write(a, a.out, answer, a.writeJob); err != nil {
					return err
				}
				if job.State != jobDone {
					return ErrReported
				}
				return nil
			})
		})
	return c
}

func jobsCancelCommand(p Program) *cobra.Command {
	c, a := jobCommand(p, "cancel JOB", "Cancel a job, such as the deletion of a group",
		`Cancel a job, such as the deletion of a group. It ends at its next attempt; what was done
until then stays done. Jobs that keep the index correct cannot be cancelled: they end by themselves.`,
		func(a *serviceCommand, ctx context.Context, name string) error {
			return a.onJob(ctx, name, func(c *api.Client, path string) error {
				return send(ctx, a, c, a.out, api.Request{Method: http.MethodPost, Path: path + "/cancel"}, a.writeJob)
			})
		})
	a.mustName = true
	return c
}

// States of a job that has ended.
const (
	jobDone      = "Done"
	jobFailed    = "Failed"
	jobCancelled = "Cancelled"
)

// jobCancelling is the state of a job whose cancellation was ordered.
const jobCancelling = "Cancelling"

func ended(j api.Job) bool {
	return j.State == jobDone || j.State == jobFailed || j.State == jobCancelled
}

// Times of waiting for a job.
const (
	followPace    = 250 * time.Millisecond
	followAbsence = 30 * time.Second // of a restarting service
)

// follow waits for the end of a job, and shows its progress. Interrupting the wait does
// not end the job.
func (a *serviceCommand) follow(ctx context.Context, c *api.Client, path string, progress func(api.Job)) (api.Answer, api.Job, error) {
	bar := terminal.NewProgress(a.errs, "")
	defer bar.End()
	if progress == nil {
		progress = func(j api.Job) {
			bar.Name = j.Kind
			done, of := 0, 0
			if j.Steps != nil {
				done, of = j.Steps.Done, j.Steps.Of
			}
			bar.Set(done, of, noteOf(j))
		}
	}
	heard := time.Now()
	for {
		answer, err := c.Do(ctx, api.Request{Method: http.MethodGet, Path: path})
		var job api.Job
		if err == nil {
			err = answer.Read(&job)
		}
		switch {
		case err == nil:
			heard = time.Now()
			progress(job)
			if ended(job) {
				return answer, job, nil
			}
		case ctx.Err() != nil:
		case !isTemporary(err) || time.Since(heard) > followAbsence:
			return answer, job, err
		}
		if ctx.Err() != nil || timing.Sleep(ctx, followPace) != nil {
			return answer, job, errors.New("the job continues: portico jobs watch " + shortName(path))
		}
	}
}

// stepsOf returns how many of a job's steps are done, if known.
func stepsOf(j api.Job) string {
	if j.Steps == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d", j.Steps.Done, j.Steps.Of)
}

// noteOf returns what a job waits for: the members of its progress that mean the same in
// all kinds.
func noteOf(j api.Job) string {
	var p struct {
		InFlight, Waiting, Parked, Failed int
		WaitingFor                        []string
	}
	_ = json.Unmarshal(j.Progress, &p) // other kinds have other members
	var parts []string
	if j.State == jobCancelling {
		parts = append(parts, "being canceled")
		p.Waiting, p.Parked, p.WaitingFor = 0, 0, nil // nothing more is sent
	}
	for _, part := range []struct {
		n    int
		what string
	}{{p.InFlight, "in flight"}, {p.Waiting, "waiting"}, {p.Parked, "refused"}, {p.Failed, "failed"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	waiting := p.WaitingFor
	if len(waiting) == 0 {
		waiting = j.WaitingFor
	}
	if len(waiting) > 0 {
		parts = append(parts, "waits for "+strings.Join(waiting, ", "))
	}
	return strings.Join(parts, ", ")
}

func (a *serviceCommand) writeJob(to io.Writer, j api.Job) error {
	p := details{a, to}
	p.styled("job", j.ID, terminal.Bold)
	p.text("kind", j.Kind)
	p.styled("state", j.State, styleOf(j.State))
	p.text("subscription", j.Subscription)
	p.text("subject", cmp.Or(j.On, j.Subject))
	p.time("created", &j.Created)
	p.time("changed", &j.Changed)
	p.text("steps", stepsOf(j))
	p.text("waits for", strings.Join(j.WaitingFor, ", "))
	p.text("outcome", j.Outcome)
	p.time("due", j.Due)
	p.text("owner", j.Owner)
	p.text("attempts", fmt.Sprint(j.Attempts))
	if len(j.Progress) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(to, "\nProgress:"); err != nil {
		return err
	}
	return terminal.YAML.WriteDocument(to, j.Progress)
}
