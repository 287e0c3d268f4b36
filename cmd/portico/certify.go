package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"portico/cmd/portico/operator"
	"portico/cmd/portico/terminal"
	"portico/internal/version"
	"portico/provider/certify/certifyconfig"
	"portico/provider/certify/contract"
	"portico/provider/certify/report"
)

// Exit statuses of certify other than 0.
const (
	statusNotKept   = 1 // a rule is broken, or something is left behind
	statusNotJudged = 2 // the suite could not run, or did not finish
)

type certification struct {
	stdout, stderr io.Writer
	file, reports  string
	profiles       []string
	cases          []string
	disruptive     bool
	keep           bool
	format         terminal.Format

	limits certifyconfig.Limits // of the file
}

func certifyCommand(stdout, stderr io.Writer) *cobra.Command {
	run := certification{stdout: stdout, stderr: stderr, format: terminal.TableFormat}
	var list, compare bool
	c := &cobra.Command{
		Use:   "certify --config FILE",
		Short: "Check whether a resource provider keeps the contract",
		Long: `Check whether a resource provider keeps the contract, rule by rule, from outside:
directly at its endpoints, called as a front door would call them, or through a front door.
docs/certify.md describes FILE.

Everything is created in one resource group, which has to be empty, and removed at the
end, also on Ctrl-C. Objects that could not be removed are listed. --keep leaves what the
broken cases created, for inspection.

--list shows the cases. --compare OLD NEW shows the changes between two results.json.

Exit status 0: every claimed rule that was tried is kept, and every claimed profile was
tried. 1: a claimed rule is broken or was not reached, a claimed profile was not tried, or
something is left behind; with --compare: something is worse. 2: the suite could not run,
or did not finish.`,
		Args: func(c *cobra.Command, args []string) error {
			if compare {
				return notJudged(cobra.ExactArgs(2)(c, args))
			}
			return notJudged(cobra.NoArgs(c, args))
		},
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case list:
				return notJudged(run.list())
			case compare:
				return run.compare(args[0], args[1])
			case run.file == "":
				return notJudged(errors.New(`required flag "config" not set: the provider's certify.yaml`))
			}
			return run.certify(c.Context())
		},
	}
	flags := c.Flags()
	flags.StringVar(&run.file, "config", "", "the provider's certify.yaml, a `FILE`")
	flags.StringSliceVar(&run.profiles, "profile", nil, "claim these `PROFILES` instead of the file's; separated by commas")
	flags.StringVar(&run.reports, "report", "", "write report.html, junit.xml and results.json into `DIR`")
	flags.StringSliceVar(&run.cases, "case", nil, "run only the cases with these `IDS`; separated by commas")
	flags.BoolVar(&run.disruptive, "disruptive", false, "also run the cases that may disturb other users of the provider")
	flags.BoolVar(&run.keep, "keep", false, "leave what the broken cases created, for inspection")
	flags.BoolVar(&list, "list", false, "show the cases, and run none")
	flags.BoolVar(&compare, "compare", false, "compare the results.json of two runs: certify --compare OLD NEW")
	run.format.Flag(c, "output format; json and yaml: as in results.json")
	c.MarkFlagsMutuallyExclusive("list", "compare", "config")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return notJudged(err) })
	return c
}

// notJudged gives an error the exit status of a suite that could not run.
func notJudged(err error) error {
	if err == nil {
		return nil
	}
	return &operator.StatusError{Err: err, Status: statusNotJudged}
}

func (c *certification) certify(ctx context.Context) error {
	target, about, err := c.target(ctx)
	if err != nil {
		return notJudged(err)
	}
	run := report.Run{Began: time.Now().UTC(), Target: about, Disruptive: target.Disruptive}
	run.Suite = version.Current().String()
	run.Contract = contract.Edition
	run.Claimed = c.judged(target.Claimed)
	stopped, err := c.try(ctx, target, &run)
	if err != nil {
		return notJudged(err)
	}
	run.Took = time.Since(run.Began)
	if err := c.writeOutcome(run, stopped); err != nil {
		return notJudged(err)
	}
	switch {
	case stopped != nil:
		return notJudged(operator.ErrReported)
	case !passed(run):
		return &operator.StatusError{Err: operator.ErrReported, Status: statusNotKept}
	}
	return nil
}

// target returns the target that the file and the flags name.
func (c *certification) target(ctx context.Context) (contract.Target, report.Target, error) {
	loaded, err := certifyconfig.Load(c.file)
	if err != nil {
		fmt.Fprintln(c.stderr, err)
		return contract.Target{}, report.Target{}, operator.ErrReported
	}
	if err := c.overrule(loaded); err != nil {
		return contract.Target{}, report.Target{}, err
	}
	target, err := loaded.Target(ctx)
	if err != nil {
		return contract.Target{}, report.Target{}, err
	}
	target.Cases = c.cases
	c.limits = loaded.Limits
	about := report.Target{Portico: loaded.Portico.URL, Endpoints: loaded.Endpoints, Types: loaded.Types}
	return target, about, nil
}

// overrule applies the flags, which take precedence over the file.
func (c *certification) overrule(loaded *certifyconfig.Config) error {
	if len(c.profiles) > 0 {
		known := certifyconfig.ProfileNames()
		loaded.Profiles = nil
		for _, name := range c.profiles {
			if !slices.Contains(known, name) {
				return fmt.Errorf("--profile: there is no %q (allowed: %s)", name, strings.Join(known, ", "))
			}
			loaded.Profiles = append(loaded.Profiles, contract.Profile(name))
		}
	}
	loaded.Disruptive = loaded.Disruptive || c.disruptive
	all := contract.All()
	for _, id := range c.cases {
		i := slices.IndexFunc(all, func(known contract.Case) bool { return known.ID == id })
		if i < 0 {
			return fmt.Errorf("--case: there is no %q: portico certify --list shows the cases", id)
		}
		if profile := all[i].Profile; !slices.Contains(loaded.Profiles, profile) {
			return fmt.Errorf("--case: %s is of the profile %s, which is not claimed: add --profile %s", id, profile, profile)
		}
	}
	return nil
}

// judged returns the claimed profiles that the run judges. A run of single cases judges
// their profiles.
func (c *certification) judged(claimed []contract.Profile) []string {
	var names []string
	for _, p := range claimed {
		if len(c.cases) == 0 || slices.ContainsFunc(contract.All(), func(k contract.Case) bool { return k.Profile == p && slices.Contains(c.cases, k.ID) }) {
			names = append(names, string(p))
		}
	}
	return names
}

// try runs the cases and removes what they created. stopped is the reason why not all
// ran.
func (c *certification) try(ctx context.Context, target contract.Target, run *report.Run) (stopped, err error) {
	ledger := contract.Keep(target, c.limits.Call)
	if err := requireEmpty(ctx, ledger, target.Group); err != nil {
		return nil, err
	}
	refusals, err := contract.Announce(ctx, target)
	for _, refusal := range refusals {
		fmt.Fprintln(c.stderr, "warning:", terminal.Clean(refusal))
	}
	if err != nil {
		return nil, err
	}
	var found contract.Recorder
	limited, cancel := context.WithTimeoutCause(ctx, c.limits.Run, fmt.Errorf("limits.run, %s, have passed", c.limits.Run))
	defer cancel()
	progress := newCertifyProgress(&found, target, terminal.On(c.stderr))
	err = contract.Try(limited, target, progress)
	progress.End()
	if limited.Err() != nil {
		stopped, err = context.Cause(limited), nil
		if ctx.Err() != nil {
			stopped = errors.New("it was interrupted")
		}
	}
	run.Results = found.Results()
	for _, r := range run.Results {
		if c.keep {
			ledger.Spare(r.Created)
		}
	}
	run.Left = c.clean(ctx, ledger)
	ledger.CloseIdleConnections()
	return stopped, errors.Join(err, leftBehind(err, run.Left))
}

// requireEmpty refuses a target whose group is not empty, because the run removes
// everything below the group in the end.
func requireEmpty(ctx context.Context, ledger *contract.Ledger, group string) error {
	held, err := ledger.Occupied(ctx)
	if err != nil {
		return err
	}
	if len(held) == 0 {
		return nil
	}
	const most = 10
	more := ""
	if len(held) > most {
		more = fmt.Sprintf("\n  and %d more", len(held)-most)
		held = held[:most]
	}
	for i, id := range held {
		held[i] = "  " + terminal.Clean(id)
	}
	return fmt.Errorf("the resource group %s is not empty, and the run removes everything in it at the end; name another "+
		"resourceGroup, or remove:\n%s%s",
		group, strings.Join(held, "\n"), more)
}

// clean removes what the run created, however the run ended.
func (c *certification) clean(ctx context.Context, ledger *contract.Ledger) []string {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.limits.Cleanup)
	defer cancel()
	but := ""
	if c.keep {
		but = ", except for what broken cases created"
	}
	fmt.Fprintln(c.stderr, "removing what was created"+but)
	return ledger.Clean(bounded)
}

// leftBehind returns an error that lists what is left, unless the reports list it.
func leftBehind(err error, left []string) error {
	if err == nil || len(left) == 0 {
		return nil
	}
	return fmt.Errorf("left behind: %s", strings.Join(left, ", "))
}

func (c *certification) writeOutcome(run report.Run, stopped error) error {
	if c.reports != "" {
		if err := report.Write(c.reports, run); err != nil {
			return err
		}
	}
	if err := c.summarise(run); err != nil {
		return err
	}
	if stopped != nil {
		fmt.Fprintf(c.stderr, "portico: not all cases ran: %v\n", stopped)
	}
	if c.reports != "" {
		fmt.Fprintf(c.stderr, "reports: %s\n", filepath.Join(c.reports, report.HTMLFile))
	}
	return nil
}
