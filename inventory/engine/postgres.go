package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// Timeouts of connections to a PostgreSQL server. The server's timeouts are shorter than
// ours, so that the server gives up first and reports why.
const (
	// A transaction reads the server's time if the last reading is older than
	// clockFresh; an idle queue reads it again after clockAge.
	clockFresh = time.Second
	clockAge   = 30 * time.Second

	// readerAge is how long a reading connection is kept.
	readerAge = time.Minute

	connectLimit   = 3 * time.Second // for one host
	rowLockLimit   = 4 * time.Second
	statementLimit = 5 * time.Second
	readLimit      = 6 * time.Second
	// idleTransactionLimit bounds how long a transaction may idle, and so how long a replica
	// that was stopped within one keeps its locks.
	idleTransactionLimit = 5 * time.Second
)

// connectPostgres finds the server that accepts writes and brings the database to the
// current layout.
func (e *Engine) connectPostgres(ctx context.Context) error {
	config, settings, err := postgresConfig(e.options.DSN)
	if err != nil {
		return err
	}
	e.openPools(config)
	if err := e.verifyPostgres(ctx); err != nil {
		return err
	}
	if err := e.migratePostgres(ctx, config, settings); err != nil {
		return Classify(ctx, err)
	}
	c := &clock{override: e.options.Now}
	e.clock = c
	if err := c.sync(ctx, e.reads); err != nil {
		return Classify(ctx, err)
	}
	e.dialect = dialect{numbered: true, locksRows: true, now: c.now}
	texts := &texts{dialect: e.dialect}
	e.pipeline = &pipeline{pool: e.reads, texts: texts, ran: &e.ran}
	writers, _ := e.options.connectionCounts()
	for range writers {
		e.sessions = append(e.sessions, &postgresSession{config: config, texts: texts, clock: c, ran: &e.ran})
	}
	return nil
}

// openPools creates the reading pools. They connect when they are used.
func (e *Engine) openPools(config *pgx.ConnConfig) {
	// No pings: a broken connection is replaced when it is used, and a ping before each use
	// would cost a round trip.
	_, readers := e.options.connectionCounts()
	open := func(connections int) *sql.DB {
		pool := stdlib.OpenDB(*config, stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return false }))
		pool.SetMaxOpenConns(connections)
		pool.SetMaxIdleConns(connections)
		pool.SetConnMaxLifetime(readerAge)
		return pool
	}
	e.reads, e.reserved = open(readers), open(1)
}

// verifyPostgres refuses an unsuitable database, or an unsuitable pooler in front of it.
func (e *Engine) verifyPostgres(ctx context.Context) error {
	err := checkSessions(ctx, e.reads, e.reserved)
	if err == nil {
		err = checkEncoding(ctx, e.reads)
	}
	if err == nil {
		err = checkCollation(ctx, e.reads)
	}
	if err == nil {
		err = checkEdition(ctx, e.reads, postgresHasLayout)
	}
	return Classify(ctx, err)
}

// CheckPostgres returns an error if no engine could open the database; it wraps
// [ErrUnavailable] if the database cannot be checked now. The database is not changed.
func CheckPostgres(ctx context.Context, dsn string) error {
	config, _, err := postgresConfig(dsn)
	if err != nil {
		return err
	}
	e := &Engine{}
	e.openPools(config)
	return errors.Join(e.verifyPostgres(ctx), e.closeReaders())
}

// migratePostgres migrates on connections with a longer statement timeout, because
// building an index takes longer than other statements may. It waits for locks no longer
// than other transactions do, because statements of older gateways queue behind it.
func (e *Engine) migratePostgres(ctx context.Context, config *pgx.ConnConfig, settings map[string]string) error {
	own, longer := config.Copy(), maps.Clone(settings)
	longer["statement_timeout"] = millis(openTimeout)
	own.AfterConnect = applySettings(longer)
	db := stdlib.OpenDB(*own)
	err := migrate(ctx, db, goose.DialectPostgres, onlineIndexes{e.options.Migrations})
	return errors.Join(err, db.Close())
}

// postgresConfig parses a libpq URL or key=value list, and returns the settings for each
// connection. The DSN's settings override the defaults here, except where correctness
// depends on them.
func postgresConfig(dsn string) (*pgx.ConnConfig, map[string]string, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, nil, dsnError(err)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectLimit
	}
	config.DialFunc = (&net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3},
	}).DialContext
	settings := map[string]string{
		"lock_timeout":                        millis(rowLockLimit),
		"statement_timeout":                   millis(statementLimit),
		"idle_in_transaction_session_timeout": millis(idleTransactionLimit),
		// Queries read by index. The default cost of random reads, meant for spinning disks,
		// would make the server read and sort whole tables instead.
		"random_page_cost": "1.1",
	}
	for name, value := range config.RuntimeParams {
		if !slices.Contains(startupSettings, strings.ToLower(name)) {
			settings[name] = value
			delete(config.RuntimeParams, name)
		}
	}
	if _, given := config.RuntimeParams["application_name"]; !given {
		config.RuntimeParams["application_name"] = "portico"
	}
	// A standby lags behind, so it does not suffice: reads decide about writes elsewhere.
	config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	config.AfterConnect = applySettings(settings)
	config.OnNotice = recordWarning
	return config, settings, nil
}

// startupSettings are the settings that a connection's first message may contain. PgBouncer
// refuses all others there.
var startupSettings = []string{"application_name", "client_encoding", "datestyle", "timezone", "standard_conforming_strings", "options", "replication"}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

const (
	setConfig = "set_config($%d, $%d, false)"
	// keepDurable overrides a default under which a commit would not wait for the disk, or
	// for the disk of the standby that may take over.
	keepDurable = `set_config('synchronous_commit', CASE current_setting('synchronous_commit')
		WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)`
)

// applySettings returns a function that applies settings to a new connection, in one round
// trip.
func applySettings(settings map[string]string) pgconn.AfterConnectFunc {
	durable := keepDurable
	if strings.EqualFold(settings["synchronous_commit"], "remote_apply") {
		durable = "set_config('synchronous_commit', 'remote_apply', false)"
	}
	calls, args := []string{durable}, [][]byte{}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if name == "synchronous_commit" {
			continue
		}
		args = append(args, []byte(name), []byte(settings[name]))
		calls = append(calls, fmt.Sprintf(setConfig, len(args)-1, len(args)))
	}
	text := "SELECT " + strings.Join(calls, ", ")
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		return conn.ExecParams(ctx, text, args, nil, nil, nil).Read().Err
	}
}

// warningKey is the key of a connection's custom data that is set if the server sent a
// warning.
const warningKey = "portico.warned"

// recordWarning handles a notice of the server. If an operator cancels a commit's wait for
// the standby, the commit succeeds with a warning.
func recordWarning(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.SeverityUnlocalized == "WARNING" {
		conn.CustomData()[warningKey] = true
	}
}

// dsnError describes a parse error of a DSN without quoting any part of it, because each
// part may hold a password.
func dsnError(err error) error {
	text := err.Error()
	if i := strings.LastIndex(text, "`: "); i >= 0 {
		text = text[i+len("`: "):]
		text, _, _ = strings.Cut(text, " (")
	} else {
		text = "failed to parse"
	}
	return fmt.Errorf("inventory: the DSN is neither a postgres:// URL nor a list of key=value that can be read: %s", text)
}

// idleCloser returns a function that closes the idle connections of a pool that keeps at
// most keeps of them.
func idleCloser(pool *sql.DB, keeps int) func() {
	return func() {
		pool.SetMaxIdleConns(0)
		pool.SetMaxIdleConns(keeps)
	}
}

// connectionCounts returns the numbers of writing and reading connections. A quarter writes,
// which suffices because writes share transactions. One more is reserved.
func (o Options) connectionCounts() (writers, readers int) {
	all := o.Connections
	if all == 0 {
		all = defaultConnections
	}
	writers = max(1, all/4)
	return writers, max(1, all-writers-1)
}

// checkEncoding refuses a database whose encoding cannot hold all texts.
func checkEncoding(ctx context.Context, db *sql.DB) error {
	var encoding string
	if err := db.QueryRowContext(ctx, `SELECT current_setting('server_encoding')`).Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database has the encoding %s: %s", encoding, createDatabase)
	}
	return nil
}
