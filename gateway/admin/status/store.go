package status

import (
	"context"
	"fmt"
	"strings"
	"time"

	"portico/config"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/operations/groupdelete"
	"portico/routing"
)

const (
	readyTime    = 3 * time.Second
	slowReady    = 500 * time.Millisecond
	overdue      = 3 // leases
	longVerify   = time.Hour
	slowDeletion = 30 * time.Minute
	deletions    = 1000 // that are looked at
)

// lookAtStore finds what is wrong with the store, and by what it has. What cannot be read
// says that the store is down.
func (s Sources) lookAtStore(ctx context.Context, f *finding) {
	began := time.Now()
	waiting, cancel := context.WithTimeout(ctx, readyTime)
	err := s.Store.Ready(waiting)
	cancel()
	if took := time.Since(began); err == nil && took > slowReady {
		f.add(api.Problem{Code: api.StoreSlow, Summary: fmt.Sprintf("The store took %s to begin a transaction.", took.Round(10*time.Millisecond))})
	}
	for _, look := range []func(context.Context, *finding) error{
		s.jobs, s.lasting, s.deletions, s.sweeps, s.events, s.sinks, s.replicas,
	} {
		if err != nil {
			break
		}
		err = look(ctx, f)
	}
	if err != nil {
		down := s.StoreDownSince
		if down.IsZero() {
			down = began
		}
		f.add(api.Problem{Code: api.StoreDown, Since: since(down), Summary: "The store does not answer: whatever needs it is refused."})
	}
}

// jobs finds those that nobody works on, and those that come to nothing.
func (s Sources) jobs(ctx context.Context, f *finding) error {
	counts, err := s.Store.CountJobs(ctx, overdue*s.Config.Jobs.Lease, 0)
	if err != nil {
		return err
	}
	now := s.Store.Now()
	for kind, c := range counts {
		if c.Overdue > 0 {
			f.add(api.Problem{Code: api.JobsOverdue, Subject: kind, Count: c.Overdue, Since: since(now.Add(-c.Oldest)),
				Summary: fmt.Sprintf("%s of the kind %s should have been worked on, and nobody does.", count(c.Overdue, "job", "jobs"), kind)})
		}
		if c.PutOff > 0 {
			f.add(api.Problem{Code: api.JobsPutOff, Subject: kind, Count: c.PutOff,
				Summary: fmt.Sprintf("%s of the kind %s came to nothing more than %d times in a row.", count(c.PutOff, "job", "jobs"), kind, jobrow.ManyAttempts)})
		}
	}
	return nil
}

// lasting finds what waits for longer than it should.
func (s Sources) lasting(ctx context.Context, f *finding) error {
	for _, l := range []struct {
		kind, code         string
		limit              time.Duration
		one, many, summary string
	}{
		{inventory.FollowJob, api.FollowsTooLong, s.Config.Index.FollowLimit, "write", "writes", "Providers accepted %s long ago and have not ended them."},
		{inventory.VerifyJob, api.VerificationsTooLong, longVerify, "resource", "resources", "Providers have long been asked in vain for %s."},
		{inventory.FenceJob, api.FencesTooLong, s.Config.Index.FollowLimit, "resource", "resources", "Fences on %s have stood for long: what landed late cannot be deleted, or its provider does not say."},
	} {
		counts, err := s.Store.CountJobsOf(ctx, l.kind, l.limit, l.limit)
		if err != nil {
			return err
		}
		if counts.Old > 0 {
			f.add(api.Problem{Code: l.code, Count: counts.Old, Summary: fmt.Sprintf(l.summary, count(counts.Old, l.one, l.many))})
		}
	}
	return nil
}

// deletions finds deletions of groups that do not come to their end.
func (s Sources) deletions(ctx context.Context, f *finding) error {
	open, err := s.Store.OpenJobs(ctx, inventory.GroupDeleteJob, deletions)
	if err != nil {
		return err
	}
	now, limit := s.Store.Now(), s.Config.GroupDelete.Limit
	for _, job := range open {
		p, err := groupdelete.ReadPayload(job)
		if err != nil {
			continue // its attempts say so
		}
		progress := p.Progress
		problem := api.Problem{Subject: routing.GroupID(job.Subscription, p.Group), Since: since(job.Created)}
		left := fmt.Sprintf("%d of %d resources are left, %d of them refused to go", progress.Total-progress.Deleted, progress.Total, progress.Parked)
		switch age := now.Sub(job.Created); {
		case age > limit:
			problem.Code, problem.Summary = api.GroupDeleteTooLong, fmt.Sprintf("The deletion of a group goes on beyond groupDelete.limit: %s.", left)
		case len(progress.WaitingFor) > 0:
			problem.Code, problem.Summary = api.GroupDeleteWaiting, fmt.Sprintf("The deletion of a group waits for %s, which does not answer: %s.", strings.Join(progress.WaitingFor, ", "), left)
		case age > slowDeletion:
			problem.Code, problem.Summary = api.GroupDeleteSlow, fmt.Sprintf("The deletion of a group takes long: %s.", left)
		default:
			continue
		}
		f.addAbout(problem, job.Name())
	}
	return nil
}

// sweeps finds what the latest sweep of everything found.
func (s Sources) sweeps(ctx context.Context, f *finding) error {
	strays, err := s.Store.CountStrays(ctx)
	if err != nil {
		return err
	}
	if strays > 0 {
		f.add(api.Problem{Code: api.Strays, Count: strays,
			Summary: fmt.Sprintf("%s in another region than the index has them in.", count(strays, "resource lies", "resources lie"))})
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
			Summary: fmt.Sprintf("The latest sweep found %s between index and providers.", count(drift, "disagreement", "disagreements"))})
	}
	if !latest.Complete {
		f.add(api.Problem{Code: api.SweepIncomplete, Since: since(latest.Ended),
			Summary: "The latest sweep could not look at every region in full."})
	}
	return nil
}

// replicas finds those that ended without leaving.
func (s Sources) replicas(ctx context.Context, f *finding) error {
	if s.Config.Store.Driver != config.Postgres {
		return nil
	}
	died, err := s.Store.DeadReplicas(ctx)
	for _, d := range died {
		f.add(api.Problem{Code: api.ReplicaDied, Subject: d.Name, Since: since(d.Died),
			Summary: "A replica ended without leaving; the others take its jobs over."})
	}
	return err
}
