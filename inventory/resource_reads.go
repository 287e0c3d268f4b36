package inventory

import "portico/inventory/engine"

// resourceReads are the resources that the members of a transaction read, on an engine
// that does not lock rows one by one. Two statements read all resources of a
// subscription, because running a statement costs more than what most of them find.
type resourceReads struct{ intents, rows keysBySubscription }

// keysBySubscription are keys of resources, in the order in which they were added.
type keysBySubscription []keysOf

type keysOf struct {
	subscription string
	keys         []string
}

func (k *keysBySubscription) add(of resourceOf) {
	for i := range *k {
		if (*k)[i].subscription == of.subscription {
			(*k)[i].keys = append((*k)[i].keys, of.key)
			return
		}
	}
	*k = append(*k, keysOf{of.subscription, []string{of.key}})
}

// appendTo appends the lookups of the resources.
func (r *resourceReads) appendTo(queries []engine.Lookup, l *lockedState) []engine.Lookup {
	for _, of := range r.intents {
		queries = append(queries, l.lookUpIntentsAmong(of))
	}
	for _, of := range r.rows {
		queries = append(queries, l.lookUpRowsAmong(of))
	}
	return queries
}

func (l *lockedState) lookUpIntentsAmong(of keysOf) engine.Lookup {
	if len(of.keys) == 1 {
		return l.lookUpIntents(resourceOf{of.subscription, of.keys[0]})
	}
	among, args := of.condition()
	return lookUpAmong(l.intents, of, engine.Request{Statement: intentsFrom + among + ` ORDER BY key, id`, Args: args}, func(scan engine.Scanner) error {
		key, in, err := scanIntent(scan)
		if err == nil {
			at := resourceOf{of.subscription, key}
			l.intents[at] = append(l.intents[at], in)
		}
		return err
	})
}

func (l *lockedState) lookUpRowsAmong(of keysOf) engine.Lookup {
	if len(of.keys) == 1 {
		return l.lookUpRow(resourceOf{of.subscription, of.keys[0]})
	}
	among, args := of.condition()
	return lookUpAmong(l.rows, of, engine.Request{Statement: resourcesFrom + among, Args: args}, func(scan engine.Scanner) error {
		row, err := scanResource(scan)
		if err == nil {
			l.rows[resourceOf{of.subscription, row.Key}] = &row
		}
		return err
	})
}

// condition returns the condition that selects the keys, with the arguments of the
// statement that it ends.
func (of keysOf) condition() (condition string, args []any) {
	condition, args = engine.Among("key", of.keys, func(key string) string { return key })
	return condition, append([]any{of.subscription}, args...)
}

// lookUpAmong is lookUp for all keys of a subscription. If one row cannot be read none is
// kept, and each member reads its own.
func lookUpAmong[V any](read map[resourceOf]V, of keysOf, r engine.Request, take func(engine.Scanner) error) engine.Lookup {
	var absent V
	for _, key := range of.keys {
		read[resourceOf{of.subscription, key}] = absent
	}
	broken := false
	return engine.Lookup{Request: r, Row: func(scan engine.Scanner) error {
		if broken {
			return nil
		}
		if broken = take(scan) != nil; broken {
			for _, key := range of.keys {
				delete(read, resourceOf{of.subscription, key})
			}
		}
		return nil
	}}
}
