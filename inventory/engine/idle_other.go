//go:build !unix

package engine

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

// ended reports whether the server has closed a connection that idles: nobody knows.
func ended(context.Context, *pgconn.PgConn) bool { return false }
