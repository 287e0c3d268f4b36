//go:build !unix

package engine

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

// ended reports whether the server has closed an idle connection. This system offers no
// way to find out.
func ended(context.Context, *pgconn.PgConn) bool { return false }
