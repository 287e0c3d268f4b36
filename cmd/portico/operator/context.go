package operator

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

func contextCommand(p Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "context",
		Short: "Name services, and say which one commands ask",
		Long: `Name services, and say which one commands ask.

They are kept in $XDG_CONFIG_HOME/portico/contexts.yaml (~/.config by default): for each
the URL of its admin listener and the file that holds its token, never a token.

A command asks the service that --admin or --config names, or that of --context, of
PORTICO_CONTEXT, or of the current context; where there is none, the one at the default
address of an admin listener, unless it changes something.`,
	}
	c.AddCommand(contextListCommand(p), contextUseCommand(p), contextSetCommand(p), contextDeleteCommand(p))
	return c
}

func contextListCommand(p Program) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the contexts", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			file, _, err := loadContexts()
			if err != nil {
				return err
			}
			if len(file.Contexts) == 0 {
				_, err := fmt.Fprintln(p.Stdout, "There is no context. One is made by: portico context set NAME --admin URL")
				return err
			}
			screen := terminal.On(p.Stdout)
			return terminal.Table[serviceContext]{Columns: []terminal.Column[serviceContext]{
				{Title: "CURRENT", Cell: func(c serviceContext) string {
					if c.Name == file.Current {
						return "*"
					}
					return " "
				}},
				{Title: "NAME", Cell: func(c serviceContext) string { return c.Name }},
				{Title: "ADMIN", Cell: func(c serviceContext) string { return c.Admin }, Least: 20},
				{Title: "TOKEN FILE", Cell: func(c serviceContext) string { return c.TokenFile }, Least: 12, Cut: terminal.CutStart, Drop: 1},
				{Title: "CA", Cell: func(c serviceContext) string { return c.CA }, Least: 12, Cut: terminal.CutStart, Drop: 2},
			}}.Write(screen, screen, file.Contexts)
		},
	}
}

// changeContexts is a command that changes one context.
func changeContexts(p Program, use, short, done string, change func(f *contextFile, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: onlyFirst(completeContexts),
		RunE: func(_ *cobra.Command, args []string) error {
			file, path, err := loadContexts()
			if err != nil {
				return err
			}
			if err := change(&file, args[0]); err != nil {
				return err
			}
			if err := file.Save(path); err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.Stdout, done+"\n", args[0])
			return err
		},
	}
}

func loadContexts() (f contextFile, path string, err error) {
	if path, err = contextsPath(); err == nil {
		f, err = loadContextFile(path)
	}
	return f, path, err
}

func contextUseCommand(p Program) *cobra.Command {
	return changeContexts(p, "use NAME", "Have commands ask the service of a context", "Commands ask %s now.", (*contextFile).Use)
}

func contextDeleteCommand(p Program) *cobra.Command {
	return changeContexts(p, "delete NAME", "Forget a context", "%s is forgotten.", (*contextFile).Delete)
}

func contextSetCommand(p Program) *cobra.Command {
	var wanted serviceContext
	c := changeContexts(p, "set NAME --admin URL", "Make a context, or replace it", "%s is set.", func(f *contextFile, name string) error {
		if _, err := api.NewClient(api.ClientOptions{URL: wanted.Admin}); err != nil {
			return fmt.Errorf("--admin: %w", err)
		}
		created := serviceContext{Name: name, Admin: wanted.Admin}
		var tokenFile, ca error
		created.TokenFile, tokenFile = absolute(wanted.TokenFile)
		created.CA, ca = absolute(wanted.CA)
		return errors.Join(tokenFile, ca, f.Set(created))
	})
	c.Flags().StringVar(&wanted.Admin, "admin", "", "`URL` of the admin listener")
	c.Flags().StringVar(&wanted.TokenFile, "token-file", "", "`FILE` that holds the admin token")
	c.Flags().StringVar(&wanted.CA, "ca", "", "`FILE` of authorities (PEM) that sign the certificate of an https admin listener")
	_ = c.MarkFlagRequired("admin") // fails only for a flag that is not defined
	return c
}

// absolute is the path of a file from anywhere; "" stays so.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}
