package gateway

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"portico/gateway/exchange"
	"portico/logs"
	"portico/tracing"
	"portico/upstream"
)

// auditLine is what the audit log says of a request that may have changed
// something, whether it did or was refused: who wanted what, when, and what came
// of it. Never of what it held.
type auditLine struct {
	x       *exchange.Exchange
	method  string
	status  int
	outcome string
	batched bool
}

// audited writes the line of a request.
func (g *Gateway) audited(l auditLine) {
	if entry := g.audit.Check(zapcore.InfoLevel, "write"); entry != nil {
		entry.Write(zap.Inline(&l))
	}
}

// MarshalLogObject writes the line's fields.
func (l *auditLine) MarshalLogObject(e zapcore.ObjectEncoder) error {
	x := l.x
	text := func(key, value string) {
		if value != "" {
			e.AddString(key, value)
		}
	}
	e.AddTime("began", x.Started)
	text("tenantId", x.Principal.TenantID)
	text("objectId", x.Principal.ObjectID)
	text("name", logs.Text(x.Principal.Name))
	text("appId", x.Principal.AppID)
	text("client", x.ClientAddress())
	e.AddString("method", methodLabel(l.method))
	path := logs.Clip(logs.Text(x.Path), longestPath)
	e.AddString("action", actionOf(l.method, path))
	e.AddString("resource", path)
	text("subscription", subscriptionIn(x.Path))
	text("region", x.Region)
	e.AddInt("status", l.status)
	e.AddString("outcome", l.outcome)
	text("cause", x.Cause)
	e.AddString("correlationId", x.Identity.Correlation)
	e.AddString("requestId", x.Identity.Request)
	text("clientRequestId", logs.Text(x.Identity.Client))
	if l.batched {
		e.AddBool("batched", true)
	}
	return nil
}

// actionOf names what a request does as roles do: the namespace, the types, and
// the verb, such as Contoso.Compute/virtualMachines/write. Namespace and types
// are spelled as the client did; empty segments, which the az CLI sends, count for
// nothing.
func actionOf(method, path string) string {
	segments := strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
	namespace, types := "Microsoft.Resources", segments
	for i := len(segments) - 2; i >= 0; i -= 2 {
		if i%2 == 0 && strings.EqualFold(segments[i], "providers") && i+2 < len(segments) {
			namespace, types = segments[i+1], segments[i+2:]
			break
		}
		if i%2 == 1 {
			i++ // from an action's name to the place of types
		}
	}
	var names []string
	for i := 0; i < len(types); i += 2 {
		names = append(names, types[i])
	}
	verb := map[string]string{http.MethodPut: "write", http.MethodPatch: "write", http.MethodDelete: "delete", http.MethodPost: "action"}[method]
	return namespace + "/" + strings.Join(append(names, verb), "/")
}

// auditCall writes the line of a call that Portico makes by itself: a durable
// job's, on behalf of whoever its headers name.
func auditCall(log *zap.Logger, c upstream.Call, began time.Time, status int, err error) {
	entry := log.Check(zapcore.InfoLevel, "own write")
	if entry == nil {
		return
	}
	header := func(name string) string { return logs.Text(c.Header.Get(name)) }
	path := logs.Clip(logs.Text(c.Path), longestPath)
	fields := []zap.Field{
		zap.Time("began", began), zap.String("job", c.Job),
		zap.String("tenantId", header("X-Ms-Client-Tenant-Id")), zap.String("objectId", header("X-Ms-Client-Object-Id")),
		zap.String("method", c.Method), zap.String("action", actionOf(c.Method, path)), zap.String("resource", path),
		zap.String("region", c.Endpoint.Region), zap.String("correlationId", header(tracing.CorrelationHeader)),
		zap.String("outcome", outcomeOf(status, err != nil)),
	}
	if err != nil {
		fields = append(fields, zap.String("failure", upstream.ErrorKind(err)))
	} else {
		fields = append(fields, zap.Int("status", status))
	}
	entry.Write(fields...)
}

// adminCall is what the audit line of a request of the admin listener learns
// from behind it.
type adminCall struct{ name string }

type adminCallKey struct{}

// setAdmin notes whose token a request of the admin listener brought.
func setAdmin(ctx context.Context, name string) {
	if call, ok := ctx.Value(adminCallKey{}).(*adminCall); ok {
		call.name = name
	}
}

// auditAdmin writes a line for each request of the admin listener but those of
// probes: what is not a change shows the data of tenants, or the memory of the
// process with the secrets in it. A line whose request brought no token that is
// known has no name.
func (g *Gateway) auditAdmin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, call := time.Now(), new(adminCall)
		answer := &recorder{ResponseWriter: w, status: http.StatusOK}
		message := "admin read"
		if exchange.Changes(r.Method) {
			message = "admin"
		}
		defer func() {
			fields := []zap.Field{
				zap.Time("began", began), zap.String("client", r.RemoteAddr), zap.String("method", methodLabel(r.Method)),
				zap.String("resource", logs.Clip(logs.Text(r.URL.Path), longestPath)), zap.Int("status", answer.status),
				zap.String("outcome", outcomeOf(answer.status, false)),
			}
			if call.name != "" {
				fields = append(fields, zap.String("name", call.name))
			}
			g.audit.Info(message, fields...)
		}()
		next.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), adminCallKey{}, call)))
	})
}
