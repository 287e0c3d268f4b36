package config

import "strings"

func readStore(root object, s *Store) {
	o := root.child("store", "driver", "dsn", "connections", "sealKeys")
	set(o, "driver", &s.Driver, oneOf(SQLite, Postgres))
	set(o, "connections", &s.Connections, several())
	twice := o.r.distinct("store.sealKeys.id")
	for _, item := range o.children("sealKeys", "id", "key") {
		var key SealKey
		id := must(item, "id", &key.ID, identifier())
		if must(item, "key", &key.Key, key32()); id != nil && twice.add(id, key.ID, key.ID) {
			s.SealKeys = append(s.SealKeys, key)
		}
	}
	dsn := rule[string]{
		parse:  func(text string) (string, bool) { return text, sourceOf(s.Driver, text) },
		noun:   "data source of driver " + s.Driver,
		secret: true,
	}
	if s.Driver == Postgres {
		dsn.allowed = "postgres://user@host/database, or key=value pairs"
		must(o, "dsn", &s.DSN, dsn)
		return
	}
	dsn.allowed = "the path of a database file, such as portico.db"
	at := o.n // the default stands where the store does
	if n := set(o, "dsn", &s.DSN, dsn); n != nil {
		at = n
	}
	s.DSN = relativeTo(at.file, s.DSN)
}

// sourceOf tells whether a text can name the database of a driver. SQLite's other
// forms, in memory or with options, are not for what has to be kept.
func sourceOf(driver, text string) bool {
	isURL := strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
	if driver == Postgres {
		return isURL || strings.Contains(text, "=")
	}
	return text != "" && !isURL && !strings.HasPrefix(text, ":") && !strings.HasPrefix(text, "file:") && !strings.Contains(text, "?")
}
