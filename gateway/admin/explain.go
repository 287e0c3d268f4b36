package admin

import (
	"net/http"

	"portico/arm"
	"portico/gateway/admin/api"
)

func (l *listener) explainRoutes() []route {
	return []route{{http.MethodPost, "/admin/explain", l.explain}}
}

// explain says which way a request would take, without sending it.
func (l *listener) explain(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var q api.Question
	if err := readBody(w, r, &q); err != nil {
		return 0, nil, err
	}
	if q.Path == "" {
		return 0, nil, arm.NewError(arm.InvalidRequestContent, "there is no path").About("path")
	}
	e, err := l.Explain(r.Context(), q)
	return http.StatusOK, e, err
}
