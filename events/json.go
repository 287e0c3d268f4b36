package events

import "portico/internal/jsontext"

// AppendJSON appends what json.Marshal returns of it.
func (t *Payload) AppendJSON(behind []byte) ([]byte, error) {
	o := jsontext.BeginObject(behind)
	o.Text("resource", t.Resource)
	o.Text("action", t.Action)
	o.Text("status", string(t.Status))
	o.OptionalTrue("new", t.New)
	o.Text("origin", string(t.Origin))
	o.OptionalTrue("gone", t.Gone)
	o.OptionalTrue("inDoubt", t.Unverified)
	o.OptionalNumber("httpStatus", t.HTTPStatus)
	o.OptionalTime("began", t.Began)
	o.OptionalText("from", t.From)
	o.OptionalText("to", t.To)
	o.OptionalText("etag", t.ETag)
	o.OptionalText("assignableAt", t.AssignableAt)
	if t.Error != nil {
		o.Value("error", t.Error)
	}
	o.OptionalNumber("omitted", t.Omitted)
	o.Append("cause", t.Cause.AppendJSON)
	return o.End()
}

// AppendJSON appends what json.Marshal returns of it.
func (c *Cause) AppendJSON(behind []byte) ([]byte, error) {
	o := jsontext.BeginObject(behind)
	o.OptionalText("tenantId", c.TenantID)
	o.OptionalText("objectId", c.ObjectID)
	o.OptionalText("appId", c.AppID)
	o.OptionalText("name", c.Name)
	o.OptionalText("issuer", c.Issuer)
	o.OptionalTrue("application", c.Application)
	o.OptionalTrue("operator", c.Operator)
	o.OptionalText("address", c.Address)
	o.OptionalText("correlationId", c.Correlation)
	o.OptionalText("requestId", c.Request)
	o.OptionalText("clientRequestId", c.ClientRequest)
	o.OptionalText("method", c.Method)
	o.OptionalText("uri", c.URI)
	o.OptionalText("job", c.Job)
	o.OptionalTrue("secrets", c.Secrets)
	return o.End()
}
