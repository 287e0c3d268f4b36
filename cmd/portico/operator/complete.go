package operator

import (
	"context"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"portico/gateway/admin/api"
)

// Bounds of a completion, for which the user waits after Tab.
const (
	completeTime = time.Second
	completeMost = 200
)

// completeBy completes from a list of the service that the command line names, with a
// text and a description for each element. If the service does not answer in time, it
// completes nothing.
func completeBy[T any](path string, of func(T) (text, description string)) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		for _, e := range listFor[T](c, path) {
			text, description := of(e)
			found = append(found, cobra.CompletionWithDesc(text, description))
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// listFor returns a list of the service that a command line names.
func listFor[T any](c *cobra.Command, path string) []T {
	var t Target
	for flag, into := range map[string]*string{"admin": &t.admin, "config": &t.config, "token-file": &t.tokenFile, "ca": &t.ca} {
		if f := c.Flags().Lookup(flag); f != nil {
			*into = f.Value.String()
		}
	}
	service, err := t.Client()
	if err != nil {
		return nil
	}
	defer service.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(contextOf(c)), completeTime)
	defer cancel()
	found, _, _ := api.ReadList[T](ctx, service, path, url.Values{}, completeMost) // what arrived in time
	return found
}

func contextOf(c *cobra.Command) context.Context {
	if ctx := c.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}

var (
	completeSubscriptions = completeBy("/admin/subscriptions", func(s api.Subscription) (text, description string) { return s.ID, s.DisplayName })
	completeRegions       = completeBy("/admin/regions", func(r api.Region) (text, description string) { return r.Name, r.State })
	completeSinks         = completeBy(sinksPath, func(s api.Sink) (text, description string) { return s.Name, s.State })
	completeJobKinds      = completeBy("/admin/jobKinds", func(k api.JobKind) (text, description string) { return k.Kind, "" })
	completeJobs          = completeBy("/admin/jobs", func(j api.Job) (text, description string) { return j.ID, j.Kind + " " + j.State })
)

func onlyFirst(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, started string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(c, args, started)
	}
}
