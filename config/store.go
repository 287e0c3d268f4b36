package config

import (
	"strings"

	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
)

// The engines of the store.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Store configures where the gateway stores its records.
type Store struct {
	Driver      string
	DSN         string // may contain a password
	Connections int
	SealKeys    []Key // the first encrypts, all decrypt; may be empty
}

// Key is a named secret.
type Key struct {
	ID  string
	Key [32]byte
}

// String returns the key's name, never the secret.
func (k Key) String() string { return "key " + k.ID }

func (s *Store) rows(r *files.Reader) *setting.Setting {
	return setting.RestartOnly(s, nil, setting.Mapping("store", "Where the gateway stores its records. It cannot change while the gateway runs.",
		setting.Value("driver", &s.Driver, rule.OneOf(SQLite, Postgres), SQLite,
			"`sqlite`: a file, used by one gateway. `postgres`: a database that several gateways share."),
		setting.ValueBy("dsn", &s.DSN, s.dataSourceRule, "portico.db",
			"The database file, relative to the file with this setting, or the PostgreSQL database. A password that it omits is taken from "+
				"`PGPASSWORD` or `PGPASSFILE`.").
			Noun("data source").Default("`portico.db` for sqlite; required for postgres").
			Allowed("for sqlite the path of a database file, such as portico.db; "+
				"for postgres a URL such as postgres://user@host/database, or key=value pairs"),
		setting.Value("connections", &s.Connections, rule.AtLeastTwo(), 16,
			"Number of connections that each gateway opens to PostgreSQL. A quarter of them write, and one is reserved for reading what other "+
				"gateways have changed, so 2 become 3. SQLite ignores it."),
		keyRows(r, "sealKeys", &s.SealKeys, "store.sealKeys.id",
			"Keys that encrypt the contents and answers of batches in the store. The first encrypts, all decrypt. All gateways that share the "+
				"store need the same keys. To change keys, on all gateways at each step, append the new key, then move it to the front, then "+
				"remove the old one once `operations.records` has passed.",
			"The name of the key.").
			Default("for SQLite a generated key in a file named like the database with `.key` appended; for PostgreSQL a generated key in the "+
				"database, with which a copy of the database can be decrypted"),
	).Check(func(o *setting.Object) {
		if s.Driver == Postgres {
			o.Require("dsn", s.dataSourceRule().Allowed)
			return
		}
		at := o.Node // the default has the position of the store
		if n := o.Valid("dsn"); n != nil {
			at = n
		}
		s.DSN = files.RelativeTo(at.File, s.DSN)
	}))
}

// keyRows returns the setting of a list of keys. noun names a key's ID in faults.
func keyRows(r *files.Reader, key string, keys *[]Key, noun, doc, idDoc string) *setting.Setting {
	ids := r.Unique(noun)
	return setting.Mappings(key, doc,
		func(k *Key) []*setting.Setting {
			return []*setting.Setting{
				setting.Required("id", &k.ID, rule.Identifier(), idDoc),
				setting.Required("key", &k.Key, rule.Key(), "The key: `head -c 32 /dev/urandom | base64`."),
			}
		},
		func(o *setting.Object, k Key) {
			if id := o.Valid("id"); id != nil && ids.Add(id, k.ID, k.ID) {
				*keys = append(*keys, k)
			}
		})
}

// dataSourceRule returns the rule for the driver's data source names.
func (s *Store) dataSourceRule() rule.Rule[string] {
	r := rule.Rule[string]{
		Parse:   func(text string) (string, bool) { return text, validDataSource(s.Driver, text) },
		Noun:    "data source of driver " + s.Driver,
		Allowed: "the path of a database file, such as portico.db",
		Secret:  true,
	}
	if s.Driver == Postgres {
		r.Allowed = "postgres://user@host/database, or key=value pairs"
	}
	return r
}

// validDataSource reports whether a text can be a data source name of the driver. SQLite's other
// forms, in memory or with options, are not suitable for durable data.
func validDataSource(driver, text string) bool {
	isURL := strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
	if driver == Postgres {
		return isURL || strings.Contains(text, "=")
	}
	return text != "" && !isURL && !strings.HasPrefix(text, ":") && !strings.HasPrefix(text, "file:") && !strings.Contains(text, "?")
}
