package explain

import (
	"cmp"
	"net/http"
	"slices"

	"portico/gateway/admin/api"
	"portico/tracing"
)

// headers returns the headers of a call. It shows the values of Portico's own headers, and
// only the names of the client's headers and of the credential.
func (c *call) headers() []api.ExplainedHeader {
	own := http.Header{}
	if c.purpose == api.Forward {
		c.Own.AddTo(own)
	} else {
		own = c.Header // all are Portico's own
	}
	var all []api.ExplainedHeader
	for name := range c.Header {
		if _, exists := own[name]; !exists {
			all = append(all, api.ExplainedHeader{Name: name, Origin: api.OfClient})
		}
	}
	for name, values := range own {
		h := api.ExplainedHeader{Name: name, Origin: api.OfOwn, Value: values[0], Varies: tracing.Varies(name)}
		if h.Varies {
			h.Value = ""
		}
		all = append(all, h)
	}
	if c.credential != "" {
		all = slices.DeleteFunc(all, func(h api.ExplainedHeader) bool { return h.Name == c.credential })
		all = append(all, api.ExplainedHeader{Name: c.credential, Origin: api.OfSecret})
	}
	slices.SortFunc(all, func(a, b api.ExplainedHeader) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
