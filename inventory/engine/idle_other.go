//go:build !unix

package engine

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

// closedByServer always returns false, because this system offers no way to find out.
func closedByServer(context.Context, *pgconn.PgConn) bool { return false }
