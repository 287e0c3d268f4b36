package admin

import (
	"net/http"

	"portico/gateway/admin/api"
)

func (l *listener) documentRoutes() []route {
	return []route{{http.MethodGet, "/admin/openapi.json", func(http.ResponseWriter, *http.Request) (int, any, error) {
		return http.StatusOK, api.OpenAPI(), nil
	}}}
}
