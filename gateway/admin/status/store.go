package status

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"portico/config"
	"portico/gateway/admin/api"
	"portico/internal/plural"
	"portico/inventory/jobrow"
	"portico/jobs"
)

const (
	readyTime    = 3 * time.Second
	slowReady    = 500 * time.Millisecond
	overdue      = 3 // leases
	slowJob      = 30 * time.Minute
	mostLongJobs = 1000 // jobs of a kind that are examined
)

// checkStore finds problems of the store and in its records. If a query fails, it reports the
// store as down.
func (s Sources) checkStore(ctx context.Context, f *finding) {
	began := time.Now()
	waiting, cancel := context.WithTimeout(ctx, readyTime)
	err := s.Store.Ready(waiting)
	cancel()
	if took := time.Since(began); err == nil && took > slowReady {
		f.add(api.Problem{Code: api.StoreSlow, Summary: fmt.Sprintf("The store took %s to start a transaction.", took.Round(10*time.Millisecond))})
	}
	for _, find := range []func(context.Context, *finding) error{
		s.creations, s.jobs, s.longRunning, s.sweeps, s.events, s.sinks, s.replicas,
	} {
		if err != nil {
			break
		}
		err = find(ctx, f)
	}
	if err != nil {
		down := s.StoreDownSince
		if down.IsZero() {
			down = began
		}
		f.add(api.Problem{Code: api.StoreDown, Since: since(down), Summary: "The store does not answer: requests that need it are refused."})
	}
}

// jobs finds jobs without a worker, and jobs whose attempts all fail.
func (s Sources) jobs(ctx context.Context, f *finding) error {
	counts, err := s.Store.Jobs.Count(ctx, overdue*s.Config.Jobs.Lease, 0)
	if err != nil {
		return fmt.Errorf("count jobs: %w", err)
	}
	now := s.Store.Now()
	for kind, c := range counts {
		if c.Overdue > 0 {
			f.add(api.Problem{Code: api.JobsOverdue, Subject: kind, Count: c.Overdue, Since: since(now.Add(-c.Oldest)),
				Summary: fmt.Sprintf("Overdue and not running: %s of the kind %s.", plural.Count(c.Overdue, "job", "jobs"), kind)})
		}
		if c.PutOff > 0 {
			f.add(api.Problem{Code: api.JobsPutOff, Subject: kind, Count: c.PutOff,
				Summary: fmt.Sprintf("%s of the kind %s failed more than %d times in a row.", plural.Count(c.PutOff, "job", "jobs"), kind,
					jobrow.ManyAttempts)})
		}
	}
	return nil
}

// longRunning finds jobs that run longer than the description of their kind allows.
func (s Sources) longRunning(ctx context.Context, f *finding) error {
	for _, name := range s.Jobs.Kinds() {
		kind := s.Jobs.Describe(name)
		find := s.longJobs
		if kind.Problems.Summary != "" {
			find = s.countLongJobs
		}
		if err := find(ctx, f, name, kind); err != nil {
			return err
		}
	}
	return nil
}

// countLongJobs reports the number of jobs of a kind that run too long, as one problem.
func (s Sources) countLongJobs(ctx context.Context, f *finding, name string, kind jobs.Description) error {
	p := kind.Problems
	after := cmp.Or(p.After, kind.Limit)
	counts, err := s.Store.Jobs.CountKind(ctx, name, after, after)
	if err == nil && counts.Old > 0 {
		f.add(api.Problem{Code: p.TooLong, Count: counts.Old, Summary: fmt.Sprintf(p.Summary, plural.Count(counts.Old, p.One, p.Many))})
	}
	return err
}

// longJobs reports each job of a kind that runs beyond its limit, waits for a region, or is
// slow.
func (s Sources) longJobs(ctx context.Context, f *finding, name string, kind jobs.Description) error {
	if kind.Limit <= 0 {
		return nil
	}
	open, err := s.Store.Jobs.ListOpen(ctx, name, mostLongJobs)
	if err != nil {
		return fmt.Errorf("list the open jobs of %s: %w", name, err)
	}
	p, now := kind.Problems, s.Store.Now()
	what := cmp.Or(p.Subject, "A job of the kind "+name)
	for _, job := range open {
		standing := kind.Progress(job)
		problem := api.Problem{Subject: cmp.Or(standing.On, job.Subject), Since: since(job.Created), CausedBy: f.causeIn(standing.WaitingFor)}
		left := ""
		if standing.Left != "" {
			left = ": " + standing.Left
		}
		waiting := s.Store.Drains.Without(standing.WaitingFor)
		switch age := now.Sub(job.Created) - standing.Drained; {
		case age > kind.Limit:
			problem.Code, problem.Summary = cmp.Or(p.TooLong, api.JobTooLong),
				fmt.Sprintf("%s has been running beyond %s%s.", what, cmp.Or(kind.LimitSetting, "its limit"), left)
		case len(waiting) > 0 && p.Waiting != "":
			problem.Code, problem.Summary = p.Waiting,
				fmt.Sprintf("%s waits for %s, which does not answer%s.", what, strings.Join(waiting, ", "), left)
		case age > slowJob && p.Slow != "":
			problem.Code, problem.Summary = p.Slow, fmt.Sprintf("%s takes long%s.", what, left)
		default:
			continue
		}
		f.addAbout(problem, job.Name())
	}
	return nil
}

// sweeps reports strays and the findings of the latest full sweep.
func (s Sources) sweeps(ctx context.Context, f *finding) error {
	strays, err := s.Store.Strays.Count(ctx)
	if err != nil {
		return fmt.Errorf("count strays: %w", err)
	}
	if strays > 0 {
		f.add(api.Problem{Code: api.Strays, Count: strays,
			Summary: fmt.Sprintf("%s in a region other than that in the index.", plural.Count(strays, "resource exists", "resources exist"))})
	}
	latest, err := s.Sweeps.Latest(ctx)
	if err != nil || latest.Ended.IsZero() {
		return err
	}
	drift := 0
	for _, n := range latest.Drift {
		drift += n
	}
	if drift > 0 {
		f.add(api.Problem{Code: api.IndexDrift, Count: drift, Since: since(latest.Ended),
			Summary: fmt.Sprintf("The latest sweep found %s between index and providers.", plural.Count(drift, "disagreement", "disagreements"))})
	}
	if !latest.Complete {
		f.add(api.Problem{Code: api.SweepIncomplete, Since: since(latest.Ended),
			Summary: "The latest sweep could not list every region completely."})
	}
	return nil
}

// replicas finds replicas that ended without leaving.
func (s Sources) replicas(ctx context.Context, f *finding) error {
	if s.Config.Store.Driver != config.Postgres {
		return nil
	}
	died, err := s.Store.Jobs.DeadReplicas(ctx)
	for _, d := range died {
		f.add(api.Problem{Code: api.ReplicaDied, Subject: d.Name, Since: since(d.Died),
			Summary: "A replica stopped without shutting down; the others take over its jobs."})
	}
	return err
}
