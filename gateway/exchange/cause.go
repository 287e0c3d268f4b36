package exchange

import (
	"portico/events"
)

// cause is the request as the cause of what it changes.
func (x *Exchange) cause() *events.Cause {
	p := x.Principal
	c := &events.Cause{
		TenantID: p.TenantID, ObjectID: p.ObjectID, AppID: p.AppID, Name: p.Name, Issuer: p.Issuer,
		Application: p.Kind() == "Application",
		Correlation: x.Identity.Correlation, Request: x.Identity.Request, ClientRequest: x.Identity.Client, URI: x.Path,
	}
	if x.Client.Address.IsValid() {
		c.Address = x.Client.AddressText()
	}
	if x.Request != nil {
		c.Method = x.Request.Method
	}
	return c
}
