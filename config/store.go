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

// Store says where the gateway keeps its records.
type Store struct {
	Driver      string
	DSN         string // may hold a password
	Connections int
	SealKeys    []Key // the first seals, all open; may be empty
}

// Key is a secret with a name.
type Key struct {
	ID  string
	Key [32]byte
}

// String names the key without showing it.
func (k Key) String() string { return "key " + k.ID }

func (s *Store) rows(r *files.Reader) *setting.Setting {
	return setting.RestartOnly(s, nil, setting.Mapping("store", "Where the gateway keeps what it remembers. It cannot change while the gateway runs.",
		setting.Value("driver", &s.Driver, rule.OneOf(SQLite, Postgres), SQLite,
			"`sqlite`: one file, used by one gateway. `postgres`: a database that several gateways share."),
		setting.ValueBy("dsn", &s.DSN, s.dataSource, "portico.db",
			"The file, relative to the one in which this stands, or the database. A password that the name leaves out is taken from "+
				"`PGPASSWORD` or `PGPASSFILE`.").
			Noun("data source").Default("`portico.db` for sqlite; required for postgres").
			Allowed("for sqlite the path of a database file, such as portico.db; "+
				"for postgres a URL such as postgres://user@host/database, or key=value pairs"),
		setting.Value("connections", &s.Connections, rule.AtLeastTwo(), 16,
			"How many connections each gateway opens to PostgreSQL: a quarter of them writes, and one is kept for the question of what other gateways "+
				"have changed, so 2 are 3. SQLite has no use for it."),
		keyRows(r, "sealKeys", &s.SealKeys, "store.sealKeys.id",
			"The keys that seal the contents and answers of batches in the store: the first seals, all open. They are the same for all "+
				"gateways that share it. "+
				"To change keys add the new one last, then move it to the front, then drop the old one once `operations.records` has "+
				"passed; each on all gateways.",
			"The name of the key.").
			Default("for SQLite one that is generated into a file beside the database, with `.key` added to its name; for PostgreSQL one in the database, "+
				"by which whoever has a copy of that can read it"),
	).Check(func(o *setting.Object) {
		if s.Driver == Postgres {
			o.Require("dsn", s.dataSource().Allowed)
			return
		}
		at := o.Node // the default stands where the store does
		if n := o.Right("dsn"); n != nil {
			at = n
		}
		s.DSN = files.RelativeTo(at.File, s.DSN)
	}))
}

// keyRows is a list of keys; noun names an id in faults.
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
			if id := o.Right("id"); id != nil && ids.Add(id, k.ID, k.ID) {
				*keys = append(*keys, k)
			}
		})
}

// dataSource is what names a database of the driver.
func (s *Store) dataSource() rule.Rule[string] {
	r := rule.Rule[string]{
		Parse:   func(text string) (string, bool) { return text, sourceOf(s.Driver, text) },
		Noun:    "data source of driver " + s.Driver,
		Allowed: "the path of a database file, such as portico.db",
		Secret:  true,
	}
	if s.Driver == Postgres {
		r.Allowed = "postgres://user@host/database, or key=value pairs"
	}
	return r
}

// sourceOf reports whether a text can name a database of the driver. SQLite's
// other forms, in memory or with options, are not for what has to be kept.
func sourceOf(driver, text string) bool {
	isURL := strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
	if driver == Postgres {
		return isURL || strings.Contains(text, "=")
	}
	return text != "" && !isURL && !strings.HasPrefix(text, ":") && !strings.HasPrefix(text, "file:") && !strings.Contains(text, "?")
}
