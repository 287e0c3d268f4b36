package inventory

import (
	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// resourceReads has the resources that the members of a transaction read, by
// subscription, for an engine that does not lock single rows. A few statements read all
// of a subscription, because running a statement costs more than reading a row.
type resourceReads map[string]*keysToRead

type keysToRead struct{ intents, rows, generations []string }

// add adds a row of a lock set unless l has it. Of a resource with an expected generation
// only the generation is read.
func (r resourceReads) add(l *lockedState, of resourceOf, kind uint8, expected bool) {
	if r[of.subscription] == nil {
		r[of.subscription] = &keysToRead{}
	}
	keys := r[of.subscription]
	if expected {
		l.generations[of] = [16]byte{}
		keys.generations = append(keys.generations, of.key)
		return
	}
	if kind == transaction.ResourceRow {
		keys.intents = append(keys.intents, of.key)
	}
	l.rows[of] = nil // absent until it is found
	keys.rows = append(keys.rows, of.key)
}

// appendTo appends the lookups of the resources.
func (r resourceReads) appendTo(queries []engine.Lookup, l *lockedState) []engine.Lookup {
	for sub, keys := range r {
		queries = appendAmong(queries, l.intents, sub, keys.intents, intentsFrom, ` ORDER BY key, id`, func(scan engine.Scanner) error {
			key, in, err := scanIntent(scan)
			l.intents[resourceOf{sub, key}] = append(l.intents[resourceOf{sub, key}], in)
			return err
		})
		queries = appendAmong(queries, l.rows, sub, keys.rows, resourcesFrom, "", func(scan engine.Scanner) error {
			row, err := scanResource(scan)
			l.rows[resourceOf{sub, row.Key}] = &row
			return err
		})
		queries = appendAmong(queries, l.generations, sub, keys.generations, generationsFrom, "", func(scan engine.Scanner) error {
			var key string
			var text []byte
			var generation [16]byte
			err := scan(&key, &text)
			copy(generation[:], text)
			l.generations[resourceOf{sub, key}] = generation
			return err
		})
	}
	return queries
}

// appendAmong appends a lookup for all keys of a subscription, which stores its results in
// read. If one row cannot be read it stores none, and each member reads its own.
func appendAmong[V any](
	queries []engine.Lookup, read map[resourceOf]V, sub string, keys []string, from, order string, take func(engine.Scanner) error,
) []engine.Lookup {
	if len(keys) == 0 {
		return queries
	}
	var absent V
	for _, key := range keys {
		read[resourceOf{sub, key}] = absent
	}
	broken := false
	among, args := engine.Among("key", keys, func(key string) string { return key })
	request := engine.Request{Statement: from + among + order, Args: append([]any{sub}, args...)}
	return append(queries, engine.Lookup{Request: request, Row: func(scan engine.Scanner) error {
		if broken {
			return nil
		}
		if broken = take(scan) != nil; broken {
			for _, key := range keys {
				delete(read, resourceOf{sub, key})
			}
		}
		return nil
	}})
}
