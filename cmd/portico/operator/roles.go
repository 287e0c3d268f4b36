package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

func rolesCommand(p Program) *cobra.Command {
	return withList(&cobra.Command{Use: "roles", Short: "Show who may do what"}, rolesListCommand(p), rolesCheckCommand(p), rolesWhoCommand(p))
}

func rolesListCommand(p Program) *cobra.Command {
	l := listing[api.RoleAssignment, api.RoleAssignment]{
		path: "/admin/roles", inSubscriptions: true, none: "No role is assigned.", rows: same[api.RoleAssignment],
		params: []param{ofSubscription(), {name: "principalId", flag: "principal", usage: "only assignments of the principal with this object `ID`",
			none: "No role is assigned to this principal itself. It may have rights by its groups or as an owner: check with portico roles check --principal " +
				"OBJECTID --group OBJECTID --action ACTION --scope SCOPE"}},
		columns: []terminal.Column[api.RoleAssignment]{
			{Title: "PRINCIPAL", Cell: func(r api.RoleAssignment) string { return r.PrincipalID }},
			{Title: "NAME", Cell: func(r api.RoleAssignment) string { return r.PrincipalName }, Least: 8, Drop: 2},
			{Title: "ROLE", Cell: func(r api.RoleAssignment) string { return r.Role }, Least: 8},
			{Title: "SCOPE", Cell: func(r api.RoleAssignment) string { return r.Scope }, Least: 10, Cut: terminal.CutStart},
			{Title: "KIND", Cell: func(r api.RoleAssignment) string { return r.PrincipalType }, Drop: 1},
			{Title: "ID", Cell: func(r api.RoleAssignment) string { return r.ID }, Wide: true},
		},
	}
	return withGUIDs(l.command(p, "list", "List the role assignments of all subscriptions, or of one", ""), "principal")
}

func rolesCheckCommand(p Program) *cobra.Command {
	a := newServiceCommand(p)
	var q api.RoleCheck
	c := &cobra.Command{
		Use:   "check --principal OBJECTID --action ACTION --scope SCOPE",
		Short: "Check whether a caller may do something, and why",
		Long: `Check whether a caller may do something, and why.

The running service answers from its store, as for a request now. The groups of the caller
come from its token, which is not known here: name them.

` + findingService + `

Exit status 0: yes. 1: no. 2: there was no answer.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, flag := range []string{"principal", "group", "tenant"} {
				if err := wantGUID(c, flag); err != nil {
					return &StatusError{err, statusUnknown}
				}
			}
			allowed, err := a.checkRoles(c.Context(), q)
			switch {
			case err != nil:
				return &StatusError{err, statusUnknown}
			case !allowed:
				return ErrReported
			}
			return nil
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &StatusError{err, statusUnknown} })
	a.Flags(c)
	c.Flags().StringVar(&q.PrincipalID, "principal", "", "object `ID` of the caller")
	c.Flags().StringArrayVar(&q.Groups, "group", nil, "object `ID` of a group that the caller belongs to; may be repeated")
	c.Flags().StringVar(&q.TenantID, "tenant", "", "`ID` of the caller's tenant; that of the scope's subscription by default")
	c.Flags().StringVar(&q.Action, "action", "", "the `ACTION`, such as Contoso.Compute/virtualMachines/write")
	c.Flags().StringVar(&q.Scope, "scope", "", "`ID` of a subscription, a group or a resource; / for the tenant")
	return c
}

func rolesWhoCommand(p Program) *cobra.Command {
	a := newServiceCommand(p)
	var q api.RoleQuestion
	c := &cobra.Command{
		Use:   "who --action ACTION --scope SCOPE",
		Short: "List who may do something, and by which assignments",
		Long: `List who may do something, and by which assignments: those at the scope and above, and the
configured owners. A group stands for its members, who are not known here.

` + findingService,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if q.Action == "" || q.Scope == "" {
				return errors.New("--action and --scope are needed")
			}
			if err := wantGUID(c, "tenant"); err != nil {
				return err
			}
			return a.withClient(func(service *api.Client) error {
				return send(c.Context(), a, service, a.out, api.Request{Method: http.MethodPost, Path: "/admin/roles/who", Content: q}, a.writeHolders)
			})
		},
	}
	a.Flags(c)
	c.Flags().StringVar(&q.Action, "action", "", "the `ACTION`, such as Contoso.Compute/virtualMachines/write")
	c.Flags().StringVar(&q.Scope, "scope", "", "`ID` of a subscription, a group or a resource; / for a tenant")
	c.Flags().StringVar(&q.TenantID, "tenant", "", "`ID` of the tenant, for the scope /")
	return c
}

func (a *serviceCommand) writeHolders(to io.Writer, h api.RoleHolders) error {
	none := ""
	switch {
	case h.Everybody:
		none = "Everybody may: roles are not enforced."
	case len(h.Value) == 0:
		none = "No one has an assignment that allows it."
	}
	if none != "" {
		_, err := fmt.Fprintln(to, none)
		return err
	}
	if h.Further {
		fmt.Fprintln(a.errs, "There are more assignments than were examined: check one principal by portico roles check.")
	}
	return table(a, []terminal.Column[api.RoleHolder]{
		{Title: "PRINCIPAL", Cell: func(h api.RoleHolder) string { return h.PrincipalID }},
		{Title: "NAME", Cell: func(h api.RoleHolder) string { return h.PrincipalName }, Least: 8, Drop: 2},
		{Title: "ROLE", Cell: func(h api.RoleHolder) string { return h.Grant.Role }, Least: 8},
		{Title: "SCOPE", Cell: func(h api.RoleHolder) string { return h.Grant.Scope }, Least: 10, Cut: terminal.CutStart},
		{Title: "KIND", Cell: func(h api.RoleHolder) string { return h.PrincipalType }, Drop: 1},
		{Title: "BY", Cell: func(h api.RoleHolder) string { return cmp.Or(h.Grant.Assignment, "the configuration") }, Wide: true},
	}).Write(a.out, to, h.Value)
}

func (a *serviceCommand) checkRoles(ctx context.Context, q api.RoleCheck) (allowed bool, err error) {
	if q.PrincipalID == "" || q.Action == "" || q.Scope == "" {
		return false, errors.New("--principal, --action and --scope are needed")
	}
	err = a.withClient(func(c *api.Client) error {
		answer, err := c.Do(ctx, api.Request{Method: http.MethodPost, Path: "/admin/roles/check", Content: q})
		if err != nil {
			return err
		}
		var r api.RoleAnswer
		if err := answer.Read(&r); err != nil {
			return err
		}
		allowed = r.Allowed
		return write(a, a.out, answer, func(to io.Writer, r api.RoleAnswer) error { return writeRoleAnswer(to, q, r) })
	})
	return allowed, err
}

func writeRoleAnswer(to io.Writer, q api.RoleCheck, r api.RoleAnswer) error {
	var b strings.Builder
	switch {
	case r.Allowed && r.Grant == nil:
		fmt.Fprintf(&b, "yes: %s\n", r.Reason)
	case r.Allowed && r.Grant.Owner:
		fmt.Fprintf(&b, "yes: auth.owners names the caller, or a group of it, at %s\n", r.Grant.Scope)
	case r.Allowed:
		fmt.Fprintf(&b, "yes: the role %q at %s, by %s\n", r.Grant.Role, r.Grant.Scope, r.Grant.Assignment)
	default:
		fmt.Fprintf(&b, "no: %s\n", r.Reason)
		if len(r.WouldAllow) > 0 {
			fmt.Fprintf(&b, "It would be allowed by one of these roles at %s or above: %s\n", q.Scope, strings.Join(r.WouldAllow, ", "))
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}
