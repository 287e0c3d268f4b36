package observe

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"portico/gateway/exchange"
	"portico/internal/logs"
	"portico/tracing"
	"portico/upstream"
)

// Audit writes the audit log: each change that a caller asked for, and its outcome.
type Audit struct{ log *zap.Logger }

// NewAudit returns an audit log that writes to log.
func NewAudit(log *zap.Logger) Audit { return Audit{log} }

// Event writes a line of its own about a change that no other line shows.
func (a Audit) Event(message string, fields ...zap.Field) { a.log.Info(message, fields...) }

// request writes the line of a request that may have changed something, whether
// it did or was refused.
func (a Audit) request(s *served) {
	if entry := a.log.Check(zapcore.InfoLevel, "write"); entry != nil {
		s.write(entry, (*auditLine)(s))
	}
}

type auditLine served

// MarshalLogObject implements [zapcore.ObjectMarshaler].
func (l *auditLine) MarshalLogObject(e zapcore.ObjectEncoder) error {
	e.AddTime("began", l.Started)
	text(e, "tenantId", l.Principal.TenantID)
	text(e, "objectId", l.Principal.ObjectID)
	text(e, "name", logs.Text(l.Principal.Name))
	text(e, "appId", l.Principal.AppID)
	text(e, "client", l.ClientAddress())
	e.AddString("method", Method(l.method))
	path := Path(l.Path)
	action := actionOf(l.method, path)
	if l.Action != "" {
		action = Path(l.Action) // what the map does not declare is spelled by the client
	}
	e.AddString("action", action)
	text(e, "allowedBy", l.AllowedBy)
	e.AddString("resource", path)
	text(e, "subscription", subscriptionIn(l.Path))
	text(e, "region", l.Region)
	e.AddInt("status", l.status)
	e.AddString("outcome", l.outcome)
	text(e, "cause", l.Cause)
	e.AddString("correlationId", l.Identity.Correlation)
	e.AddString("requestId", l.Identity.Request)
	addTrace(e, l.Span)
	text(e, "clientRequestId", logs.Text(l.Identity.Client))
	if l.Inner() {
		e.AddString("origin", l.Origin.String())
	}
	return nil
}

// actionOf names what a request does as roles do, where no role was asked: the
// namespace, the types, and the verb, such as Contoso.Compute/virtualMachines/write.
// Namespace and types are spelled as the client did; empty segments, which the az CLI
// sends, count for nothing.
func actionOf(method, path string) string {
	var buffer [32]string
	segments := buffer[:0]
	for segment := range strings.SplitSeq(path, "/") {
		if segment != "" {
			segments = append(segments, segment)
		}
	}
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
	var action strings.Builder
	action.Grow(len(path) + len(namespace) + len("//delete"))
	action.WriteString(namespace)
	for i := 0; i < len(types); i += 2 {
		action.WriteByte('/')
		action.WriteString(types[i])
	}
	action.WriteByte('/')
	action.WriteString(verbOf(method))
	return action.String()
}

func verbOf(method string) string {
	switch method {
	case http.MethodPut, http.MethodPatch:
		return "write"
	case http.MethodDelete:
		return "delete"
	case http.MethodPost:
		return "action"
	}
	return ""
}

// Call writes the line of a call that Portico makes by itself: a durable job's,
// on behalf of the caller that its headers name.
func (a Audit) Call(c upstream.Call, began time.Time, status int, err error) {
	entry := a.log.Check(zapcore.InfoLevel, "own write")
	if entry == nil {
		return
	}
	header := func(name string) string { return logs.Text(c.Header.Get(name)) }
	path := Path(c.Path)
	fields := []zap.Field{
		zap.Time("began", began), zap.String("job", c.Job),
		zap.String("tenantId", header("X-Ms-Client-Tenant-Id")), zap.String("objectId", header("X-Ms-Client-Object-Id")),
		zap.String("method", c.Method), zap.String("action", actionOf(c.Method, path)), zap.String("resource", path),
		zap.String("region", c.Endpoint.Region), zap.String("correlationId", header(tracing.CorrelationHeader)),
		zap.String("outcome", outcomeWord(status, err != nil)),
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
type adminCall struct {
	tokenName string
	reads     bool // whatever its method
}

type adminCallKey struct{}

// SetTokenName notes whose token a request of the admin listener brought.
func SetTokenName(ctx context.Context, name string) {
	if call, ok := ctx.Value(adminCallKey{}).(*adminCall); ok {
		call.tokenName = name
	}
}

// TokenName is the name of the token that a request of the admin listener brought, ""
// where none is known.
func TokenName(ctx context.Context) string {
	if call, ok := ctx.Value(adminCallKey{}).(*adminCall); ok {
		return call.tokenName
	}
	return ""
}

// SetRead notes that a request of the admin listener changes nothing, though its method
// might.
func SetRead(ctx context.Context) {
	if call, ok := ctx.Value(adminCallKey{}).(*adminCall); ok {
		call.reads = true
	}
}

// Admin writes a line for each request of the admin listener, reads too: they
// show the data of tenants, or the memory of the process with the secrets in it.
// The line of a request without a known token has no name.
func (a Audit) Admin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, call := time.Now(), new(adminCall)
		answer := &recorder{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			message := "admin read"
			if exchange.Changes(r.Method) && !call.reads {
				message = "admin"
			}
			fields := []zap.Field{
				zap.Time("began", began), zap.String("client", r.RemoteAddr), zap.String("method", Method(r.Method)),
				zap.String("resource", Path(r.URL.Path)), zap.Int("status", answer.status),
				zap.String("outcome", outcomeWord(answer.status, false)),
			}
			if call.tokenName != "" {
				fields = append(fields, zap.String("name", call.tokenName))
			}
			a.log.Info(message, fields...)
		}()
		next.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), adminCallKey{}, call)))
	})
}
