package admin

import (
	"net/http"
	"strings"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/gateway/observe"
)

func (l *listener) explainRoutes() []route {
	return []route{{http.MethodPost, "/admin/explain", l.explain}}
}

// explain says which way a request would take, without sending it, and what is known of
// what its path names.
func (l *listener) explain(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var q api.Question
	if err := readBody(w, r, &q); err != nil {
		return 0, nil, err
	}
	if q.Path == "" {
		return 0, nil, arm.NewError(arm.InvalidRequestContent, "there is no path").About("path")
	}
	if !q.Ask {
		observe.SetRead(r.Context())
	}
	e, err := l.Explain(r.Context(), q)
	if err != nil {
		return 0, nil, err
	}
	id, _, _ := strings.Cut(q.Path, "?")
	if path, err := pathNamed(id, "path"); err == nil && path.Group() != "" {
		known, err := l.detailOf(r.Context(), path)
		if err != nil {
			return 0, nil, err
		}
		e.Known = &known
	}
	return http.StatusOK, e, nil
}
