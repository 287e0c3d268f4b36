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

// Audit writes the audit log: each change that a caller requested, with its outcome.
type Audit struct{ log *zap.Logger }

// NewAudit returns an Audit that writes to log.
func NewAudit(log *zap.Logger) Audit { return Audit{log} }

// Event writes a line about a change that no other line shows.
func (a Audit) Event(message string, fields ...zap.Field) { a.log.Info(message, fields...) }

// writeRequest writes the line of a request that could change something, even if it was
// refused.
func (a Audit) writeRequest(s *served) {
	if entry := a.log.Check(zapcore.InfoLevel, "write"); entry != nil {
		s.write(entry, (*auditLine)(s))
	}
}

type auditLine served

// MarshalLogObject implements [zapcore.ObjectMarshaler].
func (l *auditLine) MarshalLogObject(e zapcore.ObjectEncoder) error {
	e.AddTime("began", l.Started)
	addText(e, "tenantId", l.Principal.TenantID)
	addText(e, "objectId", l.Principal.ObjectID)
	addText(e, "name", logs.Text(l.Principal.Name))
	addText(e, "appId", l.Principal.AppID)
	addText(e, "client", l.ClientAddress())
	e.AddString("method", Method(l.method))
	path := Path(l.Path)
	action := actionOf(l.method, path)
	if l.Action != "" {
		action = Path(l.Action) // may hold texts of the client, if the map does not declare it
	}
	e.AddString("action", action)
	addText(e, "allowedBy", l.AllowedBy)
	e.AddString("resource", path)
	addText(e, "subscription", subscriptionIn(l.Path))
	addText(e, "region", l.Region)
	e.AddInt("status", l.status)
	e.AddString("outcome", l.outcome)
	addText(e, "cause", l.Cause)
	e.AddString("correlationId", l.Identity.Correlation)
	e.AddString("requestId", l.Identity.Request)
	addTrace(e, l.Span)
	addText(e, "clientRequestId", logs.Text(l.Identity.Client))
	if l.Inner() {
		e.AddString("origin", l.Origin.String())
	}
	return nil
}

// actionOf derives the action of a request if no role was checked for it, in the form that
// roles use: namespace, types and verb, such as Contoso.Compute/virtualMachines/write.
// Namespace and types keep the client's spelling. Empty segments, which the az CLI sends, are
// ignored.
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

// Call writes the line of a call of a durable job, which runs on behalf of the caller in the
// call's headers.
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

// adminCall holds what handlers report about a request of the admin listener, for its audit
// line.
type adminCall struct {
	tokenName string
	reads     bool // changes nothing, whatever its method
}

type adminCallKey struct{}

// SetTokenName records the name of the token of an admin request.
func SetTokenName(ctx context.Context, name string) {
	if call, ok := ctx.Value(adminCallKey{}).(*adminCall); ok {
		call.tokenName = name
	}
}

// TokenName returns the name of the token of an admin request, or "" if it is not known.
func TokenName(ctx context.Context) string {
	if call, ok := ctx.Value(adminCallKey{}).(*adminCall); ok {
		return call.tokenName
	}
	return ""
}

// SetRead records that an admin request changes nothing, whatever its method.
func SetRead(ctx context.Context) {
	if call, ok := ctx.Value(adminCallKey{}).(*adminCall); ok {
		call.reads = true
	}
}

// Admin wraps next to write a line for each admin request. Reads are included: they
// show data of tenants, or the memory of the process with its secrets. The line of a request
// without a known token has no name.
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
