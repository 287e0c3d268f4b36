package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

func rolesCommand(stdout io.Writer) *cobra.Command {
	c := &cobra.Command{
		Use:   "roles",
		Short: "Look into who may do what",
	}
	c.AddCommand(rolesCheckCommand(stdout))
	return c
}

// roleQuestion is what the service is asked.
type roleQuestion struct {
	PrincipalID string   `json:"principalId"`
	Groups      []string `json:"groups,omitempty"`
	TenantID    string   `json:"tenantId,omitempty"`
	Action      string   `json:"action"`
	Scope       string   `json:"scope"`
}

// roleAnswer is what it answers.
type roleAnswer struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason"`
	Grant   *struct {
		Assignment string `json:"assignment"`
		Owner      bool   `json:"owner"`
		Scope      string `json:"scope"`
		Role       string `json:"role"`
	} `json:"grant"`
	WouldAllow []string `json:"wouldAllow"`
}

func rolesCheckCommand(stdout io.Writer) *cobra.Command {
	var target adminTarget
	var q roleQuestion
	var asJSON bool
	c := &cobra.Command{
		Use:   "check --principal OBJECTID --action ACTION --scope SCOPE (--config FILE | --admin URL)",
		Short: "Say whether a caller may do something, and by what",
		Long: `Say whether a caller may do something, and by what.

The running service answers by its store, as it would answer a request now. Groups
of the caller come from its token, which nobody has here: name them.

An admin token is taken from ` + tokenVariable + ` or from --token-file.

Exit status 0: yes. 1: no. 2: nobody knows.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			answer, err := askForRoles(c.Context(), &target, q)
			if err == nil {
				err = answer.print(stdout, q, asJSON)
			}
			switch {
			case err != nil:
				return statusError{err, 2}
			case !answer.Allowed:
				return errReported
			}
			return nil
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return statusError{err, 2} })
	target.flags(c)
	c.Flags().StringVar(&q.PrincipalID, "principal", "", "object id of the caller")
	c.Flags().StringArrayVar(&q.Groups, "group", nil, "object id of a group that the caller belongs to; may be repeated")
	c.Flags().StringVar(&q.TenantID, "tenant", "", "tenant of the caller; that of the scope's subscription by default")
	c.Flags().StringVar(&q.Action, "action", "", "such as Contoso.Compute/virtualMachines/write")
	c.Flags().StringVar(&q.Scope, "scope", "", "ID of a subscription, a group or a resource; / for the tenant")
	c.Flags().BoolVar(&asJSON, "json", false, "print the answer as JSON")
	return c
}

func askForRoles(ctx context.Context, target *adminTarget, q roleQuestion) (answer roleAnswer, err error) {
	if q.PrincipalID == "" || q.Action == "" || q.Scope == "" {
		return answer, errors.New("--principal, --action and --scope are needed")
	}
	client, err := target.client()
	if err != nil {
		return answer, err
	}
	defer client.close()
	body, err := json.Marshal(q)
	if err != nil {
		return answer, err
	}
	_, err = client.exchange(ctx, http.MethodPost, "/admin/roles/check", body, http.StatusOK, &answer)
	return answer, err
}

func (a roleAnswer) print(w io.Writer, q roleQuestion, asJSON bool) error {
	if asJSON {
		return writeJSON(w, a)
	}
	var b strings.Builder
	switch {
	case a.Allowed && a.Grant == nil:
		fmt.Fprintf(&b, "yes: %s\n", a.Reason)
	case a.Allowed && a.Grant.Owner:
		fmt.Fprintf(&b, "yes: auth.owners names the caller, or a group of it, at %s\n", a.Grant.Scope)
	case a.Allowed:
		fmt.Fprintf(&b, "yes: the role %q at %s, by %s\n", a.Grant.Role, a.Grant.Scope, a.Grant.Assignment)
	default:
		fmt.Fprintf(&b, "no: %s\n", a.Reason)
		if len(a.WouldAllow) > 0 {
			fmt.Fprintf(&b, "It would be allowed by one of these roles at %s or above: %s\n", q.Scope, strings.Join(a.WouldAllow, ", "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
